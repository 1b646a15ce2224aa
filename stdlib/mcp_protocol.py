"""What both sides of the Model Context Protocol share: versions, error codes, the forms of JSON-RPC 2.0 messages."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The versions of the protocol that are spoken, the newest first.
VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602


def result(ident: Any, value: dict[str, Any]) -> dict[str, Any]:
    """The reply to the request of that id."""
    return {"jsonrpc": "2.0", "id": ident, "result": value}


def error(ident: Any, code: int, message: str) -> dict[str, Any]:
    """The reply that refuses the request of that id; ``None`` when the id could not be read."""
    return {"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": message}}


def is_id(value: Any) -> bool:
    """Whether a request may have this id: text, number or null."""
    return value is None or type(value) in (str, int, float)


def is_response(message: dict[str, Any]) -> bool:
    """Whether a message answers a request of the other side."""
    return "method" not in message and ("result" in message or "error" in message)


def reply_to(message: Any, ident: int) -> dict[str, Any] | None:
    """The reply to our request of that id, out of a decoded message or batch; ``None`` when it is something else."""
    for item in message if type(message) is list else [message]:
        if type(item) is dict and type(item.get("id")) is int and item["id"] == ident and is_response(item):
            return item
    return None
