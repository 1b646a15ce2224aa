"""The tokens used by all workers of a process, and their limit.

Before a call is made, it reserves the tokens that it may use; afterwards it returns those that it did not use. So concurrent
calls cannot exceed the limit together.
"""

from __future__ import annotations

from _thread import LockType, allocate_lock, get_ident

from language.locks import Lock
from language.models.conversation import ModelFault
from language.waits import interruptible_wait

#: The help in an error about the limit of the process.
OF_PROCESS = "PLATFORM_LLM_BUDGET is the limit of tokens of the process; whoever runs the program sets it."


#: The help in an error about the limit of one user of a service.
OF_IDENTITY = "PLATFORM_LLM_BUDGET_PER_IDENTITY is the limit of tokens of this user; whoever runs the program sets it."


class Usage:
    """The count of tokens of a process, of an embedded program, of a user of a service, or of a task (``llm_limit``).

    ``budget`` is the limit, ``None`` without one. ``help`` is the help text of errors, which says who sets the limit; ``whose``
    says in errors whose limit it is.
    """

    __slots__ = ("_held", "_help", "_lock", "_waiting", "_whose", "budget", "used")

    def __init__(self, budget: int | None = None, *, help: str = OF_PROCESS, whose: str = "") -> None:
        self._help = help
        self._whose = whose
        self._lock = Lock()
        self._held: list[Reservation] = []
        self._waiting: list[LockType] = []
        self.used = 0
        self.budget = budget

    def reserve(self, held: Reservation, question: int, answer: int, seconds: float) -> int:
        """Reserves the tokens of a call in ``held`` and returns how many the answer may have.

        That is ``answer``, or less where the budget has no more left. While other calls hold the tokens that this one needs, it
        waits until they have settled, at most ``seconds``. Raises ``ModelFault`` when the budget has no room for the question
        and one token of an answer.
        """
        least = question + min(answer, 1)
        while True:
            with self._lock:
                if self.budget is None:
                    return answer
                left = self.budget - self.used
                if left < max(least, 1):
                    raise self._exceeded()
                wanted = min(question + answer, left)
                others = sum(other.amount for other in self._held)
                if others + wanted <= left:
                    held.amount = wanted
                    self._held.append(held)
                    return wanted - question
                if all(other.thread == held.thread for other in self._held):
                    # A callback of a streamed answer makes this call: waiting for the outer call would be a deadlock.
                    raise self._exceeded()
                signal = allocate_lock()
                signal.acquire()
                self._waiting.append(signal)
            if not interruptible_wait(signal, seconds):
                raise self._exceeded()

    def settle(self, held: Reservation, tokens: int) -> None:
        """Counts the tokens that a call has used, and releases its reservation."""
        with self._lock:
            self.used += tokens
            if held in self._held:
                self._held.remove(held)
            waiting, self._waiting = self._waiting, []
            for signal in waiting:
                signal.release()

    def _exceeded(self) -> ModelFault:
        return ModelFault(
            f"llm budget exceeded{self._whose}: used {self.used} of {self.budget} tokens",
            kind="resources",
            help=self._help,
        )


class Reservation:
    """The tokens that one call may use. ``thread`` makes the call."""

    __slots__ = ("amount", "thread")

    def __init__(self) -> None:
        self.amount = 0
        self.thread = get_ident()
