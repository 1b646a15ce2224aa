"""WebSockets: what a program does with the ``socket`` of a socket route."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.serve.reply import ClientGone
from language.serve.socket_handle import SocketHandle
from language.values import TRUE, Secret, type_of
from language.values.display import display
from stdlib.native_only import native_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context
    from language.values import Bool

family = Family("websockets", "WebSockets")

DEFAULT_SECONDS = 30.0
_NO_SOCKETS = "this build has no network sockets (WebSocket/TLS identity need an event loop and a process)"


@family.builtin("ws_send(socket, message)", profile="native", context=True)
def ws_send(ctx: Context, socket: Any, message: Any) -> Bool:
    """Sends one message: bytes as they are, text as text, a map or list as its JSON; true.

    When the client has left, the handler ends here, in silence.
    """
    _handle(ctx, "ws_send", socket).channel.send(_message("ws_send", message))
    return TRUE


@family.builtin("ws_recv(socket, seconds?)", profile="native", context=True)
def ws_recv(ctx: Context, socket: Any, seconds: Any = None) -> dict[str, Any] | None:
    """The next message as `{type, data}`; `type` is `text`, `binary` or, once the client has closed, `close` (`data` is
    `nothing` then). `nothing` when none comes within `seconds` (30).
    """
    handle = _handle(ctx, "ws_recv", socket)
    wait = DEFAULT_SECONDS
    if seconds is not None:
        if type(seconds) not in (int, float) or not 0 <= seconds < float("inf"):
            raise RuntimeFault(f"ws_recv: seconds must be a number of at least 0, got {display(seconds)}")
        wait = float(seconds)
    try:
        data = handle.channel.receive(wait)
    except TimeoutError:
        return None
    if data is None:
        handle.closed = True
        return {"type": "close", "data": None}
    return {"type": "text" if type(data) is str else "binary", "data": data}


@family.builtin("ws_broadcast(sockets, message)", profile="native", context=True)
def ws_broadcast(ctx: Context, sockets: Any, message: Any) -> int:
    """Sends one message to each socket of a list, those that are closed left out: to how many."""
    _check_host(ctx, "ws_broadcast")
    if type(sockets) is not list:
        raise RuntimeFault(f"ws_broadcast: the first argument is a list of sockets, got {type_of(sockets)}", kind="type")
    handles = [_handle(ctx, "ws_broadcast", socket) for socket in sockets]
    data = _message("ws_broadcast", message)
    count = 0
    for handle in handles:
        try:
            handle.channel.send(data)
            count += 1
        except ClientGone:
            handle.closed = True
    return count


@family.builtin("ws_status(socket)", profile="native", context=True)
def ws_status(ctx: Context, socket: Any) -> str:
    """`open` or `closed`, as far as is known."""
    return "closed" if _handle(ctx, "ws_status", socket).closed else "open"


@family.builtin("ws_close(socket, code?, reason?)", profile="native", context=True)
def ws_close(ctx: Context, socket: Any, code: Any = None, reason: Any = None) -> Bool:
    """Closes a socket with a status code (1000, or one of 3000..4999) and a short reason; a second time does nothing. True."""
    handle = _handle(ctx, "ws_close", socket)
    status = 1000 if code is None else code
    if type(status) is not int or not (status == 1000 or 3000 <= status <= 4999):
        raise RuntimeFault(f"ws_close: the code must be 1000 or from 3000 to 4999, got {display(code)}")
    text = "" if reason is None else display(reason)
    if len(text.encode("utf-8", "replace")) > 123:
        raise RuntimeFault("ws_close: the reason must have at most 123 bytes")
    handle.closed = True
    handle.channel.close(status, text)
    return TRUE


def _check_host(ctx: Context, builtin: str) -> None:
    """Refuses where no socket can ever be open (11 of the manual)."""
    if not ctx.host.runs_jobs:
        raise native_only(builtin, _NO_SOCKETS)


def _handle(ctx: Context, builtin: str, socket: Any) -> SocketHandle:
    _check_host(ctx, builtin)
    if type(socket) is not SocketHandle:
        raise RuntimeFault(f"{builtin}: expected the socket of a socket route, got {type_of(socket)}", kind="type")
    return socket


def _message(builtin: str, message: Any) -> str | bytes:
    if type(message) is bytes or type(message) is str:
        return message
    if type(message) is Secret:
        raise RuntimeFault(f"{builtin}: a secret is not sent: reveal it by name first")
    from language.serve.shaping import json_text

    return json_text(message)
