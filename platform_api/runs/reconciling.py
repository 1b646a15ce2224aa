"""Runs that nobody will finish are ended, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from platform_api.moments import MINUTE, SECOND, now
from platform_api.packages.storage import timeout_minutes_of
from platform_api.runners.registry import AWAY_AFTER
from platform_api.runs.following import state_of, store_run
from platform_api.runs.lifecycle import given_up
from platform_api.runs.operations import run_of
from platform_api.store.database import announce
from platform_api.store.tables import ACTIVE_RUNS, deploys, projects, runners, runs

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: How long a run waits for a runner.
LONGEST_WAIT = 10 * MINUTE
#: How long after its limit a run is still taken to be under way: its runner may be cut off and report later.
GRACE = 60 * MINUTE
DEFAULT_TIMEOUT = 15 * MINUTE


def stuck_runs(connection: Connection, moment: int, project_id: str | None = None) -> list[tuple[str, str]]:
    """Runs that may have to be ended, each behind its project.

    Args:
        project_id: only those of one project.
    """
    here = runners.c.seen_at.is_not(None) & (runners.c.seen_at > moment - AWAY_AFTER)
    waiting = (runs.c.status == "queued") & (runs.c.created_at < moment - LONGEST_WAIT) & (runners.c.id.is_(None) | ~here)
    running = (runs.c.status == "running") & (runs.c.started_at < moment - DEFAULT_TIMEOUT - GRACE)
    query = (
        select(runs.c.project_id, runs.c.id)
        .join(projects, projects.c.id == runs.c.project_id)
        .outerjoin(runners, runners.c.id == projects.c.home_runner)
        .where(ACTIVE_RUNS, waiting | running)
    )
    rows = connection.execute(query if project_id is None else query.where(runs.c.project_id == project_id))
    return [(row.project_id, row.id) for row in rows]


def patience_with(connection: Connection, run_id: str) -> float:
    """Seconds of a clock that does not jump for which a run of ``stuck_runs`` has to stay so before it is ended.

    The moments that are stored are those of the time of day. Where that is set forward, a run seems old and a runner away: the
    runner is heard of again within a minute, and a run is over, or reported so, when its own time has passed.
    """
    row = connection.execute(select(runs.c.status, runs.c.deploy_id).where(runs.c.id == run_id)).one_or_none()
    if row is None or row.status == "queued":
        return AWAY_AFTER / SECOND
    return (timeout_of(connection, row.deploy_id) + GRACE) / SECOND


def end_stuck(connection: Connection, project_id: str, run_id: str) -> str | None:
    """Ends a run of ``stuck_runs`` if it is still stuck, and gives the status it ends with."""
    project = connection.execute(select(projects).where(projects.c.id == project_id).with_for_update()).one_or_none()
    if project is None:
        return None
    moment = now()
    if (project_id, run_id) not in stuck_runs(connection, moment, project_id):
        return None
    row = run_of(connection, project_id, run_id, lock=True)
    if row.status == "queued":
        status, reason = "failed", "No runner was there to run it for 10 minutes.\n"
    else:
        limit = timeout_of(connection, row.deploy_id)
        if row.started_at >= moment - limit - GRACE:
            return None
        status, reason = "timed_out", "Its runner has said nothing of it since its time was up.\n"
    store_run(connection, row, given_up(state_of(row), status), runner_id=project.home_runner, output=row.output + reason)
    announce(connection, project_id)
    return status


def timeout_of(connection: Connection, deploy_id: str | None) -> int:
    """How long a run of a deploy may take, in milliseconds."""
    package = connection.execute(select(deploys.c.package_hash).where(deploys.c.id == deploy_id)).scalar_one_or_none()
    minutes = timeout_minutes_of(connection, package) if package else None
    return minutes * MINUTE if minutes else DEFAULT_TIMEOUT
