"""What a request carries, read for the program: query, cookies, JSON, forms; and what a route asks of a body."""

from __future__ import annotations

from language.values import type_of
from language.values.byte_sizes import BEYOND_ANY, size_in_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from language.serve.request import Request

#: Bytes of a body that are taken unless ``max_body`` says otherwise; also above which a body goes into a file.
DEFAULT_MAX_BODY = 1_048_576
#: Fields of one form of ``application/x-www-form-urlencoded``.
MOST_FIELDS = 10_000
#: Percent signs take some 180 times their length in memory while they are decoded: long values are decoded in steps.
_DECODED_AT_ONCE = 16 * 1024

_UNBOUNDED = frozenset(("unlimited", "none", "off", "0"))


class BadForm(ValueError):
    """A body that says it is a form and is none, or one of more parts than are taken. The text is fit for the client."""


def query_map(text: str) -> dict[str, str]:
    """The fields of a query or of a form of that encoding (WHATWG URL, section 5.1).

    ``+`` is a blank, percent-encoded UTF-8 is decoded, invalid bytes become U+FFFD. Fields without a name are dropped, one
    without ``=`` is the empty text, of a repeated name the last counts.
    """
    if not text:
        return {}
    decoded = "%" in text or "+" in text
    fields: dict[str, str] = {}
    for part in text.split("&"):
        name, _, value = part.partition("=")
        if decoded:
            name, value = _decoded(name), _decoded(value)
        if name:
            fields[name] = value
    return fields


def cookie_map(header: str | None) -> dict[str, str]:
    """The cookies of a ``Cookie`` header as they stand, nothing decoded; of a repeated name the first (RFC 6265 section 5.4:
    the one of the longest path). Segments without a name or without ``=`` are skipped.
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

    Raises ``ValueError`` for what is no JSON, is not UTF-8, or is nested deeper or has longer numbers than are taken.
    """
    from language.values.json_decoding import parse

    return parse(body.decode("utf-8"))


def form_map(request: Request) -> dict[str, Any]:
    """The fields of a form, empty when the body is none: text fields as text, a file as ``{filename, content_type, data}``;
    of a repeated name the last. A body in a file is read from there. Raises :class:`BadForm`.
    """
    content_type = request.field("content-type")
    if content_type is None:
        return {}
    media_type = content_type.partition(";")[0].strip(" \t").lower()
    if media_type == "multipart/form-data":
        from language.serve.multipart import boundary_of, fields_of

        return fields_of(request.body, request.body_file, boundary_of(content_type))
    if media_type == "application/x-www-form-urlencoded":
        body = request.body
        if request.body_file is not None:
            with open(request.body_file, "rb") as file:
                body = file.read()
        if body.count(b"&") >= MOST_FIELDS:
            raise BadForm("malformed form body: too many fields")
        return query_map(body.decode("utf-8", "replace"))
    return {}


def check_expected(fields: Sequence[tuple[str, str]], body: Any) -> tuple[str, str | None] | None:
    """The first thing that is not as ``expect body {name: type, ...}`` declares: the message, and the field at fault, which is
    ``None`` for the body itself. ``None`` when all is well. ``body`` is the parsed JSON body or ``None``.
    """
    if body.__class__ is not dict:
        return "expected a JSON object body", None
    for name, wanted in fields:
        if name not in body:
            return f"missing field '{name}'", name
        got = type_of(body[name])
        if got != wanted:
            return f"field '{name}' must be {wanted}, got {got}", name
    return None


def parse_size(value: Any) -> int | None:
    """The bound in bytes that a value of ``max_body`` means; ``None`` for no bound. What cannot be read is the default."""
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
        end = end if cut < 0 else cut  # never through a triplet
        parts.append(unquote_to_bytes(data[start:end]))
        start = end
    return b"".join(parts).decode("utf-8", "replace")
