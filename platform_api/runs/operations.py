"""Asking for a run, looking at runs, cancelling one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select

from platform_api.deploys.transitions import lifecycle_of
from platform_api.history.outbox import note
from platform_api.identifiers import new_id
from platform_api.moments import now
from platform_api.refusals import Refusal, not_found
from platform_api.runners.registry import next_change
from platform_api.runs.following import active_run, state_of, store_run
from platform_api.runs.lifecycle import ACTIVE, cancel_asked
from platform_api.store.database import announce
from platform_api.store.tables import runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

#: Bytes of a run's output that a list shows, and that it shows alone.
LIST_TAIL, TAIL = 4 * 1024, 64 * 1024


def request_run(connection: Connection, project: Row[Any], trigger: str, *, keep: int, by: str | None = None) -> Row[Any]:
    """Queues a run and gives its row. While the first deploy is on its way, the run waits for it.

    Args:
        project: its row, locked.
        trigger: ``manual`` or ``schedule``.
        keep: how many finished runs of a project the plan keeps.
        by: the account that asks.

    Errors: ``conflict`` for what is no job, ``not_deployed``, ``already_running``.
    """
    if project.kind != "job":
        raise Refusal("conflict", f"{project.name!r} is a {project.kind} project: only a job is run.")
    if project.desired != "up":
        reason = {
            "none": "it was never deployed",
            "down": "its last deploy failed" if project.phase == "failed" else "it is stopped",
        }.get(project.desired, "it is being deleted")
        raise Refusal("not_deployed", f"{project.name!r} cannot be run: {reason}. Deploy it first.")
    active = active_run(connection, project.id)
    if active is not None:
        raise Refusal("already_running", f"The run {active.id} is {active.status}.", details={"run": active.id})
    lifecycle = lifecycle_of(connection, project)
    ready = lifecycle.status == "ready"
    run_id = new_id("run")
    connection.execute(
        insert(runs).values(
            id=run_id,
            project_id=project.id,
            deploy_id=lifecycle.current if ready else None,
            status="queued",
            trigger=trigger,
            change=next_change(connection, project.home_runner) if ready else 0,
            created_at=now(),
        )
    )
    event = {"event": "run_asked", "run": run_id, "trigger": trigger}
    note(connection, project.id, event if by is None else event | {"by": by})
    announce(connection, project.id)
    _prune(connection, project.id, keep)
    return run_of(connection, project.id, run_id)


def run_of(connection: Connection, project_id: str, run_id: str, *, lock: bool = False) -> Row[Any]:
    """One run of a project.

    Errors: ``not_found``, also for a run of another project.
    """
    query = select(runs).where(runs.c.id == run_id, runs.c.project_id == project_id)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise not_found("run")
    return row


def runs_of(connection: Connection, project_id: str, limit: int, before: str | None = None) -> Sequence[Row[Any]]:
    """Runs of a project, newest first.

    Args:
        before: only those with a lower id.
    """
    query = select(runs).where(runs.c.project_id == project_id).order_by(runs.c.id.desc()).limit(limit)
    return connection.execute(query if before is None else query.where(runs.c.id < before)).all()


def cancel_run(connection: Connection, project: Row[Any], run_id: str) -> Row[Any]:
    """Wants a run ended and gives its row: one that waits is ``cancelled`` at once, one that runs when its runner says so.

    Args:
        project: its row, locked.

    Errors: ``not_found``; ``conflict`` for one that is over.
    """
    row = run_of(connection, project.id, run_id, lock=True)
    before = state_of(row)
    if not before.is_active:
        raise Refusal("conflict", f"The run is over: it is {before.status}.")
    after = cancel_asked(before)
    if after != before:
        store_run(connection, row, after, runner_id=project.home_runner)
        announce(connection, project.id)
    return run_of(connection, project.id, run_id)


def tail(text: str, size: int) -> str:
    """The end of a text, at most so many bytes of its UTF-8."""
    return text.encode("utf-8", "replace")[-size:].decode("utf-8", "ignore")


def _prune(connection: Connection, project_id: str, keep: int) -> None:
    """Removes the oldest runs that are over, above those that are kept."""
    over = runs.c.project_id == project_id, runs.c.status.not_in(sorted(ACTIVE))
    oldest = connection.execute(
        select(runs.c.id).where(*over).order_by(runs.c.id.desc()).offset(keep).limit(1)
    ).scalar_one_or_none()
    if oldest is not None:
        connection.execute(delete(runs).where(*over, runs.c.id <= oldest))
