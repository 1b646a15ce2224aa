"""The parts of the runtime that a program has one of, and who made them."""

from __future__ import annotations

from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from language.gates.queue import GateQueue
    from language.host.memory import MemoryStore
    from language.runtime.jobs import Scheduler
    from language.serve.handler_mode import Captured
    from language.serve.hosting import Hosting
    from language.shared.store import SharedStore


class Services:
    """One program's; its workers, requests and jobs share them.

    ``hosting`` listens for ``serve`` blocks (``lang serve``), ``captured`` takes them in handler mode; without either a block
    cannot be served. ``store``, ``gates`` and ``health`` (the path of the health check) are what a served program needs beside;
    ``serve`` alone sets them. ``scheduler`` is made by the first job, a memory by the first use of its name.
    """

    __slots__ = ("_lock", "_memories", "_scheduler", "captured", "gates", "health", "hosting", "store")

    def __init__(self) -> None:
        self.hosting: Hosting | None = None
        self.captured: Captured | None = None
        self.store: SharedStore | None = None
        self.gates: GateQueue | None = None
        self.health: str | None = None
        self._scheduler: Scheduler | None = None
        self._memories: dict[str, MemoryStore] = {}
        self._lock = Lock()

    def scheduler(self, make: Callable[[], Scheduler]) -> Scheduler:
        """The scheduler of the program, made by the first who asks. ``make`` must not ask again."""
        if self._scheduler is None:
            with self._lock:
                if self._scheduler is None:
                    self._scheduler = make()
        return self._scheduler

    def memory(self, name: str, make: Callable[[], MemoryStore]) -> MemoryStore:
        """The memory of that name, opened by the first who asks. Raises what ``make`` raises."""
        found = self._memories.get(name)
        return self._memories.setdefault(name, make()) if found is None else found
