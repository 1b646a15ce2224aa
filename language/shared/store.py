"""The interface of a shared store. Its content is lost when the program ends."""

from __future__ import annotations

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from language.runtime.context import Context
    from language.shared.event_board import EventBoard
    from language.shared.gate_board import GateRecord

    class State(Protocol):
        """Values by name: the methods of a ``dict`` and one atomic change. Values are those of the language without secrets and
        tasks.
        """

        def get(self, name: str, default: Any = None, /) -> Any:
            """The value of ``name``, or ``default``."""

        def __setitem__(self, name: str, value: Any, /) -> None:
            """Stores a value."""

        def pop(self, name: str, default: Any = None, /) -> Any:
            """Removes a value and returns it, or ``default``."""

        def copy(self) -> dict[str, Any]:
            """All values, in the order in which they were first stored."""

        def change(self, name: str, new: Callable[[Any], Any]) -> Any:
            """Replaces a value by ``new(value)`` atomically and returns it; ``new`` is given ``None`` for a missing one.

            ``new`` may be called more than once.
            """

    class Buckets(Protocol):
        """The token buckets of one rate limit."""

        def take(self, key: str) -> float:
            """Takes one token. Returns how many are left; a negative number means that there was none, plus the refilled
            fraction of one.
            """

    class GateBoard(Protocol):
        """The pending gates of a program. Times are monotonic seconds of this machine."""

        #: whether another process may decide a gate, which cannot wake the waiting thread of this one
        shared: bool

        def after_fork(self, begin: Callable[[], None]) -> None:
            """Registers ``begin``, called in each process that is forked from this one."""

        def open(self, record: GateRecord) -> str:
            """Adds a gate, assigns its id and returns that."""

        def look(self, identifier: str) -> GateRecord | None:
            """The gate with this id, also when it is decided or expired; ``None`` when there is none."""

        def pending(self, now: float) -> list[GateRecord]:
            """The gates that can still be decided, oldest first."""

        def decide(
            self, identifier: str, digest: bytes, decision: bool | None, value: str | None, now: Callable[[], float]
        ) -> str:
            """Decides a gate atomically by the rules of ``gate_board.objection``. Returns ``DECIDED``, or the outcome that says
            why not.
            """

        def take(self, identifier: str) -> bool | str | None:
            """Removes a gate. Returns its answer, or ``None`` when it has none."""

        def answered(self) -> list[str]:
            """The ids of the gates that this process opened and that are answered."""

    class SharedStore(Protocol):
        """All shared state of a program."""

        @property
        def state(self) -> State | dict[str, Any]:
            """The ``state_*`` values; a ``dict`` where one process holds them."""

        @property
        def gates(self) -> GateBoard:
            """The pending gates."""

        @property
        def events(self) -> EventBoard:
            """The published events and their subscriptions."""

        def buckets(self, name: str, amount: float, window: float) -> Buckets:
            """The token buckets of the rate limit ``name``: ``amount`` tokens each, refilled within ``window`` seconds."""

        def close(self) -> None:
            """Closes the connections and files of this process."""


class StoreFailure(RuntimeFault):
    """The store cannot be reached or written."""

    def __init__(self, why: object) -> None:
        super().__init__(f"the shared store of the worker processes failed: {why}", kind="database")


def attach(context: Context, store: SharedStore) -> None:
    """Makes a program use ``store``. Call it with the program's own context before it is forked."""
    context.services.store = store
    context.state = store.state  # type: ignore[assignment]
