"""Human gates of running programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct, UnsetType

from platform_api.api.schemas.shared import Answer
from platform_api.moments import rfc3339

if TYPE_CHECKING:
    from sqlalchemy import Row


class Approval(Answer):
    """A gate. What belongs to one case alone is left out in the others.

    Attributes:
        gate_id: its id inside the program.
        project: the name of the project.
        options: what an ``ask`` suggests.
        value: what was answered.
        decided_by: the account of whoever decided.
        expired: nobody decided in time.
        delivered: of a gate that was decided: whether the program was told.
        undelivered: it was decided, and the program could not be told before it was too late.
    """

    id: str
    project_id: str
    project: str
    gate_id: str
    type: str
    message: str
    status: str
    expires_at: str
    received_at: str
    options: list[str] | UnsetType = UNSET
    value: str | UnsetType = UNSET
    decided_at: str | UnsetType = UNSET
    decided_by: str | UnsetType = UNSET
    delivered: bool | UnsetType = UNSET
    expired: bool | UnsetType = UNSET
    undelivered: bool | UnsetType = UNSET


class Inbox(Answer):
    """The pending gates of an account, newest first, and those that were closed lately."""

    items: list[Approval]
    recent: list[Approval]
    next_cursor: str | UnsetType | None = UNSET


class Approvals(Answer):
    """The gates of a project, newest first."""

    items: list[Approval]
    next_cursor: str | UnsetType | None = UNSET


class Decide(Struct):
    """The body of ``POST /approvals/{id}``: ``decision`` for an ``approve`` or ``confirm``, ``value`` for an ``ask``."""

    decision: bool | None = None
    value: str | None = None


class Decided(Answer):
    """What a gate was decided as. ``delivered`` is whether the program was told yet."""

    status: str
    delivered: bool
    ok: bool = True


def approval_answer(row: Row[Any]) -> Approval:
    """A row of ``platform_api.gates.operations`` as answers show it."""
    answer = Approval(
        id=row.id,
        project_id=row.project_id,
        project=row.project_name,
        gate_id=row.gate_id,
        type=row.type,
        message=row.message,
        status=row.status,
        expires_at=rfc3339(row.expires_at),
        received_at=rfc3339(row.received_at),
    )
    if row.options is not None:
        answer.options = json.loads(row.options)
    if row.value is not None:
        answer.value = row.value
    if row.decided_at is not None:
        answer.decided_at = rfc3339(row.decided_at)
    if row.decided_by is not None:
        answer.decided_by = row.decided_by
        answer.delivered = row.delivered_at is not None
    if row.expired:
        answer.expired = True
    if row.undelivered:
        answer.undelivered = True
    return answer
