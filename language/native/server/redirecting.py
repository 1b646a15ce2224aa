"""``redirect https``: a listener on port 80 that redirects every request to the encrypted one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from language.serve.reply import Reply

if TYPE_CHECKING:
    from language.serve.request import Request

_MOST_BODY = 64 * 1024


class Redirect:
    """The application of that listener. ``port`` is the one of the encrypted listener."""

    in_flight: int = 0

    def __init__(self, port: int) -> None:
        self._port = "" if port == 443 else f":{port}"

    def body_limit(self, request: Request) -> int | None:
        return _MOST_BODY

    def is_reserved(self, request: Request) -> bool:
        return True

    def respond(self, request: Request) -> Reply:
        if not request.host:
            return Reply(400, "text/plain; charset=utf-8", b"no host\n", closes=True)
        query = "?" + request.query_text if request.query_text else ""
        path = request.path if request.path.startswith("/") else "/"
        location = f"https://{request.host}{self._port}{path}{query}"
        if not location.isascii():  # the octets as received
            location = "".join(letter if letter.isascii() else f"%{ord(letter):02X}" for letter in location)
        return Reply(301, None, b"", [("Location", location)])

    def too_large(self, request: Request) -> Reply:
        return Reply(413, "text/plain; charset=utf-8", b"payload too large\n", closes=True)

    def stopping(self, request: Request) -> Reply:
        return Reply(503, None, b"", [("Retry-After", "2")], closes=True)

    def begin_shutdown(self) -> None:
        return

    def close_gates(self) -> None:
        return

    def cancel_all(self) -> None:
        return
