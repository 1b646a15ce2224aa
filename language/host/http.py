"""The HTTP interface of a host: a request, its response, and the reason of a failure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from language.capabilities.scopes import NetTarget

    Enough = Callable[[int, list[tuple[str, str]]], Callable[[bytes], bool] | None]

    class Http(Protocol):
        """The HTTP client of a host."""

        def exchange(self, request: HttpRequest) -> HttpReply:
            """Sends one request; redirects are not followed.

            Raises ``TransportFailure`` without a complete response, and what ``request.check_address`` raises.
            """


#: The largest response body that is read, in bytes, unless the environment sets ``PLATFORM_HTTP_MAX_BYTES``.
MOST_BODY = 64 * 1024 * 1024


class TransportFailure(Exception):
    """There was no complete response: name resolution, connection, TLS, timeout, malformed response. The text shows no URL."""


class NotConnected(TransportFailure):
    """No connection was made: nothing of the request has been sent."""


class HttpRequest:
    """A request to a checked target.

    ``path`` is ASCII and includes the query. ``headers`` are those of the program and of the language (not ``Host``,
    ``Content-Length``). ``timeout`` is the longest time without data in seconds. ``most`` is the largest accepted response
    body in bytes. ``check_address(address, port)`` raises for a reserved address that no grant names; it is called before a
    connection to such an address (``language.capabilities.reserved_addresses``).

    ``total`` is the time for the whole exchange in seconds. ``enough`` is called with status and headers when they have
    arrived. The function that it returns is called with each part of the body, until it returns that the rest is not needed.
    A host that cannot stop early reads the whole response.

    ``connect`` is the longest time to connect in seconds; ``None`` means ``timeout``. ``deadline()`` returns the monotonic time
    at which the exchange is given up; it is called again after each part of the body. A host without such times uses only
    ``timeout``.
    """

    __slots__ = (
        *("body", "check_address", "connect", "deadline", "enough", "headers"),
        *("method", "most", "path", "target", "timeout", "total"),
    )

    def __init__(
        self,
        method: str,
        target: NetTarget,
        path: str,
        headers: list[tuple[str, bytes]],
        body: bytes | None,
        timeout: int,
        check_address: Callable[[str, int], None],
        most: int | None = None,
        total: float | None = None,
        enough: Enough | None = None,
        *,
        connect: float | None = None,
        deadline: Callable[[], float] | None = None,
    ) -> None:
        self.method = method
        self.target = target
        self.path = path
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.check_address = check_address
        self.most = most
        self.total = total
        self.enough = enough
        self.connect = connect
        self.deadline = deadline


class HttpReply:
    """A response: its status, its headers in the server's order and spelling, its body as transferred."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


def too_large(most: int) -> TransportFailure:
    """The failure of a response whose body is larger than the limit."""
    return TransportFailure(f"the response body is larger than {most} bytes")
