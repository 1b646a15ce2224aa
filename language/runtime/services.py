"""The services of a running program that all its workers, requests and jobs share."""

from __future__ import annotations

from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from language.agents.registry import Agents
    from language.gates.queue import GateQueue
    from language.host.memory import MemoryStore
    from language.runtime.jobs import Scheduler
    from language.serve.handler_mode import Captured
    from language.serve.hosting import Hosting
    from language.shared.event_board import EventBoard
    from language.shared.store import SharedStore
    from language.tracing.records import Records


class Services:
    """The shared services of one program.

    ``hosting`` listens for ``serve`` blocks (``lang serve``); ``captured`` receives them in handler mode. Without either, a
    ``serve`` block is an error. ``store``, ``gates`` and ``health`` (the path of the health check) are set for served programs
    only. ``scheduler`` is made with the first job, a memory with the first use of its name.
    """

    __slots__ = (
        "_events",
        "_lock",
        "_memories",
        "_scheduler",
        "agents",
        "captured",
        "gates",
        "health",
        "hosting",
        "progress",
        "records",
        "store",
    )

    def __init__(self) -> None:
        self.hosting: Hosting | None = None
        self.captured: Captured | None = None
        self.store: SharedStore | None = None
        self.gates: GateQueue | None = None
        self.health: str | None = None
        #: the agents of the program, with its blackboard and its signals; ``None`` until one of these is used
        self.agents: Agents | None = None
        #: what ``trace``, ``measure`` and ``checkpoint`` recorded; ``None`` until one of them runs
        self.records: Records | None = None
        #: the task whose progress the program wrote last
        self.progress: str | None = None
        self._events: EventBoard | None = None
        self._scheduler: Scheduler | None = None
        self._memories: dict[str, MemoryStore] = {}
        self._lock = Lock()

    def scheduler(self, make: Callable[[], Scheduler]) -> Scheduler:
        """The scheduler of the program. The first call makes it with ``make``, which must not call this method."""
        if self._scheduler is None:
            with self._lock:
                if self._scheduler is None:
                    self._scheduler = make()
        return self._scheduler

    @property
    def has_active_jobs(self) -> bool:
        """Whether a scheduled job runs or will run."""
        return self._scheduler is not None and any(job.active for job in self._scheduler.jobs)

    def agents_of(self, make: Callable[[], Agents]) -> Agents:
        """The agents of the program. The first call makes them with ``make``."""
        if self.agents is None:
            with self._lock:
                if self.agents is None:
                    self.agents = make()
        return self.agents

    @property
    def events(self) -> EventBoard:
        """The published events of the program and their subscriptions, shared by all its processes."""
        if self.store is not None:
            return self.store.events
        if self._events is None:
            from language.shared.event_board import MemoryEvents

            with self._lock:
                if self._events is None:
                    self._events = MemoryEvents()
        return self._events

    def memory(self, name: str, make: Callable[[], MemoryStore]) -> MemoryStore:
        """The memory of that name. The first call opens it with ``make``. Raises what ``make`` raises."""
        found = self._memories.get(name)
        return self._memories.setdefault(name, make()) if found is None else found
