"""Which addresses and host names belong to the public network."""

from __future__ import annotations

import ipaddress

from language import is_public_address

#: Names that never lie in the public network: RFC 6761, 6762, 8375, and what ICANN keeps for private use.
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
    """Whether a host, perhaps with wildcards, names something outside of the public network as far as its text says.

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
    """What the requests of an address are counted under: of IPv6 its network of 64 bits, all of which one customer has."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
