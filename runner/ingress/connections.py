"""A client's connection, and one exchange after the other over it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING, Final, Protocol

from runner.backends import StartFailed, StartTimeout, Unavailable
from runner.ingress.bodies import LAST_CHUNK, BodyReader, chunk, reader
from runner.ingress.heads import (
    END,
    LONGEST_HEAD,
    LONGEST_REPLY_HEAD,
    Malformed,
    ReplyHead,
    RequestHead,
    read_reply,
    read_request,
)
from runner.ingress.pages import page
from runner.ingress.rewriting import Client, ToClient, to_client, to_program

if TYPE_CHECKING:
    from runner.backends import Backend
    from runner.ingress.cookies import CookieRules
    from runner.ingress.pages import Subject
    from runner.ingress.programs import ProgramConnection, ProgramConnections

#: Seconds for a request's head from its first byte; between requests; without a byte of a body, or a byte taken of a reply.
HEAD_SECONDS: Final = 30.0
KEPT_SECONDS: Final = 75.0
STALLED_SECONDS: Final = 120.0
#: Seconds from a request to the head of its reply.
ANSWER_SECONDS: Final = 600.0
#: Bytes of a client that are kept until they can go on.
MOST_PENDING: Final = 64 * 1024
#: Requests that wait for one program.
MOST_HELD: Final = 512
#: Seconds for a client to read a refusal before its connection is cut.
LINGER_SECONDS: Final = 2.0
#: Heads of replies whose form for the client is kept, and their bytes at most.
MOST_KEPT_HEADS: Final = 64
LONGEST_KEPT_HEAD: Final = 2048
#: Sent again over a new connection when a kept one has ended before the answer: doing them twice is doing them once
#: (RFC 9110 section 9.2.2).
_IDEMPOTENT: Final = frozenset({b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE"})


@dataclass(slots=True)
class Route:
    """A project as the ingress serves it.

    Attributes:
        shared_host: whether other projects have the same host, and other ports.
        held: requests that wait for the program.
        heads: of replies that came lately, what was made of them: those of one second differ in nothing, often.
    """

    backend: Backend
    programs: ProgramConnections
    cookies: CookieRules
    shared_host: bool
    held: int = 0
    heads: dict[tuple[bytes, bool, bool, bool], tuple[ReplyHead, ToClient]] = field(default_factory=dict)

    def reply(self, head: bytes, request: RequestHead) -> tuple[ReplyHead, ToClient]:
        """A reply and how it goes to the client. Errors: ``Malformed``."""
        key = (head, request.method == b"HEAD", request.old, request.keep_alive)
        found = self.heads.get(key)
        if found is None:
            reply = read_reply(head, request.method)
            found = reply, to_client(reply, request, self.cookies, shared_host=self.shared_host, date=date_line)
            if len(head) < LONGEST_KEPT_HEAD and any(name == b"date" for name, _ in reply.fields):  # no date of ours grows old
                if len(self.heads) >= MOST_KEPT_HEADS:
                    self.heads.clear()
                self.heads[key] = found
        return found


class Site(Protocol):
    """What a listener serves."""

    connections: set[ClientConnection]

    def client(self, address: str) -> Client | None:
        """Who comes from there; ``None`` where no further connection is taken."""

    def route(self, host: bytes) -> Route | None:
        """The project that a host stands for, the port of ``Host`` included."""


class ClientConnection(asyncio.Protocol):
    """A connection of a client."""

    __slots__ = (
        "_buffer",
        "_client",
        "_exchange",
        "_head",
        "_lingers",
        "_passed_line",
        "_request",
        "_route",
        "_sent",
        "_site",
        "_unread",
        "since",
        "transport",
    )

    def __init__(self, site: Site) -> None:
        self.transport: asyncio.Transport
        self._site = site
        self._client = Client("")
        self._buffer = b""
        #: the last request, and what a program got of it
        self._head = b""
        self._request: RequestHead
        self._route: Route | None = None
        self._sent = b""
        self._exchange: ClientExchange | None = None
        self._lingers = False
        #: whether an empty line in front of a request was passed over
        self._passed_line = False
        #: whether the client does not read what was written
        self._unread = False
        #: when what is waited for has begun
        self.since = time.monotonic()

    # ---- the transport --------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        peer = transport.get_extra_info("peername")
        client = self._site.client(peer[0] if peer else "")
        if client is None:
            transport.abort()
            return
        self._client = client
        self._site.connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Reads on."""
        if self._lingers:
            return
        if self._exchange is not None:
            self._exchange.from_client(data)
            return
        if not self._buffer:
            self.since = time.monotonic()
        self.pipelined(data)
        self._read()

    def eof_received(self) -> bool | None:
        """The client sends no more: what it asked for is not wanted any more."""
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends."""
        self._site.connections.discard(self)
        self._lingers = True  # what has arrived before is not wanted any more
        if self._exchange is not None:
            exchange, self._exchange = self._exchange, None
            exchange.client_gone()

    def pause_writing(self) -> None:
        """The client does not read as fast as the program sends."""
        self._unread = True
        if self._exchange is not None:
            self._exchange.client_reads(False)

    def resume_writing(self) -> None:
        """It does again."""
        self._unread = False
        if self._exchange is not None:
            self._exchange.client_reads(True)
        else:
            self._read()

    # ---- requests -------------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        # Whoever does not read is answered no further: the replies would pile up here.
        while self._exchange is None and self._buffer and not (self._lingers or self._unread):
            buffer = self._buffer
            if buffer[:2] == b"\r\n" and not self._passed_line:
                self._buffer = buffer[2:]  # one empty line in front is passed over (RFC 9112 section 2.2)
                self._passed_line = True
                continue
            end = buffer.find(END)
            if end < 0 or end > LONGEST_HEAD:
                if len(buffer) > LONGEST_HEAD:
                    self.refuse(431, "malformed", detail="the header fields are too large")
                return
            head, self._buffer = buffer[: end + 4], buffer[end + 4 :]
            self._passed_line = False
            try:
                request = self._request if head == self._head else read_request(head)
            except Malformed as malformed:
                self.refuse(malformed.status, "malformed", detail=malformed.reason)
                return
            route = self._site.route(request.host)
            if route is None:
                self.refuse(421, "unknown_host", request)
                return
            if head != self._head or route is not self._route:  # clients repeat themselves
                self._head, self._request, self._route = head, request, route
                self._sent = to_program(request, self._client, route.cookies)
            rest, self._buffer = self._buffer, b""
            self.since = time.monotonic()
            self._exchange = ClientExchange(self, self._sent, request, route)
            self._exchange.begin(rest)

    def pipelined(self, data: bytes) -> None:
        """Bytes of requests to come."""
        self._buffer += data
        if len(self._buffer) > MOST_PENDING:
            self.transport.pause_reading()

    def exchange_over(self, *, closes: bool) -> None:
        """The reply is complete."""
        self._exchange = None
        self.since = time.monotonic()
        if closes:
            self._linger()
            return
        self.transport.resume_reading()
        if self._buffer:
            # Not at once: of a hundred requests in one piece each would be answered inside of the one before.
            asyncio.get_running_loop().call_soon(self._read)

    # ---- its end --------------------------------------------------------------------------------------------------------

    def refuse(self, status: int, subject: Subject, request: RequestHead | None = None, *, detail: str = "") -> None:
        """Says what is wrong, then ends the connection."""
        self._exchange = None
        fields = dict(request.fields) if request is not None else {}
        self.transport.write(
            page(
                status,
                subject,
                detail=detail,
                accept=fields.get(b"accept", b""),
                languages=fields.get(b"accept-language", b""),
                bodiless=request is not None and request.method == b"HEAD",
            )
        )
        self._linger()

    def _linger(self) -> None:
        """Ends the connection so that the client can read what was sent: bytes of it that nobody read would reset it."""
        self._lingers = True
        self._buffer = b""
        if self.transport.is_closing():
            return
        self.transport.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.since = time.monotonic()
        self._cut_later()

    def _cut_later(self) -> None:
        asyncio.get_running_loop().call_later(LINGER_SECONDS, self._cut)

    def _cut(self) -> None:
        unsent = self.transport.get_write_buffer_size() > 0
        if unsent and time.monotonic() - self.since < STALLED_SECONDS:
            self._cut_later()
        else:
            self.transport.abort()

    def check_time(self, now: float) -> None:
        """Ends the connection where it is waited for too long. Called every few seconds."""
        waited = now - self.since
        if self._exchange is not None:
            self._exchange.check_time(now)
        elif self._lingers:
            return
        elif self._unread and waited > STALLED_SECONDS:
            self.transport.abort()
        elif self._buffer and not self._unread and waited > HEAD_SECONDS:
            self.refuse(408, "malformed", detail="the request did not arrive in time")
        elif waited > KEPT_SECONDS:
            self.transport.close()

    def drain(self) -> None:
        """Ends the connection unless a request is under way."""
        if self._exchange is None and not self._buffer:
            self.transport.close()


class ClientExchange:
    """One request and its reply, on their way through. Hears of what the program sends (:class:`programs.Exchange`)."""

    __slots__ = (
        "_begun",
        "_body",
        "_chunked",
        "_closes",
        "_connection",
        "_entered",
        "_head",
        "_over",
        "_paused_at",
        "_pending",
        "_place",
        "_program",
        "_reply",
        "_reply_body",
        "_reply_buffer",
        "_request",
        "_route",
        "_sent_body",
        "_task",
        "_tunnel",
        "_waits",
    )

    def __init__(self, connection: ClientConnection, head: bytes, request: RequestHead, route: Route) -> None:
        self._connection = connection
        self._head = head
        self._request = request
        self._route = route
        self._body = reader(request.framing, 400)
        self._pending = b""
        self._program: ProgramConnection | None = None
        self._place = ("", 0)
        self._task: asyncio.Task[None] | None = None
        self._entered = False
        self._sent_body = False
        self._waits = False
        self._reply: ReplyHead | None = None
        self._reply_buffer = b""
        self._reply_body: BodyReader | None = None
        self._chunked = False
        self._closes = False
        self._begun = False
        self._tunnel = False
        self._over = False
        self._paused_at: float | None = None

    # ---- to the program -------------------------------------------------------------------------------------------------

    def begin(self, rest: bytes) -> None:
        """Goes in, at once or when the program is ready. ``rest``: what came behind the head."""
        if rest:
            self.from_client(rest)
            if self._over:
                return
        path = self._route.backend.enter_at_once()
        if path is None:
            self._task = asyncio.get_running_loop().create_task(self._wait())
        else:
            self._entered = True
            self._go(path)

    async def _wait(self) -> None:
        route = self._route
        if route.held >= MOST_HELD:
            self._fail(503, "busy")
            return
        route.held += 1
        self._waits = True
        try:
            path = await route.backend.enter()
        except StartTimeout:
            self._fail(504, "too_slow")
        except Unavailable:
            self._fail(503, "unavailable")
        except StartFailed:
            self._fail(502, "not_started")
        else:
            self._entered = True
            self._connection.since = time.monotonic()
            await self._connect(path)
        finally:
            route.held -= 1
            self._waits = False

    def _go(self, path: str) -> None:
        self._place = (path, self._route.backend.epoch)
        kept = self._route.programs.take(*self._place)
        if kept is not None:
            self._send(kept)
        else:
            self._task = asyncio.get_running_loop().create_task(self._connect(path))

    async def _connect(self, path: str) -> None:
        self._place = (path, self._route.backend.epoch)
        try:
            made = await self._route.programs.connect(*self._place)
        except OSError:
            self._fail(502, "no_answer")
            return
        if self._over:
            made.transport.abort()
        else:
            self._send(made)

    def _send(self, program: ProgramConnection) -> None:
        self._program = program
        program.exchange = self
        program.transport.write(self._head)
        if self._request.expects and not self._body.over:
            self._connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        pending, self._pending = self._pending, b""
        if pending:
            self._forward(pending)
        if not self._body.over:
            self._connection.transport.resume_reading()
        elif self._request.framing.chunked:
            program.transport.write(LAST_CHUNK)

    def from_client(self, data: bytes) -> None:
        """More bytes of the client: of the body, or of requests behind it."""
        self._connection.since = time.monotonic()
        if self._tunnel:
            assert self._program is not None
            self._program.transport.write(data)
            return
        if self._request.websocket:  # they belong to the tunnel, if there will be one
            self._keep(data)
            return
        if self._body.over:
            self._connection.pipelined(data)
            return
        try:
            taken, rest = self._body.take(data)
        except Malformed as malformed:
            self._fail(malformed.status, "malformed", malformed.reason)
            return
        if self._program is None:
            self._keep(taken)
        else:
            if taken:
                self._forward(taken)
            if self._body.over and self._request.framing.chunked:
                self._program.transport.write(LAST_CHUNK)
        if rest:
            self._connection.pipelined(rest)

    def _keep(self, data: bytes) -> None:
        self._pending += data
        if len(self._pending) > MOST_PENDING:
            self._connection.transport.pause_reading()

    def _forward(self, data: bytes) -> None:
        assert self._program is not None
        self._sent_body = True
        self._program.transport.write(chunk(data) if self._request.framing.chunked else data)

    def can_send(self, ready: bool) -> None:
        """Whether the program reads as fast as it is sent to."""
        if ready:
            self._connection.transport.resume_reading()
        else:
            self._connection.transport.pause_reading()

    # ---- to the client --------------------------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        """Bytes came from the program."""
        self._connection.since = time.monotonic()
        if self._tunnel:
            self._connection.transport.write(data)
            return
        if self._reply is not None:
            self._pass_on(data, b"")
            return
        self._reply_buffer += data
        while self._reply is None and not self._over:
            end = self._reply_buffer.find(END)
            if end < 0 or end > LONGEST_REPLY_HEAD:
                if len(self._reply_buffer) > LONGEST_REPLY_HEAD:
                    self._fail(502, "no_answer")
                return
            head, self._reply_buffer = self._reply_buffer[: end + 4], self._reply_buffer[end + 4 :]
            try:
                reply, sent = self._route.reply(head, self._request)
            except Malformed:
                self._fail(502, "no_answer")
                return
            if reply.status == 101:
                self._begin_tunnel(reply, sent)
            elif reply.status >= 200:  # what is said in advance is meant for us
                self._begin_reply(reply, sent)

    def _begin_reply(self, reply: ReplyHead, sent: ToClient) -> None:
        self._reply = reply
        self._begun = True
        self._reply_body = reader(reply.framing, 502)
        self._chunked, self._closes = sent.chunked, sent.closes
        rest, self._reply_buffer = self._reply_buffer, b""
        self._pass_on(rest, sent.head)

    def _pass_on(self, data: bytes, head: bytes) -> None:
        body = self._reply_body
        assert body is not None and self._reply is not None
        behind = b""
        if data and not body.over:
            try:
                data, behind = body.take(data)
            except Malformed:
                self._break_off()
                return
        elif data:
            data, behind = b"", data
        if self._chunked and data:
            data = chunk(data)
        if self._chunked and body.over:
            data += LAST_CHUNK
        if head or data:
            self._connection.transport.write(head + data)
        if body.over:
            self._end(reusable=not behind and self._reply.keep_alive)

    def _begin_tunnel(self, reply: ReplyHead, sent: ToClient) -> None:
        if not (reply.websocket and self._request.websocket):
            self._fail(502, "no_answer")
            return
        assert self._program is not None
        self._tunnel = self._begun = True
        rest, self._reply_buffer = self._reply_buffer, b""
        self._connection.transport.write(sent.head + rest)
        pending, self._pending = self._pending, b""
        if pending:
            self._program.transport.write(pending)
        self._connection.transport.resume_reading()

    def client_reads(self, ready: bool) -> None:
        """Whether the client reads as fast as the program sends."""
        self._paused_at = None if ready else time.monotonic()
        if self._program is not None:
            if ready:
                self._program.transport.resume_reading()
            else:
                self._program.transport.pause_reading()

    # ---- ends -----------------------------------------------------------------------------------------------------------

    def _end(self, *, reusable: bool) -> None:
        """The reply is complete."""
        program, self._program = self._program, None
        assert program is not None
        if reusable and self._body.over:
            self._route.programs.put_back(program, self._place)
        else:
            program.exchange = None
            program.transport.abort()
        self._leave()
        if self._pending:  # behind a request to go on with another protocol, which the program declined
            self._connection.pipelined(self._pending)
        self._connection.exchange_over(closes=self._closes or not self._body.over)

    def lost(self) -> None:
        """The program ended the connection."""
        program, self._program = self._program, None
        if self._over:
            return
        if self._tunnel:
            self._leave()
            self._connection.transport.close()
        elif self._reply is not None:
            if self._reply.framing.until_end:
                if self._chunked:
                    self._connection.transport.write(LAST_CHUNK)
                self._leave()
                self._connection.exchange_over(closes=self._closes or not self._body.over)
            else:
                self._break_off()
        elif program is not None and program.used and not self._sent_body and self._request.method in _IDEMPOTENT:
            self._reply_buffer = b""
            self._task = asyncio.get_running_loop().create_task(self._connect(self._place[0]))
        else:
            self._fail(502, "no_answer")

    def client_gone(self) -> None:
        """The client ended the connection."""
        self._drop_program()
        self._leave()

    def check_time(self, now: float) -> None:
        """Ends the exchange where it is waited for too long."""
        waited = now - self._connection.since
        if self._waits or self._tunnel:
            return
        if self._paused_at is not None and now - self._paused_at > STALLED_SECONDS:
            self._break_off()
        elif not self._body.over and self._program is not None and waited > STALLED_SECONDS and not self._begun:
            self._fail(408, "malformed", "the body did not arrive in time")
        elif not self._begun and waited > ANSWER_SECONDS:
            self._fail(504, "too_slow")

    def _fail(self, status: int, subject: Subject, detail: str = "") -> None:
        """Says what went wrong, while that can be said."""
        if self._over:
            return
        if self._begun:
            self._break_off()
            return
        self._drop_program()
        self._leave()
        self._connection.refuse(status, subject, self._request, detail=detail)

    def _break_off(self) -> None:
        """Cuts the connection, so that nobody takes what came for the whole."""
        self._drop_program()
        self._leave()
        self._connection.transport.abort()

    def _drop_program(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            program.exchange = None
            program.transport.abort()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    def _leave(self) -> None:
        self._over = True
        if self._entered:
            self._entered = False
            self._route.backend.leave()


_date: tuple[int, bytes] = (0, b"")


def date_line() -> bytes:
    """``Date: ...`` of this second."""
    global _date
    now = int(time.time())
    if _date[0] != now:
        _date = (now, f"date: {formatdate(now, usegmt=True)}\r\n".encode("ascii"))
    return _date[1]
