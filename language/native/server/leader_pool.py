"""Threads that take turns at leading: one waits for whatever happens on the sockets, and answers it itself.

Whoever leads holds the baton. To run a handler it lays the baton on the table; a handler that is done at once takes it back,
which costs nothing and keeps a single thread busy while the handlers are quick. One other thread stands in: when it finds the
baton on the table and the same handler at work as one tick before, it takes the baton and leads on, so a handler that waits
(for a human, a database, another service) never holds up anybody else. When handlers turn out to be slow, the stand-in is
called at the beginning of each instead of looking after a tick.

``list.append`` and ``list.pop`` are the table: each is one step of the interpreter, so exactly one thread gets the baton.
"""

from __future__ import annotations

from _thread import LockType, allocate_lock, stack_size, start_new_thread
from time import monotonic
from typing import TYPE_CHECKING

from language.runtime.threads import STACK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

#: How long a handler may keep the lead.
_TICK_SECONDS = 0.002
#: Ticks without anything to do after which the stand-in sleeps until it is called.
_TICKS_AWAKE = 5
#: Handlers that begin with a call of the stand-in, after one that was slow.
_EAGER_HANDLERS = 64
#: How long a thread without work is kept.
_IDLE_SECONDS = 10.0


class LeaderPool:
    """The threads. ``lead`` is run by whoever holds the baton and returns once it has lost it; ``relieve`` is run by a thread
    that has just become free, before it rests. At most ``limit`` handlers run at once.
    """

    __slots__ = (
        "_alive",
        "_call",
        "_eager",
        "_idle",
        "_lead",
        "_limit",
        "_lock",
        "_napping",
        "_relieve",
        "_stand_in",
        "_stopped",
        "_table",
        "_turn",
        "_urgent",
    )

    def __init__(self, lead: Callable[[], None], relieve: Callable[[], None], limit: int) -> None:
        self._lead = lead
        self._relieve = relieve
        self._limit = limit
        self._table: list[None] = []
        #: counts the handlers begun by leaders
        self._turn = 0
        self._eager = 0
        self._lock = allocate_lock()
        self._alive = 0
        self._idle: list[LockType] = []
        #: whether a thread is waiting for the baton
        self._stand_in = False
        self._napping = False
        #: whether the call is to take the baton, not only to look
        self._urgent = False
        self._call = allocate_lock()
        self._call.acquire()
        self._stopped = False

    def start(self) -> None:
        """Starts the first leader. Raises ``RuntimeError`` where the system has no threads."""
        with self._lock:
            self._start_thread(self._first)

    def stop(self) -> None:
        """Lets threads that wait end; a leader or a handler is not disturbed."""
        self._stopped = True
        with self._lock:
            idle, self._idle = self._idle, []
        for lock in idle:
            lock.release()
        self._rouse()

    @property
    def threads(self) -> int:
        return self._alive

    # ---- the leader's side ----------------------------------------------------------------------------------------------

    def covered(self) -> bool:
        """Whether somebody can take over; without that the leader must not run what may take long."""
        return self._stand_in or self._appoint()

    def lay_down(self, *, long: bool = False) -> float:
        """The leader begins something that may take long; with ``long`` it is known to. The answer is for :meth:`pick_up`."""
        self._turn += 1
        self._table.append(None)
        if self._eager:
            self._eager -= 1
            self._urgent = True
            self._rouse()
            return monotonic()
        if long:
            self._urgent = True
            self._rouse()
        elif self._napping:
            self._rouse()
        return 0.0

    def pick_up(self, began: float) -> bool:
        """Whether the one who laid the baton down leads on."""
        if began and monotonic() - began > _TICK_SECONDS:
            self._eager = _EAGER_HANDLERS
        try:
            self._table.pop()
        except IndexError:
            return False
        return True

    def _appoint(self) -> bool:
        with self._lock:
            if self._idle:
                self._idle.pop().release()
            elif self._alive > self._limit or self._stopped:
                return False
            else:
                try:
                    self._start_thread(self._work)
                except RuntimeError:  # no more threads to be had
                    return False
            self._stand_in = True
        return True

    def _rouse(self) -> None:
        try:
            self._call.release()
        except RuntimeError:
            return  # called already

    # ---- the threads ----------------------------------------------------------------------------------------------------

    def _start_thread(self, body: Callable[[], None]) -> None:
        previous = stack_size()
        try:
            stack_size(STACK_BYTES)
            start_new_thread(body, ())
        finally:
            stack_size(previous)
        self._alive += 1

    def _first(self) -> None:
        self._work(leads=True)

    def _work(self, *, leads: bool = False) -> None:
        """A thread that stands in, leads, rests, and stands in again."""
        try:
            while leads or self._wait_for_baton():
                leads = False
                self._lead()
                self._relieve()
                if not self._rest():
                    return
        finally:
            with self._lock:
                self._alive -= 1

    def _wait_for_baton(self) -> bool:
        seen = -1
        quiet = 0
        while not self._stopped:
            if quiet < _TICKS_AWAKE:
                called = self._call.acquire(timeout=_TICK_SECONDS)
            else:
                # A leader that began meanwhile has counted its turn, and one that begins later sees who naps.
                self._napping = True
                called = self._call.acquire(self._turn == seen)
                self._napping = False
                quiet = 0
            if called:
                called, self._urgent = self._urgent, False
            turn = self._turn
            if called or turn == seen:
                try:
                    self._table.pop()
                except IndexError:
                    quiet += 1
                else:
                    if turn == seen:
                        self._eager = _EAGER_HANDLERS
                    self._stand_in = False
                    return True
            else:
                quiet = 0
            seen = turn
        return False

    def _rest(self) -> bool:
        """Waits to be appointed as the next stand-in; ``False`` after too long a time."""
        with self._lock:
            if self._stopped:
                return False
            if not self._stand_in:
                self._stand_in = True
                return True
            mine = allocate_lock()
            mine.acquire()
            self._idle.append(mine)
        if mine.acquire(timeout=_IDLE_SECONDS):
            return not self._stopped
        with self._lock:
            if mine in self._idle:
                self._idle.remove(mine)
                return False
        return True
