"""The memory of an agent: entries, rules and progress in a store that persists beyond the run.

The store is identified by the name that the program declares. An entry may be about somebody (``about``). Such an entry is
found only by a query with the same ``about``.
"""

from __future__ import annotations

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    from language.host.progress import Step

    class MemoryStore(Protocol):
        """One store. Methods raise ``RuntimeFault`` where it cannot be reached or is damaged. ``now`` is in Unix seconds."""

        def add(self, entry: MemoryEntry, now: float) -> str:
            """Stores an entry and returns its id, ``mem_<n>``. Ids increase and are never reused.

            An entry with a key replaces the entry with the same key, source and ``about``, and takes over its id.
            """

        def search(self, query: Query, now: float) -> list[MemoryEntry]:
            """The entries that match the query, newest first; of equal times the higher number first."""

        def ranked(self, words: list[str], about: str, limit: int, now: float) -> list[MemoryEntry]:
            """The entries that contain one of the (case-folded) words, the best first (``language.host.memory_ranking``)."""

        def forget(self, identifiers: list[str], erase: bool, now: float) -> None:
            """Hides entries from programs; with ``erase`` removes them from the store completely. Unknown ids are ignored."""

        def count(self, now: float) -> int:
            """The number of entries that are neither forgotten nor expired."""

        def add_rule(self, rule: Rule) -> None:
            """Adds a rule, or replaces the one of the same name."""

        def rules(self) -> list[Rule]:
            """The rules, in the order in which they were first added."""

        def create_progress(self, task: str, steps: list[str], source: str, now: float) -> None:
            """Begins to track a task. A task that is tracked already and not finished is left unchanged."""

        def steps(self, task: str) -> list[Step] | None:
            """The steps of a task in their order; ``None`` when it is not tracked."""

        def change_step(self, task: str, step: str, change: Callable[[Step], None]) -> None:
            """Changes a step in one transaction. Raises ``RuntimeFault`` for an unknown task or step."""


CATEGORIES = ("preference", "rule", "learning", "decision", "context")
DEFAULT_LIMIT = 200
#: The source of entries that no agent wrote.
MAIN = "main"
#: The most characters of an entry.
MOST_CONTENT = 1 << 20


class MemoryEntry:
    """One entry. ``updated`` and ``expires`` are in Unix seconds; ``about`` is empty when it is about nobody."""

    __slots__ = ("about", "category", "content", "expires", "id", "key", "source", "tags", "updated")

    def __init__(
        self,
        identifier: str,
        category: str,
        content: str,
        tags: list[str],
        source: str,
        updated: float = 0.0,
        *,
        key: str | None = None,
        about: str = "",
        expires: float | None = None,
    ) -> None:
        self.id = identifier
        self.category = category
        self.content = content
        self.tags = tags
        self.source = source
        self.updated = updated
        self.key = key
        self.about = about
        self.expires = expires

    @property
    def number(self) -> int:
        return number_of(self.id)


class Query:
    """Which entries to look for. ``None`` and an empty list of tags do not filter; ``about`` always does."""

    __slots__ = ("about", "category", "every_tag", "limit", "search", "source", "tags")

    def __init__(
        self,
        *,
        category: str | None = None,
        tags: list[str] | None = None,
        every_tag: bool = False,
        search: str | None = None,
        source: str | None = None,
        about: str = "",
        limit: int = DEFAULT_LIMIT,
    ) -> None:
        self.category = category
        self.tags = tags or []
        self.every_tag = every_tag
        self.search = search
        self.source = source
        self.about = about
        self.limit = limit


class Rule:
    """One rule of the owner."""

    __slots__ = ("category", "description", "level", "name")

    def __init__(self, name: str, level: str, description: str, category: str) -> None:
        self.name = name
        self.level = level
        self.description = description
        self.category = category


def number_of(identifier: str) -> int:
    """The number in an id; 0, which no entry has, for a text that is not an id."""
    digits = identifier.removeprefix("mem_")
    number = int(digits) if len(digits) < 19 and digits.isascii() and digits.isdigit() else 0
    return number if identifier == f"mem_{number}" else 0


def found(entries: Iterable[MemoryEntry], query: Query, now: float) -> list[MemoryEntry]:
    """The entries that match every filter, newest first; of equal times the higher number first."""
    wanted = None if query.search is None else query.search.casefold()
    kept = []
    for entry in entries:
        if entry.about != query.about or (entry.expires is not None and entry.expires <= now):
            continue
        if query.category is not None and entry.category != query.category:
            continue
        if query.source is not None and entry.source != query.source:
            continue
        if wanted is not None and wanted not in entry.content.casefold():
            continue
        if query.tags:
            has = [tag in entry.tags for tag in query.tags]
            if not (all(has) if query.every_tag else any(has)):
                continue
        kept.append(entry)
    kept.sort(key=newest, reverse=True)
    return kept[: query.limit]


def newest(entry: MemoryEntry) -> tuple[float, int]:
    """The key by which entries are sorted in descending order."""
    return entry.updated, entry.number


def summary(store: MemoryStore, now: float) -> str:
    """A text with the number of entries and the rules."""
    rules = store.rules()
    lines = [f"Agent Memory: {store.count(now)} entries, {len(rules)} rules"]
    if rules:
        lines.append("  Rules:")
        lines += [f"    [{rule.level:<6}] {rule.name}: {rule.description}" for rule in rules]
    return "\n".join(lines)


def failed(name: str, why: str) -> RuntimeFault:
    """The error of a store that cannot be reached. Such a store never counts as empty."""
    return RuntimeFault(f'memory "{name}": {why}', kind="file")
