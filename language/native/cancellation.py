"""Cancels the handlers of a server: those whose deadline has passed or whose client is gone, and all when the server stops.

One watchdog thread serves all handlers. It raises :class:`Cancelled` asynchronously in the handler's thread
(``PyThreadState_SetAsyncExc``) until the handler has ended, because a single exception can be lost in a ``finally`` of the
runtime. Handlers run inside :meth:`Cancellation.run`, which ensures that no exception reaches a thread that already handles
the next request.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident, start_new_thread
from contextlib import suppress
from time import monotonic

from language.errors import Cancelled
from language.locks import Lock
from language.runtime.threads import end_workers_of, preload, raise_in
from language.waits import HANDLER_RAISE_INTERVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from language.serve.exchange import Exchange

    Given = TypeVar("Given")

_NEVER = float("inf")
_LONGEST_WAIT = 3600.0


class Cancellation:
    """The running handlers and their deadlines."""

    def __init__(self, wake: Callable[[int], None] | None = None) -> None:
        #: wakes a blocked thread, so that its pending asynchronous exception is delivered
        self._wake_thread = wake
        self._lock = Lock()
        self._running: set[Exchange] = set()
        self._insisting: list[Exchange] = []
        #: when the watchdog checks the deadlines next
        self._next_look = _NEVER
        self._wake = allocate_lock()
        self._wake.acquire()
        self._started = False

    def __len__(self) -> int:
        return len(self._running)

    def run(
        self, exchange: Exchange, deadline: float | None, reason: str, work: Callable[..., Given], *arguments: Any
    ) -> Given | None:
        """Calls ``work(*arguments)`` in this thread for the request, until ``deadline`` (monotonic seconds).

        Returns its result. When it was cancelled, ``exchange.reason`` says why afterwards, and the result must not be used.
        :class:`Cancelled` neither leaves this method nor reaches the thread later.
        """
        given = None
        try:
            self._enter(exchange, deadline, reason)
            given = work(*arguments)
        except Cancelled:
            given = None
        finally:
            # This is one assignment, so no exception can be delivered in the middle of it. After it no further exception is
            # raised. One may still be pending, and another one may be about to be raised. So at most two are delivered, and the
            # third attempt completes.
            exchange.ended = True
            try:
                self._leave(exchange)
            except Cancelled:
                try:
                    self._leave(exchange)
                except Cancelled:
                    self._leave(exchange)
        return given

    def _enter(self, exchange: Exchange, deadline: float | None, reason: str) -> None:
        exchange.thread = get_ident()
        exchange.deadline = _NEVER if deadline is None else deadline
        exchange.overdue = reason
        exchange.ended = False
        self._running.add(exchange)
        if deadline is not None and deadline < self._next_look:
            self._next_look = deadline
            self._notify()

    def _leave(self, exchange: Exchange) -> None:
        with self._lock:
            self._running.discard(exchange)
        if exchange.reason is not None:
            for _ in range(64):  # a pending exception is delivered at the end of a round
                pass

    def cancel_all(self, reason: str) -> None:
        """Cancels every running handler."""
        with self._lock:
            for exchange in list(self._running):
                self._expire(exchange, reason)
        self._notify()

    def cancel_streams(self, reason: str) -> None:
        """Cancels the handlers whose reply has no end: event streams and WebSockets."""
        with self._lock:
            for exchange in list(self._running):
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
                start_new_thread(self._watch, ())
                self._started = True
        if self._wake.locked():
            with suppress(RuntimeError):  # another thread released it first
                self._wake.release()

    def _watch(self) -> None:
        preload()
        while True:
            with self._lock:
                # Reset before the deadlines are read: a handler that registers an earlier deadline later notifies this thread.
                self._next_look = _NEVER
                now = monotonic()
                first = _NEVER
                for exchange in list(self._running):
                    if exchange.deadline <= now:
                        self._expire(exchange, exchange.overdue)
                    elif exchange.deadline < first:
                        first = exchange.deadline
                self._insisting = [exchange for exchange in self._insisting if not exchange.ended]
                if self._insisting:
                    raise_in([exchange.thread for exchange in self._insisting], Cancelled)
                for exchange in self._insisting:
                    end_workers_of(exchange.thread)
                    if self._wake_thread is not None:
                        self._wake_thread(exchange.thread)
                if self._insisting:
                    first = min(first, now + HANDLER_RAISE_INTERVAL)
                self._next_look = min(self._next_look, first)
                wait = self._next_look - now
            self._wake.acquire(timeout=min(max(wait, 0.0), _LONGEST_WAIT) if wait < _NEVER else -1)
