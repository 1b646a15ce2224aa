"""What both sides of the Model Context Protocol share: versions, error codes, the forms of JSON-RPC 2.0 messages."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The versions that begin with ``initialize``, the newest first.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
#: The versions that name themselves in every request and know no ``initialize``, the newest first.
STATELESS_VERSIONS = ("2026-07-28",)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

#: The HTTP statuses that go with errors in stateless versions; 200 for what is not here, and for all errors before.
STATUSES = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}

#: Members of ``params._meta`` in stateless versions, and of ``_meta`` in what they are answered.
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"


def result(ident: Any, value: dict[str, Any]) -> dict[str, Any]:
    """The reply to the request of that id."""
    return {"jsonrpc": "2.0", "id": ident, "result": value}


def error(ident: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    """The reply that refuses the request of that id; ``None`` when the id could not be read."""
    about = {"code": code, "message": message}
    return {"jsonrpc": "2.0", "id": ident, "error": about if data is None else {**about, "data": data}}


def is_id(value: Any) -> bool:
    """Whether a request may have this id: text, number or null."""
    return value is None or type(value) in (str, int, float)


def is_response(message: dict[str, Any]) -> bool:
    """Whether a message answers a request of the other side."""
    return "method" not in message and ("result" in message or "error" in message)


def header_text(value: str) -> str | None:
    """The text that stands in a header field, which may be written as ``=?base64?...?=``; ``None`` for what is no such text."""
    if not (value.startswith("=?base64?") and value.endswith("?=") and len(value) >= 11):
        return value
    from base64 import b64decode, b64encode

    written = value[9:-2]
    try:
        octets = b64decode(written, validate=True)
        # One text is written in one way: what a proxy compares is what is compared here.
        return octets.decode("utf-8") if b64encode(octets).decode("ascii") == written else None
    except ValueError:
        return None
