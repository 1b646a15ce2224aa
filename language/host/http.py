"""One HTTP exchange as the door of the host takes it: what is asked, what came back, and why nothing came."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from language.capabilities.scopes import NetTarget

    Enough = Callable[[int, list[tuple[str, str]]], Callable[[bytes], bool] | None]

    class Http(Protocol):
        """The ``http`` door of a host."""

        def exchange(self, request: HttpRequest) -> HttpReply:
            """Carries one request out, redirects not followed.

            Raises ``TransportFailure`` when no whole answer came, and what ``request.check_address`` raises.
            """


#: The largest body of a response that is read unless the environment sets ``PLATFORM_HTTP_MAX_BYTES``.
MOST_BODY = 64 * 1024 * 1024


class TransportFailure(Exception):
    """No whole answer came: name resolution, connection, TLS, timeout, a malformed response. The text shows no URL."""


class HttpRequest:
    """What is sent to a checked target.

    ``path`` is ASCII with the query, ``headers`` are those of the program and of the language (not ``Host``,
    ``Content-Length``), ``timeout`` is the longest silence in seconds, ``most`` the largest body that is wanted of the answer.
    ``check_address(address, port)`` raises for a reserved address that nobody granted; it is asked before the connection to
    such an address (``language.capabilities.reserved_addresses``).

    A door that can reads no further than it has to: ``total`` are the seconds for the exchange as a whole, and ``enough`` is
    asked with status and headers once they have come; what it answers is called with each piece of the body until it says that
    the rest is not wanted.
    """

    __slots__ = ("body", "check_address", "enough", "headers", "method", "most", "path", "target", "timeout", "total")

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


class HttpReply:
    """An answer: its status, its headers in the order and spelling of the server, its body as it was transferred."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


def too_large(most: int) -> TransportFailure:
    """The failure of an answer whose body is larger than the bound."""
    return TransportFailure(f"the response body is larger than {most} bytes")
