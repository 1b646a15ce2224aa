"""Limits for programs that are not trusted: each ends the program with an error that it cannot catch.

``steps`` and ``call_depth`` are counted by programs compiled a second time with metering; the others cost a running program
nothing: a watchdog thread raises the error inside the program's thread (``PyThreadState_SetAsyncExc``), and again until the
program is gone, because such an exception can land in a ``finally`` of our own.
"""

from __future__ import annotations

import sys

from language import embedder_calls
from language.errors import LanguageError, LimitExceeded, RuntimeFault
from language.locks import Lock
from language.runtime.resident_memory import ResidentMemory
from language.values.allowance import Allowance, memory_limit, set_memory_limit
from language.waits import INSIST_ON_RUN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from language.runtime.instance import Instance

NAMES = ("steps", "time_ms", "output_bytes", "memory_bytes", "call_depth", "host_calls")
CALL_DEPTH = 3000
OUTPUT_BYTES = 16 * 1024 * 1024


class Limits:
    """The limits of one program; ``None`` where there is none."""

    __slots__ = NAMES

    def __init__(self, values: Mapping[str, int]) -> None:
        self.steps: int | None = values.get("steps")
        self.time_ms: int | None = values.get("time_ms")
        self.output_bytes: int = values.get("output_bytes", OUTPUT_BYTES)
        self.memory_bytes: int | None = values.get("memory_bytes")
        self.call_depth: int = values.get("call_depth", CALL_DEPTH)
        self.host_calls: int | None = values.get("host_calls")

    @classmethod
    def parse(cls, values: Mapping[str, Any] | None) -> Limits:
        """Reads the ``limits`` of a request. Raises ``ValueError`` beginning ``limits: `` for a name or value that is none."""
        given = dict(values or {})
        for name, value in given.items():
            if name not in NAMES:
                raise ValueError(f"limits: unknown limit '{name}'. Known: {', '.join(NAMES)}")
            if type(value) is not int or value < 1:
                raise ValueError(f"limits: {name} must be an integer of at least 1, got {value!r}")
        return cls(given)

    @property
    def metered(self) -> bool:
        """Whether programs must be compiled with counters."""
        return self.steps is not None or self.call_depth != CALL_DEPTH

    @property
    def watched(self) -> bool:
        """Whether a run may be ended from outside at any moment, so that no operation may take long."""
        return self.time_ms is not None or self.memory_bytes is not None


class Meter:
    """Counts statements executed, loop rounds and calls entered, and how deep calls nest."""

    def __init__(self, limits: Limits) -> None:
        self.steps = limits.steps
        self.begin()
        self.deepest = min(limits.call_depth, CALL_DEPTH)

    def begin(self) -> None:
        """Counts from nothing (again)."""
        self.left = -1 if self.steps is None else self.steps
        self.depth = 0

    @property
    def used(self) -> int:
        """The steps counted so far; 0 where they have no limit, and so are not counted."""
        return 0 if self.steps is None else self.steps - self.left

    def functions(self) -> dict[str, Callable[[], None]]:
        """The counters under the names that metered programs call."""

        def tick() -> None:
            if self.left >= 0:
                if self.left == 0:
                    raise LimitExceeded("steps", self.steps or 0)
                self.left -= 1

        def enter() -> None:
            tick()
            if self.depth >= self.deepest:
                raise RuntimeFault("maximum recursion depth exceeded", kind="resources")
            self.depth += 1

        def leave() -> None:
            self.depth -= 1

        return {"·tick": tick, "·enter": enter, "·leave": leave}


def bind_meter(instance: Instance, names: dict[str, Any]) -> None:
    """Puts the counters of a run into the namespace of one of its units."""
    names.update(instance.meter_functions)


def run_within(limits: Limits, body: Callable[[], object]) -> None:
    """Runs ``body`` and ends it when it takes too long or too much memory. Raises ``LimitExceeded``."""
    outer, hooks = memory_limit(), embedder_calls.depth()
    memory, allowance = None, None
    if limits.memory_bytes is not None:
        memory = ResidentMemory()
        allowance = Allowance(limits.memory_bytes, memory.grown)
    set_memory_limit(allowance)
    watch: AbstractContextManager[object]
    if watch_from_inside is None or not limits.watched:
        watch = _Watchdog(limits, allowance)
    else:
        watch = watch_from_inside(limits)
    try:
        with watch:
            body()
    finally:
        embedder_calls.set_depth(hooks)
        set_memory_limit(outer)
        if memory is not None:
            memory.close()


