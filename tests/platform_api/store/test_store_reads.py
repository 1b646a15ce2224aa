"""What is read in several statements is of one moment, and what is asked for again and again is found by an index."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, MetaData, PrimaryKeyConstraint, UniqueConstraint, event, func, insert, select
from stored_projects import stored_deploy, stored_project

from platform_api.accounts.records import make_account
from platform_api.deploys.transitions import lifecycle_of
from platform_api.gates.operations import open_gates_of, overdue_gates
from platform_api.identifiers import new_id
from platform_api.moments import DAY, now
from platform_api.packages.storage import prune_packages
from platform_api.records.audit import append_audit
from platform_api.records.logs import append_logs
from platform_api.records.pruning import prune
from platform_api.runners.polling import changes_since
from platform_api.runners.registry import make_runner_token
from platform_api.runs.following import active_run
from platform_api.runs.reconciling import stuck_runs
from platform_api.settings import Settings
from platform_api.store.store import Store
from platform_api.store.tables import deploys, gates, main, projects, records, runs


def project_in(store: Store, **columns: Any) -> str:
    with store.main.writing() as connection:
        account = make_account(connection, f"{new_id('at')}@example.com", plan="team")
    return stored_project(store, account, **columns)


def counted(connection: Connection) -> int:
    return connection.scalar(select(func.count()).select_from(projects)) or 0


def test_a_read_is_of_one_moment(store: Store) -> None:
    async def in_the_event_loop() -> None:
        def twice(connection: Connection) -> tuple[int, int]:
            before = counted(connection)
            project_in(store)
            return before, counted(connection)

        for _ in range(2):
            before, after = await store.main.read(twice)
            assert before == after
            assert await store.main.read(counted) == before + 1
        assert await store.main.read(lambda connection: 1) == 1  # asks for nothing
        assert await store.main.read(counted) == 2

    asyncio.run(in_the_event_loop())
    with store.main.reading() as connection:
        before = counted(connection)
        project_in(store)
        assert counted(connection) == before
    with store.main.reading() as connection:
        assert counted(connection) == before + 1


@pytest.mark.parametrize("metadata", [main, records], ids=["main", "records"])
def test_what_refers_to_a_row_is_found_by_an_index(metadata: MetaData) -> None:
    """Else each deletion of that row looks through the whole table."""
    missing = []
    for table in metadata.sorted_tables:
        keys = [tuple(index.columns) for index in table.indexes if index.dialect_options["sqlite"]["where"] is None]
        unique = [each for each in table.constraints if isinstance(each, UniqueConstraint | PrimaryKeyConstraint)]
        first = {columns[0].name for columns in (*keys, *(tuple(each.columns) for each in unique)) if columns}
        missing += [f"{table.name}.{key.parent.name}" for key in table.foreign_keys if key.parent.name not in first]
    assert missing == []


@contextmanager
def plans(connection: Connection) -> Iterator[list[str]]:
    """How SQLite finds the rows of each statement in the block."""
    found: list[str] = []

    def explain(_connection: Any, cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        plain = cursor.connection.cursor()
        found.extend(row[3] for row in plain.execute(f"EXPLAIN QUERY PLAN {statement}", parameters))

    event.listen(connection, "before_cursor_execute", explain)
    try:
        yield found
    finally:
        event.remove(connection, "before_cursor_execute", explain)


def test_what_is_read_at_every_turn_looks_through_no_table(sqlite_store: Store) -> None:
    store = sqlite_store
    project_id = project_in(store, home_runner="one", desired="up", kind="job")
    deploy = stored_deploy(store, project_id, status="queued", environment=b"")
    old = {"project_id": project_id, "status": "succeeded", "trigger": "manual", "created_at": 1, "finished_at": 1}
    closed = {"project_id": project_id, "type": "ask", "message": "m", "status": "answered", "expires_at": 1, "received_at": 1}
    with store.main.writing() as connection:
        make_runner_token(connection, "one")
        connection.execute(insert(runs), [old | {"id": f"run_{number}", "deploy_id": deploy} for number in range(9)])
        rows = [closed | {"id": f"apr_{number}", "gate_id": str(number), "delivered_at": 1} for number in range(9)]
        connection.execute(insert(gates), rows)
        connection.execute(deploys.update().values(status="cancelled"))
        connection.execute(projects.update().values(desired="down"))
    settings = Settings(data=Path())
    with store.main.reading() as connection:
        row = connection.execute(select(projects).where(projects.c.id == project_id)).one()
        with plans(connection) as found:
            lifecycle_of(connection, row)
            active_run(connection, project_id)
            stuck_runs(connection, now())
            overdue_gates(connection, now())
            open_gates_of(connection, project_id)
            changes_since(connection, None, {}, settings, "one", 0)  # type: ignore[arg-type]
    used = "\n".join(found)
    for index in ("uq_deploys_on_their_way", "uq_runs_active", "ix_gates_open", "ix_runs_change"):
        assert index in used, used
    assert not [line for line in found if line.startswith("SCAN") and " USING " not in line], used
    with store.main.writing() as connection, plans(connection) as found:
        prune_packages(connection)
    assert "ix_deploys_package_hash" in "\n".join(found) and "ix_projects_package_hash" in "\n".join(found)


def test_two_that_prune_take_their_locks_in_one_order(store: Store) -> None:
    names = [f"prj_{number}" for number in range(12)]
    old = now() - 400 * DAY
    with store.records.writing() as connection:
        for name in names:
            append_logs(connection, name, [(old, "out", "x", None)])
            record = {"ts": old / 1000, "capability": "net", "granted": True}
            append_audit(connection, name, None, [record])
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        if statement.startswith("DELETE FROM log_lines"):
            values = parameters.values() if isinstance(parameters, dict) else parameters
            seen.extend(value for value in values if isinstance(value, str))

    event.listen(store.records.engine, "before_cursor_execute", note)
    try:
        with_projects(store, names)
        prune(store)
    finally:
        event.remove(store.records.engine, "before_cursor_execute", note)
    assert seen == sorted(names)


def with_projects(store: Store, names: list[str]) -> None:
    with store.main.writing() as connection:
        account = make_account(connection, "owner@example.com", plan="team")
    for name in names:
        stored_project(store, account, id=name, slug=name.replace("_", "-"))


def test_a_commit_is_another_version_also_where_a_read_was_refused_in_between(sqlite_store: Store) -> None:
    """A refusal gives the connection back, and the number that SQLite counts commits by is one of each connection."""
    main = sqlite_store.main

    def refused(connection: Connection) -> None:
        raise LookupError

    async def in_the_event_loop() -> None:
        seen = set()
        for _ in range(20):
            await main.read(counted)
            seen.add(main.version())
            assert main.version() in seen
            with main.writing() as connection:
                make_account(connection, f"{new_id('at')}@example.com")
            with pytest.raises(LookupError):
                await main.read(refused)
        assert len(seen) == 20

    asyncio.run(in_the_event_loop())
