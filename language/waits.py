"""Interruptible waits for the threads of programs, and the polling intervals and time limits that cancellation uses.

A program is cancelled by an asynchronous exception in its thread. Python does not deliver that exception while the thread is
blocked in a lock or in a system call. A blocking wait is therefore split into waits of one polling interval each, and the
exception is delivered between two of them. Where the thread that raises the exception also wakes the blocked thread
(``language.host.wake_sleeper``, the queue of gates), the interval can be long.
"""

from __future__ import annotations

from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable

# All values are in seconds unless the name says otherwise.

#: Polling interval of a blocked thread that nothing wakes: the longest delay until it is cancelled. A thousand blocked threads
#: that poll this often use little processor time.
POLLING_INTERVAL = 0.05
#: How often all sleeping programs together poll in one second. A program that is cancelled is also woken.
SLEEPER_POLLS_PER_SECOND = 1000
#: A program that waits for a gate polls at the first interval, which grows to the longest one. Polling serves callers that
#: raise the exception without waking the thread through the queue of gates.
FIRST_GATE_INTERVAL = 0.05
LONGEST_GATE_INTERVAL = 1.0
#: How often all waiting gates together poll in one second. Thousands that poll more often would leave requests no processor
#: time.
GATE_POLLS_PER_SECOND = 50
#: Polling interval of a thread that receives from a WebSocket. A closed connection wakes it, as a message does.
SOCKET_POLLING_INTERVAL = 1.0
#: Polling interval while another request is in a transaction on the same database. Transactions are short.
TRANSACTION_POLLING_INTERVAL = 0.01
#: Polling interval while another process writes to the same SQLite file. Such a transaction takes about a millisecond.
WRITER_POLLING_INTERVAL = 0.0005

#: Time between two exceptions raised in a thread that is being cancelled. One exception can be lost in a ``finally`` of the
#: runtime, so it is raised until the thread has ended. Hundreds of handlers can be cancelled at once: their interval is longer.
WORKER_RAISE_INTERVAL = 0.01
RUN_RAISE_INTERVAL = 0.01
HANDLER_RAISE_INTERVAL = 0.02

#: Grace period for shielded work that was abandoned, to clean up what it has started.
SHIELDED_GRACE = 2.0

#: Set by a build without threads, which checks the time limit once in a number of steps. Makes it check at the next step.
check_limits_soon: Callable[[], object] | None = None


def cancellation_point() -> None:
    """Lets a pending cancellation be delivered. Call it between the pieces of a long operation.

    Python delivers an asynchronous exception before the call of a Python function. In a build without threads the time limit is
    checked now.
    """
    if check_limits_soon is not None:
        check_limits_soon()


def interruptible_wait(signal: LockType, seconds: float | None = None, interval: float = POLLING_INTERVAL) -> bool:
    """Waits until another thread releases ``signal``, at most ``seconds`` (``None``: without a time limit).

    Returns whether it was released. A cancellation of this thread is delivered within ``interval`` seconds, the polling
    interval.
    """
    if seconds is None:
        while not signal.acquire(timeout=interval):
            pass
        return True
    end = monotonic() + seconds
    while (left := end - monotonic()) > 0:
        if signal.acquire(timeout=min(left, interval)):
            return True
    return False
