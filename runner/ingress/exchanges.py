"""One exchange: a request of a client goes on to its program, and the reply back, piece by piece."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from runner.backends import StartFailed, StartTimeout, Unavailable
from runner.ingress.bodies import LAST_CHUNK, BodyReader, chunk, reader
from runner.ingress.heads import (
    END,
    LONGEST_REPLY_HEAD,
    Malformed,
    ReplyHead,
    RequestHead,
)
from runner.ingress.rewriting import ToClient
from runner.ingress.routes import Route

if TYPE_CHECKING:
    from runner.ingress.connections import ClientConnection
    from runner.ingress.pages import Subject
    from runner.ingress.programs import ProgramConnection

#: Seconds without a byte of a body, or a byte taken of a reply.
STALLED_SECONDS: Final = 120.0
#: Seconds from a request to the head of its reply.
ANSWER_SECONDS: Final = 600.0
#: Bytes of a client that are kept until they can go on.
MOST_PENDING: Final = 64 * 1024
#: Requests that wait for one program.
MOST_HELD: Final = 512
#: Sent again over a new connection when a kept one has ended before the answer: doing them twice is doing them once
#: (RFC 9110 section 9.2.2).
_IDEMPOTENT: Final = frozenset({b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE"})


class ClientExchange:
    """One request and its reply, on their way through. Receives what the program sends (:class:`programs.Exchange`)."""

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
            elif reply.status >= 200:  # a reply with a lower status is for the ingress, not for the client
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
        """Resets the connection, so that the received part is not taken for the whole."""
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
