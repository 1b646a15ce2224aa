"""What a rehearsed program tried, beside what a deploy of it would be given and what the live version has."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from language import Capability, Ceiling
from runner.protocol import Tried

#: What a program does to ask a person. No ceiling speaks of them.
GATES = ("approve", "confirm", "ask")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt.

    Attributes:
        capability: one of the language's, or the kind of a gate.
        scope: of a gate its question.
        file, line: where it was tried first, ``""`` and ``None`` where that is not known.
        source: what asked for it, such as ``http_get()``.
        allowed: whether a deploy of this version would be allowed to; of a gate, which everybody may open, always true.
        live: the same of the live version; ``None`` where none is live.
    """

    capability: str
    scope: str | None
    file: str
    line: int | None
    source: str
    count: int
    allowed: bool
    live: bool | None


def attempts(tried: Iterable[Tried], ceiling: str, live: str | None) -> tuple[Attempt, ...]:
    """Sets what was tried beside two ceilings, given as their texts."""
    given, now = _parsed(ceiling), None if live is None else _parsed(live)
    return tuple(
        Attempt(
            one.capability,
            one.scope,
            one.file,
            one.line,
            one.source,
            one.count,
            _covers(given, one),
            None if now is None else _covers(now, one),
        )
        for one in tried
    )


def to_json(found: Iterable[Attempt]) -> str:
    """As a row keeps them."""
    return json.dumps([asdict(one) for one in found])


def from_json(text: str) -> tuple[Attempt, ...]:
    """The attempts of ``to_json``."""
    given: list[dict[str, Any]] = json.loads(text)
    return tuple(Attempt(**one) for one in given)


def _covers(ceiling: Ceiling, tried: Tried) -> bool:
    return tried.capability in GATES or ceiling.covers(Capability(tried.capability, tried.scope))


def _parsed(text: str) -> Ceiling:
    return Ceiling.parse(text) if text else Ceiling(())
