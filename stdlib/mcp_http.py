"""The streamable HTTP transport of the Model Context Protocol: each message one POST, its reply JSON or an event stream."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.host.http import TransportFailure
from language.values import Secret, as_map
from stdlib.http_client import exchanged, granted_target, header_list, no_transport
from stdlib.mcp_events import EventReader
from stdlib.mcp_protocol import reply_to
from stdlib.mcp_transport import ANSWERED, PLAIN, SessionOver, Transport, Trouble, one_line, timed_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.capabilities.scopes import NetTarget
    from language.host.http import HttpReply
    from language.runtime.context import Context

#: Headers of the transport, which no program sets.
_OWN = frozenset(("accept", "content-type", "mcp-session-id", "mcp-protocol-version"))
_LONGEST_SESSION = 1024
_SHORTEST_HIDDEN = 6


class HttpTransport(Transport):
    """A URL, with the headers of :meth:`set_headers`."""

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
            raise RuntimeFault(no_transport(builtin), kind="unsupported")

    def set_headers(self, builtin: str, headers: Any) -> None:
        """The headers of every request, secrets in clear. Raises ``RuntimeFault``, which shows none of them."""
        given = as_map(headers)
        if given is None:
            raise RuntimeFault(f'{builtin}: option "headers" must be a map', kind="type")
        for name in given:
            if name.lower() in _OWN:
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
                self._kept_back += [text, text.rpartition(" ")[2]]  # the token of `Bearer token` alone, too

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

    def request(self, ctx: Context, builtin: str, ident: int, message: str, end: float) -> dict[str, Any]:
        events = EventReader(ident)

        def enough(status: int, headers: list[tuple[str, str]]) -> Callable[[bytes], bool] | None:
            return events.feed if status == 200 and _kind(headers) == "text/event-stream" else None

        reply = self._post(ctx, builtin, message, end, enough)
        if self._version is None:
            self._session = _session(reply)
        kind = _kind(reply.headers)
        if kind == "text/event-stream":
            if not events.begun:  # a door that reads whole answers
                events.feed(reply.body)
            events.finish()
            found = events.found
        elif kind == "application/json":
            from language.values.json_decoding import decode

            try:
                found = reply_to(decode(reply.body.decode("utf-8", "replace")), ident)
            except RuntimeFault:
                raise Trouble("the reply is no valid JSON") from None
        else:
            raise Trouble("the reply is neither JSON nor an event stream")
        if found is None:
            raise Trouble("there was no reply with the id of the request")
        return found

    def notify(self, ctx: Context, builtin: str, message: str, end: float) -> None:
        self._post(ctx, builtin, message, end, None)

    def _post(self, ctx: Context, builtin: str, message: str, end: float, enough: Any) -> HttpReply:
        reply = self._send(ctx, builtin, "POST", message.encode(), end, enough)
        if reply.status == 404 and self._session is not None:
            raise SessionOver
        if not 200 <= reply.status <= 299:
            raise Trouble(f"returned HTTP {reply.status}", ANSWERED)
        return reply

    def _send(self, ctx: Context, builtin: str, method: str, body: bytes | None, end: float, enough: Any = None) -> HttpReply:
        from math import ceil

        headers = list(self._headers)
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
        """Tells the server that the session is over; whatever it answers."""
        if self._open and self._session is not None:
            self._open = False
            try:
                self._send(ctx, "mcp_close", "DELETE", None, end)
            except (Trouble, RuntimeFault):
                return


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
