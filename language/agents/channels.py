"""Signals: one queue for each channel name, and the threads that wait for one.

A signal goes to the thread that has waited longest for its channel and wakes no other. If nobody waits, it is queued.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections import deque

from language.errors import RuntimeFault
from language.waits import POLLING_INTERVAL, interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.locks import Lock

#: How many signals one channel queues, and how many channels have a queue.
MOST_QUEUED = 10_000
MOST_CHANNELS = 100_000

WORKING = "WORKING"
WAITING = "WAITING"


class Participant:
    """The main program or an agent, as something that others can wait for. ``label`` is its name in messages."""

    __slots__ = ("label", "state")

    def __init__(self, label: str) -> None:
        self.label = label
        self.state = WORKING


class Waiter:
    """One waiting thread: for a signal on ``channel``, or with ``None`` for the end of an agent. ``what`` describes what it
    waits for.

    ``participant`` is ``None`` for a thread that is neither the main program nor an agent (a handler, a worker of
    ``parallel_map``).
    """

    __slots__ = ("channel", "done", "given", "participant", "signal", "value", "what")

    def __init__(self, channel: str | None, what: str, participant: Participant | None) -> None:
        self.channel = channel
        self.what = what
        self.participant = participant
        #: whether the wait is over, and whether it got its value
        self.done = False
        self.given = False
        self.value: Any = None
        self.signal = allocate_lock()
        self.signal.acquire()

    def end(self, value: Any, *, given: bool) -> None:
        """Ends the wait and wakes its thread. The caller holds the lock of the waits."""
        self.done = True
        self.given = given
        self.value = value
        if self.participant is not None:
            self.participant.state = WORKING
        self.signal.release()


class Waits:
    """All waits of a program. ``lock`` protects them, the channels and the states of the participants.

    ``settle`` ends waits that nothing can end any more. It is called repeatedly while anybody waits, with the lock held.
    ``monotonic`` is a clock in seconds.
    """

    def __init__(self, lock: Lock, settle: Callable[[], None], monotonic: Callable[[], float]) -> None:
        self._lock = lock
        self._monotonic = monotonic
        self._settle = settle
        self._queues: dict[str, deque[Any]] = {}
        self._waiting: dict[str, deque[Waiter]] = {}
        #: channel → callbacks for when a signal is queued, of threads that wait for several things at once
        self._bells: dict[str, set[Callable[[], None]]] = {}
        #: the waits that ``settle`` may end, in the order in which they began
        self.all: dict[Waiter, None] = {}

    # ---- signals --------------------------------------------------------------------------------------------------------

    def send(self, name: str, value: Any, *, only_newest: bool = False) -> None:
        """Passes a value to the thread that has waited longest for the channel, or queues it. If the queue is full, raises
        ``RuntimeFault``, or with ``only_newest`` drops the oldest value of the queue.
        """
        with self._lock:
            waiter = self._first(name)
            if waiter is not None:
                waiter.end(value, given=True)
                return
            queue = self._queues.get(name)
            if queue is None:
                if len(self._queues) >= MOST_CHANNELS and not only_newest:
                    raise RuntimeFault(
                        f"signal: {MOST_CHANNELS} channels have signals that nobody took: wait for them, or use fewer names",
                        kind="resources",
                    )
                queue = self._queues[name] = deque()
            elif len(queue) >= MOST_QUEUED and only_newest:
                queue.popleft()
            elif len(queue) >= MOST_QUEUED:
                raise RuntimeFault(
                    f'signal: {MOST_QUEUED} signals on "{name}" were not taken yet: let the one who waits for them catch up',
                    kind="resources",
                )
            queue.append(value)
            bells = list(self._bells.get(name, ()))
        for ring in bells:
            ring()

    def is_queued(self, name: str) -> bool:
        """Whether a channel has a queued signal."""
        return bool(self._queues.get(name))

    def add_bell(self, name: str, ring: Callable[[], None]) -> None:
        """Registers ``ring`` to be called whenever a signal is queued on a channel, until :meth:`drop_bell`."""
        with self._lock:
            self._bells.setdefault(name, set()).add(ring)

    def drop_bell(self, name: str, ring: Callable[[], None]) -> None:
        """Unregisters ``ring``. Idempotent."""
        with self._lock:
            rung = self._bells.get(name)
            if rung is not None:
                rung.discard(ring)
                if not rung:
                    del self._bells[name]

    def receive(self, name: str, seconds: float, participant: Participant | None) -> Any:
        """The next value of a channel; ``None`` when none came within ``seconds``, or when none can come any more."""
        with self._lock:
            queue = self._queues.get(name)
            if queue:
                value = queue.popleft()
                if not queue:
                    del self._queues[name]
                return value
            if seconds <= 0:
                return None
            waiter = Waiter(name, f'"{name}"', participant)
            self.add(name, waiter)
            self._begin(waiter)
        return self._wait(waiter, seconds, lambda: self._leave(name, waiter))

    def add(self, name: str, waiter: Waiter) -> None:
        """Adds a waiter after those that already wait for the channel. Call it with the lock held."""
        self._waiting.setdefault(name, deque()).append(waiter)

    def drop(self, name: str) -> None:
        """Removes the queued signals of a channel."""
        with self._lock:
            self._queues.pop(name, None)

    # ---- waits ----------------------------------------------------------------------------------------------------------

    def begin_until(self, what: str, waiters: list[Waiter], participant: Participant | None) -> Waiter:
        """Adds a waiter to ``waiters``. Call it with the lock held, under which the caller has also checked that waiting is
        still needed.
        """
        waiter = Waiter(None, what, participant)
        waiters.append(waiter)
        self._begin(waiter)
        return waiter

    def end_until(self, waiter: Waiter, waiters: list[Waiter], seconds: float | None) -> Any:
        """Waits until such a waiter is ended. Call it without the lock. Returns the value it was ended with; ``None`` if it was
        not ended in time.
        """

        def leave() -> None:
            if waiter in waiters:
                waiters.remove(waiter)

        return self._wait(waiter, seconds, leave)

    def _begin(self, waiter: Waiter) -> None:
        if waiter.participant is not None:
            waiter.participant.state = WAITING
            self.all[waiter] = None
            self._settle()

    def _wait(self, waiter: Waiter, seconds: float | None, leave: Callable[[], None]) -> Any:
        monotonic = self._monotonic
        end = None if seconds is None else monotonic() + seconds
        try:
            while True:
                left = POLLING_INTERVAL if end is None else min(POLLING_INTERVAL, end - monotonic())
                if left <= 0 or interruptible_wait(waiter.signal, left):
                    break
                with self._lock:
                    self._settle()
        except BaseException:
            with self._lock:
                self._give_up(waiter, leave)
                self._hand_on(waiter)
            raise
        with self._lock:
            self._give_up(waiter, leave)
        return waiter.value

    def _give_up(self, waiter: Waiter, leave: Callable[[], None]) -> None:
        """Removes a waiter that nobody has ended."""
        if not waiter.done:
            leave()
            self.all.pop(waiter, None)
            waiter.end(None, given=False)

    def _leave(self, name: str, waiter: Waiter) -> None:
        waiting = self._waiting.get(name)
        if waiting is not None and waiter in waiting:
            waiting.remove(waiter)
            if not waiting:
                del self._waiting[name]

    def _hand_on(self, waiter: Waiter) -> None:
        """Gives back a signal whose receiver was cancelled before it could use it."""
        name = waiter.channel
        if name is None or not waiter.given:
            return
        waiter.given = False
        other = self._first(name)
        if other is None:
            self._queues.setdefault(name, deque()).appendleft(waiter.value)
        else:
            other.end(waiter.value, given=True)

    def _first(self, name: str) -> Waiter | None:
        """Removes and returns the waiter that has waited longest for a channel."""
        waiting = self._waiting.get(name)
        if not waiting:
            return None
        waiter = waiting.popleft()
        if not waiting:
            del self._waiting[name]
        self.all.pop(waiter, None)
        return waiter

    def end_all(self) -> None:
        """Ends every wait of a participant without a value. Call it with the lock held."""
        ended = list(self.all)
        self.all.clear()
        for waiter in ended:
            if waiter.channel is not None:
                self._leave(waiter.channel, waiter)
            waiter.end(None, given=False)
