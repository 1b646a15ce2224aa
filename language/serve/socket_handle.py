"""The value ``socket`` in a socket route: a handle for the ``ws_*`` builtins."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.capabilities.scopes import NetTarget
    from language.runtime.context import Context
    from language.serve.reply import SocketChannel


class SocketHandle:
    """One open WebSocket. Opaque to programs; it ends with the request, run or job that opened it.

    ``target`` and ``owner`` are set where the program is the client: what it has connected to, which is checked at each use,
    and the context that may use it.
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
