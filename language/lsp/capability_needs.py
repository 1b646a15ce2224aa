"""Which capability each operation of a file needs, as far as its source says, and whether the program declares it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from language.analysis import needs
from language.analysis.checker import Checked, CheckedFile
from language.capabilities import Capability, declared
from language.syntax import nodes


@dataclass(frozen=True, slots=True)
class PlacedNeed:
    """A place that needs a capability. ``span`` is that of the call; a ``computed`` scope is known when the program runs."""

    span: nodes.Span
    capability: Capability
    computed: bool


def grants_of(checked: Checked) -> list[Capability]:
    """What the entry file of a program declares."""
    found = []
    for line in checked.requires:
        with suppress(ValueError):  # a scope that can never be meant: an error already
            found.append(declared(line.capability, line.scope))
    return found


def needs_of(checked: Checked, unit: CheckedFile) -> Iterator[PlacedNeed]:
    """The operations of a file that need a capability which the program does not have by itself."""
    for need in needs.needs_of(unit, unit.program.statements, needs.implicit_in(checked)):
        if need.sandboxed:
            continue  # no line grants it there
        span = need.node.span
        if isinstance(need.node, nodes.Serve):
            span = (*span[:2], *need.node.port.span[2:])
        yield PlacedNeed(span, need.capability, need.computed)


def missing(need: PlacedNeed, grants: list[Capability]) -> bool:
    """Whether no grant covers what a call surely needs."""
    return not need.computed and not any(grant.covers(need.capability) for grant in grants)
