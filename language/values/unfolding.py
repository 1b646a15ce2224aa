"""The size of a value when its shared parts are counted each time they occur.

A list that holds another list twice shares it: doing ``set x to [x, x]`` thirty times makes a small value that has a billion
parts when written out. Code that writes a value out, or walks through it without remembering where it has been, checks here
first.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

#: The most values, containers and their items, that one text may contain.
MOST_VALUES = 20_000_000
#: How many values are visited before the check, so that it costs nothing for usual values.
BEFORE_ASKING = 5_000_000


def unfolds_beyond(value: Any, most: int = MOST_VALUES) -> bool:
    """Whether the value has more than ``most`` values when written out. The time is proportional to the number of distinct
    values.
    """
    #: by ``id``, which stays unique because ``value`` keeps the objects alive
    known: dict[int, int] = {}
    # For each open container: itself, an iterator over the rest of its items, and the count so far.
    open_ones: list[list[Any]] = [[value, iter(_inside(value)), 1]]
    while True:
        current = open_ones[-1]
        for item in current[1]:
            if item.__class__ is not list and item.__class__ is not dict:
                current[2] += 1
                continue
            weight = known.get(id(item))
            if weight is None:
                open_ones.append([item, iter(_inside(item)), 1])
                break
            current[2] += weight
        else:
            container, _, weight = open_ones.pop()
            if weight > most or not open_ones:
                return bool(weight > most)
            known[id(container)] = weight
            open_ones[-1][2] += weight


def _inside(value: Any) -> Iterable[Any]:
    if value.__class__ is dict:
        return value.values()
    return value if value.__class__ is list else ()


def refuse_unfolded(value: Any, prefix: str = "") -> None:
    """Raises ``RuntimeFault``, whose text begins with ``prefix``, for a value that is too large to be written out."""
    if unfolds_beyond(value):
        from language.errors import RuntimeFault

        raise RuntimeFault(
            f"{prefix}the value is too large to be written out: it holds the same lists or maps again and again, "
            f"more than {MOST_VALUES} values in all",
            kind="resources",
        )
