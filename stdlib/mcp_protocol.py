"""Functions with which a client reads the messages of a tool server."""

from __future__ import annotations

from language.mcp.protocol import is_response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def reply_to(message: Any, ident: int) -> dict[str, Any] | None:
    """The reply to the request with that id, from a decoded message or batch; ``None`` when there is none."""
    for item in message if type(message) is list else [message]:
        if type(item) is dict and type(item.get("id")) is int and item["id"] == ident and is_response(item):
            return item
    return None


def refusal_of(message: Any, ident: int) -> dict[str, Any] | None:
    """A message that refuses the request with that id, or one whose id could not be read; ``None`` for any other."""
    if type(message) is not dict or type(message.get("error")) is not dict or type(message["error"].get("code")) is not int:
        return None
    return message if message.get("id") in (None, ident) else None
