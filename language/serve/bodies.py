"""Reads what a request carries: query, cookies, JSON, forms."""

from __future__ import annotations

from language.values import type_of
from language.values.byte_sizes import BEYOND_ANY, size_in_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from language.serve.request import Request

#: The most bytes of a body without ``max_body``. A longer body is stored in a file.
DEFAULT_MAX_BODY = 1_048_576
#: The most fields of one form of ``application/x-www-form-urlencoded``.
MOST_FIELDS = 10_000
#: Decoding percent-encoded text needs about 180 times its length in memory, so long values are decoded in steps.
_DECODED_AT_ONCE = 16 * 1024

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_UNBOUNDED = frozenset(("unlimited", "none", "off", "0"))


class BadForm(ValueError):
    """A body of a form type that is not valid or has too many parts. The text may be sent to the client."""


def query_map(text: str, lists: Container[str] = ()) -> dict[str, Any]:
    """The fields of a query or of a form of that encoding (WHATWG URL, section 5.1).

    ``+`` is a blank, percent-encoded UTF-8 is decoded, invalid bytes become U+FFFD. Fields without a name are dropped. A field
    without ``=`` is the empty text. Of a repeated name the last counts; fields named in ``lists`` are lists of all values.
    """
    if not text:
        return {}
    decoded = "%" in text or "+" in text
    fields: dict[str, Any] = {}
    for part in text.split("&"):
        name, _, value = part.partition("=")
        if decoded:
            name, value = _decoded(name), _decoded(value)
        if name in lists:
            fields.setdefault(name, []).append(value)
        elif name:
            fields[name] = value
    return fields


def cookie_map(header: str | None) -> dict[str, str]:
    """The cookies of a ``Cookie`` header, without decoding. Of a repeated name the first counts, which is the one of the
    longest path (RFC 6265 section 5.4). Segments without a name or without ``=`` are skipped.
    """
    cookies: dict[str, str] = {}
    if header:
        for segment in header.split(";"):
            name, equals, value = segment.strip(" \t").partition("=")
            if name and equals and name not in cookies:
                cookies[name] = value
    return cookies


def parse_json(body: bytes) -> Any:
    """The value of a JSON body (RFC 8259) as ``json_decode`` gives it; a byte order mark is ignored.

    Raises ``ValueError`` for a text that is not JSON or not UTF-8, is nested too deep, or has too long numbers.
    """
    from language.values.json_decoding import parse

    return parse(body.decode("utf-8"))


def is_form(request: Request) -> bool:
    """Whether the ``Content-Type`` is that of a form."""
    return _media_type(request) in _FORMS


def form_map(request: Request, lists: Container[str] = ()) -> dict[str, Any]:
    """The fields of a form; empty if the body is not a form. Text fields are texts, files are ``{filename, content_type,
    data}``. Of a repeated name the last counts, of names in ``lists`` a list of all. A body in a file is read from there.

    Raises :class:`BadForm`.
    """
    content_type = request.field("content-type")
    if content_type is None:
        return {}
    media_type = _media_type(request)
    if media_type == "multipart/form-data":
        from language.serve.multipart import boundary_of, fields_of

        return fields_of(request.body, request.body_file, boundary_of(content_type), lists)
    if media_type == "application/x-www-form-urlencoded":
        body = request.body
        if request.body_file is not None:
            with open(request.body_file, "rb") as file:
                body = file.read()
        if body.count(b"&") >= MOST_FIELDS:
            raise BadForm("malformed form body: too many fields")
        return query_map(body.decode("utf-8", "replace"), lists)
    return {}


def _media_type(request: Request) -> str:
    return (request.field("content-type") or "").partition(";")[0].strip(" \t").lower()


def parse_size(value: Any) -> int | None:
    """The limit in bytes that a value of ``max_body`` stands for; ``None`` for no limit. An invalid value stands for the
    default.
    """
    kind = type_of(value)
    if kind in ("number", "decimal"):
        return _size_of_number(value if kind == "number" else value.to_float())
    if kind != "text":
        return DEFAULT_MAX_BODY
    text = value.strip().lower()
    if text in _UNBOUNDED:
        return None
    size = size_in_bytes(text)
    if size is None:
        return DEFAULT_MAX_BODY
    return size if 0 < size < BEYOND_ANY else None


def _size_of_number(number: Any) -> int | None:
    if number != number:
        return DEFAULT_MAX_BODY
    if number <= 0 or number == float("inf"):
        return None
    return int(number) or None


def _decoded(text: str) -> str:
    if "+" in text:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    from urllib.parse import unquote, unquote_to_bytes

    if len(text) <= _DECODED_AT_ONCE:
        return unquote(text, errors="replace")
    data = text.encode("utf-8")
    parts = []
    start = 0
    while start < len(data):
        end = start + _DECODED_AT_ONCE
        cut = data.rfind(b"%", end - 2, end) if end < len(data) else -1
        end = end if cut < 0 else cut  # never cuts inside a percent-encoded byte
        parts.append(unquote_to_bytes(data[start:end]))
        start = end
    return b"".join(parts).decode("utf-8", "replace")
