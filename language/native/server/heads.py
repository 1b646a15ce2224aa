"""The head of a reply as bytes (RFC 9112 section 4), framing included."""

from __future__ import annotations

from http import HTTPStatus
from time import gmtime, time
from typing import TYPE_CHECKING

from language.serve.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

_REASONS = {status.value: status.phrase for status in HTTPStatus}
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
#: Statuses whose reply has neither a body nor a ``Content-Length``.
_UNSIZED = frozenset({304})
_UPGRADE_REQUIRED = 426
#: Fields that only the server sets.
_FRAMING = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive", "date"})
_BREAKS = ("\r", "\n", "\0")

#: (status, content type) → the head up to the length. It includes the date of :data:`_second`.
_starts: dict[tuple[int, str | None], bytes] = {}
_second = 0
_MOST_STARTS = 200


class HeaderInjection(ValueError):
    """A header field whose value would begin another field (header injection)."""


def sized_head(reply: Reply, length: int, connection: bytes = b"") -> bytes:
    """The head of a reply with a body of ``length`` bytes. ``connection`` is a whole ``Connection`` line, or empty.

    Raises :class:`HeaderInjection`.
    """
    global _second
    now = int(time())
    if now != _second:
        _starts.clear()
        _second = now
    key = (reply.status, reply.content_type)
    start = _starts.get(key) or _start(*key)
    if reply.status == _UPGRADE_REQUIRED:  # RFC 9110 section 7.8: Upgrade is a field of this connection
        connection = b"Connection: %bupgrade\r\n" % (b"close, " if b"close" in connection.lower() else b"")
    size = b"" if reply.status in _UNSIZED and not length else b"Content-Length: %d\r\n" % length
    if not reply.headers:
        return b"%b%b%b\r\n" % (start, size, connection)
    return b"%b%b%b%b\r\n" % (start, size, fields(reply.headers), connection)


def unsized_head(reply: Reply) -> bytes:
    """The head of a reply whose end is the end of the connection."""
    return b"%b%bConnection: close\r\n\r\n" % (_start(reply.status, reply.content_type), fields(reply.headers))


def fields(headers: Sequence[tuple[str, str]], charset: str = "utf-8") -> bytes:
    """Header fields as lines, without those of the framing. Raises :class:`HeaderInjection`.

    RFC 9110 section 5.5 knows ASCII and opaque octets. Other characters that a program writes are sent as UTF-8. Fields
    received over the wire are octets as ``latin-1`` text and are sent unchanged.
    """
    lines = []
    for name, value in headers:
        text = f"{name}: {value}\r\n"
        if text.count("\n") != 1 or text.count("\r") != 1 or "\0" in text or ":" in name:
            raise HeaderInjection(f"a header field {name!r} with a line end or NUL in it")
        if name.lower() not in _FRAMING:
            lines.append(text.encode(charset, "replace"))
    return b"".join(lines)


def status_line(status: int) -> bytes:
    return f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}\r\n".encode("ascii")


def _start(status: int, content_type: str | None) -> bytes:
    start = status_line(status) + date_line(int(time()))
    if content_type is not None:
        start += fields([("Content-Type", content_type)])
    if len(_starts) < _MOST_STARTS:
        _starts[(status, content_type)] = start
    return start


def date_line(seconds: int) -> bytes:
    """The ``Date`` field in the form of RFC 9110 section 5.6.7, independent of the locale."""
    year, month, day, hour, minute, second, weekday, _, _ = gmtime(seconds)
    return (f"Date: {_DAYS[weekday]}, {day:02} {_MONTHS[month - 1]} {year} {hour:02}:{minute:02}:{second:02} GMT\r\n").encode(
        "ascii"
    )


def error(status: int, message: str, *, closes: bool = False) -> Reply:
    """An error reply of the server itself."""
    import json  # not needed at start

    body = json.dumps({"error": message, "status": status}).encode("ascii")
    return Reply(status, "application/json", body, closes=closes)
