"""The state of one client's connection: bytes received, bytes to be sent, and whether a thread is handling it."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from language.native.server.console import say
from language.native.server.heads import HeaderInjection, error, sized_head
from language.native.server.requests import Incoming, RequestReader
from language.serve.reply import FileReply, Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from language.native.server.settings import Site
    from language.serve.request import Request

#: The most bytes of one read.
_READ = 65536
#: The same for a connection that a channel reads: parsing 64 KiB of empty WebSocket frames would block the leader for a tenth
#: of a second.
_READ_OF_CHANNEL = 8192
#: The most bytes of a file in one write.
_FILE_STEP = 256 * 1024
CLOSE = b"Connection: close\r\n"
_KEEP_ALIVE = b"Connection: keep-alive\r\n"
NEVER = float("inf")


class Channel(Protocol):
    """Reads a connection that has switched from HTTP to another protocol."""

    def received(self, data: bytes) -> None:
        """Processes received bytes."""

    def lost(self) -> None:
        """Called when the connection is closed."""


class Gone(OSError):
    """The client has closed the connection."""


class _FilePart:
    """The part of a file that is still to be sent."""

    __slots__ = ("at", "descriptor", "left")

    def __init__(self, reply: FileReply) -> None:
        self.descriptor = reply.descriptor
        self.at = reply.start
        self.left = reply.length


class Connection:
    """A non-blocking socket with its parser. One thread at a time uses it: the thread that answers a request while ``busy``,
    else the leader.

    ``watched`` is the event mask it is registered with. At ``deadline`` (monotonic seconds) the leader closes it. With
    ``leaving`` it is closed once ``out`` is sent.
    """

    __slots__ = (
        "address",
        "busy",
        "channel",
        "closed",
        "deadline",
        "descriptor",
        "gone",
        "handshake",
        "leaving",
        "lingering",
        "out",
        "reader",
        "secure",
        "site",
        "socket",
        "spill_folder",
        "watched",
    )

    def __init__(self, sock: socket.socket, address: str, site: Site, spill_folder: Callable[[], str]) -> None:
        self.socket = sock
        self.descriptor = sock.fileno()
        self.address = address
        self.site = site
        self.secure = False
        self.spill_folder = spill_folder
        self.reader = RequestReader(self)
        self.out: list[memoryview | _FilePart] = []
        self.busy = False
        self.closed = False
        self.leaving = False
        self.lingering = False
        #: the client has closed its side
        self.gone = False
        self.watched = 0
        self.deadline = NEVER
        #: continues a TLS handshake; returns whether it is complete
        self.handshake: Callable[[], bool] | None = None
        #: receives what is read, in place of the parser
        self.channel: Channel | None = None

    # ---- what the reader asks -------------------------------------------------------------------------------------------

    def client(self, request: Request) -> None:
        request.address = self.address
        request.secure = self.secure
        if self.site.trust:
            self.site.trust.apply(request)

    def body_limit(self, request: Request) -> int | None:
        return self.site.application.body_limit(request)

    def too_large(self, request: Request) -> Reply:
        return self.site.application.too_large(request)

    def spill(self) -> str:
        return self.spill_folder()

    def report(self, failure: OSError) -> None:
        say(f"[serve] cannot keep the body of a request: {failure.strerror or failure}")

    # ---- reading --------------------------------------------------------------------------------------------------------

    def receive(self) -> bytes:
        """Received bytes. Raises ``BlockingIOError`` when there are none and :class:`Gone` at the end of the connection."""
        data = self.socket.recv(_READ if self.channel is None else _READ_OF_CHANNEL)
        if not data:
            raise Gone
        if self.secure:
            # The poller reports no event for bytes that TLS has already decrypted.
            while self.socket.pending():  # type: ignore[attr-defined]
                data += self.socket.recv(_READ)
        return data

    def has_left(self) -> bool:
        """Whether the client has closed its side and everything that it sent is read."""
        try:
            return not socket.socket.recv(self.socket, 1, socket.MSG_PEEK)  # the raw bytes of TLS
        except BlockingIOError:
            return False
        except OSError:
            return True

    # ---- writing --------------------------------------------------------------------------------------------------------

    def answer(self, incoming: Incoming, reply: Reply) -> None:
        """Sends as much of a reply of known length as the socket takes now; the rest is in ``out``. Raises ``OSError``."""
        if reply.closes or not incoming.keep_alive:
            self.leaving = True
            connection = CLOSE
        else:
            connection = _KEEP_ALIVE if incoming.old else b""
        body = reply.body
        part = _FilePart(reply) if isinstance(reply, FileReply) else None
        try:
            head = sized_head(reply, len(body) if part is None else part.left, connection)
        except HeaderInjection:
            self._close_part(part)
            part = None
            reply = error(500, "internal server error")
            body = reply.body
            head = sized_head(reply, len(body), connection)
        if incoming.request.method == "HEAD":
            self._close_part(part)
            self.transmit(head)
        elif part is None:
            self.transmit(head + body)
        else:
            self.out.append(memoryview(head))
            self.out.append(part)
            self.flush()

    def transmit(self, data: bytes) -> None:
        """Sends as much as the socket takes now, the rest later. Raises ``OSError``."""
        if not self.out:
            try:
                sent = self.socket.send(data)
            except BlockingIOError:
                sent = 0
            if sent == len(data):
                return
            self.out.append(memoryview(data)[sent:])
        else:
            self.out.append(memoryview(data))

    def flush(self) -> bool:
        """Sends more of ``out``. Returns whether all is sent. Raises ``OSError``."""
        out = self.out
        while out:
            part = out[0]
            try:
                if isinstance(part, _FilePart):
                    self._send_file(part)
                    if part.left:
                        continue
                    os.close(part.descriptor)
                else:
                    sent = self.socket.send(part)
                    if sent < len(part):
                        out[0] = part[sent:]
                        continue
            except BlockingIOError:
                return False
            del out[0]
        return True

    def _send_file(self, part: _FilePart) -> None:
        if not part.left:
            return
        if self.secure:
            data = os.pread(part.descriptor, min(part.left, _FILE_STEP), part.at)
            sent = self.socket.send(data) if data else 0
        else:
            sent = os.sendfile(self.descriptor, part.descriptor, part.at, min(part.left, _FILE_STEP))
        if not sent:
            raise Gone("the file has become shorter")  # `Content-Length` was sent already: the connection must be closed
        part.at += sent
        part.left -= sent

    def _close_part(self, part: _FilePart | None) -> None:
        if part is not None:
            os.close(part.descriptor)

    def finish(self) -> None:
        """Closes the sending side, so that the client sees the end. Raises ``OSError``."""
        if self.secure:
            with suppress(OSError):  # does not wait for the client's TLS close alert
                self.socket.unwrap()  # type: ignore[attr-defined]
        self.socket.shutdown(socket.SHUT_WR)

    def drop(self) -> None:
        """Closes the socket and everything that belongs to it."""
        self.closed = True
        self.gone = True
        if self.channel is not None:
            self.channel.lost()
        self.reader.close()
        for part in self.out:
            if isinstance(part, _FilePart):
                os.close(part.descriptor)
        self.out = []
        self.socket.close()
