"""WebSockets: the builtins for the ``socket`` of a socket route, and the client. Gate of the client: ``net``."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.locks import Lock
from language.registry import Family
from language.serve.reply import ClientGone
from language.serve.socket_handle import SocketHandle
from language.values import TRUE, Secret, type_of
from language.values.display import display
from stdlib.native_only import native_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context, Lifetime
    from language.values import Bool

family = Family("websockets", "WebSockets")

_lock = Lock()
_open: dict[Lifetime, set[SocketHandle]] = {}

DEFAULT_SECONDS = 30.0
#: The most open sockets of ``ws_connect`` in one interpreter process.
MOST_SOCKETS = 64
_MOST_MESSAGE = 16 * 1024 * 1024
#: The characters of a subprotocol's name (RFC 9110, 5.6.2).
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_NO_SOCKETS = "this build has no network sockets (WebSocket/TLS identity need an event loop and a process)"


@family.builtin("ws_connect(url, opts?)", capability="net", profile="native", context=True)
def ws_connect(ctx: Context, url: Any, opts: Any = None) -> SocketHandle:
    """Opens a WebSocket to a server, `ws://` or `wss://`, for `ws_send`, `ws_recv`, `ws_status` and `ws_close`. Needs
    `require net("host")`, also at each use of the socket; addresses and certificates are checked as for `fetch`.

    It ends with `ws_close`, and at the end of the run, handler, job or agent that opened it; it cannot be used in another one
    or in a worker. At most 64 are open at a time. A server that cannot be reached, or that answers anything but a WebSocket
    (redirects are not followed), is an error.

    `opts` is a map of:

    - `headers`: a map; for a secret as a value its plaintext is sent
    - `protocols`: a list of subprotocols to offer
    - `timeout`: seconds for opening the connection (30)
    - `max_message`: the largest message that is received, in bytes (16 MiB); a larger one closes the socket

    `let feed be ws_connect("wss://feed.example/prices")`
    """
    from language.host.web_sockets import CannotOpen, SocketRequest
    from stdlib.http_client import granted_target, header_list, request_path, url_text, with_credentials
    from stdlib.options import option_map, timeout_of, whole_option

    _check_host(ctx, "ws_connect")
    target = granted_target(ctx, "ws_connect", url_text("ws_connect", url))
    options = option_map("ws_connect", opts, ("headers", "protocols", "timeout", "max_message"))
    protocols = options.get("protocols", [])
    if type(protocols) is not list or not all(type(name) is str and name and _TOKEN.issuperset(name) for name in protocols):
        raise RuntimeFault('ws_connect: option "protocols" must be a list of names')
    headers = header_list("ws_connect", options.get("headers"), target, None)
    for name, _ in headers:
        if name.lower() in ("connection", "upgrade") or name.lower().startswith("sec-websocket-"):
            raise RuntimeFault(f"ws_connect(): the header {name} is set by the language")
    door: Any = ctx.host.http
    if not hasattr(door, "web_socket"):
        raise native_only("ws_connect", _NO_SOCKETS)
    handle = SocketHandle(None)  # type: ignore[arg-type]
    handle.target = target
    handle.owner = ctx
    handle.closed = True
    request = SocketRequest(
        target,
        request_path(target.path_and_query),
        with_credentials(headers, target),
        protocols,
        timeout_of("ws_connect", options.get("timeout"), DEFAULT_SECONDS),
        whole_option("ws_connect", options, "max_message", _MOST_MESSAGE, 1, 1 << 30),
        ctx.check_address,
    )
    _keep(ctx, handle)
    try:
        handle.channel = door.web_socket(request)
        handle.closed = False
    except CannotOpen as error:
        raise RuntimeFault(f"ws_connect: {error}", kind="network") from None
    finally:
        if handle.closed:
            _drop(handle)
    return handle


@family.builtin("ws_send(socket, message)", profile="native", context=True)
def ws_send(ctx: Context, socket: Any, message: Any) -> Bool:
    """Sends one message: bytes as binary, text as text, a map or list as JSON. Gives `true`.

    When the client of a socket route has closed the connection, the handler ends here without an error. On a socket of
    `ws_connect` that is an error.
    """
    handle = usable(ctx, "ws_send", socket)
    _send(handle, "ws_send", _message("ws_send", message))
    return TRUE


@family.builtin("ws_recv(socket, seconds?)", profile="native", context=True)
def ws_recv(ctx: Context, socket: Any, seconds: Any = None) -> dict[str, Any] | None:
    """The next message as `{type, data}`; `type` is `text`, `binary` or, once the other side has closed the socket, `close`
    (`data` is then `nothing`). The result is `nothing` when no message arrives within `seconds` (30).
    """
    handle = usable(ctx, "ws_recv", socket)
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
    """Sends one message to each open socket of a list, and gives the number of sockets that it was sent to."""
    _check_host(ctx, "ws_broadcast")
    if type(sockets) is not list:
        raise RuntimeFault(f"ws_broadcast: the first argument is a list of sockets, got {type_of(sockets)}", kind="type")
    handles = [usable(ctx, "ws_broadcast", socket) for socket in sockets]
    data = _message("ws_broadcast", message)
    count = 0
    for handle in handles:
        try:
            _send(handle, "ws_broadcast", data)
            count += 1
        except (ClientGone, _Gone):
            handle.closed = True
    return count


@family.builtin("ws_status(socket)", profile="native", context=True)
def ws_status(ctx: Context, socket: Any) -> str:
    """`open` or `closed`, as far as is known."""
    return "closed" if usable(ctx, "ws_status", socket).closed else "open"


@family.builtin("ws_close(socket, code?, reason?)", profile="native", context=True)
def ws_close(ctx: Context, socket: Any, code: Any = None, reason: Any = None) -> Bool:
    """Closes a socket with a status code (1000, or one of 3000..4999) and a short reason, and gives `true`. Calling it again
    does nothing.
    """
    handle = usable(ctx, "ws_close", socket)
    status = 1000 if code is None else code
    if type(status) is not int or not (status == 1000 or 3000 <= status <= 4999):
        raise RuntimeFault(f"ws_close: the code must be 1000 or from 3000 to 4999, got {display(code)}")
    text = "" if reason is None else display(reason)
    if len(text.encode("utf-8", "replace")) > 123:
        raise RuntimeFault("ws_close: the reason must have at most 123 bytes")
    handle.closed = True
    handle.channel.close(status, text)
    if handle.owner is not None:
        _end(handle)
    return TRUE


def _check_host(ctx: Context, builtin: str) -> None:
    """Raises ``RuntimeFault`` in a build where no socket can be open."""
    if not ctx.host.runs_jobs:
        raise native_only(builtin, _NO_SOCKETS)


def usable(ctx: Context, builtin: str, socket: Any) -> SocketHandle:
    """The socket that was given to ``builtin``. Raises ``RuntimeFault`` for a value that is not a socket, or a socket that may
    not be used here.
    """
    _check_host(ctx, builtin)
    if type(socket) is not SocketHandle:
        raise RuntimeFault(f"{builtin}: expected the socket of a socket route, got {type_of(socket)}", kind="type")
    if socket.target is not None:
        ctx.check_net(socket.target)
        if socket.owner is not ctx:
            raise RuntimeFault(
                f"{builtin}: a socket of ws_connect does not cross into workers, agents or handlers: open one there"
            )
    return socket


class _Gone(RuntimeFault):
    """The server of a socket has closed it."""


def _send(handle: SocketHandle, builtin: str, data: str | bytes) -> None:
    if handle.target is None:
        handle.channel.send(data)
        return
    from language.native.web_socket import PeerGone

    try:
        handle.channel.send(data)
    except PeerGone:
        handle.closed = True
        raise _Gone(f"{builtin}: the server has closed the socket", kind="network") from None


def _keep(ctx: Context, handle: SocketHandle) -> None:
    lifetime = ctx.lifetime
    with _lock:
        if sum(map(len, _open.values())) >= MOST_SOCKETS:
            raise RuntimeFault(
                f"ws_connect: {MOST_SOCKETS} sockets are open, which is as many as there can be: close some with ws_close",
                kind="resources",
            )
        if lifetime not in _open:
            lifetime.at_end(lambda: _end_all(lifetime))
        _open.setdefault(lifetime, set()).add(handle)


def _drop(handle: SocketHandle) -> None:
    if handle.owner is not None:
        with _lock:
            _open.get(handle.owner.lifetime, set()).discard(handle)


def _end(handle: SocketHandle) -> None:
    channel: Any = handle.channel
    if channel is not None:
        channel.end()
    _drop(handle)


def _end_all(lifetime: Lifetime) -> None:
    """Closes all sockets of a run. A cancellation can interrupt it anywhere, so a socket is removed only after it is closed."""
    while True:
        with _lock:
            handle = next(iter(_open.get(lifetime, ())), None)
            if handle is None:
                _open.pop(lifetime, None)
                return
        handle.closed = True
        _end(handle)


def _message(builtin: str, message: Any) -> str | bytes:
    if type(message) is bytes or type(message) is str:
        return message
    if type(message) is Secret:
        raise RuntimeFault(f"{builtin}: a secret is not sent: reveal it by name first")
    from language.serve.shaping import json_text

    return json_text(message)
