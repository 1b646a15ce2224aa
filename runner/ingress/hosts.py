"""The project of a ``Host`` field."""

from __future__ import annotations

from runner.domains import canonical_host

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


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
