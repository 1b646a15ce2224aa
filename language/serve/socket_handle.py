"""The value ``socket`` in a socket route: a handle for the ``ws_*`` builtins."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.capabilities.scopes import NetTarget
    from language.runtime.context import Context
    from language.serve.reply import SocketChannel


class SocketHandle:
    """One open WebSocket. Opaque to programs; it ends with the request, run or job that opened it.

    ``target`` and ``owner`` are set if the program is the client. ``target`` is the address that it has connected to; the
    capability for it is checked at each use. ``owner`` is the only context that may use the handle.
    """

    __slots__ = ("channel", "closed", "owner", "target")

    language_type = "socket"

    def __init__(self, channel: SocketChannel) -> None:
        self.channel = channel
        self.closed = False
        self.target: NetTarget | None = None
        self.owner: Context | None = None

    def display(self) -> str:
        return "<socket>"
