"""Loopback ports inside of a program's sandbox that lead out over its link: for what wants an address."""

from __future__ import annotations

import socket
from _queue import SimpleQueue
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from contextlib import suppress

_STEP = 64 * 1024
#: Connections of one port at a time; the others wait.
_MOST = 256


class LoopbackPort:
    """A listening port of ``127.0.0.1``. ``serve(connection)`` has each connection, in a thread of its own, and closes it."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen(_MOST)
        self.port: int = self._listening.getsockname()[1]
        #: one thing for each connection that there may be
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
            except ConnectionAbortedError:
                self._free.put(None)
            except (OSError, RuntimeError):
                return  # closed, or the system has nothing left: who connects is told so by the system

    def _one(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):
                self._serve(connection)
        finally:
            self._free.put(None)

    def close(self) -> None:
        """Accepts nothing more. What is connected goes on."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes who waits in `accept`
        self._listening.close()


class Forwarding:
    """A loopback port whose connections go on to one place. The first is there already when this is made.

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
        """Accepts nothing more."""
        self._port.close()
        while self._first:
            self._first.pop().close()


def relay(one: socket.socket, other: socket.socket) -> None:
    """Passes on what comes from either side until both have ended, or one has broken.

    Each way has a thread, so that a side which does not read for a while holds up nothing but what is meant for it.
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
        return  # the system has no more threads
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
                side.shutdown(socket.SHUT_RDWR)  # ends the other way, too
