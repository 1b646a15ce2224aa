"""Work that is shielded from cancellation, so that a process which it starts is always ended by it.

The asynchronous exception that cancels a program or a request can be delivered at almost any point, and more than once. Inside
of ``subprocess.Popen``, or of the code that kills a child, it would leave a child process running that nothing ends.
"""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from typing import Any, Generic, TypeVar

from language.waits import SHIELDED_GRACE, interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

Given = TypeVar("Given")

_at_work: set[Shielded[Any]] = set()


class NoThread(Exception):
    """The system refuses another thread."""


class Shielded(Generic[Given]):
    """A piece of work in a thread of its own, for which another thread waits.

    ``work(shielded)`` is given this object. It polls ``abandoned`` and returns soon when that is set.
    """

    def __init__(self, work: Callable[[Shielded[Given]], Given]) -> None:
        self._work = work
        self._over = allocate_lock()
        self._over.acquire()
        self._given: list[Given] = []
        self._error: BaseException | None = None
        #: whether the waiting thread was cancelled
        self.abandoned = False

    def result(self) -> Given:
        """Waits for the work and returns its result. Raises what the work raises.

        When the waiting thread is cancelled, the work is abandoned and the cancellation raised again. Raises
        :class:`NoThread` when the work could not be started.
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
            self.abandoned = True  # the first statement: no exception is delivered before it
            if not over:
                self._over.acquire(timeout=SHIELDED_GRACE)
        if self._error is not None:
            raise self._error
        return self._given.pop()

    def leave(self) -> None:
        """Abandons the work and waits for its end, at most the grace period."""
        self.abandoned = True
        if self in _at_work:
            self._over.acquire(timeout=SHIELDED_GRACE)

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
    """Abandons all running work. Called before the process, and with it all threads, ends."""
    for shielded in list(_at_work):
        shielded.leave()
