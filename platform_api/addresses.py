"""Which addresses and host names belong to the public network."""

from __future__ import annotations

import ipaddress

from language import is_public_address

#: Names that are never in the public network: RFC 6761, 6762, 8375, and those that ICANN reserves for private use.
_PRIVATE_NAMES = (
    "localhost",
    "local",
    "internal",
    "home.arpa",
    "lan",
    "intranet",
    "private",
    "corp",
    "home",
    "test",
    "invalid",
)


def is_private_host(host: str) -> bool:
    """Whether a host, perhaps with wildcards, is outside of the public network, judged by its text alone.

    Args:
        host: an address without brackets, or a name; in any case. ``*`` alone names everything, and is not private.
    """
    host = host.rstrip(".").lower()
    labels = host.split(".")
    if ":" in host or labels[-1].isdigit():
        return not is_public_address(host)  # an address; one with wildcards in it is none that is public
    if len(labels) < 2:
        return host != "*"
    return any(host == name or host.endswith(f".{name}") for name in _PRIVATE_NAMES)


def counted_as(address: str) -> str:
    """The key for counting requests of an address. For IPv6 it is the /64 network, which belongs to one customer."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
