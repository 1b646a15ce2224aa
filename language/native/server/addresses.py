"""The client's address and scheme, and which proxies in front of the server may state them."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from language.native.server.listening import UNIX

if TYPE_CHECKING:
    from collections.abc import Iterable
    from ipaddress import IPv4Network, IPv6Network

    from language.serve.request import Request


def networks(listed: Iterable[str]) -> tuple[IPv4Network | IPv6Network, ...]:
    """The trusted proxies of a list of addresses and CIDRs. ``unix:``, which stands for every client of a Unix socket, is
    skipped.

    Raises ``ValueError`` that names the first item that is not an address.
    """
    found = []
    for item in listed:
        if item.strip() == UNIX:
            continue
        try:
            found.append(ip_network(item.strip(), strict=False))
        except ValueError:
            raise ValueError(f"'{item.strip()}' is neither an address nor a network") from None
    return tuple(found)


def split_list(text: str) -> list[str]:
    """The items of a comma-separated list, empty ones left out."""
    return [item.strip() for item in text.split(",") if item.strip()]


class Trust:
    """The proxies whose ``X-Forwarded-For``, ``-Proto`` and ``-Host`` are trusted."""

    __slots__ = ("_any", "_known", "_networks")

    def __init__(self, trusted: tuple[IPv4Network | IPv6Network, ...], *, unix: bool = False) -> None:
        self._networks = trusted
        self._known: dict[str, bool] = {UNIX: unix}
        self._any = unix or bool(trusted)

    def __bool__(self) -> bool:
        return self._any

    def includes(self, address: str) -> bool:
        """Whether this address is a trusted proxy; false for a text that is not an address."""
        known = self._known.get(address)
        if known is None:
            try:
                parsed = ip_address(address)
            except ValueError:
                return False
            known = any(parsed in network for network in self._networks)
            if len(self._known) < 1000:
                self._known[address] = known
        return known

    def apply(self, request: Request) -> None:
        """Replaces the address of a trusted proxy by that of its client: the rightmost address that is not itself trusted."""
        if not self.includes(request.address):
            return
        hops = [hop for name, value in request.fields if name == "x-forwarded-for" for hop in split_list(value)]
        for hop in reversed(hops):
            address = _bare(hop)
            if address is None:
                break  # addresses before an invalid one cannot be trusted
            request.address = address
            if not self.includes(address):
                break
        scheme = request.field("x-forwarded-proto")
        if scheme is not None:
            # The last item was added by the nearest proxy, which is trusted.
            request.secure = scheme.rpartition(",")[2].strip().lower() == "https"
        host = request.field("x-forwarded-host")
        if host is not None:
            request.public_host = host.rpartition(",")[2].strip()


def plain(address: str) -> str:
    """A socket's address as text; an IPv4 address mapped to IPv6 in its IPv4 form."""
    address = address.partition("%")[0]
    return address[7:] if address.startswith("::ffff:") and "." in address else address


def _bare(hop: str) -> str | None:
    """An address of ``X-Forwarded-For`` without port and brackets; ``None`` for anything else."""
    text = hop.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return plain(str(ip_address(text)))
    except ValueError:
        return None
