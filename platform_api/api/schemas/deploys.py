"""Deploys and the ceilings that they are given."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from platform_api.api.schemas.shared import Answer
from platform_api.moments import rfc3339, rfc3339_or_none
from platform_api.plans.ceilings import EffectiveCeiling

if TYPE_CHECKING:
    from sqlalchemy import Row


class CeilingItem(Answer):
    """A capability that a program is given. ``line`` is that of its ``require`` line, null for what is always there."""

    capability: str
    scope: str | None
    line: int | None


class DeniedItem(Answer):
    """A capability that the plan does not allow, and the sentence that says so."""

    capability: str
    scope: str | None
    reason: str


class Ceiling(Answer):
    """What a program is started with. ``text`` is what ``--cap-set`` takes."""

    text: str
    items: list[CeilingItem]
    denied_by_plan: list[DeniedItem]


class Deploy(Answer):
    """One deploy of a project."""

    id: str
    project_id: str
    number: int
    status: str
    error: str | None
    package_hash: str
    entry: str
    ceiling: Ceiling
    engine: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    created_via: str


def ceiling_answer(ceiling: EffectiveCeiling) -> Ceiling:
    """A ceiling as answers show it."""
    return Ceiling(
        text=ceiling.text,
        items=[CeilingItem(capability=item.capability, scope=item.scope, line=item.line) for item in ceiling.items],
        denied_by_plan=[
            DeniedItem(capability=item.capability, scope=item.scope, reason=item.reason) for item in ceiling.denied_by_plan
        ],
    )


def deploy_answer(row: Row[Any]) -> Deploy:
    """A row of ``deploys`` as answers show it."""
    return Deploy(
        id=row.id,
        project_id=row.project_id,
        number=row.number,
        status=row.status,
        error=row.error,
        package_hash=row.package_hash,
        entry=row.entry,
        ceiling=ceiling_answer(EffectiveCeiling.from_json(json.loads(row.ceiling))),
        engine=row.engine,
        created_at=rfc3339(row.created_at),
        started_at=rfc3339_or_none(row.started_at),
        finished_at=rfc3339_or_none(row.finished_at),
        created_via=row.created_via,
    )
