"""Rehearsals on their way: what a runner is told, what it reports, and the end of those that nobody finishes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from platform_api.history.outbox import note
from platform_api.moments import MINUTE, now
from platform_api.packages.storage import prune_packages
from platform_api.rehearsals.findings import attempts, to_json
from platform_api.rehearsals.operations import ACTIVE
from platform_api.runs.operations import TAIL, tail
from platform_api.store.database import announce
from platform_api.store.tables import ACTIVE_REHEARSALS, accounts, projects, rehearsals
from runner.protocol import RehearsalReport, RehearsalSpec

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.plans.plans import Plans

#: Seconds that a rehearsal may take, and megabytes of its volume.
SECONDS, DISK_MB = 60, 64
#: How long after it was asked for a rehearsal is still taken to be under way.
LONGEST = 10 * MINUTE
#: Characters of the reason of a failure.
_DETAIL = 4_000
NEVER_ENDED = "Its runner has not reported its end within 10 minutes."


def wanted_rehearsals(connection: Connection, plans: Plans, runner_id: str, since: int | None) -> tuple[RehearsalSpec, ...]:
    """The rehearsals of a runner that are not over.

    Args:
        since: only those that changed behind this position.
    """
    query = (
        select(rehearsals, projects.c.kind, projects.c.memory_mb, accounts.c.plan)
        .join(projects, projects.c.id == rehearsals.c.project_id)
        .join(accounts, accounts.c.id == projects.c.account_id)
        .where(projects.c.home_runner == runner_id, ACTIVE_REHEARSALS)
        .order_by(rehearsals.c.id)
    )
    return tuple(
        RehearsalSpec(
            id=row.id,
            project=row.project_id,
            package_hash=row.package_hash,
            entry=row.entry,
            kind=row.kind,
            seconds=SECONDS,
            memory_mb=row.memory_mb,
            disk_mb=min(DISK_MB, plans[row.plan].disk_mb),
        )
        for row in connection.execute(query if since is None else query.where(rehearsals.c.change > since))
    )


def take_rehearsal(connection: Connection, project: Row[Any], report: RehearsalReport) -> bool:
    """Stores how a rehearsal goes, and says whether there is such a one. Reports after its end change nothing.

    Args:
        project: its row, locked.
    """
    row = connection.execute(
        select(rehearsals).where(rehearsals.c.id == report.rehearsal, rehearsals.c.project_id == project.id).with_for_update()
    ).one_or_none()
    if row is None:
        return False
    if row.status in ACTIVE:
        found = attempts(report.tried, row.ceiling, row.live_ceiling)
        values: dict[str, Any] = {
            "status": report.status,
            "detail": report.detail[:_DETAIL],
            "output": tail(report.output, TAIL),
            "exit_code": report.exit_code,
            "tried": to_json(found),
            "more": max(0, report.more),
        }
        _store(connection, row, values)
    return True


def stuck_rehearsals(connection: Connection, moment: int) -> list[tuple[str, str]]:
    """Rehearsals that nobody will finish, each behind its project."""
    query = select(rehearsals.c.project_id, rehearsals.c.id).where(
        ACTIVE_REHEARSALS, rehearsals.c.created_at < moment - LONGEST
    )
    return [(row.project_id, row.id) for row in connection.execute(query)]


def end_stuck_rehearsal(connection: Connection, project_id: str, rehearsal_id: str) -> None:
    """Ends a rehearsal of ``stuck_rehearsals`` if it is still under way."""
    connection.execute(select(projects.c.id).where(projects.c.id == project_id).with_for_update())
    row = connection.execute(
        select(rehearsals).where(rehearsals.c.id == rehearsal_id, ACTIVE_REHEARSALS).with_for_update()
    ).one_or_none()
    if row is not None:
        _store(connection, row, {"status": "failed", "detail": NEVER_ENDED})


def _store(connection: Connection, row: Row[Any], values: dict[str, Any]) -> None:
    moment, over = now(), values["status"] not in ACTIVE
    if row.started_at is None:
        values["started_at"] = moment
    if over:
        values["finished_at"] = moment
    connection.execute(update(rehearsals).where(rehearsals.c.id == row.id).values(values))
    if over:
        event = {"event": f"rehearsal_{values['status']}", "rehearsal": row.id}
        note(connection, row.project_id, event)
        prune_packages(connection, {row.package_hash})
    announce(connection, row.project_id)
