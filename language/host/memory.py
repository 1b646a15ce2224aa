"""What an agent remembers: entries in a store that outlives the run, known by the name the program declares."""

from __future__ import annotations

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    class MemoryStore(Protocol):
        """One store. Everything raises ``RuntimeFault`` where it cannot be reached."""

        def add(self, category: str, content: str, tags: list[str], source: str, now: float) -> str:
            """Keeps an entry and gives its id, ``mem_<n>``: counted up and never used again."""

        def entries(self) -> Iterable[MemoryEntry]:
            """Every entry that is not forgotten, in any order."""

        def forget(self, identifier: str, now: float) -> None:
            """Forgets an entry; an unknown id is none."""

        def rules(self) -> list[Rule]:
            """The rules, in the order in which they were first added."""


CATEGORIES = ("preference", "rule", "learning", "decision", "context")
DEFAULT_LIMIT = 200
#: Whose entries those are that no agent wrote.
MAIN = "main"


class MemoryEntry:
    """One thing remembered. ``updated`` is in Unix seconds, ``number`` the place of its id."""

    __slots__ = ("category", "content", "id", "source", "tags", "updated")

    def __init__(self, identifier: str, category: str, content: str, tags: list[str], source: str, updated: float) -> None:
        self.id = identifier
        self.category = category
        self.content = content
        self.tags = tags
        self.source = source
        self.updated = updated

    @property
    def number(self) -> int:
        digits = self.id.rpartition("_")[2]
        return int(digits) if digits.isascii() and digits.isdigit() else 0


class Rule:
    """One rule of the owner."""

    __slots__ = ("category", "description", "level", "name")

    def __init__(self, name: str, level: str, description: str, category: str) -> None:
        self.name = name
        self.level = level
        self.description = description
        self.category = category


def found(
    entries: Iterable[MemoryEntry],
    *,
    category: str | None = None,
    tags: list[str] | None = None,
    every_tag: bool = False,
    search: str | None = None,
    source: str | None = None,
    limit: int = DEFAULT_LIMIT,
) -> list[MemoryEntry]:
    """The entries that pass every filter, the newest first; among equal times the higher number first."""
    wanted = None if search is None else search.casefold()
    kept = []
    for entry in entries:
        if category is not None and entry.category != category:
            continue
        if source is not None and entry.source != source:
            continue
        if wanted is not None and wanted not in entry.content.casefold():
            continue
        if tags is not None:
            has = [tag in entry.tags for tag in tags]
            if not (all(has) if every_tag else any(has)):
                continue
        kept.append(entry)
    kept.sort(key=lambda entry: (entry.updated, entry.number), reverse=True)
    return kept[:limit]


def summary(store: MemoryStore) -> str:
    """How much is remembered, and the rules."""
    rules = store.rules()
    lines = [f"Agent Memory: {sum(1 for _ in store.entries())} entries, {len(rules)} rules"]
    if rules:
        lines.append("  Rules:")
        lines += [f"    [{rule.level:<6}] {rule.name}: {rule.description}" for rule in rules]
    return "\n".join(lines)


def failed(name: str, why: str) -> RuntimeFault:
    """A store that cannot be reached; it is never taken for an empty one."""
    return RuntimeFault(f'memory "{name}": {why}', kind="file")
