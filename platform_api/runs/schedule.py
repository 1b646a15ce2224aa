"""Schedules: when a job runs next, and starting what is due exactly once however many replicas look."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from language import Schedule
from platform_api.history.outbox import note
from platform_api.moments import now
from platform_api.refusals import Refusal
from platform_api.runs.operations import request_run
from platform_api.store.tables import accounts, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.plans.plans import Plans

UNSCHEDULED = "runs only when asked"
#: How many due jobs one look finds.
_MANY = 200


@dataclass(frozen=True, slots=True)
class Skipped:
    """A run that was due and not started, with the sentence that says why."""

    project_id: str
    reason: str


def read_schedule(text: str) -> Schedule:
    """The schedule that a text stands for.

    Errors: ``validation`` with the sentence that names the field of the schedule at fault.
    """
    try:
        return Schedule.parse(text)
    except ValueError as error:
        raise Refusal("validation", f"cron: {error}", field="cron") from None


def due_after(schedule: Schedule, moment: int) -> int | None:
    """When a schedule holds next, in milliseconds; ``None`` where that is beyond the year 9999."""
    try:
        return int(schedule.next(datetime.fromtimestamp(moment / 1000, UTC)).timestamp()) * 1000
    except OverflowError:
        return None


def meaning(schedule: Schedule, due: int | None) -> str:
    """The schedule in words, with its next time: ``At 06:30 UTC; next 2026-02-01 06:30``."""
    words = schedule.means.rstrip(".")
    return words if due is None else f"{words}; next {datetime.fromtimestamp(due / 1000, UTC):%Y-%m-%d %H:%M}"


def meaning_of(text: str, due: int | None) -> str:
    """The same of a schedule as it is stored; empty where a version of before stored what this one does not read."""
    if not text:
        return UNSCHEDULED
    try:
        return meaning(Schedule.parse(text), due)
    except ValueError:
        return ""


def set_schedule(connection: Connection, project: Row[Any], text: str) -> tuple[str, str]:
    """Gives a job a schedule, or takes it away, and gives the text that is kept and what it means.

    Args:
        project: its row, locked.
        text: five cron fields, a keyword, or ``""``.

    Errors: ``conflict`` for what is no job, ``validation``.
    """
    if project.kind != "job":
        raise Refusal("conflict", f"{project.name!r} is a {project.kind} project: only a job has a schedule.")
    text = text.strip()
    due, means = None, UNSCHEDULED
    if text:
        schedule = read_schedule(text)
        due = due_after(schedule, now())
        means = meaning(schedule, due)
    connection.execute(update(projects).where(projects.c.id == project.id).values(schedule=text, next_at=due, updated_at=now()))
    note(connection, project.id, {"event": "schedule", "schedule": text})
    return text, means


def due_projects(connection: Connection, moment: int) -> list[tuple[str, int]]:
    """The jobs whose schedule is due, with the moment it was due at, the longest overdue first."""
    rows = connection.execute(
        select(projects.c.id, projects.c.next_at)
        .where(projects.c.next_at <= moment, projects.c.next_at.is_not(None))
        .order_by(projects.c.next_at, projects.c.id)
        .limit(_MANY)
    )
    return [(row.id, row.next_at) for row in rows]


def start_due(connection: Connection, plans: Plans, project_id: str, due: int, moment: int) -> Skipped | None:
    """Starts a run that is due, unless another replica has; what was missed besides is not made up.

    Args:
        due: what ``due_projects`` said. Who moves ``next_at`` on from there is the one who starts the run.
    """
    claim = select(projects).where(projects.c.id == project_id, projects.c.next_at == due)
    project = connection.execute(claim.with_for_update(skip_locked=True)).one_or_none()
    if project is None:
        return None
    try:
        next_at = due_after(Schedule.parse(project.schedule), moment)
    except ValueError:
        next_at = None
    moved = connection.execute(
        update(projects).where(projects.c.id == project_id, projects.c.next_at == due).values(next_at=next_at)
    )
    if moved.rowcount == 0 or project.desired == "erased":
        return None
    plan = connection.execute(select(accounts.c.plan).where(accounts.c.id == project.account_id)).scalar_one()
    try:
        request_run(connection, project, "schedule", keep=plans[plan].runs)
    except Refusal as refusal:
        if refusal.code == "already_running":
            return Skipped(project_id, f"The scheduled run was skipped: {refusal.message}")
        return None
    return None


def rearm(connection: Connection, moment: int) -> int:
    """Gives every job with a schedule that has no next time one, and says how many there were."""
    rows = connection.execute(
        select(projects.c.id, projects.c.schedule).where(
            projects.c.schedule != "", projects.c.next_at.is_(None), projects.c.kind == "job", projects.c.desired != "erased"
        )
    ).all()
    armed = 0
    for row in rows:
        try:
            due = due_after(Schedule.parse(row.schedule), moment)
        except ValueError:
            continue
        if due is not None:
            changed = connection.execute(
                update(projects)
                .where(projects.c.id == row.id, projects.c.next_at.is_(None), projects.c.schedule == row.schedule)
                .values(next_at=due)
            )
            armed += changed.rowcount
    return armed


def bring_forward(connection: Connection, moment: int) -> int:
    """Gives a new time to the jobs that wait for one which a clock has told that was ahead, and says how many there were.

    Of two next times the later one may stand: the run of the earlier one may have begun before the clock was set back.
    """
    rows = connection.execute(
        select(projects.c.id, projects.c.schedule, projects.c.next_at).where(
            projects.c.next_at.is_not(None), projects.c.next_at > moment, projects.c.desired != "erased"
        )
    ).all()
    brought = 0
    for row in rows:
        try:
            schedule = Schedule.parse(row.schedule)
        except ValueError:
            continue
        due = due_after(schedule, moment)
        second = None if due is None else due_after(schedule, due)
        if second is not None and row.next_at > second:
            changed = connection.execute(
                update(projects).where(projects.c.id == row.id, projects.c.next_at == row.next_at).values(next_at=due)
            )
            brought += changed.rowcount
    return brought
