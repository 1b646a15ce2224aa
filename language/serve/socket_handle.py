"""The value ``socket`` in a socket route: a handle for the ``ws_*`` builtins."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.serve.reply import SocketChannel


class SocketHandle:
    """One open WebSocket. Opaque to programs; it ends with the request that opened it."""

    __slots__ = ("channel", "closed")

    language_type = "socket"

    def __init__(self, channel: SocketChannel) -> None:
        self.channel = channel
        self.closed = False

    def display(self) -> str:
        return "<socket>"
