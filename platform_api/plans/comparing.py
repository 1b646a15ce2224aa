"""Two ceilings beside each other, in bounded time: programs and clients choose how many items they have, and which wildcards.

What would take too long is compared as it is written: an item that does not stand in the other ceiling word for word counts as
one that it does not hold. The error is on the safe side: something may be shown as new that is not, and what
both allow may be less than it could be.
"""

from __future__ import annotations

from language import Capability, Ceiling, compare

#: Pairs of scopes that are looked at. A wildcard doubles what an item takes, up to ``_MOST_STARS`` of them.
_MOST_PAIRS, _MOST_STARS = 10_000, 6


def parsed(text: str) -> Ceiling:
    """The ceiling of a deploy's text, which is empty where it allows nothing."""
    return Ceiling.parse(text) if text else Ceiling(())


def holds_more(old: Ceiling, new: Ceiling) -> bool:
    """Whether a program under the ceiling ``new`` can come to hold anything that it cannot under ``old``."""
    return bool(changes(old, new)[0])


def changes(old: Ceiling, new: Ceiling) -> tuple[tuple[Capability, ...], tuple[Capability, ...]]:
    """What of a new ceiling the old one does not surely hold, and what of the old one is gone."""
    if _takes_long(old, new) or _takes_long(new, old):
        return _beyond(new, old), _beyond(old, new)
    found = compare(old, new)
    return found.uncovered, found.removed


def both(one: Ceiling, other: Ceiling) -> Ceiling:
    """What both ceilings allow."""
    if _takes_long(one, other) or _takes_long(other, one):
        there = frozenset(other.items)
        return Ceiling(tuple(item for item in one.items if item in there))
    return one.intersection(other)


def _beyond(one: Ceiling, other: Ceiling) -> tuple[Capability, ...]:
    there = frozenset(other.items)
    return tuple(item for item in one.items if item not in there)


def _takes_long(outer: Ceiling, inner: Ceiling) -> bool:
    """Whether to look for each item of one ceiling in the other takes more than ``_MOST_PAIRS``."""
    left = _MOST_PAIRS
    for item in inner.items:
        left -= len(outer.items) * 2 ** min((item.scope or "").count("*"), _MOST_STARS)
        if left < 0:
            return True
    return False
