"""Loopback ports inside of a program's sandbox that forward to its link, for libraries that need an address."""

from __future__ import annotations

import errno
import socket
import time
from _queue import SimpleQueue
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from contextlib import suppress

_STEP = 64 * 1024
#: The most concurrent connections of one port; further ones wait.
_MOST = 256
#: Seconds before another attempt when the system had no file descriptor or thread left.
_REST_SECONDS = 0.1
#: Errors of ``accept`` after which the listening socket is closed.
_CLOSED = (errno.EBADF, errno.EINVAL, errno.ENOTSOCK)


class LoopbackPort:
    """A listening port of ``127.0.0.1``. Each connection is passed to ``serve(connection)`` in a thread of its own, and then
    closed.
    """

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen(_MOST)
        self.port: int = self._listening.getsockname()[1]
        #: one item for each further connection that is allowed
        self._free: SimpleQueue[None] = SimpleQueue()
        for _ in range(_MOST):
            self._free.put(None)
        start_new_thread(self._accept, ())

    def _accept(self) -> None:
        while True:
            self._free.get()
            try:
                connection, _ = self._listening.accept()
                start_new_thread(self._one, (connection,))
            except (OSError, RuntimeError) as error:
                if isinstance(error, OSError) and error.errno in _CLOSED:
                    return
                self._free.put(None)
                time.sleep(_REST_SECONDS)  # the client waits meanwhile

    def _one(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):
                self._serve(connection)
        finally:
            self._free.put(None)

    def close(self) -> None:
        """Stops accepting. Open connections stay open."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes the thread that is blocked in `accept`
        self._listening.close()


class Forwarding:
    """A loopback port that forwards its connections to one destination. The first connection is made in the constructor.

    Errors: what ``connect`` raises.
    """

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._first: list[socket.socket] = [connect()]
        self._port = LoopbackPort(self._forward)
        self.address = "127.0.0.1"
        self.port = self._port.port

    def _forward(self, connection: socket.socket) -> None:
        try:
            upstream = self._first.pop()
        except IndexError:
            upstream = self._connect()
        with upstream:
            relay(connection, upstream)

    def close(self) -> None:
        """Stops accepting."""
        self._port.close()
        while self._first:
            self._first.pop().close()


def relay(one: socket.socket, other: socket.socket) -> None:
    """Copies data in both directions until both sides have ended, or one connection is lost.

    Each direction has a thread, so that a side which does not read blocks only the data sent to it (backpressure).
    """
    over = allocate_lock()
    over.acquire()

    def back() -> None:
        try:
            _pass_on(other, one)
        finally:
            over.release()

    try:
        start_new_thread(back, ())
    except RuntimeError:
        return  # the system refuses another thread
    _pass_on(one, other)
    over.acquire()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(_STEP):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for side in (source, target):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)  # also ends the other direction
