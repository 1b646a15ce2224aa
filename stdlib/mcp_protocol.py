"""What a client of tools takes out of the messages of its server."""

from __future__ import annotations

from language.mcp.protocol import is_response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def reply_to(message: Any, ident: int) -> dict[str, Any] | None:
    """The reply to our request of that id, out of a decoded message or batch; ``None`` when it is something else."""
    for item in message if type(message) is list else [message]:
        if type(item) is dict and type(item.get("id")) is int and item["id"] == ident and is_response(item):
            return item
    return None
