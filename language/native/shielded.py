"""Work that nothing ends from outside: what it has started, it also ends.

An exception that ends a program or a request lands between any two steps of the thread it is sent to, again and again. Inside
of ``subprocess.Popen``, or of what kills a child, it would leave a process behind that nobody knows.
"""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from typing import Any, Generic, TypeVar

from language.waits import LAST_OF_SHIELDED, interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

Given = TypeVar("Given")

_at_work: set[Shielded[Any]] = set()


class NoThread(Exception):
    """The system has no (more) threads."""


class Shielded(Generic[Given]):
    """One piece of work, done by a thread of its own while another one waits. ``work(kept)`` looks at ``abandoned`` in naps."""

    def __init__(self, work: Callable[[Shielded[Given]], Given]) -> None:
        self._work = work
        self._over = allocate_lock()
        self._over.acquire()
        self._given: list[Given] = []
        self._error: BaseException | None = None
        #: whether nobody waits any more
        self.abandoned = False

    def result(self) -> Given:
        """What the work gives. Raises what it raises, and what ends the waiting thread: then the work ends soon.

        :class:`NoThread` where nothing could be begun.
        """
        over = False
        try:
            try:
                start_new_thread(self._run, ())
            except RuntimeError:
                over = True
                raise NoThread from None
            over = interruptible_wait(self._over)
        finally:
            self.abandoned = True  # the first step: no exception arrives before it
            if not over:
                self._over.acquire(timeout=LAST_OF_SHIELDED)
        if self._error is not None:
            raise self._error
        return self._given.pop()

    def leave(self) -> None:
        """Has the work end, and waits a moment for that."""
        self.abandoned = True
        if self in _at_work:
            self._over.acquire(timeout=LAST_OF_SHIELDED)

    def _run(self) -> None:
        _at_work.add(self)
        try:
            self._given.append(self._work(self))
        except BaseException as error:
            self._error = error
        finally:
            _at_work.discard(self)
            self._over.release()


def leave_all() -> None:
    """Ends what is at work: before the process ends, and its threads with it."""
    for shielded in list(_at_work):
        shielded.leave()
