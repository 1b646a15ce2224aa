"""All outgoing connections: a name is resolved once, every address of it is checked, and forwarded to another server.

Connecting by name again after a check would let the owner of the name answer the second lookup with another address (DNS
rebinding). Every client of the native host takes its addresses from here: HTTP, databases, webhooks, and requests that are
forwarded to another server.

Under a runner (``--host-link``) a connector replaces this: it requests each connection from the runner, and this process
resolves no names.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable, Iterator

from language.capabilities.reserved_addresses import reserved_address
from language.waits import POLLING_INTERVAL, interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Forward(Protocol):
        """A loopback address that forwards its connections to one destination, for libraries that need an address."""

        address: str
        port: int

        def close(self) -> None:
            """Stops listening. Connections that are open stay open."""

    class Connector(Protocol):
        """Makes all connections of this process. ``capability`` is ``net``, ``db`` or ``llm``."""

        def connect(self, host: str, port: int, capability: str, seconds: float) -> socket.socket:
            """A connected socket in blocking mode without a timeout. Raises ``OSError``."""

        def forward(self, host: str, port: int, capability: str, seconds: float) -> Forward:
            """A loopback address that forwards to ``host`` and ``port``. Raises ``OSError``, also if the first connection
            fails.
            """


#: Resolves a host name and a port to addresses, the preferred one first. Raises ``OSError``.
Resolver = Callable[[str, int], list[str]]
#: Called with a reserved address and a port. Raises when it may not be connected to.
AddressCheck = Callable[[str, int], None]


_connectors: list[Connector] = []


def connect_through(connector: Connector) -> None:
    """Makes every further connection of this process through ``connector``."""
    _connectors[:] = [connector]


def connector() -> Connector | None:
    """The connector that makes the connections of this process; ``None`` when the process makes them itself."""
    return _connectors[-1] if _connectors else None


#: Seconds after which resolving a name fails. The system itself repeats queries that a name server does not answer.
_RESOLVE_SECONDS = 60.0
_UNDER_WAY = frozenset((errno.EINPROGRESS, errno.EALREADY, errno.EWOULDBLOCK))


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, the preferred one first. Raises ``OSError``.

    The system call cannot be interrupted. It is therefore made in a thread of its own, which is abandoned when the waiting
    thread is cancelled.
    """
    if _is_address(host):
        return _looked_up(host, port)
    answers: list[list[str]] = []
    failures: list[Exception] = []
    done = allocate_lock()
    done.acquire()

    def look_up() -> None:
        try:
            answers.append(_looked_up(host, port))
        except Exception as failure:
            failures.append(failure)
        finally:
            done.release()

    try:
        start_new_thread(look_up, ())
    except RuntimeError:  # no more threads
        look_up()
    if not interruptible_wait(done, _RESOLVE_SECONDS):
        raise TimeoutError("the name is not resolved in time")
    if failures:
        raise failures[0]
    return answers[0]


def _looked_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
        return True
    return False


def writable(connection: socket.socket, seconds: float) -> bool:
    """Waits until a socket is writable or has failed. Returns false after ``seconds``."""
    return _ready(connection, seconds, "POLLOUT")


def readable(connection: socket.socket, seconds: float) -> bool:
    """Waits until a socket is readable or has failed. Returns false after ``seconds``."""
    return _ready(connection, seconds, "POLLIN")


def _ready(connection: socket.socket, seconds: float, event: str) -> bool:
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(connection, getattr(select, event))
        return bool(poll.poll(max(seconds, 0) * 1000))
    wanted = [connection]
    reading, writing = (wanted, []) if event == "POLLIN" else ([], wanted)
    return any(select.select(reading, writing, wanted, max(seconds, 0)))


def connected(address: str, port: int, seconds: float) -> socket.socket:
    """A TCP connection to an address, made within ``seconds``; the socket is blocking, without a timeout. Raises ``OSError``.

    No system call blocks for longer than a polling interval, so that a cancellation can be delivered between two of them.
    """
    end = time.monotonic() + seconds
    family, kind, protocol, _, place = socket.getaddrinfo(
        address, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    )[0]
    connection = socket.socket(family, kind, protocol)
    try:
        connection.setblocking(False)
        failed = connection.connect_ex(place)
        while failed in _UNDER_WAY:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError("no answer in time")
            if writable(connection, min(left, POLLING_INTERVAL)):
                failed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if failed:
            raise OSError(failed, os.strerror(failed))
        connection.setblocking(True)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        connection.close()
        raise
    return connection


def checked_addresses(host: str, port: int, check: AddressCheck, resolver: Resolver | None = None) -> list[str]:
    """The addresses of a host that may be connected to, the preferred one first.

    If one address of a name is reserved, the name is checked as if it had that address alone. Raises ``OSError`` for a name
    that does not resolve, and what ``check`` raises.
    """
    addresses = (resolver or resolve)(host, port)
    if not addresses:
        raise OSError("it has no address")
    for address in addresses:
        if reserved_address(address):
            check(address.partition("%")[0], port)
    return addresses


def shares(addresses: list[str], end: float) -> Iterator[tuple[str, float]]:
    """Each address with its share of the remaining time in seconds, so that an address that does not answer leaves time for the
    others.
    """
    for tried, address in enumerate(addresses):
        share = (end - time.monotonic()) / (len(addresses) - tried)
        if share <= 0:
            return
        yield address, share


def connect(
    host: str, port: int, check: AddressCheck, seconds: float, resolver: Resolver | None = None, *, capability: str = "net"
) -> socket.socket:
    """A TCP connection to a checked address of the host, made within ``seconds``; the socket is blocking, without a timeout.

    ``capability`` is the one that it is made under. Raises ``OSError`` when no address can be reached, and what ``check``
    raises.
    """
    if _connectors:
        return _connectors[-1].connect(host, port, capability, seconds)
    failure: OSError = TimeoutError("no answer in time")
    for address, share in shares(checked_addresses(host, port, check, resolver), time.monotonic() + seconds):
        try:
            return connected(address, port, share)
        except OSError as error:
            failure = error
    raise failure
