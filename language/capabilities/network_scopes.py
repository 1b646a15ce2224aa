"""The network host that a capability names, and whether a capability covers a connection."""

from __future__ import annotations

from language.capabilities import Capability
from language.capabilities.scopes import DATABASE_PORTS, bracketed, database_scope, host_and_port


def host_of(capability: Capability) -> str | None:
    """The host that a ``net`` or ``db`` capability names, in canonical form and possibly with wildcards.

    Without the brackets of an IPv6 address and without its port. ``None`` for a capability that names no host: without a
    scope, for the file of a database, for any other name.
    """
    scope = capability.scope
    if scope is None or capability.name not in ("net", "db"):
        return None
    if capability.name == "db":
        if "://" not in scope:
            return None
        scope = scope.partition("://")[2].partition("/")[0]
    if scope.startswith("["):
        return scope[1:].partition("]")[0]
    return scope.partition(":")[0] if scope.count(":") < 2 else scope


def covers_connection(capability: Capability, host: str, port: int) -> bool:
    """Whether a ``net`` capability covers the host and port, or a ``db`` capability some database there.

    The same functions decide what a program may open and what its runner connects it to. ``net`` without a port covers every
    port, a database without a port covers the default port of its scheme, and ``db`` without a scope covers every host and
    port. The host is put into canonical form first: a spelling that no request can have is not covered.
    """
    located = host_and_port(f"{bracketed(host)}:{port}")
    if located is None:
        return False
    place = bracketed(located[0])
    if capability.name != "db":
        return capability.covers(Capability("net", f"{place}:{port}"))
    if capability.scope is None or capability.scope == "*":
        return True
    _, found, rest = capability.scope.partition("://")
    if not found:
        return False
    database = rest.partition("/")[2]
    return any(
        capability.covers(Capability("db", database_scope(scheme, located[0], port, database))) for scheme in DATABASE_PORTS
    )
