"""How often what a program declares was used: the capabilities granted are counted and set beside the declarations."""

from __future__ import annotations

from itertools import count

from language.capabilities import Capability

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

#: Different capabilities that are counted, and how many are compared with declarations in all. Beyond nothing is said: no
#: count is better than a wrong one.
MOST_COUNTED = 10_000
MOST_COMPARED = 1_000_000


class Uses:
    """Counts the capabilities granted to one run. Several threads may count at once."""

    __slots__ = ("_counters",)

    def __init__(self) -> None:
        self._counters: dict[tuple[str, str | None], count[int]] | None = {}

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

    def beside(self, declared: Sequence[Capability]) -> list[dict[str, Any]] | None:
        """For each declaration a map of ``capability``, ``scope`` and ``done``, how many granted requests it covers; ``None``
        when that is not known. To be called when nothing is counted any more."""
        counters = self._counters
        if counters is None or len(counters) * len(declared) > MOST_COMPARED:
            return None
        done: list[tuple[Capability, int]] = []
        for key, counter in list(counters.items()):
            times = next(counter)
            counters[key] = count(times)
            done.append((Capability(*key), times))
        return [
            {"capability": own.name, "scope": own.scope, "done": sum(times for each, times in done if own.covers(each))}
            for own in declared
        ]
