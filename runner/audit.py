"""Audit records on their way to the service: those of the program itself, and the runner's own about its connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from runner.protocol import AuditRecord

#: Seconds within which granted records that repeat are counted as one.
WINDOW_SECONDS = 1.0
#: The most different records of a window that are counted; further ones are reported one by one.
MOST_COUNTED = 1_000
#: The source of a decision that the interpreter makes by itself when a program begins: what every program gets without asking.
AMBIENT = "ambient"
_LONGEST_TEXT = 2_000


class AuditDesk:
    """The records of one start of a program: of what it asked for, and not of what the interpreter decides before it begins.

    A record is kept before ``take`` returns. Of granted ones that repeat, that holds for the first; the others are kept a
    second later, as one record with their count. Refusals are never counted together.

    Args:
        keep: takes the items.
    """

    def __init__(self, project: str, deploy: str, keep: Callable[[AuditRecord], None]) -> None:
        self._project, self._deploy, self._keep = project, deploy, keep
        self._repeated: dict[tuple[Any, ...], tuple[AuditRecord, int]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def take(self, given: Mapping[str, Any], witness: Literal["program", "runner"]) -> None:
        """Takes a record as the link gives it. What a program sends may hold anything."""
        if witness == "program" and given.get("source") == AMBIENT:
            return
        record = AuditRecord(
            project=self._project,
            deploy=self._deploy,
            ts=_number(given.get("ts")),
            capability=_text(given.get("capability")) or "?",
            scope=_text(given.get("scope")),
            granted=given.get("granted") is True,
            origin=_text(given.get("origin")),
            why=_text(given.get("why")),
            witness=witness,
        )
        key = (record.capability, record.scope, record.origin, record.why, witness)
        known = self._repeated.get(key) if record.granted else None
        if known is not None:
            self._repeated[key] = (record, known[1] + 1)
            return
        self._keep(record)
        if record.granted and len(self._repeated) < MOST_COUNTED:
            self._repeated[key] = (record, 0)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(WINDOW_SECONDS, self.flush)

    def flush(self) -> None:
        """Keeps what was counted."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        repeated, self._repeated = self._repeated, {}
        for record, count in repeated.values():
            if count:
                self._keep(replace(record, count=count))


def _text(value: object) -> str | None:
    return value[:_LONGEST_TEXT] if isinstance(value, str) else None


def _number(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value - value == 0 and abs(value) < 1e15:
        return float(value)
    return 0.0
