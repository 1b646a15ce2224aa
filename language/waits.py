"""The waits of a program's thread, and how long they are.

No exception reaches a thread that waits in a lock or in the system, so what ends a program is noticed when the wait is over: it
goes in naps. Whoever raises the exception wakes the thread where it can (``language.host.wake_sleeper``, the queue of gates);
then the naps may be long.
"""

from __future__ import annotations

from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable

# All in seconds, but where a name says otherwise.

#: The longest nap of a thread that nobody wakes: a program ends that much later, and a thousand of them cost little.
LONGEST_NAP = 0.05
#: Of all sleepers together, so many look up in a second: each is woken when it is to end.
SLEEPERS_PER_SECOND = 1000
#: A gate looks up soon at first and then at the longer interval: for those who raise an exception and do not know of its queue.
FIRST_GATE_NAP = 0.05
LONGEST_GATE_NAP = 1.0
#: Of all gates together, so many look up in a second: thousands that do leave the requests between them no time.
GATES_PER_SECOND = 50
#: The nap of who receives from a WebSocket: its end is a message, too.
SOCKET_NAP = 1.0
#: Between two looks whether it is one's turn at a database: a transaction is short.
TURN_NAP = 0.01

#: Between two exceptions for who is to end: one can land in a `finally` of our own. Of handlers, hundreds may
#: end at once.
INSIST_ON_WORKER = 0.01
INSIST_ON_RUN = 0.01
INSIST_ON_HANDLER = 0.02

#: For work that nobody waits for any more, to put in order what it has started.
LAST_OF_SHIELDED = 2.0

#: Set by a build without threads, whose watch counts steps between two looks at the clock: has it look at the next step.
look_soon: Callable[[], object] | None = None


def piece_done() -> None:
    """For work that one operation does in few pieces which take long each, between two of them.

    A call, before which the exception arrives; where no other thread looks at the clock, it is looked at now.
    """
    if look_soon is not None:
        look_soon()


def interruptible_wait(signal: LockType, seconds: float | None = None, nap: float = LONGEST_NAP) -> bool:
    """Waits until another thread releases ``signal``, for ``seconds`` at most (``None``: without end); whether it was released.

    What ends this thread arrives after ``nap`` seconds at the latest.
    """
    if seconds is None:
        while not signal.acquire(timeout=nap):
            pass
        return True
    end = monotonic() + seconds
    while (left := end - monotonic()) > 0:
        if signal.acquire(timeout=min(left, nap)):
            return True
    return False
