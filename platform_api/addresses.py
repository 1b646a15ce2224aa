"""Which addresses and host names belong to the public network."""

from __future__ import annotations

import ipaddress

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
#: Global by the registry of IANA, and yet the inside of a cloud: the machine's own host at Azure, the metadata services of
#: Alibaba and Oracle. 6to4 (RFC 7526) carries any IPv4 address and is used by nobody any more. 3fff::/20 is for documentation
#: (RFC 9637), which older versions of Python do not know.
_INSIDE = tuple(
    ipaddress.ip_network(network)
    for network in (
        "168.63.129.16/32",
        "100.64.0.0/10",
        "192.0.0.0/24",
        "198.18.0.0/15",
        "2002::/16",
        "64:ff9b:1::/48",
        "2001::/23",
        "192.88.99.0/24",
        "3fff::/20",
    )
)
#: Where every IPv6 address of the Internet lies (RFC 4291, 2.4). What is outside, such as the old site-local ``fec0::/10``, is
#: routed inside of some networks.
_UNICAST = ipaddress.ip_network("2000::/3")


def is_public(address: str) -> bool:
    """Whether an address, as text, is one that everybody on the Internet reaches by that same text.

    An IPv6 address that carries an IPv4 address is not, whatever it carries. What is no address is not either.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if (
        "%" in address
        or not parsed.is_global
        or parsed.is_multicast
        or parsed.is_reserved
        or parsed.is_unspecified
        or parsed.is_private
        or (parsed.version == 6 and parsed not in _UNICAST)
    ):
        return False
    return not any(parsed in network for network in _INSIDE if network.version == parsed.version)


def is_private_host(host: str) -> bool:
    """Whether a host, perhaps with wildcards, names something outside of the public network as far as its text says.

    Args:
        host: an address without brackets, or a name; in any case. ``*`` alone names everything, and is not private.
    """
    host = host.rstrip(".").lower()
    labels = host.split(".")
    if ":" in host or labels[-1].isdigit():
        return not is_public(host)  # an address; one with wildcards in it is none that is public
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