#: Set by a build without threads: what watches over a run in the place of the watchdog, from inside of the interpreter.
watch_from_inside: Callable[[Limits], AbstractContextManager[object]] | None = None


class _Watchdog:
    """The thread that watches over a run, as a context manager in the run's thread.

    It raises only while the frame that entered it is open: an exception of its own that hits the first moments of ``__exit__``
    must not leave a thread behind that goes on raising in whatever the host does next.
    """

    def __init__(self, limits: Limits, memory: Allowance | None) -> None:
        self._limits = limits
        self._memory = memory
        self._needed = limits.time_ms is not None or limits.memory_bytes is not None

    def __enter__(self) -> _Watchdog:
        if self._needed:
            from _thread import allocate_lock, get_ident, start_new_thread

            from language.runtime.threads import import_locks, make_ready

            make_ready()
            self._done = False
            self._target = get_ident()
            self._fired: LimitExceeded | None = None
            self._lock = Lock()
            self._frame = sys._getframe(1)
            self._imports = import_locks(self._target)
            self._hooks = embedder_calls.depth()
            #: released once: the watching thread waits for it
            self._wake = allocate_lock()
            self._wake.acquire()
            self._gone = allocate_lock()
            self._gone.acquire()
            # No threading.Thread: one that the garbage collection finds in a worker which is just being ended makes Python
            # report the exception on the error stream.
            start_new_thread(self._run, ())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if not self._needed:
            return
        while True:
            # The exception may still be on its way into this thread: take it here.
            try:
                with self._lock:
                    self._done = True
                    if self._wake.locked():
                        self._wake.release()
                self._gone.acquire()
                break
            except _Expired:
                continue
        try:
            for _ in range(64):
                pass
        except _Expired:
            pass
        del self._frame
        # An operation that was cut short may have ended with an error of its own.
        if self._fired is not None and (kind is None or issubclass(kind, (_Expired, _ended(), LanguageError))):
            raise self._fired from None

    def _run(self) -> None:
        try:
            self._watch()
        finally:
            self._gone.release()

    def _watch(self) -> None:
        from time import monotonic

        from language.runtime.threads import raise_in

        limits, memory = self._limits, self._memory
        deadline = None if limits.time_ms is None else monotonic() + limits.time_ms / 1000
        while not self._done:
            now = monotonic()
            if self._fired is None:
                if deadline is not None and now >= deadline:
                    self._fired = LimitExceeded("time_ms", limits.time_ms or 0)
                elif memory is not None and memory.passed():
                    self._fired = LimitExceeded("memory_bytes", memory.most)
            if self._fired is not None:
                with self._lock:
                    if not self._done:
                        if not self._is_open():
                            return
                        raise_in((self._target,), expiry(self._fired), self._imports, self._hooks)
                        _end_workers_of(self._target)
            wait = INSIST_ON_RUN
            if self._fired is None and memory is None and deadline is not None:
                wait = max(0.0005, min(deadline - now, 0.25))
            self._wake.acquire(timeout=wait)

    def _is_open(self) -> bool:
        """Whether the frame that entered still runs: Python refuses to clear such a one."""
        try:
            self._frame.clear()
        except RuntimeError:
            return True
        return False


class _Expired(LimitExceeded):
    """What the watchdog raises inside the program: Python takes a class, made for each limit that was passed."""


def expiry(limit: LimitExceeded) -> type[LimitExceeded]:
    """The class whose instances are this error: what is raised inside a program from outside is a class."""

    def begin(self: LimitExceeded) -> None:
        LimitExceeded.__init__(self, limit.limit, limit.value)

    return type("_Expired", (_Expired,), {"__init__": begin})


def _end_workers_of(ident: int) -> None:
    threads = sys.modules.get("language.runtime.threads")
    if threads is not None:
        threads.end_workers_of(ident)


def _ended() -> type[BaseException]:
    """What ends the workers of a run, and comes out of the run when one of them tells first."""
    from language.runtime.threads import WorkerEnded

    return WorkerEnded
