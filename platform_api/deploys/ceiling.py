"""The ceiling of a deploy: what its program declares, without what the plan denies and what the owner has removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from language import Ceiling
from platform_api.plans import comparing
from platform_api.plans.ceilings import CeilingItem, EffectiveCeiling
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from language import Capability


#: The most characters of a ceiling that an owner gives.
_LONGEST = 64 * 1024


def read_owner_ceiling(text: str) -> Ceiling:
    """The ceiling that an owner gives with a deploy.

    Errors: ``validation``.
    """
    if len(text) > _LONGEST:
        raise Refusal("validation", f"A ceiling has at most {_LONGEST:,} characters.", field="ceiling")
    try:
        return Ceiling.parse(text, label="ceiling")
    except ValueError as error:
        raise Refusal("validation", str(error), field="ceiling") from None


def narrowed(declared: EffectiveCeiling, owner: Ceiling) -> EffectiveCeiling:
    """The capabilities that both ceilings allow, with the lines of the program that declare them."""
    before = comparing.parsed(declared.text)
    both = comparing.both(before, owner)
    lines = dict(zip(before.items, declared.items))
    items = tuple(CeilingItem(item.name, item.scope, _line(item, lines)) for item in both.items)
    return EffectiveCeiling(str(both), items, declared.denied_by_plan)


def holds_more(old: str, new: str) -> bool:
    """Whether the ceiling ``new`` allows anything that ``old`` does not."""
    return comparing.holds_more(comparing.parsed(old), comparing.parsed(new))


def _line(item: Capability, lines: dict[Capability, CeilingItem]) -> int | None:
    if item in lines:
        return lines[item].line
    return next((shown.line for declared, shown in lines.items() if declared.covers(item)), None)
