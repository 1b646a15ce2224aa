"""Which project a ``Host`` stands for."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address

_NAME = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@lru_cache(1024)
def canonical_host(authority: str) -> str | None:
    """The host of an authority (``host[:port]``): in lower case, without port and final dot, addresses in their short form.

    ``None`` for what is no host. The one function for both sides of every comparison of hosts here.
    """
    text = authority.strip().lower()
    if text.startswith("["):
        address, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not re.fullmatch(r":[0-9]{1,5}", rest)):
            return None
        try:
            return f"[{ip_address(address).compressed}]"
        except ValueError:
            return None
    host, colon, port = text.partition(":")
    if colon and not re.fullmatch(r"[0-9]{1,5}", port):
        return None
    host = host.removesuffix(".")
    return host if _NAME.fullmatch(host) else None


def slug_of(host: bytes, domain: str) -> str | None:
    """The label in front of the domain of all programs; ``None`` for any other host."""
    found = canonical_host(host.decode("latin-1"))
    if found is None:
        return None
    slug, dot, rest = found.partition(".")
    return slug if dot and rest == domain else None


def own_hosts(host: str) -> frozenset[str]:
    """The hosts under which projects with ports of their own are reached: the one of the setting, and where it stands for this
    machine, all names of that.

    Errors: ``ValueError`` for what is no host.
    """
    found = canonical_host(host)
    if found is None:
        raise ValueError(f"{host!r} is no host")
    return frozenset(_LOOPBACK) if found in _LOOPBACK else frozenset({found})
