"""A connection to a tool server: a handle that belongs to the run, request or job that opened it and is closed at its end."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.locks import Lock
from language.mcp.param_headers import BadAnnotation, fields_of, wanted_fields
from language.mcp.protocol import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    HEADER_MISMATCH,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    STATELESS_VERSIONS,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    VERSIONS,
    header_value,
)
from language.values.json_decoding import decode
from language.values.json_encoding import encode
from stdlib.mcp_transport import BadStatus, RefusedRequest, SessionOver, Trouble, Unreadable, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context, Lifetime
    from stdlib.mcp_transport import Transport

#: The most open connections of one process.
MOST_OPEN = 64
#: How many seconds a server has to end after its connection is closed.
GRACE = 2.0
#: The most pages of a list of tools that are read to find one.
_MOST_PAGES = 1000

_lock = Lock()
_open: dict[Lifetime, list[ToolConnection]] = {}


class ToolConnection:
    """The value of ``mcp_connect``.

    Attributes:
        raises: whether a failed tool is an error of the program.
        stateless: whether both sides speak a version without a handshake.
    """

    __slots__ = ("_ctx", "_last_id", "_lock", "_transport", "_wanted", "closed", "raises", "stateless")

    language_type = "connection"

    def __init__(self, ctx: Context, transport: Transport, raises: bool) -> None:
        self._ctx = ctx
        self._transport = transport
        self._last_id = 0
        self._lock = Lock()
        #: tool name → the arguments that its schema requires in header fields
        self._wanted: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self.stateless = False
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
        """A text of the server with the secrets that were sent to it redacted."""
        return self._transport.hidden(text)

    def deadline(self) -> float:
        """The deadline of a call that begins now, on the monotonic clock of the host."""
        return self._ctx.host.monotonic() + self._transport.seconds

    def check(self, ctx: Context, builtin: str) -> None:
        """Checks the capability again, in the calling context."""
        self._transport.check(ctx, builtin)

    def open(self, builtin: str) -> None:
        """Opens the connection, with the newest version that both sides speak. Raises :class:`Trouble`.

        Over HTTP the server is asked for its versions first: one that knows only those with a handshake refuses that at once. A
        process with an older version may not answer that request at all, so there the handshake comes first.
        """
        end = self.deadline()
        self._transport.start()
        if self._transport.over_http:
            if not self._discover(builtin, end):
                self._last_id = 0  # the handshake begins a session, with ids of its own
                self._introduce(builtin, end)
            return
        try:
            self._introduce(builtin, end)
        except RefusedRequest as refused:
            if refused.code not in (METHOD_NOT_FOUND, UNSUPPORTED_VERSION) or not self._discover(builtin, end):
                raise

    def _discover(self, builtin: str, end: float) -> bool:
        """Whether the server supports a version without a handshake, which is then used. Raises :class:`Trouble`."""
        self._transport.introduced(STATELESS_VERSIONS[0])
        self.stateless = True
        spoken: Any
        try:
            spoken = self._result(builtin, "server/discover", "{}", end, self._fields("server/discover"))["supportedVersions"]
        except (KeyError, Unreadable):
            spoken = ()
        except BadStatus as answered:
            if answered.status in (401, 403):
                raise
            spoken = ()
        except RefusedRequest as refused:
            if refused.code in (HEADER_MISMATCH, MISSING_CAPABILITY):
                raise
            spoken = ()
            if refused.code == UNSUPPORTED_VERSION and type(refused.data) is dict:
                spoken = refused.data.get("supported")
                if type(spoken) is list and not any(version in spoken for version in VERSIONS):
                    raise Trouble(f"the server speaks none of the versions {_all_versions()}") from None
                spoken = ()
        self.stateless = type(spoken) is list and any(version in spoken for version in STATELESS_VERSIONS)
        return self.stateless

    def _introduce(self, builtin: str, end: float) -> None:
        """The handshake: ``initialize``, then the notification that it is done. Raises :class:`Trouble`."""
        self._transport.introduced(None)
        params = {"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": _about()}
        answer = self._result(builtin, "initialize", encode(params), end, [])
        version = answer.get("protocolVersion")
        if type(version) is not str or version not in VERSIONS:
            raise Trouble(f"the server speaks none of the versions {', '.join(VERSIONS)}")
        self._transport.introduced(version)
        self._transport.notify(self._ctx, builtin, encode({"jsonrpc": "2.0", "method": "notifications/initialized"}), end)

    def request(self, builtin: str, method: str, params: str, end: float) -> dict[str, Any]:
        """The result of one request other than a call; ``params`` is JSON text. Raises :class:`Trouble`."""
        with self._lock:
            return self._requested(builtin, method, params, end, self._fields(method))

    def call(self, builtin: str, name: str, arguments: str, end: float) -> dict[str, Any]:
        """The result of a tool; ``arguments`` is JSON text. Raises :class:`Trouble`."""
        params = f'{{"name": {encode(name)}, "arguments": {arguments}}}'
        with self._lock:
            try:
                return self._requested(builtin, "tools/call", params, end, self._call_fields(name, arguments))
            except RefusedRequest as refused:
                # The tool did not run: its schema asks for header fields that this client has not read yet.
                if refused.code != HEADER_MISMATCH or not self._fields("") or name in self._wanted:
                    raise
                self._read_schemas(builtin, name, end)
                fields = self._call_fields(name, arguments)
                return self._requested(builtin, "tools/call", params, end, fields)

    def listed(self, tools: list[Any]) -> list[dict[str, Any]]:
        """The callable tools of a page of ``tools/list``. Remembers the header fields that their schemas require.

        Raises :class:`Trouble` for one without a name.
        """
        usable = []
        for tool in tools:
            if type(tool) is not dict or type(tool.get("name")) is not str:
                raise Trouble("the reply lists a tool without a name")
            if self.stateless and self._transport.over_http:
                try:
                    self._wanted[tool["name"]] = wanted_fields(tool.get("inputSchema"))
                except BadAnnotation:
                    self._ctx.warn_once(f"{self.name}: a tool whose x-mcp-header cannot be is left out")
                    continue
            usable.append(tool)
        return usable

    def _read_schemas(self, builtin: str, name: str, end: float) -> None:
        """Reads the list of tools until that one is there."""
        params = "{}"
        for _ in range(_MOST_PAGES):
            page = self._requested(builtin, "tools/list", params, end, self._fields("tools/list"))
            tools, cursor = page.get("tools"), page.get("nextCursor")
            self.listed(tools if type(tools) is list else [])
            if name in self._wanted or type(cursor) is not str or not cursor:
                return
            params = encode({"cursor": cursor})

    def _fields(self, method: str) -> list[tuple[str, str]]:
        """The header fields of a request, which repeat parts of its body; none in older versions and for a process."""
        return [("Mcp-Method", method)] if self.stateless and self._transport.over_http else []

    def _call_fields(self, name: str, arguments: str) -> list[tuple[str, str]]:
        fields = self._fields("tools/call")
        if fields:
            fields.append(("Mcp-Name", header_value(name)))
            wanted = self._wanted.get(name)
            if wanted:
                fields += fields_of(wanted, decode(arguments))
        return fields

    def _requested(self, builtin: str, method: str, params: str, end: float, fields: list[tuple[str, str]]) -> dict[str, Any]:
        try:
            return self._result(builtin, method, params, end, fields)
        except SessionOver:
            self._introduce(builtin, end)
            return self._result(builtin, method, params, end, fields)

    def _result(self, builtin: str, method: str, params: str, end: float, fields: list[tuple[str, str]]) -> dict[str, Any]:
        self._last_id += 1
        ident = self._last_id
        if self.stateless:
            params = f'{{"_meta": {_meta()}{"" if params == "{}" else ", "}{params[1:]}'
        message = f'{{"jsonrpc": "2.0", "id": {ident}, "method": "{method}", "params": {params}}}'
        reply = self._transport.request(self._ctx, builtin, ident, message, end, fields)
        failure = reply.get("error")
        if failure is not None:
            known = failure if type(failure) is dict else {}
            raise RefusedRequest(self._refusal(failure), known.get("code"), known.get("data"))
        result = reply.get("result")
        if type(result) is not dict:
            raise Unreadable("the reply has no result")
        if self.stateless and result.get("resultType", "complete") != "complete":
            raise Trouble("the server asks for input, which this client cannot give")
        return result

    def _refusal(self, failure: Any) -> str:
        from language.values.display import raw_text

        if type(failure) is not dict:
            return one_line(self.hidden(raw_text(failure)))
        code, message = raw_text(failure.get("code")), raw_text(failure.get("message", ""))
        return one_line(self.hidden(f"{code} {message}"))

    @property
    def broken(self) -> bool:
        """Whether the connection can no longer be used, because the server's process has ended."""
        return self._transport.broken

    def hang_up(self) -> None:
        self._transport.hang_up()

    def end(self, end: float) -> None:
        """Closes the connection by that time. Idempotent."""
        self.closed = True
        self._transport.end(self._ctx, end)


def _about() -> dict[str, str]:
    from language.release import __version__

    return {"name": "lang", "version": __version__}


def _meta() -> str:
    """The ``_meta`` of every request of a version without a handshake, as JSON text."""
    return encode({VERSION_KEY: STATELESS_VERSIONS[0], CLIENT_KEY: _about(), CAPABILITIES_KEY: {}})


def _all_versions() -> str:
    return ", ".join((*STATELESS_VERSIONS, *VERSIONS))


def keep(ctx: Context, builtin: str, connection: ToolConnection) -> None:
    """Registers a new connection, which is closed with the run, request or job. Raises ``RuntimeFault`` if there are too
    many.
    """
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
        connection.hang_up()  # all are asked to end before any is waited for, so that they share the time
    for connection in connections:
        connection.end(end)
