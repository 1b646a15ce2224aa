"""A client's connection: its requests are read one after the other, and each is an exchange."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, Protocol

from runner.ingress.exchanges import MOST_PENDING, STALLED_SECONDS, ClientExchange
from runner.ingress.heads import (
    END,
    LONGEST_HEAD,
    Malformed,
    RequestHead,
    read_request,
)
from runner.ingress.pages import page
from runner.ingress.rewriting import Client, to_program
from runner.ingress.routes import Route

if TYPE_CHECKING:
    from runner.ingress.pages import Subject

#: Seconds for a request's head from its first byte, and between requests.
HEAD_SECONDS: Final = 30.0
KEPT_SECONDS: Final = 75.0
#: Seconds for a client to read a refusal before its connection is cut.
LINGER_SECONDS: Final = 2.0


class Site(Protocol):
    """What a listener serves."""

    #: where every connection of the loop receives what it copies before the next one receives
    received: memoryview

    def came(self, connection: ClientConnection, address: str) -> Client | None:
        """Who comes from there; ``None`` where no further connection is taken."""

    def left(self, connection: ClientConnection) -> None:
        """The connection has ended, or was not taken."""

    def route(self, host: bytes) -> Route | None:
        """The project of a host, the port of ``Host`` included."""


class ClientConnection(asyncio.BufferedProtocol):
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
        client = self._site.came(self, peer[0] if peer else "")
        if client is None:
            transport.abort()
            return
        self._client = client

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where bytes are received."""
        return self._site.received

    def buffer_updated(self, nbytes: int) -> None:
        """Reads on."""
        if self._lingers:
            return
        data = bytes(self._site.received[:nbytes])
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
        self._site.left(self)
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
        # A client that does not read gets no further answers: they would fill the memory.
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
            if head != self._head or route is not self._route:  # clients often send the same head again
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
        """Ends the connection so that the client can read the reply: unread bytes of the client would cause a reset."""
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
