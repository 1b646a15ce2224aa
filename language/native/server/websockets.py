"""WebSockets (RFC 6455): the leader reads, the thread of the program sends and waits for messages."""

from __future__ import annotations

from _thread import allocate_lock
from binascii import a2b_base64
from collections import deque
from contextlib import suppress
from io import BytesIO, StringIO
from time import monotonic
from typing import TYPE_CHECKING

from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    Request,
    TextMessage,
)
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from language.locks import Lock
from language.native.server.connection import NEVER
from language.native.server.heads import error
from language.native.server.polling import LEAVING, READ
from language.native.server.writing import Writer
from language.serve.reply import ClientGone
from language.waits import SOCKET_POLLING_INTERVAL, interruptible_wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from language.native.server.connection import Connection
    from language.native.server.engine import ServerEngine
    from language.native.server.requests import Incoming
    from language.serve.reply import SocketReply

#: The most received messages that wait for the program; beyond that the client's data is not read (backpressure).
_MOST_WAITING = 256
#: The most bytes of pongs that a client may leave unread.
_MOST_UNSENT = 1024 * 1024
#: How many seconds the peer has to answer a closing frame.
_CLOSE_SECONDS = 2.0
NORMAL = 1000
#: What a client is told of its frames that cannot be read, by the code of the closing frame.
_REASONS = {1002: "the frames break the protocol", 1007: "a text that is not UTF-8"}
TOO_BIG = 1009


class WebSocketChannel:
    """One open WebSocket."""

    def __init__(self, engine: ServerEngine, connection: Connection, socket: WSConnection, accepted: bytes) -> None:
        settings = connection.site.settings
        self._engine = engine
        self._connection = connection
        self._socket = socket
        self._ping_seconds = settings.ping
        self._most_message = settings.most_message
        self._writer = Writer(connection, settings.write_seconds)
        self._lock = Lock()
        #: the received part of a message, without the overhead of its frames
        self._part: StringIO | BytesIO | None = None
        self._size = 0
        #: whole messages with their sizes in bytes
        self._messages: deque[tuple[str | bytes, int]] = deque()
        self._waiting_bytes = 0
        self._paused = False
        self._closing = False
        self._over = False
        #: what is called when a message has come or the connection is lost
        self.bells: set[Callable[[], None]] = set()
        self._arrived = allocate_lock()
        self._arrived.acquire()
        self._heard = self._pinged = monotonic()
        self._writer.push(accepted)

    # ---- the program's side (language.serve.reply.SocketChannel) --------------------------------------------------------

    def send(self, message: str | bytes) -> None:
        with self._lock:
            if self._closing or self._over:
                raise ClientGone
            event: TextMessage | BytesMessage
            event = TextMessage(data=message) if isinstance(message, str) else BytesMessage(data=message)
            sent = self._writer.push(self._socket.send(event))  # inside the lock, so that frames are sent in order
        if not sent:
            self._writer.send(b"")

    def receive(self, seconds: float | None) -> str | bytes | None:
        until = None if seconds is None else monotonic() + seconds
        while True:
            with self._lock:
                if self._messages:
                    message, size = self._messages.popleft()
                    self._waiting_bytes -= size
                    resume = self._paused and not self._messages
                    if resume:
                        self._paused = False
                    break
                if self._over:
                    return None
            interval = SOCKET_POLLING_INTERVAL
            if until is not None:
                interval = min(interval, until - monotonic())
                if interval <= 0:
                    raise TimeoutError
            interruptible_wait(self._arrived, interval, SOCKET_POLLING_INTERVAL)
        if resume:
            self._engine.watch(self._connection, READ)
        return message

    def close(self, code: int, reason: str = "") -> None:
        with self._lock:
            if self._closing or self._over:
                return
            self._closing = True
            data = self._socket.send(CloseConnection(code=code, reason=reason or None))
            with suppress(ClientGone):
                self._writer.push(data)
        with suppress(ClientGone):
            self._writer.send(b"")

    # ---- the leader's side ----------------------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        """Processes received bytes. Raises ``OSError`` when the client does not read the pongs."""
        answers = b""
        with self._lock:
            self._heard = monotonic()
            try:
                self._socket.receive_data(data or None)
                for event in self._socket.events():
                    answers += self._event(event)
            except RemoteProtocolError:
                self._over = True
            except LocalProtocolError:
                pass  # the socket was closed before the pong was sent
            pause = not self._paused and (len(self._messages) > _MOST_WAITING or self._waiting_bytes > self._most_message)
            if pause:
                self._paused = True
            with suppress(ClientGone):  # before the program is told that the connection is closed
                self._writer.push(answers)
        self._wake_reader()
        if self._writer.waiting > _MOST_UNSENT:
            raise ConnectionResetError("it asks and does not read the answers")
        if pause:
            self._engine.watch(self._connection, LEAVING)

    def kept_bytes(self) -> int:
        """How many bytes of messages are kept here, incomplete ones included."""
        return self._waiting_bytes + self._size

    def lost(self) -> None:
        """Called when the connection is closed."""
        self._over = True
        self._wake_reader()

    def look(self, now: float) -> None:
        """Pings an idle client, and closes a connection whose client does not answer."""
        try:
            self._writer.push(b"")
            if self._ping_seconds and not self._over and now - max(self._heard, self._pinged) >= self._ping_seconds:
                if self._pinged > self._heard and now - self._pinged >= self._ping_seconds:
                    self.lost()
                    self._connection.gone = True
                    return
                self._pinged = now
                with self._lock:
                    if not self._closing:
                        self._writer.push(self._socket.send(Ping()))
        except (ClientGone, LocalProtocolError):
            self.lost()

    def wait_for_close(self) -> None:
        """Gives the peer time to answer the closing frame."""
        until = monotonic() + _CLOSE_SECONDS
        while not self._over and (left := until - monotonic()) > 0:
            interruptible_wait(self._arrived, left)

    def ready(self) -> bool:
        return bool(self._messages) or self._over

    def waiting(self) -> list[int]:
        return []

    def _wake_reader(self) -> None:
        for ring in list(self.bells):
            ring()
        try:
            self._arrived.release()
        except RuntimeError:
            return

    def _event(self, event: object) -> bytes:
        if isinstance(event, TextMessage | BytesMessage):
            if self._part is None:
                self._part = StringIO() if isinstance(event, TextMessage) else BytesIO()
            data = event.data
            self._part.write(data)  # type: ignore[arg-type]
            self._size += len(data) if isinstance(event, BytesMessage) or event.data.isascii() else len(event.data.encode())
            if self._size > self._most_message:
                self._part = None
                self._over = True
                if self._closing:
                    return b""
                self._closing = True
                return self._socket.send(CloseConnection(code=TOO_BIG, reason="message too big"))
            if event.message_finished:
                if not self._over:
                    self._messages.append((self._part.getvalue(), self._size))
                    self._waiting_bytes += self._size
                self._part, self._size = None, 0
        elif isinstance(event, Ping):
            return self._socket.send(event.response())
        elif isinstance(event, CloseConnection):
            self._over = True
            if not self._closing:
                self._closing = True
                if self._socket.state in (ConnectionState.REMOTE_CLOSING, ConnectionState.CLOSED):
                    return self._socket.send(event.response())
                # No frame of the client: it is the library that cannot read its frames, and says so in words of its own.
                return self._socket.send(CloseConnection(code=event.code, reason=_REASONS.get(int(event.code))))
        return b""


