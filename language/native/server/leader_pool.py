"""A leader/followers pool: the threads take turns at waiting for the sockets (Schmidt et al., "Leader/Followers").

The leader waits for events and runs the handler of a request itself. While the handler runs, leadership is on offer. A
handler that is fast takes leadership back when it is done. That costs next to nothing, and one thread does all the work
while handlers are fast.

One follower is on watch. When it finds leadership on offer and the same handler running as one tick before, it takes
leadership. So a handler that blocks (on a person, a database, another service) does not delay other requests. After a slow
handler, the follower is woken at the beginning of each handler and takes leadership at once.

Leadership is offered and taken by ``list.append`` and ``list.pop``. Each is atomic, so exactly one thread takes it.
"""

from __future__ import annotations

from _thread import LockType, allocate_lock, stack_size, start_new_thread
from time import monotonic
from typing import TYPE_CHECKING

from language.locks import Lock
from language.runtime.threads import STACK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

#: How many seconds a handler may run before a follower takes leadership.
_TICK_SECONDS = 0.002
#: After this many ticks without work the follower on watch blocks until it is woken.
_TICKS_AWAKE = 5
#: How many handlers after a slow one wake the follower when they begin.
_EAGER_HANDLERS = 64
#: How many seconds an idle thread is kept.
_IDLE_SECONDS = 10.0


class LeaderPool:
    """The threads of the pool.

    The leader runs ``lead``, which returns once another thread has taken leadership. A thread that no longer leads and has
    answered its request runs ``handle_waiting`` before it becomes a follower again. At most ``limit`` handlers run at once.
    """

    __slots__ = (
        "_alive",
        "_asleep",
        "_eager",
        "_handle_waiting",
        "_idle",
        "_lead",
        "_limit",
        "_lock",
        "_offer",
        "_on_watch",
        "_stopped",
        "_turn",
        "_urgent",
        "_wake",
    )

    def __init__(self, lead: Callable[[], None], handle_waiting: Callable[[], None], limit: int) -> None:
        self._lead = lead
        self._handle_waiting = handle_waiting
        self._limit = limit
        self._offer: list[None] = []
        #: counts the handlers that leaders have begun
        self._turn = 0
        self._eager = 0
        self._lock = Lock()
        self._alive = 0
        self._idle: list[LockType] = []
        #: whether a follower is on watch
        self._on_watch = False
        self._asleep = False
        #: whether the follower is to take leadership at once, without waiting for a tick
        self._urgent = False
        self._wake = allocate_lock()
        self._wake.acquire()
        self._stopped = False

    def start(self) -> None:
        """Starts the first leader. Raises ``RuntimeError`` where the system refuses a thread."""
        with self._lock:
            self._start_thread(self._first)

    def stop(self) -> None:
        """Ends the idle threads. A leader or a running handler is not interrupted."""
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
        """Whether a follower can take leadership. If not, the leader must not run a handler that may block."""
        return self._on_watch or self._post_follower()

    def offer_leadership(self, *, long: bool = False) -> float:
        """The leader offers leadership before it runs something that may block; ``long``: it is known to block.

        The result is to be passed to :meth:`take_back_leadership`.
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
        """Ends the offer. Returns whether the thread that made it still leads; otherwise a follower has been promoted."""
        if began and monotonic() - began > _TICK_SECONDS:
            self._eager = _EAGER_HANDLERS
        try:
            self._offer.pop()
        except IndexError:
            return False
        return True

    def _post_follower(self) -> bool:
        with self._lock:
            if self._on_watch:
                return True  # since the caller looked: a thread that had answered
            if self._idle:
                self._idle.pop().release()
            elif self._alive > self._limit or self._stopped:
                return False
            else:
                try:
                    self._start_thread(self._work)
                except RuntimeError:  # the system refuses another thread
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
        """The work of one thread: it is promoted, leads, becomes a follower, and so on."""
        try:
            while leads or self._wait_for_promotion():
                leads = False
                self._lead()
                self._handle_waiting()
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
                # A leader that began before this line has already counted its handler. One that begins later sees `_asleep` and
                # wakes.
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
        """Waits until the pool needs a follower on watch; ``False`` when it did not for :data:`_IDLE_SECONDS`."""
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
