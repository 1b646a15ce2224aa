"""The one way out: a name is resolved once, every address it has is checked, and a checked address is what is connected to.

Who connects by name again after a check lets the owner of the name answer the second question otherwise. Every client of the
native host takes its addresses from here: HTTP, databases, webhooks, and what is passed on to another server.

Where a runner holds the network (``--host-link``), a connector stands here instead: it asks the runner for each connection, and
no name is resolved in this process.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

from language.capabilities.reserved_addresses import reserved_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Forward(Protocol):
        """A loopback address whose connections go on to one place, for libraries that want an address."""

        address: str
        port: int

        def close(self) -> None:
            """Accepts nothing more; what is connected goes on."""

    class Connector(Protocol):
        """Who makes all connections of this process. ``capability`` is ``net``, ``db`` or ``llm``."""

        def connect(self, host: str, port: int, capability: str, seconds: float) -> socket.socket:
            """A connected socket that blocks without a limit. Raises ``OSError``."""

        def forward(self, host: str, port: int, capability: str, seconds: float) -> Forward:
            """The same as an address. Raises ``OSError``, also where the first connection cannot be made."""


#: From a host name and a port to the addresses to try, the best first. Raises ``OSError``.
Resolver = Callable[[str, int], list[str]]
#: Raises for a reserved address, given with the port, that may not be reached.
AddressCheck = Callable[[str, int], None]


_connectors: list[Connector] = []


def connect_through(connector: Connector) -> None:
    """From now on every connection of this process is made by ``connector``."""
    _connectors[:] = [connector]


def connector() -> Connector | None:
    """Who makes the connections of this process, where it does not itself."""
    return _connectors[-1] if _connectors else None


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, the best first. Raises ``OSError``."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def checked_addresses(host: str, port: int, check: AddressCheck, resolver: Resolver | None = None) -> list[str]:
    """The addresses of a host that may be connected to, the best first.

    A name that leads to a reserved address among others is as suspect as one that leads there alone. Raises ``OSError`` for a
    name that does not resolve, and what ``check`` raises.
    """
    addresses = (resolver or resolve)(host, port)
    if not addresses:
        raise OSError("it has no address")
    for address in addresses:
        if reserved_address(address):
            check(address.partition("%")[0], port)
    return addresses


def shares(addresses: list[str], end: float) -> Iterator[tuple[str, float]]:
    """Each address with the seconds that it may take, so that one which does not answer leaves time for the others."""
    for tried, address in enumerate(addresses):
        share = (end - time.monotonic()) / (len(addresses) - tried)
        if share <= 0:
            return
        yield address, share


def connect(
    host: str, port: int, check: AddressCheck, seconds: float, resolver: Resolver | None = None, *, capability: str = "net"
) -> socket.socket:
    """A TCP connection to a checked address of the host, within ``seconds`` in all; the socket blocks without a limit.

    ``capability`` is what it is made under. Raises ``OSError`` when none is reached, and what ``check`` raises.
    """
    if _connectors:
        return _connectors[-1].connect(host, port, capability, seconds)
    failure: OSError = TimeoutError("no answer in time")
    for address, share in shares(checked_addresses(host, port, check, resolver), time.monotonic() + seconds):
        try:
            connection = socket.create_connection((address, port), timeout=share)
        except OSError as error:
            failure = error
            continue
        connection.settimeout(None)
        return connection
    raise failure
