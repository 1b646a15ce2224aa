"""The blackboard: values by key that all agents, handlers and jobs of a program read and write. It is in memory only."""

from __future__ import annotations

from language.agents.copies import copied, size_of
from language.errors import RuntimeFault
from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST_KEYS = 10_000
MOST_BYTES = 64 * 1024 * 1024
#: How often :meth:`Blackboard.change` retries when others change the key concurrently.
MOST_TRIES = 10_000


class Blackboard:
    """The last write of a key wins, except in :meth:`change`, which loses no write."""

    __slots__ = ("_bytes", "_entries", "_lock")

    def __init__(self) -> None:
        self._lock = Lock()
        #: key → the value, its size, and an object that is unique to each write
        self._entries: dict[str, tuple[Any, int, object]] = {}
        self._bytes = 0

    def share(self, key: str, value: Any) -> None:
        """Stores a copy. Raises ``RuntimeFault`` if the blackboard would exceed its limits."""
        self._store("share", key, copied(value), None)

    def observe(self, key: str) -> Any:
        """The value of a key; ``None`` for one that was never shared. The returned value is the caller's own."""
        found = self._entries.get(key)
        return None if found is None else found[0]

    def change(self, key: str, new: Callable[[Any], Any]) -> Any:
        """Replaces the value by ``new(value)`` and returns it. ``new`` is called again if another write came in between
        (compare-and-swap).
        """
        for _ in range(MOST_TRIES):
            before = self._entries.get(key)
            value = copied(new(None if before is None else before[0]))
            if self._store("share_change", key, value, before, unchanged=True):
                return value
        raise RuntimeFault(
            f'share_change: "{key}" was changed by others at each of {MOST_TRIES} tries: do less in the task that changes it',
            kind="resources",
        )

    def all(self) -> dict[str, Any]:
        """All values by key, in the order in which the keys were first shared."""
        with self._lock:
            return {key: value for key, (value, _, _) in self._entries.items()}

    def clear(self) -> None:
        """Removes everything."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def _store(self, word: str, key: str, value: Any, before: object, *, unchanged: bool = False) -> bool:
        """Stores a value. With ``unchanged`` only where the entry is still ``before``. Returns whether it was stored."""
        size = size_of(value) + len(key)
        with self._lock:
            known = self._entries.get(key)
            if unchanged and known is not before:
                return False
            total = self._bytes + size - (0 if known is None else known[1])
            if known is None and len(self._entries) >= MOST_KEYS:
                raise RuntimeFault(
                    f"{word}: the blackboard holds {MOST_KEYS} keys already: share one map instead of many keys",
                    kind="resources",
                )
            if total > MOST_BYTES:
                raise RuntimeFault(
                    f"{word}: the blackboard holds at most {MOST_BYTES // 1024 // 1024} MiB: keep large values in files or a "
                    "database and share their names",
                    kind="resources",
                )
            self._entries[key] = value, size, object()
            self._bytes = total
            return True
