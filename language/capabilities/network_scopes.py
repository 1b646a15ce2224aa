"""The host that a capability names, where it names one of the network."""

from __future__ import annotations

from language.capabilities import Capability
from language.capabilities.scopes import bracketed, host_and_port


def host_of(capability: Capability) -> str | None:
    """The host that a ``net`` or ``db`` capability names, in canonical form and perhaps with wildcards.

    Without the brackets of an IPv6 address and without its port. ``None`` for a capability that names no host: without a scope,
    the file of a database, any other name.
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
    """Whether a ``net`` capability covers the host and port, or a ``db`` capability some database of that host.

    The host is put in the canonical form of a request first: a spelling that no request can have is covered by nothing.
    """
    located = host_and_port(f"{bracketed(host)}:{port}")
    if located is None:
        return False
    place = bracketed(located[0])
    if capability.name != "db":
        return capability.covers(Capability("net", f"{place}:{port}"))
    if capability.scope is None or capability.scope == "*":
        return True
    scheme, found, rest = capability.scope.partition("://")
    database = rest.partition("/")[2]
    return bool(found) and capability.covers(Capability("db", f"{scheme}://{place}" + (f"/{database}" if database else "")))
