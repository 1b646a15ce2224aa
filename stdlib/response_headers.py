"""Header fields of a response (RFC 9110 section 5): what they may contain, and which ones only the server sets."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values.display import display, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOKEN_CHARACTERS = "A-Za-z0-9 and !#$%&'*+-.^_`|~"

_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_HOP_BY_HOP = "hop-by-hop headers are managed by the server"
_FRAMING = "the server computes message framing itself"
_RESERVED = {
    "content-length": _FRAMING,
    "transfer-encoding": _FRAMING,
    "connection": _HOP_BY_HOP,
    "keep-alive": _HOP_BY_HOP,
    "upgrade": _HOP_BY_HOP,
    "te": _HOP_BY_HOP,
    "trailer": _HOP_BY_HOP,
    "content-type": "set it with respond(body, content_type) instead",
}


def token_fault(name: str) -> str | None:
    """Why a non-empty text is not a token (RFC 9110 section 5.6.2); ``None`` if it is one."""
    wrong = next((character for character in name if character not in _TOKEN), None)
    return None if wrong is None else f"{wrong!r} is not allowed (RFC 7230 token chars only: {_TOKEN_CHARACTERS})"


def has_control(text: str) -> bool:
    """Whether there is a control character other than a tab; U+0080 to U+009F included."""
    return any((code < 32 and code != 9) or 127 <= code < 160 for code in map(ord, text))


def has_line_end(text: str) -> bool:
    """Whether there is a CR or LF, which would begin another header field."""
    return "\r" in text or "\n" in text


def header_name(builtin: str, name: Any) -> str:
    """The name of a header field that a program may set. Raises ``RuntimeFault`` beginning with the builtin's name."""
    text = display(name)
    if not text:
        raise RuntimeFault(f"{builtin}: the header name cannot be empty")
    fault = token_fault(text)
    if fault is not None:
        raise RuntimeFault(f"{builtin}: invalid header name {quote(text)} — {fault}")
    why = _RESERVED.get(text.lower())
    if why is not None:
        raise RuntimeFault(f'{builtin}: the header "{text}" cannot be set here — {why}')
    return text


def header_value(builtin: str, name: str, value: Any) -> str:
    """The value of a header field as text. Raises ``RuntimeFault`` for characters that would end the field or be ambiguous."""
    text = display(value)
    if has_line_end(text):
        raise RuntimeFault(f'{builtin}: the value of "{name}" must not contain CR or LF (header injection)')
    if has_control(text):
        raise RuntimeFault(f'{builtin}: the value of "{name}" must not contain control characters')
    return text
