"""Which addresses are public: a single rule for every service that connects on behalf of others."""

from __future__ import annotations

from functools import cache

from language.capabilities.reserved_addresses import reserved_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

#: Not public, beyond the ranges that ``ipaddress`` knows: global in IANA's registry but internal to a network, or missing in
#: some supported version of Python.
_INSIDE = (
    "168.63.129.16/32",  # the machine's own host at Azure
    "100.64.0.0/10",  # RFC 6598, and the metadata service of Alibaba Cloud
    "192.0.0.0/24",  # RFC 6890, and the metadata service of Oracle Cloud
    "198.18.0.0/15",  # RFC 2544
    "192.88.99.0/24",  # RFC 7526: relays of 6to4, now obsolete
    "2001::/23",  # RFC 2928: Teredo, which carries IPv4 addresses, and others with a purpose of their own
    "2002::/16",  # RFC 3056: 6to4, which carries IPv4 addresses
    "3fff::/20",  # RFC 9637: documentation
)
#: The range of all public IPv6 addresses (RFC 4291, section 2.4). Addresses outside of it are routed inside some networks, such
#: as the old site-local ``fec0::/10``, or carries an IPv4 address.
_UNICAST = "2000::/3"


def is_public_address(address: str) -> bool:
    """Whether an address, as text, is public.

    An IPv6 address that embeds an IPv4 address is not, whichever it embeds. Neither is an address with a zone, nor a text that
    is not an address.
    """
    from ipaddress import ip_address

    if "%" in address:
        return False
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if (
        not parsed.is_global
        or parsed.is_multicast
        or parsed.is_reserved
        or parsed.is_unspecified
        or parsed.is_private
        or reserved_address(address) is not None
    ):
        return False
    inside, unicast = _networks()
    if parsed.version == 6 and parsed not in unicast:
        return False
    return not any(parsed in network for network in inside if network.version == parsed.version)


@cache
def _networks() -> tuple[tuple[IPv4Network | IPv6Network, ...], IPv6Network]:
    from ipaddress import IPv6Network, ip_network

    return tuple(map(ip_network, _INSIDE)), IPv6Network(_UNICAST)
