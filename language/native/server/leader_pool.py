"""A leader/followers pool: threads that take turns at waiting for the sockets (Schmidt et al., "Leader/Followers").

The leader waits for events and runs the handler of a request itself. While it does, leadership is on offer: a handler that is
done at once takes it back, which costs nothing and keeps a single thread busy while the handlers are quick. One follower is on
watch: when it finds leadership on offer and the same handler at work as one tick before, it takes leadership, so a handler that
waits (for a person, a database, another service) never holds up anybody else. When handlers turn out to be slow, the follower
is woken at the beginning of each one, and does not look after a tick.

``list.append`` and ``list.pop`` make and take the offer: each is one step of the interpreter, so exactly one thread takes it.
"""

from __future__ import annotations

from _thread import LockType, allocate_lock, stack_size, start_new_thread
from time import monotonic
from typing import TYPE_CHECKING

from language.locks import Lock
from language.runtime.threads import STACK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds after which a follower takes leadership from a handler that still runs.
_TICK_SECONDS = 0.002
#: Ticks without anything to do after which the follower on watch sleeps until it is woken.
_TICKS_AWAKE = 5
#: Handlers that begin with waking the follower, after one that was slow.
_EAGER_HANDLERS = 64
#: Seconds for which a thread without work is kept.
_IDLE_SECONDS = 10.0


class LeaderPool:
    """The threads. ``lead`` is run by the leader and returns once another thread has taken leadership; ``relieve`` is run by a
    thread that leads no more and has answered its request, before it becomes a follower again. At most ``limit`` handlers run
    at once.
    """

    __slots__ = (
        "_alive",
        "_asleep",
        "_eager",
        "_idle",
        "_lead",
        "_limit",
        "_lock",
        "_offer",
        "_on_watch",
        "_relieve",
        "_stopped",
        "_turn",
        "_urgent",
        "_wake",
    )

    def __init__(self, lead: Callable[[], None], relieve: Callable[[], None], limit: int) -> None:
        self._lead = lead
        self._relieve = relieve
        self._limit = limit
        self._offer: list[None] = []
        #: counts the handlers begun by leaders
        self._turn = 0
        self._eager = 0
        self._lock = Lock()
        self._alive = 0
        self._idle: list[LockType] = []
        #: whether a follower waits to be promoted
        self._on_watch = False
        self._asleep = False
        #: whether the follower is to take leadership at once, not only to look
        self._urgent = False
        self._wake = allocate_lock()
        self._wake.acquire()
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
        self._wake_follower()

    @property
    def threads(self) -> int:
        return self._alive

    # ---- the leader's side ----------------------------------------------------------------------------------------------

    def covered(self) -> bool:
        """Whether a follower can take over; without that the leader must not run what may take long."""
        return self._on_watch or self._post_follower()

    def offer_leadership(self, *, long: bool = False) -> float:
        """The leader begins something that may take long; with ``long`` it is known to. The result is for
        :meth:`take_back_leadership`.
        """
        self._turn += 1
        self._offer.append(None)
        if self._eager:
            self._eager -= 1
            self._urgent = True
            self._wake_follower()
            return monotonic()
        if long:
            self._urgent = True
            self._wake_follower()
        elif self._asleep:
            self._wake_follower()
        return 0.0

    def take_back_leadership(self, began: float) -> bool:
        """Ends the offer. Whether the thread that made it still leads; else a follower has been promoted."""
        if began and monotonic() - began > _TICK_SECONDS:
            self._eager = _EAGER_HANDLERS
        try:
            self._offer.pop()
        except IndexError:
            return False
        return True

    def _post_follower(self) -> bool:
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
            self._on_watch = True
        return True

    def _wake_follower(self) -> None:
        try:
            self._wake.release()
        except RuntimeError:
            return  # woken already

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
        """A thread that is promoted, leads, becomes a follower, and is promoted again."""
        try:
            while leads or self._wait_for_promotion():
                leads = False
                self._lead()
                self._relieve()
                if not self._wait_for_watch():
                    return
        finally:
            with self._lock:
                self._alive -= 1

    def _wait_for_promotion(self) -> bool:
        seen = -1
        quiet = 0
        while not self._stopped:
            if quiet < _TICKS_AWAKE:
                woken = self._wake.acquire(timeout=_TICK_SECONDS)
            else:
                # A leader that began meanwhile has counted its turn, and one that begins later sees who sleeps.
                self._asleep = True
                woken = self._wake.acquire(self._turn == seen)
                self._asleep = False
                quiet = 0
            if woken:
                woken, self._urgent = self._urgent, False
            turn = self._turn
            if woken or turn == seen:
                try:
                    self._offer.pop()
                except IndexError:
                    quiet += 1
                else:
                    if turn == seen:
                        self._eager = _EAGER_HANDLERS
                    self._on_watch = False
                    return True
            else:
                quiet = 0
            seen = turn
        return False

    def _wait_for_watch(self) -> bool:
        """Waits until the pool needs a follower on watch; ``False`` when it has not for too long."""
        with self._lock:
            if self._stopped:
                return False
            if not self._on_watch:
                self._on_watch = True
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
