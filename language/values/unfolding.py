"""How much a value is when everything that it shares is written out.

A list that holds another twice shares it: thirty times ``set x to [x, x]`` make a small value that stands for a thousand
million. Whoever writes a value out, or walks through it without remembering where it has been, asks here before going on.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

#: Values, containers and what is in them, that a text may be made of.
MOST_VALUES = 20_000_000
#: So many are walked through before anybody asks: usual values cost nothing.
BEFORE_ASKING = 5_000_000


def unfolds_beyond(value: Any, most: int = MOST_VALUES) -> bool:
    """Whether the value, written out, has more than ``most`` values in it. Takes time for what is there, not for that."""
    #: by ``id``, which the value keeps alive
    known: dict[int, int] = {}
    # Of each open container: itself, what is to come of it, and what it has come to so far.
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
    """Raises ``RuntimeFault``, its text begun by ``prefix``, for a value that is too much to be written out."""
    if unfolds_beyond(value):
        from language.errors import RuntimeFault

        raise RuntimeFault(
            f"{prefix}the value is too large to be written out: it holds the same lists or maps again and again, "
            f"more than {MOST_VALUES} values in all",
            kind="resources",
        )
