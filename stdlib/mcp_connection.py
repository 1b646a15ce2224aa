"""A connection to a tool server: a handle that belongs to whoever opened it, and is closed when that ends."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.locks import Lock
from language.mcp.protocol import VERSIONS
from language.values.json_encoding import encode
from stdlib.mcp_transport import PLAIN, SessionOver, Trouble, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context, Lifetime
    from stdlib.mcp_transport import Transport

#: Open connections of one process.
MOST_OPEN = 64
#: Seconds that a server has to end when its connection is closed.
GRACE = 2.0

_lock = Lock()
_open: dict[Lifetime, list[ToolConnection]] = {}


class ToolConnection:
    """What ``mcp_connect`` gives. ``raises`` says whether a failed tool is an error of the program."""

    __slots__ = ("_ctx", "_last_id", "_lock", "_transport", "closed", "raises")

    language_type = "connection"

    def __init__(self, ctx: Context, transport: Transport, raises: bool) -> None:
        self._ctx = ctx
        self._transport = transport
        self._last_id = 0
        self._lock = Lock()
        self.raises = raises
        self.closed = False

    @property
    def name(self) -> str:
        """The host or command."""
        return self._transport.name

    def display(self) -> str:
        return f"connection({self.name})"

    def belongs_to(self, ctx: Context) -> bool:
        return self._ctx is ctx

    def hidden(self, text: str) -> str:
        """A text of the server without the secrets that were sent to it."""
        return self._transport.hidden(text)

    def deadline(self) -> float:
        """When a call that begins now has to be over, on the monotonic clock of the host."""
        return self._ctx.host.monotonic() + self._transport.seconds

    def check(self, ctx: Context, builtin: str) -> None:
        """Asks for the capability again, of whoever calls."""
        self._transport.check(ctx, builtin)

    def open(self, builtin: str) -> None:
        """Makes the connection. Raises :class:`Trouble`."""
        end = self.deadline()
        self._transport.start()
        self._introduce(builtin, end)

    def _introduce(self, builtin: str, end: float) -> None:
        """The handshake: ``initialize``, then the notification that it is done. Raises :class:`Trouble`."""
        from language.release import __version__

        self._transport.introduced(None)
        about = {"name": "lang", "version": __version__}
        params = {"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": about}
        answer = self._result(builtin, "initialize", encode(params), end)
        version = answer.get("protocolVersion")
        if type(version) is not str or version not in VERSIONS:
            raise Trouble(f"the server speaks none of the versions {', '.join(VERSIONS)}")
        self._transport.introduced(version)
        self._transport.notify(self._ctx, builtin, encode({"jsonrpc": "2.0", "method": "notifications/initialized"}), end)

    def request(self, builtin: str, method: str, params: str, end: float) -> dict[str, Any]:
        """The result of one request; ``params`` is JSON text. Raises :class:`Trouble`."""
        with self._lock:
            try:
                return self._result(builtin, method, params, end)
            except SessionOver:
                self._introduce(builtin, end)
                return self._result(builtin, method, params, end)

    def _result(self, builtin: str, method: str, params: str, end: float) -> dict[str, Any]:
        self._last_id += 1
        ident = self._last_id
        message = f'{{"jsonrpc": "2.0", "id": {ident}, "method": "{method}", "params": {params}}}'
        reply = self._transport.request(self._ctx, builtin, ident, message, end)
        failure = reply.get("error")
        if failure is not None:
            raise Trouble(self._refusal(failure), PLAIN)
        result = reply.get("result")
        if type(result) is not dict:
            raise Trouble("the reply has no result")
        return result

    def _refusal(self, failure: Any) -> str:
        from language.values.display import raw_text

        if type(failure) is not dict:
            return one_line(self.hidden(raw_text(failure)))
        code, message = raw_text(failure.get("code")), raw_text(failure.get("message", ""))
        return one_line(self.hidden(f"{code} {message}"))

    @property
    def broken(self) -> bool:
        """Whether nothing can be sent any more: the process of the server is gone."""
        return self._transport.broken

    def hang_up(self) -> None:
        self._transport.hang_up()

    def end(self, end: float) -> None:
        """Closes by that time at the latest; twice is nothing."""
        self.closed = True
        self._transport.end(self._ctx, end)


def keep(ctx: Context, builtin: str, connection: ToolConnection) -> None:
    """Counts a new connection as open, to be closed with the run, request or job. Raises ``RuntimeFault`` for one too many."""
    lifetime = ctx.lifetime
    with _lock:
        if sum(map(len, _open.values())) >= MOST_OPEN:
            raise RuntimeFault(
                f"{builtin}: {MOST_OPEN} connections are open, which is as many as there can be: close some", kind="resources"
            )
        if lifetime not in _open:
            lifetime.at_end(lambda: _close_all(ctx, lifetime))
            _open[lifetime] = []
        _open[lifetime].append(connection)


def drop(ctx: Context, connection: ToolConnection, grace: float = GRACE) -> None:
    """Closes a connection."""
    with _lock:
        mine = _open.get(ctx.lifetime, [])
        if connection in mine:
            mine.remove(connection)
    connection.end(ctx.host.monotonic() + grace)


def _close_all(ctx: Context, lifetime: Lifetime) -> None:
    with _lock:
        connections = _open.pop(lifetime, [])
    end = ctx.host.monotonic() + GRACE
    for connection in connections:
        connection.hang_up()  # all at once: they share the time
    for connection in connections:
        connection.end(end)
