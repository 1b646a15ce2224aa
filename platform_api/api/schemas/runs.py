"""Runs of jobs, schedules, sleep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct, UnsetType

from platform_api.api.schemas.shared import Answer
from platform_api.moments import rfc3339, rfc3339_or_none
from platform_api.runs.operations import LIST_TAIL, TAIL, tail

if TYPE_CHECKING:
    from sqlalchemy import Row


class Run(Answer):
    """A run of a job. ``output`` is the end of what it printed: 4 KiB in lists, 64 KiB alone."""

    id: str
    status: str
    trigger: str
    exit_code: int | None
    output: str
    created_at: str
    started_at: str | None
    finished_at: str | None


class RunAnswer(Answer):
    """A run that was asked for, or cancelled."""

    run: Run


class RunShown(Run):
    """A run, as its own fields and as ``run``."""

    run: Run


class Runs(Answer):
    """The runs of a job, newest first, and its schedule with what it means and its next time."""

    items: list[Run]
    schedule: str
    means: str
    next_cursor: str | UnsetType | None = UNSET


class Schedule(Struct):
    """The body of ``PUT /projects/{id}/schedule``: five cron fields in UTC or a keyword; empty or null clears it."""

    cron: str | None


class Scheduled(Answer):
    """A schedule, and what it means with its next time."""

    schedule: str
    means: str
    ok: bool = True


class Sleep(Struct):
    """The body of ``PUT /projects/{id}/sleep``: minutes without a request after which it sleeps; 0 keeps it warm."""

    after_minutes: int | float


class SleepSet(Answer):
    """The minutes after which a web project sleeps, 0 for never."""

    sleep_after: int
    note: str
    ok: bool = True


def run_answer(row: Row[Any], size: int = TAIL) -> Run:
    """A row of ``runs`` as answers show it.

    Args:
        size: bytes of output that are shown.
    """
    return Run(
        id=row.id,
        status=row.status,
        trigger=row.trigger,
        exit_code=row.exit_code,
        output=tail(row.output, size),
        created_at=rfc3339(row.created_at),
        started_at=rfc3339_or_none(row.started_at),
        finished_at=rfc3339_or_none(row.finished_at),
    )


def shown_run(row: Row[Any]) -> RunShown:
    """A run alone."""
    run = run_answer(row)
    return RunShown(**{name: getattr(run, name) for name in Run.__struct_fields__}, run=run)


def listed_run(row: Row[Any]) -> Run:
    """A run in a list."""
    return run_answer(row, LIST_TAIL)
