"""Runs follow their project: they wait for its deploy, and end when it is taken down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from platform_api.history.outbox import note
from platform_api.moments import now
from platform_api.runners.registry import next_change
from platform_api.runs.lifecycle import RunState, cancel_asked, given_up
from platform_api.store.tables import ACTIVE_RUNS, runs

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.deploys.lifecycle import Lifecycle, Settled


def active_run(connection: Connection, project_id: str) -> Row[Any] | None:
    """The run of a project that is not over."""
    return connection.execute(select(runs).where(runs.c.project_id == project_id, ACTIVE_RUNS)).one_or_none()


def state_of(row: Row[Any]) -> RunState:
    """The record of a row."""
    return RunState(row.status, row.attempt, bool(row.cancel))


def store_run(
    connection: Connection, row: Row[Any], after: RunState, *, runner_id: str | None = None, **values: object
) -> None:
    """Writes what became of a run, and tells a runner where one is given.

    Args:
        row: the run as it was, its project's row locked.
        values: other columns.
    """
    moment = now()
    values |= {"status": after.status, "attempt": after.attempt, "cancel": after.cancel}
    if after.status == "running" and row.started_at is None:
        values["started_at"] = moment
    if not after.is_active and row.finished_at is None:
        values["finished_at"] = moment
    if runner_id is not None:
        values["change"] = next_change(connection, runner_id)
    connection.execute(update(runs).where(runs.c.id == row.id).values(**values))
    if after.status != row.status:
        event: dict[str, Any] = {"event": f"run_{after.status}", "run": row.id, "trigger": row.trigger}
        if values.get("exit_code") is not None:
            event["exit_code"] = values["exit_code"]
        note(connection, row.project_id, event)


def follow_project(
    connection: Connection,
    project_id: str,
    runner_id: str | None,
    before: Lifecycle,
    after: Lifecycle,
    settled: tuple[Settled, ...],
) -> None:
    """Does to the active run of a project what the change of its project means."""
    row = active_run(connection, project_id)
    if row is None:
        return
    if after.desired != "up":
        failed = next((each for each in settled if each.status == "failed"), None)
        if failed is not None:
            reason = f"The deploy that it waited for failed: {failed.error}\n"
            store_run(connection, row, given_up(state_of(row), "failed"), runner_id=runner_id, output=row.output + reason)
        elif before.desired == "up":
            store_run(connection, row, cancel_asked(state_of(row)), runner_id=runner_id)
    elif after.status == "ready" and row.status == "queued" and row.deploy_id != after.current:
        store_run(connection, row, state_of(row), runner_id=runner_id, deploy_id=after.current)
