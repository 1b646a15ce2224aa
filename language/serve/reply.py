"""The record of one reply: a body of known length, a file, a stream, a proxied reply or a WebSocket."""

from __future__ import annotations

from language.errors import Uncatchable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Sink(Protocol):
        """The output of a streaming reply."""

        def send(self, data: bytes) -> None:
            """Writes and flushes. Raises :class:`ClientGone` if the client has closed the connection."""

    class SocketChannel(Protocol):
        """An open WebSocket (RFC 6455), as ``socket`` of a program uses it."""

        def send(self, message: str | bytes) -> None:
            """Sends one text or binary message. Raises :class:`ClientGone`."""

        def receive(self, seconds: float | None) -> str | bytes | None:
            """The next message, or ``None`` once the peer has closed; raises ``TimeoutError`` after ``seconds``."""

        def close(self, code: int, reason: str = "") -> None:
            """Sends the closing frame; a second call does nothing."""

        #: callbacks for when :meth:`ready` may have become true; waiting threads add and discard their own
        bells: set[Callable[[], None]]

        def ready(self) -> bool:
            """Whether :meth:`receive` would return at once."""

        def waiting(self) -> list[int]:
            """The descriptors that become readable when :meth:`ready` may have become true; some channels use ``bells``
            instead.
            """


class ClientGone(Uncatchable):
    """The client has closed the connection. It ends the handler without an error message."""


class Reply:
    """A reply whose body is known. ``headers`` never hold framing fields (``Content-Length``, ``Connection``): the server
    adds them. ``closes`` says that the connection must be closed. ``compressible`` is false for a body that must be sent
    unchanged. ``message`` is the text of an error of the runtime, whose ``body`` is the JSON form of it; ``None`` for other
    replies.
    """

    __slots__ = ("body", "closes", "compressible", "content_type", "headers", "message", "status")

    def __init__(
        self,
        status: int,
        content_type: str | None = None,
        body: bytes = b"",
        headers: list[tuple[str, str]] | None = None,
        *,
        closes: bool = False,
        compressible: bool = True,
        message: str | None = None,
    ) -> None:
        self.status = status
        self.content_type = content_type
        self.body = body
        self.headers: list[tuple[str, str]] = [] if headers is None else headers
        self.closes = closes
        self.compressible = compressible
        self.message = message


class FileReply(Reply):
    """A reply whose body is ``length`` bytes of an open file from ``start`` on. The sender closes ``descriptor``."""

    __slots__ = ("descriptor", "length", "start")

    def __init__(
        self, status: int, content_type: str, headers: list[tuple[str, str]], descriptor: int, start: int, length: int
    ) -> None:
        super().__init__(status, content_type, b"", headers, compressible=False)
        self.descriptor = descriptor
        self.start = start
        self.length = length


class StreamReply(Reply):
    """A reply without a known length. ``produce(sink)`` writes it in the sending thread and returns at its end.

    ``keepalive`` is written after the configured time without output; empty for none.
    """

    __slots__ = ("keepalive", "produce")

    def __init__(
        self,
        status: int,
        content_type: str,
        headers: list[tuple[str, str]],
        produce: Callable[[Sink], None],
        keepalive: bytes = b"",
    ) -> None:
        super().__init__(status, content_type, b"", headers, closes=True, compressible=False)
        self.produce = produce
        self.keepalive = keepalive


class ProxyReply(Reply):
    """The request is forwarded to ``http://host:port`` + ``base``, whose reply is the reply. ``ended()`` is called once when
    that reply has ended. ``failed(why)`` gives the 502. ``check_address(address, port)`` raises ``RuntimeFault`` for a reserved
    address that the program may not connect to. ``headers`` replace the fields of their names in the reply of the target.
    """

    __slots__ = ("base", "check_address", "ended", "failed", "host", "port")

    def __init__(
        self,
        host: str,
        port: int,
        base: str,
        failed: Callable[[str], Reply],
        ended: Callable[[], None],
        check_address: Callable[[str, int], None],
    ) -> None:
        super().__init__(200)
        self.host = host
        self.port = port
        self.base = base
        self.failed = failed
        self.ended = ended
        self.check_address = check_address


class SocketReply(Reply):
    """The connection becomes a WebSocket. ``run(channel)`` uses it in the thread that holds it. If the handshake of the client
    is not valid, ``refused`` is called instead.
    """

    __slots__ = ("refused", "run")

    def __init__(self, run: Callable[[SocketChannel], None], refused: Callable[[], None] = lambda: None) -> None:
        super().__init__(101)
        self.run = run
        self.refused = refused
