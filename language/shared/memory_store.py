"""The shared store of a program with one process: plain objects."""

from __future__ import annotations

from language.shared.event_board import MemoryEvents
from language.shared.gate_board import MemoryBoard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.host import Host
    from language.shared.buckets import MemoryBuckets


class InMemorySharedStore:
    """A :class:`~language.shared.store.SharedStore` in the memory of the process."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.state: dict[str, Any] = {}
        self.gates = MemoryBoard(host.random_bytes(3).hex())
        self.events = MemoryEvents()
        self._buckets: dict[str, MemoryBuckets] = {}

    def buckets(self, name: str, amount: float, window: float) -> MemoryBuckets:
        from language.shared.buckets import MemoryBuckets

        found = self._buckets.get(name)
        if found is None:
            # When two threads reach this at once, both get the object that is stored.
            found = self._buckets.setdefault(name, MemoryBuckets(amount, window, self._host.monotonic))
        return found

    def close(self) -> None:
        pass
