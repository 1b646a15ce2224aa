"""The interface of a store, whoever keeps it. Everything in it is lost when the program ends."""

from __future__ import annotations

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from language.runtime.context import Context
    from language.shared.gate_board import GateRecord

    class State(Protocol):
        """Values by name; what a plain ``dict`` does, and one step that nothing interrupts. Values are those of the language,
        without secrets and tasks.
        """

        def get(self, name: str, default: Any = None, /) -> Any:
            """The value, or ``default``."""

        def __setitem__(self, name: str, value: Any, /) -> None:
            """Stores a value."""

        def pop(self, name: str, default: Any = None, /) -> Any:
            """Removes a value and gives it, or ``default``."""

        def copy(self) -> dict[str, Any]:
            """Everything, in the order of first storing."""

        def change(self, name: str, new: Callable[[Any], Any]) -> Any:
            """Puts ``new(value)`` (of ``None`` where there is none) in the place of a value and gives it. ``new`` may be called
            more than once.
            """

    class Buckets(Protocol):
        """The token buckets of one rate limit."""

        def take(self, key: str) -> float:
            """Takes one token; how many are left, or where there was none, the part of one that there is, less one."""

    class GateBoard(Protocol):
        """The pending gates of a program. Times are monotonic seconds of this machine."""

        #: whether a decision may come from another process, which cannot wake the one that waits
        shared: bool

        def after_fork(self, begin: Callable[[], None]) -> None:
            """``begin`` is called in each process that is forked from this one."""

        def open(self, record: GateRecord) -> str:
            """Takes a gate up and gives it its id."""

        def look(self, identifier: str) -> GateRecord | None:
            """A gate by its id, decided and expired ones included."""

        def pending(self, now: float) -> list[GateRecord]:
            """The gates that can be decided, oldest first."""

        def decide(
            self, identifier: str, digest: bytes, decision: bool | None, value: str | None, now: Callable[[], float]
        ) -> str:
            """Decides a gate in one step, by the rules of ``gate_board.objection``: ``DECIDED``, or why not."""

        def take(self, identifier: str) -> bool | str | None:
            """Removes a gate; its answer, if it had one."""

        def answered(self) -> list[str]:
            """The gates that this process opened and that have their answer."""

    class SharedStore(Protocol):
        """All of it."""

        @property
        def state(self) -> State | dict[str, Any]:
            """The ``state_*`` values; a plain ``dict`` where one process holds them."""

        @property
        def gates(self) -> GateBoard:
            """The pending gates."""

        def buckets(self, name: str, amount: float, window: float) -> Buckets:
            """The buckets of the limit ``name``: ``amount`` tokens each, filled up within ``window`` seconds."""

        def close(self) -> None:
            """Lets go of what this process holds."""


class StoreFailure(RuntimeFault):
    """The store of several processes cannot be reached or written."""

    def __init__(self, why: object) -> None:
        super().__init__(f"the shared store of the worker processes failed: {why}", kind="database")


def attach(context: Context, store: SharedStore) -> None:
    """Makes a program work over ``store``. Call it with the program's own context, before the first of its forks."""
    context.services.store = store
    context.state = store.state  # type: ignore[assignment]
