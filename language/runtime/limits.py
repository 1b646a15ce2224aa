"""Limits for programs that are not trusted: each ends the program with an error that it cannot catch.

``steps`` and ``call_depth`` are counted by the program itself, which is compiled with counters (metering) for that. Time and
memory are watched by a watchdog thread, at no cost to the program's own code. The watchdog raises an asynchronous exception
in the program's thread (``PyThreadState_SetAsyncExc``). It raises it until the program has ended, because a single exception
can be lost in a ``finally`` of the runtime.
"""

from __future__ import annotations

import sys

from language import embedder_calls
from language.errors import LanguageError, LimitExceeded, RuntimeFault
from language.locks import Lock
from language.runtime.resident_memory import ResidentMemory
from language.values.allowance import Allowance, memory_limit, set_memory_limit
from language.waits import RUN_RAISE_INTERVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from types import TracebackType
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
        """The limits of a request. Raises ``ValueError`` for an unknown name or a bad value; its text begins ``limits: ``."""
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
        """Whether a watchdog may cancel the run. No single operation may then take long."""
        return self.time_ms is not None or self.memory_bytes is not None


class Meter:
    """Counts steps (statements, rounds of loops and calls) and the depth of nested calls."""

    def __init__(self, limits: Limits) -> None:
        self.steps = limits.steps
        self.begin()
        self.deepest = min(limits.call_depth, CALL_DEPTH)

    def begin(self) -> None:
        """Resets the counters."""
        self.left = -1 if self.steps is None else self.steps
        self.depth = 0

    @property
    def used(self) -> int:
        """The steps counted so far; 0 where steps have no limit and are not counted."""
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
                raise RuntimeFault("maximum recursion depth exceeded", kind="resources", code="E0902")
            self.depth += 1

        def leave() -> None:
            self.depth -= 1

        return {"·tick": tick, "·enter": enter, "·leave": leave}


def bind_meter(instance: Instance, names: dict[str, Any]) -> None:
    """Puts the counters of a run into ``names``, the namespace of one of its units."""
    names.update(instance.meter_functions)


def run_within(limits: Limits, body: Callable[[], object]) -> None:
    """Runs ``body`` and cancels it when it exceeds its time or memory. Raises ``LimitExceeded`` then."""
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
    except LimitExceeded as limit:
        _locate(limit, limit.__traceback__)
        raise
    finally:
        embedder_calls.set_depth(hooks)
        set_memory_limit(outer)
        if memory is not None:
            memory.close()


def _locate(limit: LimitExceeded, traceback: TracebackType | None) -> None:
    """Adds the position of the program to the error, unless there is not enough memory to determine it."""
    from language.runtime.python_errors import locate_limit

    try:
        locate_limit(limit, traceback)
    except MemoryError:
        limit.line = 0


#: Set by a build without threads, whose interpreter itself checks the limits of a run: replaces the watchdog thread.
watch_from_inside: Callable[[Limits], AbstractContextManager[object]] | None = None


class _Watchdog:
    """A context manager, entered in the thread of a run, that starts the watchdog thread of that run.

    The watchdog raises its exception only while the frame that entered the context manager is running. Its exception can be
    delivered at the beginning of ``__exit__``, which then stops nothing: the watchdog must not raise in what the host does
    next.
    """

    def __init__(self, limits: Limits, memory: Allowance | None) -> None:
        self._limits = limits
        self._memory = memory
        self._needed = limits.time_ms is not None or limits.memory_bytes is not None

    def __enter__(self) -> _Watchdog:
        if self._needed:
            from _thread import allocate_lock, get_ident, start_new_thread

            from language.runtime.threads import import_locks, preload

            preload()
            self._done = False
            self._target = get_ident()
            self._fired: LimitExceeded | None = None
            self._lock = Lock()
            self._frame = sys._getframe(1)
            self._imports = import_locks(self._target)
            self._hooks = embedder_calls.depth()
            #: released once, to wake the watchdog thread
            self._wake = allocate_lock()
            self._wake.acquire()
            self._gone = allocate_lock()
            self._gone.acquire()
            # No threading.Thread: if the garbage collector frees one in a worker that is being cancelled, Python reports the
            # exception on the error stream.
            start_new_thread(self._run, ())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if not self._needed:
            return
        while True:
            # The exception may still be pending in this thread: catch it here.
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
        # An interrupted operation may have raised its own error instead of the cancellation.
        if self._fired is not None and (kind is None or issubclass(kind, (_Expired, _ended(), LanguageError))):
            _locate(self._fired, traceback)
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
            wait = RUN_RAISE_INTERVAL
            if self._fired is None and memory is None and deadline is not None:
                wait = max(0.0005, min(deadline - now, 0.25))
            self._wake.acquire(timeout=wait)

    def _is_open(self) -> bool:
        """Whether the frame that entered the context manager still runs. Python refuses to clear a running frame."""
        try:
            self._frame.clear()
        except RuntimeError:
            return True
        return False


class _Expired(LimitExceeded):
    """The base of the classes that the watchdog raises in the program's thread."""


def expiry(limit: LimitExceeded) -> type[LimitExceeded]:
    """A class whose instances equal the error ``limit``. Python raises an asynchronous exception by its class only."""

    def begin(self: LimitExceeded) -> None:
        LimitExceeded.__init__(self, limit.limit, limit.value)

    return type("_Expired", (_Expired,), {"__init__": begin})


def _end_workers_of(ident: int) -> None:
    threads = sys.modules.get("language.runtime.threads")
    if threads is not None:
        threads.end_workers_of(ident)


def _ended() -> type[BaseException]:
    """The exception that cancels workers. It leaves the run when a worker reports it before the run's own thread is
    cancelled.
    """
    from language.runtime.threads import WorkerEnded

    return WorkerEnded
