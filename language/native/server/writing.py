"""Blocking writes from the thread that answers a request, at the pace of the client (backpressure)."""

from __future__ import annotations

import select
from time import monotonic
from typing import TYPE_CHECKING

from language.locks import Lock
from language.serve.reply import ClientGone

if TYPE_CHECKING:
    import socket

    from language.native.server.connection import Connection

#: Polling interval of a blocked writer: it checks then whether the client has closed the connection, and can be cancelled.
POLLING_SECONDS = 0.25


class Writer:
    """Sends data in order, from any thread. What the socket does not take at once is buffered.

    Only the thread that answers the request may block (:meth:`send`). The leader must not block and uses :meth:`push`.
    """

    __slots__ = ("_connection", "_lock", "_patience", "_pending", "_taken", "last")

    def __init__(self, connection: Connection, patience: float) -> None:
        self._connection = connection
        self._patience = patience
        self._lock = Lock()
        self._pending = b""
        #: sent bytes that are not removed from the buffer yet
        self._taken: list[int] = []
        #: time of the last write
        self.last = monotonic()

    def send(self, data: bytes) -> None:
        """Blocks until all is sent. Raises :class:`ClientGone` when the client closes the connection or reads nothing for too
        long.
        """
        if self.push(data):
            return
        until = monotonic() + self._patience
        poll = select.poll()
        poll.register(self._connection.descriptor, select.POLLOUT)
        while True:
            poll.poll(POLLING_SECONDS * 1000)
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
        """Sends what the socket takes now. Returns whether that was all. Raises :class:`ClientGone`."""
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
        # No call in this block: a cancellation is delivered at a call, and would make these bytes counted twice or not at all.
        self._pending = self._pending[self._taken[0] :]
        del self._taken[:]

    @property
    def waiting(self) -> int:
        """How many bytes the client has not taken yet."""
        return len(self._pending)

    def push_if_idle(self, data: bytes, quiet: float) -> None:
        """Sends ``data`` when nothing was sent for ``quiet`` seconds and the buffer is empty. Raises :class:`ClientGone`."""
        if not self._pending and monotonic() - self.last >= quiet:
            self.push(data)


def note_sent(sock: socket.socket, data: bytes, taken: list[int]) -> None:
    """Sends data and records how much of it was sent, without a cancellation point between the two.

    A cancellation is delivered after both, so sent bytes are never sent again. Raises ``OSError``.
    """
    over_tls = getattr(sock, "note_sent", None)
    if over_tls is None:
        taken.extend(map(sock.send, (data,)))
    else:
        over_tls(data, taken)
