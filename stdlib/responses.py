"""The responses of routes: a status and a form for a value. They can also be used outside of ``serve``."""

from __future__ import annotations

from language.capabilities import text_literal
from language.errors import RuntimeFault
from language.registry import Family
from language.serve.response_values import ResponseValue, text_response
from language.values import Secret, is_map, type_of
from language.values.display import display, number_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

family = Family("responses", "Responses")


@family.builtin("ok(x?)", reply="wraps@200")
def ok(x: Any = None) -> ResponseValue:
    """The response 200 with `x` as JSON, in pages when it is a list; `null` without `x`.

    `give ok({"saved": true})`
    """
    return _with_status(x, 200)


@family.builtin("created(x?)", reply="wraps@201")
def created(x: Any = None) -> ResponseValue:
    """The response 201 with `x` as JSON, as `ok` gives it.

    `give created({"id": 7})`
    """
    return _with_status(x, 201)


@family.builtin("not_found(x?)", reply="failure")
def not_found(x: Any = None) -> ResponseValue:
    """The response 404: a map as its JSON, any other value as `{"error": "...", "status": 404}` with its text.

    `give not_found("no pen 7")`; without `x` the error is `not found`.
    """
    if x is not None and is_map(x):
        return _with_status(x, 404)
    return _failure(404, "not found" if x is None else display(x))


@family.builtin("fail(code, message?)", reply="failure")
def fail(code: Any, message: Any = None) -> ResponseValue:
    """The response `{"error": message, "status": code}` with that status, 100 to 599.

    The two may be swapped and either left out: `fail(409, "taken")`, `fail("taken", 409)`, `fail("taken")` is 400,
    `fail(409)` says `error`.
    """
    if not _is_number(code) and (message is None or _is_number(message)):
        code, message = message, code
    if code is None:
        code = 400
    elif not _is_number(code):
        raise RuntimeFault(f"fail: one argument must be the status, got {type_of(code)} and {type_of(message)}", kind="type")
    return _failure(_status("fail", code), "error" if message is None else display(message))


@family.builtin("html(s)", reply="html")
def html(s: Any) -> ResponseValue:
    """The response 200 `text/html; charset=utf-8` with a text, which is not escaped.

    `give html("<h1>Pens</h1>")`
    """
    return text_response(display(s))


@family.builtin("respond(s, type?, status?)", reply="typed text/plain")
def respond(s: Any, type_: Any = None, status: Any = None) -> ResponseValue:
    """A text (or bytes), unchanged, of the content type `type` (default `text/plain; charset=utf-8`) and with the status
    `status` (default 200).

    `give respond("a,b\\n1,2\\n", "text/csv")`
    """
    if _is_number(s) and type_.__class__ is str and "/" not in type_ and 100 <= s <= 599:
        number, text = number_text(s), text_literal(type_)
        told = f'write `respond({text}, "text/plain", {number})`, or as JSON `fail({number}, {text})`'
        raise RuntimeFault("respond: the text comes first, then the content type, then the status", kind="type", help=told)
    content_type = "text/plain; charset=utf-8" if type_ is None else _content_type("respond", type_)
    code = 200 if status is None else _status("respond", status)
    return ResponseValue("raw", s if s.__class__ is bytes else display(s), code, content_type)


@family.builtin("binary(b, type?, status?)", reply="typed application/octet-stream")
def binary(b: Any, type_: Any = None, status: Any = None) -> ResponseValue:
    """Bytes, unchanged and never compressed, of the content type `type` (default `application/octet-stream`) and with the
    status `status` (default 200).

    `give binary(read_file_bytes("logo.png"), "image/png")`
    """
    if b.__class__ is not bytes:
        raise RuntimeFault(f"binary() expects bytes as the first argument, got {type_of(b)}", kind="type")
    content_type = "application/octet-stream" if type_ is None else _content_type("binary", type_)
    code = 200 if status is None else _status("binary", status)
    return ResponseValue("raw", b, code, content_type, compressible=False)


@family.builtin("redirect(url, status?)", reply="redirect")
def redirect(url: Any, status: Any = None) -> ResponseValue:
    """Sends the client on to another URL, with the status `status` (300 to 399, default 301, which clients cache).

    `give redirect("/login", 303)`
    """
    from stdlib.response_headers import has_control, has_line_end

    if type(url) is Secret:
        raise RuntimeFault(f"redirect(url): the URL cannot be the secret {url.names[0]}: everybody could read it")
    text = display(url)
    if not text:
        raise RuntimeFault("redirect(url): the URL must not be empty")
    if has_line_end(text):
        raise RuntimeFault("redirect(url): the URL must not contain CR or LF")
    if has_control(text) or "\t" in text:
        raise RuntimeFault("redirect(url): the URL must not contain control characters")
    code = 301 if status is None else _integer(status)
    if code is None or not 300 <= code <= 399:
        raise RuntimeFault(f"redirect(url, status): status must be 3xx, got {_shown(status)}")
    return ResponseValue("redirect", text, code)


@family.builtin("with_header(response, name, value)", reply="wraps")
def with_header(response: Any, name: Any, value: Any) -> ResponseValue:
    """The response, or any value that a route may give, with one more header field. A repeated name makes a second line.

    `give with_header(ok(pens), "Cache-Control", "max-age=60")`

    Not for `Content-Type` (see `respond`), `Content-Length` and the other fields that the server computes. Line ends and
    control characters are errors: a value can never add another header.
    """
    from stdlib.response_headers import header_name, header_value

    field = header_name("with_header", name)
    return as_response(response).with_field(field, header_value("with_header", field, value))


def as_response(value: Any) -> ResponseValue:
    """The value as a response: unchanged if it is one, otherwise as a route's ``give`` would make it."""
    return value if value.__class__ is ResponseValue else ResponseValue("envelope", value, 200)


# ---- parts -------------------------------------------------------------------------------------------------------------


def _with_status(value: Any, status: int) -> ResponseValue:
    # A response keeps its form and headers. A redirection also keeps its status, without which it would be none.
    if value.__class__ is not ResponseValue:
        return ResponseValue("envelope", value, status)
    return value if value.kind == "redirect" else value.with_status(status)


def _failure(status: int, message: str) -> ResponseValue:
    return ResponseValue("envelope", {"error": message, "status": status}, status)


def _is_number(value: Any) -> bool:
    return type_of(value) in ("number", "decimal")


def _integer(value: Any) -> int | None:
    from stdlib.options import whole

    return whole(value)


def _status(builtin: str, value: Any) -> int:
    code = _integer(value)
    if code is None or not 100 <= code <= 599:
        raise RuntimeFault(f"{builtin}: the status must be an integer from 100 to 599, got {_shown(value)}")
    return code


def _content_type(builtin: str, value: Any) -> str:
    from stdlib.response_headers import header_value

    if value.__class__ is not str:
        raise RuntimeFault(f"{builtin}: the content type must be text, got {type_of(value)}", kind="type")
    return header_value(builtin, "Content-Type", value)


def _shown(value: Any) -> str:
    return number_text(value) if _is_number(value) else type_of(value)
