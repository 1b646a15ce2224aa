"""Writes a step of the lifecycle of a project to the store: to the project, its deploys, runs, runner and history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from platform_api.deploys.lifecycle import Lifecycle, Settled, Step
from platform_api.history.outbox import note
from platform_api.moments import now
from platform_api.runners.registry import next_change
from platform_api.runs.following import follow_project
from platform_api.store.database import announce
from platform_api.store.tables import ON_THEIR_WAY, deploys, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row


def lifecycle_of(connection: Connection, project: Row[Any]) -> Lifecycle:
    """The lifecycle of a project.

    Args:
        project: its row, locked if a step follows.
    """
    coming = connection.execute(
        select(deploys.c.id, deploys.c.status).where(deploys.c.project_id == project.id, ON_THEIR_WAY)
    ).one_or_none()
    return Lifecycle(
        desired=project.desired,
        generation=project.generation,
        phase=project.phase,
        detail=project.phase_detail,
        current=project.current_deploy,
        coming=coming.id if coming else None,
        coming_status=coming.status if coming else "queued",
    )


def take_step(
    connection: Connection,
    project: Row[Any],
    before: Lifecycle,
    step: Step,
    *,
    home_runner: str | None = None,
    engine: str = "",
) -> None:
    """Writes a new state of a project. If the desired state has changed, its runner is told.

    Args:
        project: its row, locked.
        home_runner: its runner, if that is chosen in this transaction.
        engine: the version of the interpreter, if a report contains it.
    """
    after = step.after
    if after == before and not step.settled:
        return
    for settled in step.settled:
        _settle(connection, project.id, settled, engine)
    values: dict[str, Any] = {
        "desired": after.desired,
        "generation": after.generation,
        "phase": after.phase,
        "phase_detail": after.detail,
        "current_deploy": after.current,
        "updated_at": now(),
    }
    runner_id = home_runner or project.home_runner
    # The version of the interpreter stands with what is wanted: whoever starts this deploy again takes the same one.
    engine_settled = engine != "" and any(settled.status == "live" for settled in step.settled)
    if (after.generation != before.generation or engine_settled) and runner_id is not None:
        values["change"] = next_change(connection, runner_id)
    connection.execute(update(projects).where(projects.c.id == project.id).values(values))
    follow_project(connection, project.id, runner_id, before, after, step.settled)
    if after.status != before.status:
        event = {"event": "status", "status": after.status, "reason": after.detail}
        note(connection, project.id, event, chained=False)
    announce(connection, project.id)
    announce(connection, f"account:{project.account_id}")


def withdraw_review(connection: Connection, project_id: str, status: str) -> None:
    """Ends the deploy of a project that waits for review, if there is one.

    Args:
        status: ``superseded`` by a newer request, or ``cancelled``.
    """
    waiting = connection.execute(
        select(deploys.c.id, deploys.c.number).where(deploys.c.project_id == project_id, deploys.c.status == "needs_review")
    ).one_or_none()
    if waiting is not None:
        connection.execute(
            update(deploys).where(deploys.c.id == waiting.id).values(status=status, finished_at=now(), environment=None)
        )
        note(connection, project_id, {"event": f"deploy_{status}", "deploy": waiting.id, "number": waiting.number})


def _settle(connection: Connection, project_id: str, settled: Settled, engine: str) -> None:
    row = connection.execute(select(deploys).where(deploys.c.id == settled.deploy)).one()
    values: dict[str, Any] = {"status": settled.status, "error": settled.error}
    moment = now()
    if settled.status in ("starting", "live") and row.started_at is None:
        values["started_at"] = moment
    if settled.status != "starting" and row.finished_at is None:
        values["finished_at"] = moment
    if settled.status in ("failed", "superseded", "cancelled"):
        values["environment"] = None
    if settled.status == "live" and engine:
        values["engine"] = engine
    connection.execute(update(deploys).where(deploys.c.id == settled.deploy).values(values))
    event = {"event": f"deploy_{settled.status}", "deploy": row.id, "number": row.number}
    if settled.error:
        event["error"] = settled.error
    note(connection, project_id, event)
