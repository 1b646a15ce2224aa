"""The locks of code that a program's thread runs through.

What ends a program raises an exception in its thread (``language.runtime.threads.raise_in``), and it arrives behind a call.
CPython 3.14 enters ``with lock:`` by such a call, so an exception between the acquisition and the block leaves a lock of
``_thread`` held for ever. ``lock.acquire()`` before a ``try`` does so with every version, and with it ``Condition``, ``Event``,
``Semaphore`` and ``queue.Queue``.

The locks of this module are given back when the exception arrives there, and each only by the thread that holds it. Enter them
with ``with``. ``_thread.allocate_lock`` stays right for a lock that one thread acquires and another one releases, as a signal.

``__exit__`` is the one of C: nothing arrives between its call and the release. In ``__enter__`` nothing arrives between the
``try`` and the acquisition, nor between the ``except`` and the release: there is neither a call of Python code nor a loop.
"""

from __future__ import annotations

from _thread import RLock

from language.waits import LONGEST_NAP


class Lock(RLock):  # type: ignore[misc]  # no final class, whatever typeshed says
    """A lock for short steps: no exception reaches a thread while it waits for it. Whoever holds it may enter it again."""

    __slots__ = ()

    def __enter__(self) -> bool:  # type: ignore[override]
        try:
            return self.acquire()
        except BaseException:
            try:  # noqa: SIM105 (entering `suppress` is a call)
                self.release()
            except RuntimeError:
                pass  # not taken: a signal interrupted the wait
            raise


class PatientLock(RLock):  # type: ignore[misc]  # no final class, whatever typeshed says
    """A lock that is held for as long as a person takes: who waits for it looks up meanwhile, and can be ended."""

    __slots__ = ()

    def __enter__(self) -> bool:  # type: ignore[override]
        try:
            while not self.acquire(timeout=LONGEST_NAP):
                pass
            return True
        except BaseException:
            try:  # noqa: SIM105 (entering `suppress` is a call)
                self.release()
            except RuntimeError:
                pass  # not taken yet
            raise
