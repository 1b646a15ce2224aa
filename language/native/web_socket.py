"""The client's end of a WebSocket (RFC 6455). It needs no thread: it is read only while the program waits for a message."""

from __future__ import annotations

import selectors
import ssl
from collections import deque
from contextlib import suppress
from io import BytesIO, StringIO
from time import monotonic

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from language.capabilities.scopes import bracketed
from language.host.web_sockets import CannotOpen, SocketRequest
from language.waits import POLLING_INTERVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

_BLOCK = 1 << 16
#: The most received messages that wait for the program; beyond that the peer's data is not read.
_MOST_WAITING = 256
#: Seconds that the peer may take to read what is sent, and to answer a closing frame.
_WRITE_SECONDS = 30.0
_CLOSE_SECONDS = 2.0
TOO_BIG = 1009


class PeerGone(Exception):
    """The peer has closed the connection or has stopped reading."""


class ClientChannel:
    """An open WebSocket (``language.serve.reply.SocketChannel``). One thread at a time uses it."""

    def __init__(self, connected: socket.socket, most_message: int) -> None:
        self._stream = connected
        self._stream.setblocking(False)
        self._socket = WSConnection(ConnectionType.CLIENT)
        self._most_message = most_message
        self._part: StringIO | BytesIO | None = None
        self._size = 0
        self._messages: deque[tuple[str | bytes, int]] = deque()
        self._waiting_bytes = 0
        self._accepted = self._closing = self._over = False
        self._status = 0
        #: the unsent rest of started frames, and the latest control frame for the peer, which is sent after them
        self._unsent = bytearray()
        self._due = b""
        #: never used here: received data is noticed by the descriptor
        self.bells: set[Callable[[], None]] = set()

    def open(self, request: SocketRequest, end: float) -> None:
        """Does the handshake. Raises :class:`CannotOpen`."""
        target = request.target
        port = target.port
        place = bracketed(target.host) if port in (None, _default_port(target.scheme)) else f"{bracketed(target.host)}:{port}"
        headers = [(name.encode(), value) for name, value in request.headers]
        try:
            self._write(
                self._socket.send(Request(place, request.path, extra_headers=headers, subprotocols=request.protocols)), end
            )
            while not self._accepted:
                left = end - monotonic()
                if self._status:
                    raise CannotOpen(f"the server answered {self._status}: there is no WebSocket")
                if self._over:
                    raise CannotOpen("the server's answer is no WebSocket handshake")
                if left <= 0:
                    raise CannotOpen(f"no answer in {request.seconds:g} s")
                self._attend(left)
        except PeerGone:
            raise CannotOpen("the server closed the connection without an answer") from None

    # ---- language.serve.reply.SocketChannel ------------------------------------------------------------------------------

    def send(self, message: str | bytes) -> None:
        if self._closing or self._over:
            raise PeerGone
        event: Event = TextMessage(data=message) if isinstance(message, str) else BytesMessage(data=message)
        self._write(self._socket.send(event), monotonic() + _WRITE_SECONDS)

    def receive(self, seconds: float | None) -> str | bytes | None:
        end = float("inf") if seconds is None else monotonic() + seconds
        while not self.ready():
            left = end - monotonic()
            if left <= 0:
                raise TimeoutError
            self._attend(left)
        if not self._messages:
            return None
        message, size = self._messages.popleft()
        self._waiting_bytes -= size
        return message

    def close(self, code: int, reason: str = "") -> None:
        if self._closing or self._over:
            return
        self._closing = True
        end = monotonic() + _CLOSE_SECONDS
        with suppress(PeerGone, LocalProtocolError):
            self._write(self._socket.send(CloseConnection(code=code, reason=reason or None)), end)
            # If the connection were closed before the peer has answered, the peer might lose the closing frame.
            while not self._over and (left := end - monotonic()) > 0:
                self._messages.clear()
                self._waiting_bytes = 0
                self._attend(left)

    def ready(self) -> bool:
        if not self._messages and not self._over:
            self._read()
        return bool(self._messages) or self._over

    def waiting(self) -> list[int]:
        return [] if self._over else [self._stream.fileno()]

    def end(self) -> None:
        """Closes the connection. Idempotent."""
        self._over = True
        self._stream.close()

    # ---- the connection ----------------------------------------------------------------------------------------------------

    def _attend(self, seconds: float, *, writing: bool = False) -> None:
        """Waits at most one polling interval for data, or with ``writing`` until the socket is writable, and reads the
        available data.
        """
        with selectors.DefaultSelector() as selector:
            wanted = selectors.EVENT_WRITE if writing else 0
            if len(self._messages) <= _MOST_WAITING and self._waiting_bytes <= self._most_message:
                wanted |= selectors.EVENT_READ
            selector.register(self._stream, wanted)
            selector.select(min(seconds, POLLING_INTERVAL))
        self._read()
        if not self._over and (self._unsent or self._due):
            with suppress(OSError):
                self._flush()

    def _read(self) -> None:
        """Reads all available data, including data that TLS has buffered and the poller does not report."""
        while not self._over and len(self._messages) <= _MOST_WAITING and self._waiting_bytes <= self._most_message:
            try:
                data = self._stream.recv(_BLOCK)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                self._over = True
                return
            try:
                self._socket.receive_data(data or None)
                for event in self._socket.events():
                    self._take(event)
            except (RemoteProtocolError, LocalProtocolError):
                self._over = True
            if not data:
                self._over = True

    def _take(self, event: Event) -> None:
        if isinstance(event, AcceptConnection):
            self._accepted = True
        elif isinstance(event, RejectConnection):
            self._status = event.status_code
        elif isinstance(event, RejectData):
            return
        elif isinstance(event, TextMessage | BytesMessage):
            self._add(event)
        elif isinstance(event, Ping):
            self._answer(event.response())
        elif isinstance(event, CloseConnection):
            if not self._closing:
                self._closing = True
                self._answer(event.response())
            self._over = True

    def _add(self, event: TextMessage | BytesMessage) -> None:
        if self._part is None:
            self._part = StringIO() if isinstance(event, TextMessage) else BytesIO()
        data = event.data
        self._part.write(data)  # type: ignore[arg-type]
        self._size += len(data) if isinstance(event, BytesMessage) or event.data.isascii() else len(event.data.encode())
        if self._size > self._most_message:
            self._part = None
            self._closing = True
            self._answer(CloseConnection(code=TOO_BIG, reason="message too big"))
            self._over = True
        elif event.message_finished:
            self._messages.append((self._part.getvalue(), self._size))
            self._waiting_bytes += self._size
            self._part, self._size = None, 0

    def _answer(self, event: Event) -> None:
        """Queues a control frame after the frame that is being sent. Only the latest one is kept."""
        with suppress(LocalProtocolError):
            self._due = self._socket.send(event)
        with suppress(OSError):
            self._flush()

    def _write(self, data: bytes, end: float) -> None:
        """Sends a whole frame, until ``end`` (monotonic seconds). Raises :class:`PeerGone`."""
        self._unsent += data
        while True:
            try:
                if self._flush():
                    return
                left = end - monotonic()
            except OSError:
                left = 0.0
            if left <= 0 or self._over:
                self.end()
                raise PeerGone
            self._attend(left, writing=True)

    def _flush(self) -> bool:
        """Sends as much as possible without blocking. Returns whether everything is sent. Raises ``OSError``."""
        try:
            while True:
                while self._unsent:
                    # Sends a copy: a cancellation here would otherwise leave a view that prevents the buffer from being
                    # shortened.
                    del self._unsent[: self._stream.send(bytes(self._unsent[:_BLOCK]))]
                if not self._due:
                    return True
                self._unsent += self._due
                self._due = b""
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False


def _default_port(scheme: str) -> int:
    return 443 if scheme == "wss" else 80
