"""Forgetting a runner that does not come back: its projects are free for another one."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from sqlalchemy import delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from platform_api.accounts.tokens import digest
from platform_api.deploys.lifecycle import replaced
from platform_api.deploys.transitions import lifecycle_of, take_step
from platform_api.gates.operations import close_expired, open_gates_of
from platform_api.history.outbox import note
from platform_api.projects.delete import remove_project
from platform_api.refusals import not_found
from platform_api.runners.placement import place_waiting
from platform_api.runners.registry import next_change
from platform_api.runs.following import active_run, state_of, store_run
from platform_api.runs.lifecycle import handed_on
from platform_api.store.database import announce
from platform_api.store.tables import erasures, projects, record_streams, runner_streams, runners

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.store.store import Store


def forget_runner(store: Store, runner_id: str) -> int:
    """Ends a runner's token, frees its projects and says how many there were. Called in a thread.

    Should a runner with this id and a new token come back with the old folder, it is told to erase what it still has of them.

    Errors: ``not_found``.
    """
    with store.main.writing() as connection:
        changed = connection.execute(
            update(runners)
            .where(runners.c.id == runner_id)
            .values(digest=digest(secrets.token_urlsafe(32)), instance=None, seen_at=None)
        )
        if changed.rowcount == 0:
            raise not_found("runner")
    # A report locks its stream before the runner: this one, which holds the runner, must not wait for a stream.
    with store.main.writing() as connection:
        connection.execute(delete(runner_streams).where(runner_streams.c.runner_id == runner_id))
    with store.main.reading() as connection:
        held = connection.execute(select(projects.c.id).where(projects.c.home_runner == runner_id)).scalars().all()
    for project_id in held:
        with store.main.writing() as connection:
            _free(connection, runner_id, project_id)
    with store.records.writing() as connection:
        connection.execute(delete(record_streams).where(record_streams.c.runner_id == runner_id))
    with store.main.writing() as connection:
        place_waiting(connection)
    return len(held)


def _free(connection: Connection, runner_id: str, project_id: str) -> None:
    project = connection.execute(
        select(projects).where(projects.c.id == project_id, projects.c.home_runner == runner_id).with_for_update()
    ).one_or_none()
    if project is None:
        return
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    owed = {
        "runner_id": runner_id,
        "project_id": project_id,
        "slug": project.slug,
        "generation": project.generation + 1,
        "change": next_change(connection, runner_id),
    }
    connection.execute(
        dialect.insert(erasures).values(owed).on_conflict_do_update(index_elements=["runner_id", "project_id"], set_=owed)
    )
    for gate in open_gates_of(connection, project_id):
        close_expired(connection, project, gate)
    if project.desired == "erased":
        remove_project(connection, project_id)
        announce(connection, project_id)
        announce(connection, f"account:{project.account_id}")
        return
    run = active_run(connection, project_id)
    if run is not None:
        after = handed_on(state_of(run))
        reason = "" if after.is_active else "Its runner was given up.\n"
        store_run(connection, run, after, deploy_id=None, output=run.output + reason)
    before = lifecycle_of(connection, project)
    connection.execute(update(projects).where(projects.c.id == project_id).values(home_runner=None))
    free = connection.execute(select(projects).where(projects.c.id == project_id)).one()
    take_step(connection, free, before, replaced(before))
    note(connection, project_id, {"event": "runner_forgotten", "runner": runner_id})
