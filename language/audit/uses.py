"""How often what a program declares was used: the capabilities granted are counted and set beside the declarations."""

from __future__ import annotations

from itertools import count

from language.capabilities import Capability

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Different capabilities that are counted, and how many are compared with declarations in all. Beyond nothing is said: no
#: count is better than a wrong one.
MOST_COUNTED = 10_000
MOST_COMPARED = 1_000_000


class Uses:
    """Counts the capabilities granted to one run, and keeps what it declares. Several threads may do so at once."""

    __slots__ = ("_counters", "_declared", "_prepared")

    def __init__(self) -> None:
        self._counters: dict[tuple[str, str | None], count[int]] | None = {}
        self._declared: dict[Capability, None] = {}
        self._prepared: dict[Capability, None] = {}

    def declare(self, capability: Capability) -> None:
        """Notes a ``require`` line that was reached, granted or not."""
        self._declared[capability] = None

    def prepared(self) -> None:
        """What is declared by now holds for every call of the program, what comes later for one call."""
        self._prepared = self._declared.copy()

    def next_call(self) -> None:
        """Forgets what the call before did and declared. Nothing may be counted meanwhile."""
        self._counters = {}
        self._declared = self._prepared.copy()

    def note(self, name: str, scope: str | None) -> None:
        """Counts one granted capability."""
        counters = self._counters
        if counters is not None:
            # One call that no other thread interrupts: two that count the same at once are two.
            next(counters.get((name, scope)) or counters.setdefault((name, scope), count()))
            if len(counters) > MOST_COUNTED:
                self._counters = None

    def give_up(self) -> None:
        """Says nothing any more: others count too, or what was granted is not known."""
        self._counters = None

    def beside_declared(self) -> dict[str, Any]:
        """``{"declared": [...]}`` with a map of ``capability``, ``scope`` and ``done`` for each declaration, ``done`` being how
        many granted requests it covers; an empty map where nothing is declared or the numbers are not known. To be called when
        nothing is counted any more."""
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
