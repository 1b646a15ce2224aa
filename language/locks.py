"""Locks that an asynchronous exception cannot leave held, for code that runs in the thread of a program.

A program is cancelled by an asynchronous exception in its thread (``language.runtime.threads.raise_in``), which is delivered
after a call. CPython 3.14 compiles ``with lock:`` to such a call. An exception between the acquisition and the block then
leaves a lock of ``_thread`` held for ever. On every version ``lock.acquire()`` before a ``try`` has this fault, and so have
``Condition``, ``Event``, ``Semaphore`` and ``queue.Queue``.

The locks of this module are released when the exception is delivered there, and only by the thread that holds them. Enter
them with ``with``. For a signal, which one thread acquires and another one releases, use ``_thread.allocate_lock``.

``__exit__`` is implemented in C: no exception is delivered between its call and the release. In ``__enter__`` none is
delivered between ``try`` and the acquisition, nor between ``except`` and the release: neither holds a call of Python code or
a loop.
"""

from __future__ import annotations

from _thread import RLock

from language.waits import POLLING_INTERVAL


class Lock(RLock):  # type: ignore[misc]  # no final class, whatever typeshed says
    """A reentrant lock for short critical sections. A thread that waits for it is not cancelled until it has acquired it."""

    __slots__ = ()

    def __enter__(self) -> bool:  # type: ignore[override]
        try:
            return self.acquire()
        except BaseException:
            try:  # noqa: SIM105 (entering `suppress` is a call)
                self.release()
            except RuntimeError:
                pass  # not acquired: a signal handler raised during the wait
            raise


class InterruptibleLock(RLock):  # type: ignore[misc]  # no final class, whatever typeshed says
    """A reentrant lock that may be held for long, such as while a person answers. A thread that waits for it can be
    cancelled.
    """

    __slots__ = ()

    def __enter__(self) -> bool:  # type: ignore[override]
        try:
            while not self.acquire(timeout=POLLING_INTERVAL):
                pass
            return True
        except BaseException:
            try:  # noqa: SIM105 (entering `suppress` is a call)
                self.release()
            except RuntimeError:
                pass  # not acquired yet
            raise