def talk(engine: ServerEngine, connection: Connection, incoming: Incoming, reply: SocketReply) -> None:
    """Does the handshake of a WebSocket and lets the program use it. Raises ``OSError`` when the client has closed the
    connection.
    """
    connection.leaving = True
    accepted = _accept(connection, incoming)
    if accepted is None or len(engine.channels) >= connection.site.settings.most_sockets:
        refusal = error(400, "malformed WebSocket handshake") if accepted is None else error(503, "too many WebSockets")
        if incoming.request.field("sec-websocket-version") not in (None, "13"):
            refusal = error(426, "WebSocket version not supported")
            refusal.headers.append(("Sec-WebSocket-Version", "13"))
        reply.refused()
        connection.answer(incoming, refusal)
        return
    socket, data = accepted
    channel = WebSocketChannel(engine, connection, socket, data)
    engine.channels.add(channel)
    rest, connection.reader.rest = connection.reader.rest, b""
    if rest:
        channel.received(rest)
    connection.channel = channel
    connection.deadline = NEVER  # pings detect a lost client
    connection.busy = False
    engine.watch(connection, READ)
    engine.watchers.add(channel.look)
    try:
        reply.run(channel)
        channel.close(NORMAL)
        channel.wait_for_close()
    except ClientGone:
        raise ConnectionResetError from None
    finally:
        engine.channels.discard(channel)
        engine.watchers.discard(channel.look)
        connection.busy = True
        connection.channel = None


def _accept(connection: Connection, incoming: Incoming) -> tuple[WSConnection, bytes] | None:
    """The opened socket and the reply to the handshake; ``None`` for an invalid handshake."""
    request = incoming.request
    if not incoming.upgrade or request.method != "GET":
        return None
    keys = [value for name, value in request.fields if name == "sec-websocket-key"]
    if len(keys) != 1 or not _is_nonce(keys[0]):
        return None
    socket = WSConnection(ConnectionType.SERVER)
    headers = [(name.encode("ascii"), value.encode("latin-1")) for name, value in request.fields]
    try:
        socket.initiate_upgrade_connection(headers, request.path)
        asked = next(iter(socket.events()), None)
        if not isinstance(asked, Request):
            return None
        known = connection.site.settings.subprotocols
        chosen = next((name for name in asked.subprotocols if name in known), None)
        return socket, socket.send(AcceptConnection(subprotocol=chosen))
    except (RemoteProtocolError, LocalProtocolError):
        return None


def _is_nonce(key: str) -> bool:
    """Whether it is the Base64 text of 16 bytes (RFC 6455 section 4.2.1)."""
    try:
        return len(a2b_base64(key, strict_mode=True)) == 16
    except ValueError:
        return False
