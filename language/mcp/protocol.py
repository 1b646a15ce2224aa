"""Shared by both sides of the Model Context Protocol: versions, error codes, the forms of JSON-RPC 2.0 messages."""

from __future__ import annotations

from language.values import as_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_INFINITE = float("inf")

#: The versions that begin with ``initialize``, the newest first.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
#: The versions without ``initialize``, which every request names, the newest first.
STATELESS_VERSIONS = ("2026-07-28",)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

#: The HTTP statuses of errors in stateless versions; 200 for all others, and for all errors of older versions.
STATUSES = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}

#: Members of ``params._meta`` in stateless versions, and of ``_meta`` in replies to them.
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

#: Modes of an elicitation, by which a client asks its user: to open a page, or to fill in a form.
URL_MODE = "url"
FORM_MODE = "form"


def result(ident: Any, value: dict[str, Any]) -> dict[str, Any]:
    """The reply to the request of that id."""
    return {"jsonrpc": "2.0", "id": ident, "result": value}


def error(ident: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    """The reply that refuses the request of that id; ``None`` when the id could not be read."""
    about = {"code": code, "message": message}
    return {"jsonrpc": "2.0", "id": ident, "error": about if data is None else {**about, "data": data}}


def is_id(value: Any) -> bool:
    """Whether a request may have this id: text, a finite number or null."""
    return value is None or type(value) in (str, int) or (type(value) is float and abs(value) < _INFINITE)


def elicitation_modes(capabilities: dict[str, Any]) -> frozenset[str]:
    """The modes of elicitation that a client declares; forms if it names none."""
    declared = as_map(capabilities.get("elicitation"))
    if declared is None:
        return frozenset()
    modes = frozenset(mode for mode in (URL_MODE, FORM_MODE) if as_map(declared.get(mode)) is not None)
    return modes or frozenset((FORM_MODE,))


def is_response(message: dict[str, Any]) -> bool:
    """Whether a message answers a request of the other side."""
    return "method" not in message and ("result" in message or "error" in message)


def header_text(value: str) -> str | None:
    """The text of a header field, which may be written as ``=?base64?...?=``; ``None`` for an invalid one."""
    if not (value.startswith("=?base64?") and value.endswith("?=") and len(value) >= 11):
        return value
    from base64 import b64decode, b64encode

    written = value[9:-2]
    try:
        octets = b64decode(written, validate=True)
        # Only the canonical encoding of a text is accepted, so that a proxy compares the same value as this server.
        return octets.decode("utf-8") if b64encode(octets).decode("ascii") == written else None
    except ValueError:
        return None


def header_value(text: str) -> str:
    """A text as the value of a header field: as it is, or written as ``=?base64?...?=`` where a field cannot hold it."""
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?"):
        return text
    from base64 import b64encode

    return f"=?base64?{b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="
