"""Handlers that must end before they are done: their deadline passed, or the server stops.

One thread for all of them. It raises :class:`Cancelled` inside the handler's thread (``PyThreadState_SetAsyncExc``), again and
again until the handler has noticed: such an exception can land in a ``finally`` of our own. Whoever runs a handler enters and
leaves here, so that none reaches a thread that has gone on to the next request.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident, start_new_thread
from contextlib import suppress
from heapq import heappop, heappush
from time import monotonic

from language.errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from language.serve.exchange import Exchange

#: Seconds between two attempts to end a handler.
_INSIST = 0.02


class Cancellation:
    """The handlers that run, and when each has to end."""

    def __init__(self, wake: Callable[[int], None] | None = None) -> None:
        #: has a thread look up that waits where no exception reaches it
        self._wake_thread = wake
        self._lock = allocate_lock()
        self._running: dict[int, Exchange] = {}
        self._deadlines: list[tuple[float, int, Exchange, str]] = []
        self._count = 0
        self._insisting: list[Exchange] = []
        self._wake = allocate_lock()
        self._wake.acquire()
        self._started = False

    def __len__(self) -> int:
        return len(self._running)

    def enter(self, exchange: Exchange, deadline: float | None = None, reason: str = "") -> None:
        """This thread begins to work for the request, until ``deadline`` (monotonic seconds)."""
        ident = get_ident()
        exchange.thread = ident
        exchange.ended = False
        self._running[ident] = exchange
        if deadline is not None:
            with self._lock:
                self._count += 1
                heappush(self._deadlines, (deadline, self._count, exchange, reason))
                first = self._deadlines[0][2] is exchange
            if first:
                self._notify()

    def leave(self, exchange: Exchange) -> str | None:
        """It has ended: why it was cancelled, or ``None``. No exception of this kind reaches the thread afterwards."""
        while True:
            try:
                with self._lock:
                    exchange.ended = True
                    self._running.pop(exchange.thread, None)
                if exchange.reason is not None:
                    for _ in range(64):  # one may still be on its way
                        pass
                return exchange.reason
            except Cancelled:
                continue

    def cancel_all(self, reason: str) -> None:
        """Ends every handler that runs."""
        with self._lock:
            for exchange in list(self._running.values()):
                self._expire(exchange, reason)
        self._notify()

    def cancel_streams(self, reason: str) -> None:
        """Ends those that go on for ever."""
        with self._lock:
            for exchange in list(self._running.values()):
                if exchange.streams:
                    self._expire(exchange, reason)
        self._notify()

    def _expire(self, exchange: Exchange, reason: str) -> None:
        if not exchange.ended and exchange.reason is None:
            exchange.reason = reason
            self._insisting.append(exchange)

    def _notify(self) -> None:
        with self._lock:
            if not self._started:
                self._started = True
                start_new_thread(self._watch, ())
        if self._wake.locked():
            with suppress(RuntimeError):  # another thread was quicker
                self._wake.release()

    def _watch(self) -> None:
        import ctypes

        set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
        while True:
            with self._lock:
                now = monotonic()
                while self._deadlines and (self._deadlines[0][0] <= now or self._deadlines[0][2].ended):
                    _, _, exchange, reason = heappop(self._deadlines)
                    self._expire(exchange, reason)
                self._insisting = [exchange for exchange in self._insisting if not exchange.ended]
                for exchange in self._insisting:
                    set_exception(ctypes.c_ulong(exchange.thread), ctypes.py_object(Cancelled))
                    if self._wake_thread is not None:
                        self._wake_thread(exchange.thread)
                wait = self._deadlines[0][0] - now if self._deadlines else -1.0
                if self._insisting:
                    wait = _INSIST
            self._wake.acquire(timeout=min(wait, 3600.0) if wait >= 0 else -1)
