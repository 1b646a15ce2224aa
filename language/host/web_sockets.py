"""The interface of a host's WebSocket client (RFC 6455): a request to open one, and the error when that fails."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from language.capabilities.scopes import NetTarget


class CannotOpen(Exception):
    """The WebSocket could not be opened: name resolution, connection, TLS, timeout, or an answer that is not a valid handshake.
    The text shows no URL.
    """


class SocketRequest:
    """A WebSocket to a checked target, whose scheme is ``ws`` or ``wss``.

    ``path`` is ASCII and includes the query. ``headers`` are those of the program. ``seconds`` is how long opening may take.
    ``most_message`` is the largest message that is received, in bytes. ``check_address(address, port)`` raises for a reserved
    address that no grant names; it is called before a connection to such an address.
    """

    __slots__ = ("check_address", "headers", "most_message", "path", "protocols", "seconds", "target")

    def __init__(
        self,
        target: NetTarget,
        path: str,
        headers: list[tuple[str, bytes]],
        protocols: list[str],
        seconds: float,
        most_message: int,
        check_address: Callable[[str, int], None],
    ) -> None:
        self.target = target
        self.path = path
        self.headers = headers
        self.protocols = protocols
        self.seconds = seconds
        self.most_message = most_message
        self.check_address = check_address
