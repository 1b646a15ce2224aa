"""Turns the value that a route gives into the record of the reply: status, content type, headers, body."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.serve.paging import Page, page_of
from language.serve.reply import Reply
from language.serve.response_values import ResponseValue
from language.values.json_encoding import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.serve.request import Request
    from language.values import Secret

JSON = "application/json"
OCTETS = "application/octet-stream"
#: Statuses whose replies never have a body (RFC 9110 section 15).
_BODILESS = frozenset((204, 205, 304))


def shape(
    value: Any,
    request: Request | None = None,
    *,
    format: str | None = None,
    redacted: Callable[[], None] | None = None,
    stylesheet: Callable[[Request], str | None] | None = None,
) -> Reply:
    """The reply for the value that a route gave.

    ``format`` is the form of a content tree that the suffix of the path names (``html``, ``markdown``, ``json``); without one
    ``Accept`` decides. ``redacted`` is called once if the value contains secrets, which the client gets as ``"[redacted]"``.
    ``stylesheet`` returns the URL of the stylesheet for a content tree that names none. Raises ``RuntimeFault`` for a value
    that is nested too deep and for a status that is not valid.
    """
    kind = value.__class__
    if kind is dict or kind is str:
        return Reply(200, JSON, json_text(value, redacted).encode("ascii"))
    if kind is ResponseValue:
        return _response(value, request, format, redacted, stylesheet)
    if kind is list:
        value = page_of(value, "" if request is None else request.query_text).envelope()
    elif kind is Page:
        value = value.envelope()
    elif kind is bytes:
        return Reply(200, OCTETS, value)
    elif getattr(kind, "negotiable", False):
        return _negotiated(value, request, format, redacted, stylesheet)
    return Reply(200, JSON, json_text(value, redacted).encode("ascii"))


def json_text(value: Any, redacted: Callable[[], None] | None = None) -> str:
    """The JSON text of any value, as Python's ``json.dumps`` writes it with its defaults.

    ``redacted`` is called once if the value contains secrets. Raises ``RuntimeFault`` for a value that is nested too deep.
    """
    return encode(value, "give", _told(redacted), tasks=True)


def error_reply(status: int, message: str, extra: dict[str, Any] | None = None, *, closes: bool = False) -> Reply:
    """``{"error": message, "status": status}`` with further fields, as for every error of the runtime."""
    body: dict[str, Any] = {"error": message, "status": status}
    if extra is not None:
        body.update(extra)
    return Reply(status, JSON, json_text(body).encode("ascii"), closes=closes, message=message)


def _response(
    given: ResponseValue,
    request: Request | None,
    format: str | None,
    redacted: Callable[[], None] | None,
    stylesheet: Callable[[Request], str | None] | None,
) -> Reply:
    if given.status < 200:
        raise RuntimeFault(f"give: the status {given.status} announces a reply and cannot be one")
    headers = list(given.headers)
    if given.kind == "redirect":
        return Reply(given.status, None, b"", [("Location", ascii_url(given.value)), *headers])
    if given.kind == "envelope":
        reply = shape(given.value, request, format=format, redacted=redacted, stylesheet=stylesheet)
        reply.status = given.status
        reply.headers += headers
    else:
        body = given.value if given.value.__class__ is bytes else given.value.encode("utf-8")
        reply = Reply(given.status, given.content_type, body, headers, compressible=given.compressible)
    if reply.status in _BODILESS:
        reply.content_type, reply.body = None, b""
    return reply


def _negotiated(
    value: Any,
    request: Request | None,
    format: str | None,
    redacted: Callable[[], None] | None,
    stylesheet: Callable[[Request], str | None] | None,
) -> Reply:
    if format is None:
        from language.serve.negotiation import format_of

        format = format_of(None, None if request is None else request.field("accept"))
    default = None if stylesheet is None or request is None else stylesheet(request)
    content_type, body = value.rendered(format, _told(redacted), default)
    return Reply(200, content_type, body.encode("utf-8"), [("Vary", "Accept")])


def ascii_url(url: str) -> str:
    """A URL in ASCII (RFC 3986): all other characters are percent-encoded as UTF-8."""
    if url.isascii() and " " not in url:
        return url
    return "".join(
        character if "!" <= character <= "~" else "".join(f"%{byte:02X}" for byte in character.encode("utf-8"))
        for character in url
    )


def _told(redacted: Callable[[], None] | None) -> Callable[[Secret], None] | None:
    if redacted is None:
        return None

    told = False

    def on_secret(_: Secret) -> None:
        nonlocal told
        if not told:
            told = True
            redacted()

    return on_secret
