"""The record of one reply: sized, a file, or something that goes on for a while."""

from __future__ import annotations

from language.errors import Uncatchable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Sink(Protocol):
        """Where a streaming reply writes."""

        def send(self, data: bytes) -> None:
            """Writes and flushes. Raises :class:`ClientGone` when nobody reads any more."""

    class SocketChannel(Protocol):
        """An open WebSocket (RFC 6455) as the program's handle sees it."""

        def send(self, message: str | bytes) -> None:
            """Sends one text or binary message. Raises :class:`ClientGone`."""

        def receive(self, seconds: float | None) -> str | bytes | None:
            """The next message, or ``None`` once the peer has closed; raises ``TimeoutError`` after ``seconds``."""

        def close(self, code: int, reason: str = "") -> None:
            """Sends the closing frame; a second call does nothing."""


class ClientGone(Uncatchable):
    """Nobody reads the reply any more: unwinds the handler, in silence."""


class Reply:
    """A reply whose body is known. ``headers`` never hold framing fields (``Content-Length``, ``Connection``): the server
    adds them. ``closes`` says that the connection must not be kept. ``compressible`` is false for what must go out as it is.
    """

    __slots__ = ("body", "closes", "compressible", "content_type", "headers", "status")

    def __init__(
        self,
        status: int,
        content_type: str | None = None,
        body: bytes = b"",
        headers: list[tuple[str, str]] | None = None,
        *,
        closes: bool = False,
        compressible: bool = True,
    ) -> None:
        self.status = status
        self.content_type = content_type
        self.body = body
        self.headers: list[tuple[str, str]] = [] if headers is None else headers
        self.closes = closes
        self.compressible = compressible


class FileReply(Reply):
    """A reply whose body is ``length`` bytes of an open file from ``start`` on; whoever sends it closes ``descriptor``."""

    __slots__ = ("descriptor", "length", "start")

    def __init__(
        self, status: int, content_type: str, headers: list[tuple[str, str]], descriptor: int, start: int, length: int
    ) -> None:
        super().__init__(status, content_type, b"", headers, compressible=False)
        self.descriptor = descriptor
        self.start = start
        self.length = length


class StreamReply(Reply):
    """A reply without a known length: ``produce(sink)`` writes it, in the thread that sends it, and returns at its end.

    ``keepalive`` is written when nothing was for the configured time; empty for none.
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
    """The request goes on to ``http://host:port`` + ``base`` and what comes back is the reply. ``ended`` is called once when
    it is over. ``failed(why)`` gives the 502. ``check_address(address, port)`` raises ``RuntimeFault`` for a reserved address
    that the program may not connect to. ``headers`` are added to what comes back, in the place of fields of their names.
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
    """The connection becomes a WebSocket: ``run(channel)`` talks over it in the thread that holds it; in its place ``refused``
    is called where the client's handshake is none.
    """

    __slots__ = ("refused", "run")

    def __init__(self, run: Callable[[SocketChannel], None], refused: Callable[[], None] = lambda: None) -> None:
        super().__init__(101)
        self.run = run
        self.refused = refused
