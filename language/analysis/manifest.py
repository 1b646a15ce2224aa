"""The capability manifest of a program, read off its source: what it declares, and where; nothing is run."""

from __future__ import annotations

from dataclasses import dataclass

from language.analysis.checker import Checked, CheckedFile
from language.capabilities import INERT_NAMES, Capability, Ceiling, declared
from language.capabilities.require_lines import requires, scope_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from language.errors import LanguageError

#: More wildcards than this in one scope are not compared one by one.
MOST_STARS = 6


@dataclass(frozen=True, slots=True)
class Line:
    """A ``require`` line. ``module`` is the file of the module it stands in, ``None`` in the program itself.

    ``covered`` says whether the program's own lines cover it: what a module declares beyond them grants nothing.
    """

    capability: Capability
    file: str
    line: int
    module: str | None
    imported_by: str | None
    covered: bool


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one program declares. ``errors`` stop it before it runs: what it would hold is then not known."""

    program: str
    lines: list[Line]
    errors: list[LanguageError]
    used_files: frozenset[str]

    @property
    def grants(self) -> list[Capability]:
        """What the program can come to hold, each capability once."""
        found = {(line.capability.name, line.capability.scope): line.capability for line in self.lines if line.module is None}
        return list(found.values())

    @property
    def ceiling(self) -> Ceiling:
        """The narrowest ceiling under which every line of the program is granted."""
        always = (Capability("stdout", None), Capability("time", None))
        own = [grant for grant in self.grants if grant.name not in INERT_NAMES and str(grant) not in ("stdout", "time")]
        return Ceiling((*own, *always))


def manifest_of(checked: Checked, name: str) -> Manifest:
    """The manifest of a checked program; ``name`` is the one to show for it."""
    if checked.errors:
        return Manifest(name, [], list(checked.errors), frozenset())
    return Manifest(name, _lines(checked), [], frozenset(checked.units) - {""})


def _lines(checked: Checked) -> list[Line]:
    importers: dict[str, str] = {}
    for unit in checked.units.values():
        for real in unit.imports.values():
            importers.setdefault(real, unit.file)
    own: list[Capability] = []
    lines = []
    for real, unit in checked.units.items():
        for capability, at in _declared(unit):
            if not real:
                own.append(capability)
            covered = not real or any(grant.covers(capability) for grant in own)
            lines.append(Line(capability, unit.file, at, unit.file if real else None, importers.get(real), covered))
    return lines


def _declared(unit: CheckedFile) -> list[tuple[Capability, int]]:
    return [(declared(line.capability, scope_text(line.scope)), line.span[0]) for line in requires(unit.program)]


# ---- comparing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """What one manifest holds that another does not: each capability in one of the lists, pairs as (old, new).

    ``more`` are the new ones that nothing of the old covers.
    """

    added: list[Capability]
    removed: list[Capability]
    widened: list[tuple[Capability, Capability]]
    narrowed: list[tuple[Capability, Capability]]
    more: list[Capability]


def compare(old: Sequence[Capability], new: Sequence[Capability]) -> Difference:
    """Compares what two versions of a program can come to hold."""
    shared = {str(capability) for capability in old} & {str(capability) for capability in new}
    gone = [capability for capability in old if str(capability) not in shared]
    difference = Difference([], [], [], [], [])
    explained: set[str] = set()
    for capability in new:
        if str(capability) in shared:
            continue
        wider = next((before for before in old if surely_covers(before, capability)), None)
        if wider is None:
            difference.more.append(capability)
            inner = [before for before in gone if surely_covers(capability, before)]
            difference.widened.extend((before, capability) for before in inner)
            explained.update(map(str, inner))
            if not inner:
                difference.added.append(capability)
        elif wider in gone:
            difference.narrowed.append((wider, capability))
            explained.add(str(wider))
        else:
            difference.added.append(capability)
    difference.removed.extend(capability for capability in gone if str(capability) not in explained)
    return difference


def surely_covers(outer: Capability, inner: Capability) -> bool:
    """Whether everything that ``inner`` grants is granted by ``outer`` too, patterns on both sides.

    A wildcard of ``inner`` stands for nothing and for a long run of something that no pattern spells. Paths of commands are
    compared as they are written: where they lead differs between machines. In doubt no.
    """
    outer, inner = (Capability(held.name, held.scope, held.scope) for held in (outer, inner))
    if inner.scope is None or outer.scope is None or outer.scope == inner.scope:
        return outer.covers(inner)
    if inner.scope == "*":
        return outer.covers(inner) and set(outer.scope) == {"*"}
    text = "*" if inner.scope == "./*" else inner.scope
    pieces = text.replace("?", "\x01").split("*")
    if len(pieces) > MOST_STARS:
        return False
    long = "\x02" * (len(outer.scope) + 1)
    for choice in range(2 ** (len(pieces) - 1)):
        scope = pieces[0]
        for at, piece in enumerate(pieces[1:]):
            scope += (long if choice >> at & 1 else "") + piece
        if not outer.covers(Capability(inner.name, scope, scope)):
            return False
    return True
