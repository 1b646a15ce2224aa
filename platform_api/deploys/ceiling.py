"""What a deploy may hold: what its program declares, less what the plan denies, less what the owner has taken away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from language import Ceiling, compare
from platform_api.plans.ceilings import CeilingItem, EffectiveCeiling
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from language import Capability


def read_owner_ceiling(text: str) -> Ceiling:
    """The ceiling that an owner gives with a deploy.

    Errors: ``validation``.
    """
    try:
        return Ceiling.parse(text, label="ceiling")
    except ValueError as error:
        raise Refusal("validation", str(error), field="ceiling") from None


def narrowed(declared: EffectiveCeiling, owner: Ceiling) -> EffectiveCeiling:
    """What both allow, with the lines of the program that declare it."""
    before = _parse(declared.text)
    both = before.intersection(owner)
    lines = dict(zip(before.items, declared.items))
    items = tuple(CeilingItem(item.name, item.scope, _line(item, lines)) for item in both.items)
    return EffectiveCeiling(str(both), items, declared.denied_by_plan)


def holds_more(old: str, new: str) -> bool:
    """Whether a program under the ceiling ``new`` can come to hold anything that it cannot under ``old``."""
    return compare(_parse(old), _parse(new)).holds_more


def _line(item: Capability, lines: dict[Capability, CeilingItem]) -> int | None:
    for declared, shown in lines.items():
        if declared == item or declared.covers(item):
            return shown.line
    return None


def _parse(text: str) -> Ceiling:
    return Ceiling.parse(text) if text else Ceiling(())
