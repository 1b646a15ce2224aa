"""The access log: one line for each request, in the combined log format of Apache and nginx.

It contains no query, neither of the address nor of ``Referer``, because queries can contain tokens. It contains nothing after
``/approvals/``, which may be the token of a gate.
"""

from __future__ import annotations

from language.serve.approvals import shown_path
from language.serve.reply import FileReply, ProxyReply, SocketReply, StreamReply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from language.serve.reply import Reply, Sink, SocketChannel
    from language.serve.request import Request

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
#: The most characters of a field of the line.
_LONGEST = 2048


def access_line(request: Request, status: int, size: int | None, now: float) -> str:
    """The line of an answered request.

    ``size`` is the bytes of the body that was sent, ``None`` where they were not counted; ``now`` is in Unix seconds. The user
    is always ``-``, the time in UTC.
    """
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(now, UTC)
    date = f"{moment:%d}/{_MONTHS[moment.month - 1]}/{moment:%Y:%H:%M:%S} +0000"
    target = f"{_quoted(request.method)} {_quoted(shown_path(request.path))} HTTP/{request.version}"
    referer = _without_query(request.field("referer") or "-")
    agent = request.field("user-agent") or "-"
    sent = "-" if size is None else str(size)
    return f'{request.address or "-"} - - [{date}] "{target}" {status} {sent} "{_quoted(referer)}" "{_quoted(agent)}"'


def at_end(reply: Reply, request: Request, log: Callable[[int, int | None], None]) -> None:
    """Arranges that ``log(status, size)`` is called once: now for a reply of known length, at its end for a stream."""
    if isinstance(reply, StreamReply):
        produce = reply.produce

        def produced(sink: Sink) -> None:
            try:
                produce(sink)
            finally:
                log(reply.status, None)

        reply.produce = produced
    elif isinstance(reply, SocketReply):
        run = reply.run

        def talked(channel: SocketChannel) -> None:
            try:
                run(channel)
            finally:
                log(reply.status, None)

        reply.run = talked
    elif isinstance(reply, ProxyReply):
        failed, ended = reply.failed, reply.ended

        def refused(why: str) -> Reply:
            answer = failed(why)
            reply.status = answer.status
            return answer

        def over() -> None:
            log(reply.status, None)
            ended()

        reply.failed, reply.ended = refused, over
    else:
        size = reply.length if isinstance(reply, FileReply) else len(reply.body)
        log(reply.status, 0 if request.method == "HEAD" else size)


def _without_query(url: str) -> str:
    """A URL without its query, fragment, user and everything after ``/approvals/``."""
    scheme, mark, rest = url.partition("?")[0].partition("#")[0].partition("://")
    if not mark:
        return shown_path(scheme)
    place, slash, path = rest.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{shown_path(slash + path)}"


def _quoted(text: str) -> str:
    """A text in which quotes and all but printable ASCII are escaped as ``\\xhh``, for a quoted field of the log."""
    text = text[:_LONGEST]
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return "".join(_escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if " " <= letter <= "~":
        return letter
    octets = bytes((ord(letter),)) if ord(letter) < 256 else letter.encode("utf-8", "replace")
    return "".join(f"\\x{octet:02x}" for octet in octets)
