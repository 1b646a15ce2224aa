"""What one manifest holds that another does not: what a person has to agree to before a new version runs."""

from __future__ import annotations

from dataclasses import dataclass

from language.analysis.manifest import Manifest
from language.capabilities import Capability, Ceiling
from language.capabilities.widening import surely_covers


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a new version of a program can come to hold, beside an old one; made by :func:`language.compare`.

    Each capability that only one of them has stands in ``added``, ``removed``, ``widened`` or ``narrowed``, the last two with
    pairs of the old and the new one. ``uncovered`` are those of the new version that nothing of the old one surely covers;
    ``added`` can hold others, which a wider one of the old version covered already.
    """

    added: tuple[Capability, ...]
    removed: tuple[Capability, ...]
    widened: tuple[tuple[Capability, Capability], ...]
    narrowed: tuple[tuple[Capability, Capability], ...]
    uncovered: tuple[Capability, ...]

    @property
    def holds_more(self) -> bool:
        """Whether the new version can come to hold anything that the old one could not."""
        return bool(self.uncovered)


def compare(old: Manifest | Ceiling, new: Manifest | Ceiling) -> Comparison:
    """Compares what two versions of a program can come to hold.

    Either may be a manifest, of which the lines of the entry file count, or a ceiling. If one is a ceiling, the ceiling of the
    other one is compared with it. Scopes are compared by what they cover, also if both are patterns; in doubt the new one is
    taken to hold more. Raises ``ValueError`` for a manifest with errors: what such a program would hold is not known.
    """
    before, after = _held(old, new), _held(new, old)
    shared = {str(capability) for capability in before} & {str(capability) for capability in after}
    gone = [capability for capability in before if str(capability) not in shared]
    added: list[Capability] = []
    widened: list[tuple[Capability, Capability]] = []
    narrowed: list[tuple[Capability, Capability]] = []
    uncovered: list[Capability] = []
    explained: set[str] = set()
    for capability in after:
        if str(capability) in shared:
            continue
        wider = next((held for held in before if surely_covers(held, capability)), None)
        if wider is None:
            uncovered.append(capability)
            inner = [held for held in gone if surely_covers(capability, held)]
            widened.extend((held, capability) for held in inner)
            explained.update(map(str, inner))
            if not inner:
                added.append(capability)
        elif wider in gone:
            narrowed.append((wider, capability))
            explained.add(str(wider))
        else:
            added.append(capability)
    removed = [capability for capability in gone if str(capability) not in explained]
    return Comparison(tuple(added), tuple(removed), tuple(widened), tuple(narrowed), tuple(uncovered))


def _held(version: Manifest | Ceiling, other: Manifest | Ceiling) -> tuple[Capability, ...]:
    if isinstance(version, Ceiling):
        return version.items
    if version.errors:
        raise ValueError(f"'{version.entry}' does not pass the check: its capabilities are not known")
    return version.ceiling.items if isinstance(other, Ceiling) else version.grants
