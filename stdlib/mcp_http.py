"""The streamable HTTP transport of the Model Context Protocol: each message one POST, its reply JSON or an event stream."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.host.http import TransportFailure
from language.mcp.protocol import STATELESS_VERSIONS
from language.values import Secret, as_map
from stdlib.http_client import exchanged, granted_target, header_list, no_transport
from stdlib.mcp_events import EventReader
from stdlib.mcp_protocol import refusal_of, reply_to
from stdlib.mcp_transport import PLAIN, BadStatus, SessionOver, Transport, Trouble, Unreadable, one_line, timed_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.capabilities.scopes import NetTarget
    from language.host.http import HttpReply
    from language.runtime.context import Context

#: Headers of the transport, which programs cannot set.
_OWN = frozenset(("accept", "content-type", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"))
_OWN_PREFIX = "mcp-param-"
_LONGEST_SESSION = 1024
_SHORTEST_HIDDEN = 6


class HttpTransport(Transport):
    """A server at a URL, with the headers of :meth:`set_headers`."""

    over_http = True

    def __init__(self, ctx: Context, builtin: str, url: str) -> None:
        self._url = url
        self._target: NetTarget = granted_target(ctx, builtin, url)
        self.name = self._target.host
        self._headers: list[tuple[str, bytes]] = []
        self._session: bytes | None = None
        self._version: str | None = None
        self._kept_back = [self._target.path_and_query.partition("?")[2], self._target.userinfo or ""]
        self._open = True
        if ctx.host.http is None:
            raise RuntimeFault(no_transport(ctx, builtin), kind="unsupported")

    def set_headers(self, builtin: str, headers: Any) -> None:
        """Sets the headers of every request, with the plaintext of secrets. Raises ``RuntimeFault``, which shows none of
        them.
        """
        given = as_map(headers)
        if given is None:
            raise RuntimeFault(f'{builtin}: option "headers" must be a map', kind="type")
        for name in given:
            if name.lower() in _OWN or name.lower().startswith(_OWN_PREFIX):
                raise RuntimeFault(f"{builtin}: the header {name} is set by the language")
        try:
            self._headers = header_list(builtin, given, self._target, None)
        except RuntimeFault:
            wrong = "a name or a value that HTTP does not allow, or a header that the language sets"
            raise RuntimeFault(f'{builtin}: option "headers" has {wrong}') from None
        for value in given.values():
            if type(value) is Secret:
                plain = value.plaintext
                text = plain if isinstance(plain, str) else plain.decode("utf-8", "replace")
                self._kept_back += [text, text.rpartition(" ")[2]]  # redacts the token of `Bearer token` on its own, too

    def check(self, ctx: Context, builtin: str) -> None:
        granted_target(ctx, builtin, self._url)

    def introduced(self, version: str | None) -> None:
        self._version = version
        if version is None:
            self._session = None

    def hidden(self, text: str) -> str:
        for plain in self._kept_back:
            if len(plain) >= _SHORTEST_HIDDEN:
                text = text.replace(plain, "[redacted]")
        return text

    def request(
        self, ctx: Context, builtin: str, ident: int, message: str, end: float, fields: list[tuple[str, str]]
    ) -> dict[str, Any]:
        events = EventReader(ident)

        def enough(status: int, headers: list[tuple[str, str]]) -> Callable[[bytes], bool] | None:
            return events.feed if status == 200 and _kind(headers) == "text/event-stream" else None

        reply = self._send(ctx, builtin, "POST", message.encode(), end, enough, fields)
        if not _succeeded(reply) and self._version in STATELESS_VERSIONS:
            refusal = _refusal(reply, ident)
            if refusal is not None:
                return refusal
        self._check_status(reply)
        if self._version is None:
            self._session = _session(reply)
        kind = _kind(reply.headers)
        if kind == "text/event-stream":
            if not events.begun:  # a host that returns only whole responses
                events.feed(reply.body)
            events.finish()
            found = events.found
        elif kind == "application/json":
            from language.values.json_decoding import decode

            try:
                found = reply_to(decode(reply.body.decode("utf-8", "replace")), ident)
            except RuntimeFault:
                raise Unreadable("the reply is no valid JSON") from None
        else:
            raise Unreadable("the reply is neither JSON nor an event stream")
        if found is None:
            raise Unreadable("there was no reply with the id of the request")
        return found

    def notify(self, ctx: Context, builtin: str, message: str, end: float) -> None:
        self._check_status(self._send(ctx, builtin, "POST", message.encode(), end))

    def _check_status(self, reply: HttpReply) -> None:
        if reply.status == 404 and self._session is not None:
            raise SessionOver
        if not _succeeded(reply):
            raise BadStatus(reply.status)

    def _send(
        self,
        ctx: Context,
        builtin: str,
        method: str,
        body: bytes | None,
        end: float,
        enough: Any = None,
        fields: list[tuple[str, str]] | None = None,
    ) -> HttpReply:
        from math import ceil

        headers = list(self._headers)
        headers += [(name, value.encode("ascii")) for name, value in fields or ()]
        if body is not None:
            headers += [("Content-Type", b"application/json"), ("Accept", b"application/json, text/event-stream")]
        if self._version is not None:
            headers.append(("MCP-Protocol-Version", self._version.encode()))
        if self._session is not None:
            headers.append(("Mcp-Session-Id", self._session))
        clock = ctx.host.monotonic
        left = end - clock()
        if left <= 0:
            raise Trouble(timed_out(self.seconds), PLAIN)
        try:
            return exchanged(
                ctx, builtin, method, self._target, headers, body, timeout=max(1, ceil(left)), total=left, enough=enough
            )
        except TransportFailure as failure:
            if clock() >= end:
                raise Trouble(timed_out(self.seconds), PLAIN) from None
            raise Trouble(one_line(self.hidden(str(failure)))) from None

    def end(self, ctx: Context, end: float) -> None:
        """Tells the server that the session has ended; its response is ignored."""
        if self._open and self._session is not None:
            self._open = False
            try:
                self._send(ctx, "mcp_close", "DELETE", None, end)
            except (Trouble, RuntimeFault):
                return


def _succeeded(reply: HttpReply) -> bool:
    return 200 <= reply.status <= 299


def _refusal(reply: HttpReply, ident: int) -> dict[str, Any] | None:
    """The protocol error in a reply whose status is not a success; ``None`` if it contains none."""
    if _kind(reply.headers) != "application/json":
        return None
    from language.values.json_decoding import decode

    try:
        return refusal_of(decode(reply.body.decode("utf-8", "replace")), ident)
    except RuntimeFault:
        return None


def _kind(headers: list[tuple[str, str]]) -> str:
    """The media type of a reply, without its parameters."""
    return (_header(headers, "content-type") or "").partition(";")[0].strip().lower()


def _header(headers: list[tuple[str, str]], wanted: str) -> str | None:
    found = None
    for name, value in headers:
        if name.lower() == wanted:
            found = value
    return found


def _session(reply: HttpReply) -> bytes | None:
    session = _header(reply.headers, "mcp-session-id")
    if not session:
        return None
    if len(session) > _LONGEST_SESSION or not all("!" <= c <= "~" for c in session):
        raise Trouble("the reply has a session id that is none")
    return session.encode()
