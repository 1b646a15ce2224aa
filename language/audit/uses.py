"""How often each declared capability was used: granted requests are counted and matched with the declarations."""

from __future__ import annotations

from itertools import count

from language.capabilities import Capability

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The most different capabilities that are counted, and the most that are compared with declarations. Beyond them no count is
#: given, because a wrong one would be worse.
MOST_COUNTED = 10_000
MOST_COMPARED = 1_000_000


class Uses:
    """Counts the capabilities granted to one run, and collects its declarations. Thread-safe."""

    __slots__ = ("_counters", "_declared", "_prepared")

    def __init__(self) -> None:
        self._counters: dict[tuple[str, str | None], count[int]] | None = {}
        self._declared: dict[Capability, None] = {}
        self._prepared: dict[Capability, None] = {}

    def declare(self, capability: Capability) -> None:
        """Records a ``require`` line that was executed, granted or not."""
        self._declared[capability] = None

    def prepared(self) -> None:
        """Marks the end of preparation: declarations so far hold for every call of the program, later ones for one call."""
        self._prepared = self._declared.copy()

    def next_call(self) -> None:
        """Clears the counts and declarations of the call before. Must not run while another thread counts."""
        self._counters = {}
        self._declared = self._prepared.copy()

    def note(self, name: str, scope: str | None) -> None:
        """Counts one granted capability."""
        counters = self._counters
        if counters is not None:
            # A single atomic call, so that no count is lost when two threads count the same capability concurrently.
            next(counters.get((name, scope)) or counters.setdefault((name, scope), count()))
            if len(counters) > MOST_COUNTED:
                self._counters = None

    def give_up(self) -> None:
        """Disables the counts, because other processes count too, or because the granted capabilities are not known."""
        self._counters = None

    def beside_declared(self) -> dict[str, Any]:
        """``{"declared": [...]}`` with a map of ``capability``, ``scope`` and ``done`` for each declaration.

        ``done`` is how many granted requests it covers. Returns an empty map where nothing is declared or the counts are not
        known. Call it after the last request.
        """
        counters, declared = self._counters, list(self._declared)
        if not declared or counters is None or len(counters) * len(declared) > MOST_COMPARED:
            return {}
        done: list[tuple[Capability, int]] = []
        for key, counter in list(counters.items()):
            times = next(counter)
            counters[key] = count(times)
            done.append((Capability(*key), times))
        uses = [
            {"capability": own.name, "scope": own.scope, "done": sum(times for each, times in done if own.covers(each))}
            for own in declared
        ]
        return {"declared": uses}
