"""Stores that an older version has made are brought up to date, on either database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, select
from stored_projects import stored_project

from platform_api.accounts.records import make_account
from platform_api.identifiers import new_id
from platform_api.projects.delete import remove_project
from platform_api.store.database import Database
from platform_api.store.migrations import apply
from platform_api.store.migrations.apply import heads, is_current, migrate
from platform_api.store.store import Store
from platform_api.store.tables import accounts, main, projects, records, reserved_addresses

SCHEMAS = {"main": main, "records": records}


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database with no table in it."""
    if request.param == "sqlite":
        database = Database(tmp_path / "platform.db")
    else:
        server, name = f"lang:p%40ss%20word@{request.getfixturevalue('postgres_place')}", new_id("db")
        with psycopg.connect(f"postgresql://{server}/app", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        database = Database(f"postgresql+psycopg://{server}/{name}")
    yield database
    database.close()


def migrated_to(database: Database, which: str, revision: str) -> None:
    """Applies the migrations up to one, as the version did whose last one it was."""
    folder = str(Path(apply.__file__).parent / which)
    script = ScriptDirectory(folder, version_locations=[folder])
    with database.writing() as connection:
        options = {
            "version_table": f"schema_{which}",
            "fn": lambda have, _context: script._upgrade_revs(revision, have),
            "transactional_ddl": True,
            "transaction_per_migration": False,
        }
        context = MigrationContext.configure(connection, opts=options)
        with Operations.context(context):
            context.run_migrations()


def test_a_store_of_the_first_version_is_brought_up_to_date_with_what_it_holds(empty: Database) -> None:
    migrated_to(empty, "main", "main_0001")
    store = Store(empty, empty)
    with empty.writing() as connection:
        assert not is_current(connection, "main")
        assert not inspect(connection).has_table("reserved_addresses")
        account = make_account(connection, "owner@example.com", plan="team")
    project = stored_project(store, account, slug="shop", kind="web", port=8800)
    with pytest.raises(RuntimeError, match=r"is main_0001, not main_\d+: run `lang platform migrate`"):
        migrate(empty, "main", apply=False)
    for _ in range(2):
        migrate(empty, "main")
    with empty.writing() as connection:
        assert is_current(connection, "main")
        assert connection.execute(select(projects.c.id, projects.c.account_id)).all() == [(project, account)]
        assert connection.execute(select(accounts.c.email)).scalar_one() == "owner@example.com"
        remove_project(connection, project)
        columns = select(reserved_addresses.c.slug, reserved_addresses.c.port, reserved_addresses.c.account_id)
        assert connection.execute(columns).all() == [("shop", 8800, account)]


@pytest.mark.parametrize("which", ["main", "records"])
def test_the_migrations_make_the_tables_that_are_used(empty: Database, which: str) -> None:
    migrate(empty, which)
    with empty.reading() as connection:
        found = inspect(connection)
        tables = {name: shape(found, name) for name in found.get_table_names() if name != f"schema_{which}"}
    assert tables == {
        table.name: {
            "columns": {column.name: column.nullable for column in table.columns},
            "keys": {(key.parent.name, key.column.table.name, key.ondelete) for key in table.foreign_keys},
            "indexes": {(str(index.name), bool(index.unique)) for index in table.indexes},
        }
        for table in SCHEMAS[which].sorted_tables
    }
    assert len(heads(which)) == 1


def shape(found: Any, name: str) -> dict[str, Any]:
    return {
        "columns": {column["name"]: column["nullable"] for column in found.get_columns(name)},
        "keys": {
            (key["constrained_columns"][0], key["referred_table"], key["options"].get("ondelete"))
            for key in found.get_foreign_keys(name)
        },
        "indexes": {
            (index["name"], bool(index["unique"])) for index in found.get_indexes(name) if "duplicates_constraint" not in index
        },
    }
