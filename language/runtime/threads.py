"""Threads that run parts of a program and end with the one that waits for them.

A thread cannot be ended from outside, only be made to raise an exception the next time it executes Python code. An error that
ends the waiting thread (a limit, the end of a request) is passed on that way to all its workers, again and again until they are
gone: once could be lost in code of our own.

Plain ``_thread`` instead of ``threading``: ``Thread.start`` waits for the new thread without end, which an exception that hits
that thread in its first moments would turn into a deadlock.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident, stack_size, start_new_thread

from language import embedder_calls
from language.errors import RuntimeFault, Uncatchable
from language.locks import Lock
from language.recursion import hold, release
from language.values.allowance import memory_limit, set_memory_limit
from language.waits import INSIST_ON_WORKER, interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

#: Calls between tasks take none of it; what does is C code between two Python functions.
STACK_BYTES = 16 * 1024 * 1024

#: The code of Python's imports: it acquires their lock in one step, and sees to its release in the next one.
_IMPORTS = frozenset(("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>"))
#: By the thread that waits for them: the workers of every call that has not returned.
_waited_for: dict[int, list[_Workers]] = {}


class WorkerEnded(Uncatchable, SystemExit):
    """Ends a worker. As a ``SystemExit`` it is no news when it leaves the thread."""

    def __init__(self) -> None:
        super().__init__("the program has ended")


def make_ready() -> None:
    """Loads what :func:`raise_in` takes. For whoever is going to watch over others, before they compete with it.

    Each file that an import reads lets go of the interpreter, and to get it back takes a turn of everybody else.
    """
    import ctypes  # noqa: F401
    import itertools  # noqa: F401
    import operator  # noqa: F401


def raise_in(idents: Sequence[int], kind: type[BaseException], earlier: frozenset[int] = frozenset(), hooks: int = 0) -> None:
    """Raises ``kind`` in threads the next time they execute Python code; nobody while a module is being imported.

    The locks of Python's imports are Python code: an exception at the wrong place leaves one locked for ever, and with it every
    thread that imports the module, or any module at all. Whoever insists comes back when the import is done. ``earlier`` are
    the :func:`import_locks` that do not count: whoever is told to end did not begin those imports. Nor in a thread that is in
    more than ``hooks`` functions of an embedder (``language.embedder_calls``).

    Of the stacks of other threads only the innermost frame is looked at: following the frames of a thread that runs on crashes
    CPython 3.11.
    """
    if not _importing(earlier):
        _raise_unless_importing(idents, kind, len(earlier), hooks)


def _raise_unless_importing(idents: Sequence[int], kind: type[BaseException], locks: int, hooks: int) -> None:
    # Threads take turns between any two steps of the interpreter: between a look and the exception an import could begin.
    # So they are one step: iterators of C that call functions of C, with a look right before each exception.
    from _imp import lock_held
    from ctypes import c_ulong, py_object, pythonapi
    from itertools import chain, compress, repeat, starmap
    from operator import attrgetter, not_
    from sys import _current_frames

    given = [(c_ulong(ident), py_object(kind)) for ident in idents]
    unlocked = map(not_, starmap(lock_held, repeat(())))
    idle = map(locks.__ge__, map(len, repeat(_known_locks())))
    outside = compress(given, map(hooks.__ge__, map(embedder_calls.depths.get, idents, repeat(0))))
    # A thread that waits for the lock of imports does not hold it yet: only its frame tells.
    frames: dict[int, Any] = {}
    files = map(attrgetter("f_code.co_filename"), map(frames.get, idents, repeat(_Gone)))
    safe = map(not_, map(_IMPORTS.__contains__, files))
    sent = starmap(pythonapi.PyThreadState_SetAsyncExc, compress(compress(compress(outside, unlocked), idle), safe))
    list(chain(map(frames.update, starmap(_current_frames, ((),))), sent))
    frames.clear()  # ours is among them: they would keep each other, and what they hold


class _Gone:
    """In the place of the frame of a thread that has ended."""

    f_code = _raise_unless_importing.__code__


def import_locks(ident: int) -> frozenset[int]:
    """The locks of the modules that a thread is importing right now, each by its ``id``."""
    return frozenset(id(lock) for lock in _module_locks() if lock.owner == ident)


def _importing(earlier: frozenset[int]) -> bool:
    from _imp import lock_held

    # A lock lives as long as anybody is at it: who owns it, who waits, who is just giving it back. None of them may be hit, and
    # not all of them can be told, so nobody is for as long as that takes.
    return lock_held() or any(id(lock) not in earlier for lock in _module_locks())


def _module_locks() -> list[Any]:
    return [lock for reference in list(_known_locks().values()) if (lock := reference()) is not None]


def _known_locks() -> dict[str, Any]:
    import sys

    return sys.modules["_frozen_importlib"]._module_locks  # type: ignore[no-any-return]


def end_workers_of(ident: int) -> bool:
    """Makes every worker that a thread waits for raise, and those that they wait for in their turn; whether there was any.

    At once and from the top: where hundreds of threads compete, each look that a level takes at the one below costs a second.
    """
    return _hit(list(_waited_for.get(ident, ())))


def _hit(pending: list[_Workers]) -> bool:
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
    """Runs ``work`` in up to ``count`` threads at once and returns when all have returned; ``work`` should not raise.

    As many threads as the system grants: where it has none, ``work`` runs once in the calling thread.
    """
    workers = _Workers(work)
    ident = get_ident()
    # What an exception kept from being removed goes here.
    waiting = _waited_for[ident] = [*(known for known in _waited_for.get(ident, ()) if known.alive), workers]
    try:
        if workers.start(count):
            workers.wait()
        else:
            work()
    finally:
        workers.end()
        waiting.remove(workers)
        if not waiting:
            _waited_for.pop(ident, None)


class _Workers:
    """The threads of one call, and the one that ends them when it must."""

    __slots__ = ("_all_returned", "_depth", "_memory", "_over", "_started", "_to_return", "_work", "alive", "lock")

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._memory = memory_limit()
        self.lock = Lock()
        #: Threads that are inside ``work``; only these may be hit.
        self.alive: set[int] = set()
        self._started = 0
        self._to_return = 0
        self._all_returned = allocate_lock()
        self._all_returned.acquire()
        self._over = allocate_lock()
        self._over.acquire()

    def start(self, count: int) -> int:
        """Starts the threads; how many there are."""
        self._to_return = count
        self._depth = hold()
        previous = stack_size()
        try:
            stack_size(STACK_BYTES)
            start_new_thread(self._end_when_over, ())
            while self._started < count:
                start_new_thread(self._run, ())
                self._started += 1
        except RuntimeError:  # the build or the system has no (more) threads
            self._returned(count - self._started)
        finally:
            if stack_size() != previous:
                stack_size(previous)
        return self._started

    def _run(self) -> None:
        ident = get_ident()
        if self._memory is not None:
            set_memory_limit(self._memory)
        try:
            with self.lock:
                self.alive.add(ident)
            self._work()
        except Uncatchable:
            pass  # ended from outside between two of its own steps
        finally:
            # Another exception may be on its way: none may leave this thread known as alive, nor keep it from returning.
            known = True
            while known:
                try:
                    with self.lock:
                        self.alive.discard(ident)
                    known = False
                    for _ in range(64):
                        pass
                except Uncatchable:
                    continue
            set_memory_limit(None)
            self._returned(1)

    def _returned(self, count: int) -> None:
        with self.lock:
            self._to_return -= count
            last = self._to_return == 0
        if last:
            release(self._depth)
            self._all_returned.release()

    def wait(self) -> None:
        """Returns when all threads have."""
        interruptible_wait(self._all_returned)

    def end(self) -> None:
        """Ends the threads that still run, without waiting for them. Called once."""
        self._over.release()

    def _end_when_over(self) -> None:
        self._over.acquire()
        if not self.alive:
            return
        pause = allocate_lock()
        pause.acquire()
        while _hit([self]):
            pause.acquire(timeout=INSIST_ON_WORKER)


class Background:
    """One thread beside the program, which ends it with :meth:`end`; ``work`` should not raise."""

    __slots__ = ("_workers",)

    def __init__(self, work: Callable[[], None]) -> None:
        self._workers = _Workers(work)

    def start(self) -> None:
        """Raises ``RuntimeFault`` where the system has no (more) threads."""
        if not self._workers.start(1):
            raise RuntimeFault("cannot start a thread", kind="resources")

    def end(self) -> None:
        """Ends the thread if it still runs, without waiting for it. Called once."""
        self._workers.end()
