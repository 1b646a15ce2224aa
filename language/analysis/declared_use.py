"""Declared versus done: what of a program's declarations its audit records show as used, and what was refused."""

from __future__ import annotations

from dataclasses import dataclass

from language.analysis.manifest import Manifest, Requirement
from language.capabilities import Capability, Ceiling
from language.capabilities.widening import surely_covers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

#: Every program may print and read the clock: no line declares it, and no ceiling is made without it.
_ALWAYS = ("stdout", "time")


@dataclass(frozen=True, slots=True)
class DeclaredUse:
    """A ``require`` line of the entry file, and how many granted records it covers."""

    requirement: Requirement
    done: int


@dataclass(frozen=True, slots=True)
class RefusedCapability:
    """What was asked for and refused.

    ``count`` is how often, ``places`` are ``file:line``, each once, as far as the records say so.
    """

    capability: Capability
    why: str
    count: int
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeclaredVersusDone:
    """What a program declares beside what it did; made by :func:`language.declared_versus_done`.

    ``uses`` has an entry for each ``require`` line of the entry file, in the order of the source. ``refused`` has one for each
    capability and reason, in the order of the records. ``shrunk`` is the ceiling of the program without what was never used.
    """

    uses: tuple[DeclaredUse, ...]
    refused: tuple[RefusedCapability, ...]
    shrunk: Ceiling

    @property
    def unused(self) -> tuple[Requirement, ...]:
        """The lines that no granted record needed."""
        return tuple(use.requirement for use in self.uses if not use.done)


def declared_versus_done(manifest: Manifest, records: Iterable[Mapping[str, Any]]) -> DeclaredVersusDone:
    """Compares what a program declares with the audit records of its runs.

    ``records`` are maps with the fields ``capability``, ``scope``, ``granted``, ``origin`` and ``why``, and perhaps ``source``,
    ``file`` and ``line``: lines of ``lang run --audit`` without the summary, ``audit`` of an embedded answer. ``count`` says
    how many equal records one stands for. A record whose fields are missing or of another type is passed over, because a
    program may have written to the same stream. Raises ``ValueError`` for a manifest with errors.
    """
    if manifest.errors:
        raise ValueError(f"'{manifest.entry}' does not pass the check: what it declares is not known")
    granted: dict[tuple[str, str | None], int] = {}
    refused: dict[tuple[str, str | None, str], tuple[int, dict[str, None]]] = {}
    for record in records:
        if not _is_record(record):
            continue
        key = record["capability"], record["scope"]
        times = record.get("count", 1)
        if record["granted"]:
            granted[key] = granted.get(key, 0) + times
        elif record.get("origin") == "program" and record.get("source") != "ceiling":
            count, places = refused.get((*key, record["why"]), (0, {}))
            if record.get("file"):
                places[f"{record['file']}:{record.get('line')}"] = None
            refused[(*key, record["why"])] = count + times, places
    done = [(Capability(name, scope), count) for (name, scope), count in granted.items()]
    known: dict[Capability, int] = {}  # most items of the ceiling are lines as they stand: each is looked for once

    def times_of(capability: Capability) -> int:
        if capability not in known:
            known[capability] = sum(count for one, count in done if _needed(capability, one))
        return known[capability]

    uses = tuple(DeclaredUse(line, times_of(line.capability)) for line in manifest.requires if not line.module)
    kept = (item for item in manifest.ceiling.items if item.name in _ALWAYS or times_of(item))
    refusals = []
    for (name, scope, why), (count, places) in refused.items():
        refusals.append(RefusedCapability(Capability(name, scope), why, count, tuple(places)))
    return DeclaredVersusDone(uses, tuple(refusals), Ceiling(tuple(kept)))


def _needed(capability: Capability, done: Capability) -> bool:
    """Whether a declaration covers what was recorded. For a command the record has the file that its path leads to."""
    return capability.covers(done) if done.name == "exec" else surely_covers(capability, done)


def _is_record(record: Mapping[str, Any]) -> bool:
    scope = record.get("scope")
    named = isinstance(record.get("capability"), str) and (scope is None or isinstance(scope, str)) and "scope" in record
    counted = type(record.get("count", 1)) is int and record.get("count", 1) > 0
    return named and counted and isinstance(record.get("granted"), bool) and isinstance(record.get("why"), str)
