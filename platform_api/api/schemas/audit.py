"""Audit records."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from platform_api.api.schemas.shared import Answer


class AuditItem(Answer):
    """What a program asked for. ``ts`` is in Unix seconds.

    Attributes:
        witness: ``runner`` for a connection that the runner made or refused itself. Left out in what the program recorded.
    """

    ts: float
    capability: str
    scope: str | None
    granted: bool
    origin: str | None
    why: str | None
    witness: Literal["runner"] | UnsetType = UNSET


class AuditList(Answer):
    """Records, newest first."""

    items: list[AuditItem]
    next_cursor: str | UnsetType | None = UNSET


class DeclaredItem(Answer):
    """A ``require`` line, and how many granted records it covers."""

    capability: str
    scope: str | None
    file: str
    line: int
    done: int


class RefusedItem(Answer):
    """What was asked for and refused."""

    capability: str
    scope: str | None
    why: str
    count: int


class UnexplainedItem(Answer):
    """A connection that the runner made, or refused, of which the program recorded nothing with that outcome."""

    capability: str
    scope: str | None
    granted: bool
    count: int


class Declared(Answer):
    """Declared versus done.

    ``since`` is when the oldest record was made that this stands on. ``shrunk`` is the ceiling without what was never used;
    ``narrower`` says whether it differs from ``ceiling``, the one there is. ``flagged``: the runner saw what the program did
    not record, and nobody has looked at it yet.
    """

    deploy: str | None
    days: int
    since: str | None
    items: list[DeclaredItem]
    refused: list[RefusedItem]
    unexplained: list[UnexplainedItem]
    ceiling: str
    shrunk: str
    narrower: bool
    flagged: bool
