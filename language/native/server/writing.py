"""Writing to a connection from the thread that answers it, at the pace of the client."""

from __future__ import annotations

import select
from time import monotonic
from typing import TYPE_CHECKING

from language.locks import Lock
from language.serve.reply import ClientGone

if TYPE_CHECKING:
    import socket

    from language.native.server.connection import Connection

#: How long a thread waits before it looks whether the client has left, or it is to end itself.
NAP_SECONDS = 0.25


class Writer:
    """Sends everything, in order, from whichever thread: what the client does not take at once waits in between.

    Only the thread that answers may wait (:meth:`send`); the leader, which must not, adds with :meth:`push`.
    """

    __slots__ = ("_connection", "_lock", "_patience", "_pending", "_taken", "last")

    def __init__(self, connection: Connection, patience: float) -> None:
        self._connection = connection
        self._patience = patience
        self._lock = Lock()
        self._pending = b""
        #: what the client took of it, where that is not counted yet
        self._taken: list[int] = []
        #: when something was last sent
        self.last = monotonic()

    def send(self, data: bytes) -> None:
        """Returns when all is sent. Raises :class:`ClientGone` when the client leaves, or takes nothing for too long."""
        if self.push(data):
            return
        until = monotonic() + self._patience
        poll = select.poll()
        poll.register(self._connection.descriptor, select.POLLOUT)
        while True:
            poll.poll(NAP_SECONDS * 1000)
            before = len(self._pending)
            if self.push(b""):
                return
            now = monotonic()
            if len(self._pending) < before:
                until = now + self._patience
            elif now > until:
                self._connection.gone = True
                raise ClientGone

    def push(self, data: bytes) -> bool:
        """Sends what the client takes now; whether that was all. Raises :class:`ClientGone`."""
        connection = self._connection
        taken = self._taken
        with self._lock:
            if connection.gone:
                raise ClientGone
            if taken:
                self._count()
            self._pending = pending = self._pending + data if self._pending else data
            if not pending:
                return True
            try:
                note_sent(connection.socket, pending, taken)
            except BlockingIOError:
                return False
            except OSError:
                connection.gone = True
                raise ClientGone from None
            self._count()
            self.last = monotonic()
            return not self._pending

    def _count(self) -> None:
        # No call in here: what ends a handler from outside arrives at one, and would have this counted twice or not at all.
        self._pending = self._pending[self._taken[0] :]
        del self._taken[:]

    @property
    def waiting(self) -> int:
        """Bytes that the client has not taken yet."""
        return len(self._pending)

    def push_if_idle(self, data: bytes, quiet: float) -> None:
        """Sends ``data`` when nothing was sent for ``quiet`` seconds and nothing waits to be. Raises :class:`ClientGone`."""
        if not self._pending and monotonic() - self.last >= quiet:
            self.push(data)


def note_sent(sock: socket.socket, data: bytes, taken: list[int]) -> None:
    """Sends data and notes how much of it was taken, in one step of the interpreter: an exception that another thread raises
    in this one arrives behind both, and what was sent is never sent again. Raises ``OSError``.
    """
    over_tls = getattr(sock, "note_sent", None)
    if over_tls is None:
        taken.extend(map(sock.send, (data,)))
    else:
        over_tls(data, taken)
