"""Audit records."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from platform_api.api.schemas.shared import Answer


class AuditItem(Answer):
    """What a program asked for. ``ts`` is in Unix seconds."""

    ts: float
    capability: str
    scope: str | None
    granted: bool
    origin: str | None
    why: str | None


class AuditList(Answer):
    """Records, newest first."""

    items: list[AuditItem]
    next_cursor: str | UnsetType | None = UNSET
