"""Worker threads that run parts of a program and are cancelled with the thread that waits for them.

A thread cannot be ended from outside: it can only be made to raise an asynchronous exception the next time it executes
Python code. When the waiting thread is cancelled (a limit, the end of a request), the exception is raised in all its workers
too. It is raised until they have ended, because a single one can be lost in a ``finally`` of the runtime.

This module uses ``_thread`` and not ``threading``: ``Thread.start`` waits for the new thread without a time limit. An
exception that is delivered to that thread before it reports its start would make this a deadlock.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident, stack_size, start_new_thread

from language import embedder_calls
from language.errors import RuntimeFault, Uncatchable
from language.locks import Lock
from language.recursion import hold_limit, release_limit
from language.values.allowance import memory_limit, set_memory_limit
from language.waits import WORKER_RAISE_INTERVAL, interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

#: Stack of a worker thread, in bytes. Calls between tasks use none of it; C code between two Python functions does.
STACK_BYTES = 16 * 1024 * 1024
#: Seconds to wait until a new background thread runs. After that the thread that starts it continues.
STARTING_SECONDS = 1.0

#: The files of Python's import system. It acquires its lock and enters the block that releases it in two separate steps.
_IMPORTS = frozenset(("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>"))
#: Identifier of a waiting thread → the workers of each of its calls that have not returned.
_waited_for: dict[int, list[_Workers]] = {}


class WorkerEnded(Uncatchable, SystemExit):
    """Cancels a worker. It is a ``SystemExit``, so Python prints no traceback when it leaves the thread."""

    def __init__(self) -> None:
        super().__init__("the program has ended")


def preload() -> None:
    """Imports the modules that :func:`raise_in` uses. A watchdog calls it before the threads that it watches are started.

    Each file that an import reads releases the interpreter's lock (GIL). Acquiring it again takes long while many threads run.
    """
    import ctypes  # noqa: F401
    import itertools  # noqa: F401
    import operator  # noqa: F401


def raise_in(idents: Sequence[int], kind: type[BaseException], earlier: frozenset[int] = frozenset(), hooks: int = 0) -> None:
    """Raises ``kind`` asynchronously in the threads ``idents``, the next time that each executes Python code.

    Does nothing while any thread imports a module. The locks of Python's imports are Python code, and an exception can leave
    one held forever: then every thread that imports the module, or any module at all, is blocked. The caller repeats the call
    until the threads have ended. ``earlier`` are :func:`import_locks` that were held before the program began and are ignored.
    A thread that is inside more than ``hooks`` nested hooks of an embedder (``language.embedder_calls``) is skipped.

    Only the innermost frame of another thread is read: following the frames of a running thread crashes CPython 3.11.
    """
    if not _importing(earlier):
        _raise_unless_importing(idents, kind, len(earlier), hooks)


def _raise_unless_importing(idents: Sequence[int], kind: type[BaseException], locks: int, hooks: int) -> None:
    # Python can switch threads between any two bytecode instructions, so an import could begin between the test and the
    # exception. Test and exception are therefore one call: iterators in C that call functions in C, and test right before each
    # exception.
    from _imp import lock_held
    from ctypes import c_ulong, py_object, pythonapi
    from itertools import chain, compress, repeat, starmap
    from operator import attrgetter, not_
    from sys import _current_frames

    given = [(c_ulong(ident), py_object(kind)) for ident in idents]
    unlocked = map(not_, starmap(lock_held, repeat(())))
    idle = map(locks.__ge__, map(len, repeat(_known_locks())))
    outside = compress(given, map(hooks.__ge__, map(embedder_calls.depths.get, idents, repeat(0))))
    # A thread that waits for the import lock does not hold it yet: only its innermost frame shows that it is importing.
    frames: dict[int, Any] = {}
    files = map(attrgetter("f_code.co_filename"), map(frames.get, idents, repeat(_Gone)))
    safe = map(not_, map(_IMPORTS.__contains__, files))
    sent = starmap(pythonapi.PyThreadState_SetAsyncExc, compress(compress(compress(outside, unlocked), idle), safe))
    list(chain(map(frames.update, starmap(_current_frames, ((),))), sent))
    frames.clear()  # breaks a reference cycle, because the dictionary contains this function's own frame


class _Gone:
    """Represents the frame of a thread that has ended."""

    f_code = _raise_unless_importing.__code__


def import_locks(ident: int) -> frozenset[int]:
    """The locks of the modules that a thread is importing now, each by its ``id``."""
    return frozenset(id(lock) for lock in _module_locks() if lock.owner == ident)


def _importing(earlier: frozenset[int]) -> bool:
    from _imp import lock_held

    # The lock of a module exists while any thread holds it, waits for it or releases it. No exception may be raised in any of
    # these threads, and they cannot all be identified. So none is raised anywhere while such a lock exists.
    return lock_held() or any(id(lock) not in earlier for lock in _module_locks())


def _module_locks() -> list[Any]:
    return [lock for reference in list(_known_locks().values()) if (lock := reference()) is not None]


def _known_locks() -> dict[str, Any]:
    import sys

    return sys.modules["_frozen_importlib"]._module_locks  # type: ignore[no-any-return]


def end_workers_of(ident: int) -> bool:
    """Cancels every worker that a thread waits for, and all workers below those. Returns whether there was any.

    All levels are cancelled in one call. Were each level to cancel the next one itself, that would take about a second a level
    while hundreds of threads run.
    """
    return _raise_in_workers(list(_waited_for.get(ident, ())))


def _raise_in_workers(pending: list[_Workers]) -> bool:
    found = False
    while pending:
        workers = pending.pop()
        with workers.lock:
            alive = list(workers.alive)
            raise_in(alive, WorkerEnded)
        for worker in alive:
            found = True
            pending += _waited_for.get(worker, ())
    return found


def run_in_threads(work: Callable[[], None], count: int) -> None:
    """Runs ``work`` in ``count`` threads concurrently and returns when all have returned; ``work`` should not raise.

    Fewer threads run if the system refuses more. If it refuses the first one, ``work`` runs once in the calling thread.
    """
    with _Waiting(work) as workers:
        if workers.start(count):
            workers.wait()
        else:
            work()


def run_until(work: Callable[[], None], seconds: float) -> None:
    """Runs ``work`` in a thread of its own, cancels it after ``seconds``, and returns when it has returned; ``work`` should not
    raise.

    Raises ``RuntimeFault`` where there are no threads.
    """
    with _Waiting(work) as workers:
        if not workers.start(1):
            raise RuntimeFault("cannot start a thread", kind="resources")
        if not workers.wait(seconds):
            workers.end()
            workers.wait()


class _Waiting:
    """A context manager around workers: they are cancelled with the thread that waits for them."""

    __slots__ = ("_ident", "_waiting", "_workers")

    def __init__(self, work: Callable[[], None]) -> None:
        self._workers = _Workers(work)
        self._ident = get_ident()
        # Also drops workers whose removal an exception prevented.
        waiting = [*(known for known in _waited_for.get(self._ident, ()) if known.alive), self._workers]
        self._waiting = _waited_for[self._ident] = waiting

    def __enter__(self) -> _Workers:
        return self._workers

    def __exit__(self, *_: object) -> None:
        self._workers.end()
        self._waiting.remove(self._workers)
        if not self._waiting:
            _waited_for.pop(self._ident, None)


class _Workers:
    """The worker threads of one call, and one more thread that cancels those still running when the call ends."""

    __slots__ = (
        *("_all_returned", "_begun", "_depth", "_ended", "_memory", "_over"),
        *("_started", "_to_begin", "_to_return", "_work", "alive", "lock"),
    )

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._memory = memory_limit()
        self.lock = Lock()
        #: Threads that are inside ``work``; an exception may be raised in these only.
        self.alive: set[int] = set()
        self._ended = False
        #: the number of threads that have not begun yet, including the one that cancels the others; the last one to begin
        #: releases `_begun`
        self._to_begin = 0
        self._begun = allocate_lock()
        self._begun.acquire()
        self._started = 0
        self._to_return = 0
        self._all_returned = allocate_lock()
        self._all_returned.acquire()
        self._over = allocate_lock()
        self._over.acquire()

    def start(self, count: int) -> int:
        """Starts the threads. Returns how many were started.

        Meanwhile no exception is raised in this thread. Until a new thread runs, CPython identifies it by the thread that
        starts it, so an exception raised for that one could be delivered to the new one.
        """
        started: int = embedder_calls.uncancellable(self._start)(count)
        return started

    def _start(self, count: int) -> int:
        self._to_return = count
        self._to_begin = count + 1
        self._depth = hold_limit()
        previous = stack_size()
        try:
            stack_size(STACK_BYTES)
            start_new_thread(self._end_when_over, ())
            while self._started < count:
                start_new_thread(self._run, ())
                self._started += 1
            if count == 1:  # a background thread, for which nobody waits: it must not get lost
                self._begun.acquire(timeout=STARTING_SECONDS)
        except RuntimeError:  # the build or the system has no (more) threads
            self._returned(count - self._started)
        finally:
            if stack_size() != previous:
                stack_size(previous)
        return self._started

    def _run(self) -> None:
        self._tell_begun()
        ident = get_ident()
        if self._memory is not None:
            set_memory_limit(self._memory)
        # Before the work begins and after its end no exception is raised in this thread, as inside a hook of an embedder.
        embedder_calls.depths[ident] = 1
        with self.lock:
            if not self._ended:
                self.alive.add(ident)
        if ident in self.alive:
            try:
                del embedder_calls.depths[ident]
                self._work()
            except Uncatchable:
                pass  # cancelled
            finally:
                embedder_calls.depths[ident] = 1  # no other exception is delivered before this line: there is no call
                try:
                    for _ in range(64):  # lets an exception be delivered that was raised before
                        pass
                except Uncatchable:
                    pass
        with self.lock:
            self.alive.discard(ident)
        embedder_calls.depths.pop(ident, None)
        set_memory_limit(None)
        self._returned(1)

    def _returned(self, count: int) -> None:
        with self.lock:
            self._to_return -= count
            last = self._to_return == 0
        if last:
            release_limit(self._depth)
            self._all_returned.release()

    def wait(self, seconds: float | None = None) -> bool:
        """Blocks until all threads have returned, at most ``seconds``. Can be cancelled. Returns whether all have returned."""
        return interruptible_wait(self._all_returned, seconds)

    @property
    def all_returned(self) -> bool:
        """Whether all threads were started and have returned, or will never begin their work."""
        return self._started > 0 and (self._to_return == 0 or (self._ended and not self.alive))

    def end(self) -> None:
        """Cancels the threads that still run, without waiting for them."""
        if self._over.locked():
            self._over.release()

    def _tell_begun(self) -> None:
        with self.lock:
            self._to_begin -= 1
            last = self._to_begin == 0
        if last:
            self._begun.release()

    def _end_when_over(self) -> None:
        self._tell_begun()
        self._over.acquire()
        with self.lock:
            self._ended = True  # threads that have not begun their work never do
        if not self.alive:
            return
        pause = allocate_lock()
        pause.acquire()
        while _raise_in_workers([self]):
            pause.acquire(timeout=WORKER_RAISE_INTERVAL)


class Background:
    """One background thread of a program, which :meth:`end` cancels. ``work`` should not raise."""

    __slots__ = ("_workers",)

    def __init__(self, work: Callable[[], None]) -> None:
        self._workers = _Workers(work)

    def start(self) -> None:
        """Starts the thread. Raises ``RuntimeFault`` where the system refuses another one."""
        if not self._workers.start(1):
            raise RuntimeFault("cannot start a thread", kind="resources")

    @property
    def returned(self) -> bool:
        """Whether the thread has returned from ``work``, or was cancelled before beginning it."""
        return self._workers.all_returned

    def end(self) -> None:
        """Cancels the thread if it still runs, without waiting for it. Called once."""
        self._workers.end()
