"""Reserved addresses: a wildcard or a host name never grants access to them; a grant must name the address itself.

At these addresses cloud providers serve the credentials of a machine. Without this rule, anybody who can choose a URL, or the
address that a name resolves to, could read them.
"""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

LINK_LOCAL = "a link-local address"
METADATA = "an address of a cloud's metadata service"

#: RFC 3927 and RFC 4291. In 169.254.0.0/16 lie the metadata services of AWS, Google Cloud, Azure, Oracle Cloud, IBM Cloud,
#: DigitalOcean, Hetzner, Tencent Cloud and OpenStack; OpenStack's own IPv6 address is fe80::a9fe:a9fe.
_LINK_LOCAL = ("169.254.0.0/16", "fe80::/10")
#: Metadata services in other ranges, which private networks use too. Each is documented by its provider; those with (*) are in
#: the data sources of cloud-init.
_METADATA = (
    "fd00:ec2::/32",  # AWS, "Amazon VPC: subnet CIDR blocks": ::254 metadata (*), ::23 EKS Pod Identity, ::253 DNS
    "100.100.100.200",  # Alibaba Cloud, "ECS: view instance metadata" (*)
    "fd20:ce::254",  # Google Cloud, "Compute Engine: query VM metadata", machines with IPv6 alone
    "168.63.129.16",  # Azure, "What is IP address 168.63.129.16": the wire server, which gives certificates and settings (*)
    "192.0.0.192",  # Oracle Cloud Infrastructure Classic, "Retrieving instance metadata"
    "fd00:c1::a9fe:a9fe",  # Oracle Cloud Infrastructure, "Getting instance metadata", machines with IPv6 alone (*)
    "fd00:42::42",  # Scaleway, "Instance metadata" (*)
    "fd00:a9fe:a9fe::1",  # Akamai (Linode), "Overview of the metadata service" (*)
)

#: The prefixes of IPv6 addresses that embed an IPv4 address: compatible and mapped (RFC 4291), translated (RFC 2765), NAT64
#: (RFC 6052).
_CARRIERS = frozenset((0, 0xFFFF, 0xFFFF0000, 0x64FF9B << 64))
#: 64:ff9b:1::/48 (RFC 8215).
_LOCAL_NAT64 = 0x64FF9B0001


def reserved_address(address: str) -> str | None:
    """The kind of a reserved IP address: ``LINK_LOCAL`` or ``METADATA``; ``None`` for any other address.

    An IPv6 form of an IPv4 address counts as that address. ``None`` also for a text that is not an IP address.
    """
    if not (address[:1].isdigit() or ":" in address):
        return None
    from ipaddress import ip_address

    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    for form in (found, *_carried(found)):
        for network, what in _networks():
            if form in network:
                return what
    return None


def _carried(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address may embed."""
    from ipaddress import IPv4Address

    if isinstance(address, IPv4Address):
        return []
    number = int(address)
    if number >> 32 in _CARRIERS:
        return [IPv4Address(number & 0xFFFFFFFF)]
    if number >> 80 == _LOCAL_NAT64:
        # A prefix of 48 or of 96 bits: the IPv4 address is around the zero octet, or at the end.
        return [IPv4Address((number >> 48 & 0xFFFF0000) | (number >> 40 & 0xFFFF)), IPv4Address(number & 0xFFFFFFFF)]
    return [] if address.sixtofour is None else [address.sixtofour]


@cache
def _networks() -> tuple[tuple[IPv4Network | IPv6Network, str], ...]:
    from ipaddress import ip_network

    listed = ((_LINK_LOCAL, LINK_LOCAL), (_METADATA, METADATA))
    return tuple((ip_network(text), what) for texts, what in listed for text in texts)
