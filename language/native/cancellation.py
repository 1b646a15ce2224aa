"""Handlers that must end before they are done: their deadline passed, or the server stops.

One thread for all of them. It raises :class:`Cancelled` inside the handler's thread (``PyThreadState_SetAsyncExc``), again and
again until the handler has noticed: such an exception can land in a ``finally`` of our own. Handlers run inside :meth:`run`,
which lets none of them reach a thread that has gone on to the next request.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident, start_new_thread
from contextlib import suppress
from time import monotonic

from language.errors import Cancelled
from language.locks import Lock
from language.runtime.threads import end_workers_of, make_ready, raise_in
from language.waits import INSIST_ON_HANDLER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from language.serve.exchange import Exchange

    Given = TypeVar("Given")

_NEVER = float("inf")
_LONGEST_WAIT = 3600.0


class Cancellation:
    """The handlers that run, and when each has to end."""

    def __init__(self, wake: Callable[[int], None] | None = None) -> None:
        #: has a thread look up that waits where no exception reaches it
        self._wake_thread = wake
        self._lock = Lock()
        self._running: set[Exchange] = set()
        self._insisting: list[Exchange] = []
        #: when the watching thread looks at the deadlines again
        self._next_look = _NEVER
        self._wake = allocate_lock()
        self._wake.acquire()
        self._started = False

    def __len__(self) -> int:
        return len(self._running)

    def run(
        self, exchange: Exchange, deadline: float | None, reason: str, work: Callable[..., Given], *arguments: Any
    ) -> Given | None:
        """What ``work(*arguments)`` gives, done by this thread for the request until ``deadline`` (monotonic seconds).

        Afterwards ``exchange.reason`` says why it was cancelled, where it was: then what came of it is not to be used. No
        exception of this kind leaves here, or reaches the thread later.
        """
        given = None
        try:
            self._enter(exchange, deadline, reason)
            given = work(*arguments)
        except Cancelled:
            given = None
        finally:
            # One step, between whose beginning and end no exception arrives. From here on nobody sends one, but one may have
            # been sent and not arrived, and another one may just be on its way: the third attempt is not disturbed.
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
            for _ in range(64):  # an exception arrives between two rounds
                pass

    def cancel_all(self, reason: str) -> None:
        """Ends every handler that runs."""
        with self._lock:
            for exchange in list(self._running):
                self._expire(exchange, reason)
        self._notify()

    def cancel_streams(self, reason: str) -> None:
        """Ends those that go on for ever."""
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
            with suppress(RuntimeError):  # another thread was quicker
                self._wake.release()

    def _watch(self) -> None:
        make_ready()
        while True:
            with self._lock:
                # Before the look at the deadlines: who comes after it with an earlier one calls.
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
                    first = min(first, now + INSIST_ON_HANDLER)
                self._next_look = min(self._next_look, first)
                wait = self._next_look - now
            self._wake.acquire(timeout=min(max(wait, 0.0), _LONGEST_WAIT) if wait < _NEVER else -1)
