"""A running service for every test, on SQLite and again on PostgreSQL: uvicorn, and clients that speak HTTP to it.

What is about the files of SQLite, or would say the same of any database, makes its own ``Service``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from platform_service import Service, new_files

from platform_api.identifiers import new_id
from platform_api.settings import Settings
from platform_api.store.migrations.apply import heads
from platform_api.store.store import Store, open_store
from platform_api.store.tables import main, records
from tests import servers


@pytest.fixture(scope="session")
def postgres_place() -> Iterator[str]:
    """``host:port`` of a PostgreSQL."""
    yield from servers.postgres()


@pytest.fixture(scope="session")
def new_database(postgres_place: str) -> Callable[[], str]:
    """Makes databases with the schema in them and gives their URLs. Connections without TLS cost less."""
    server = f"postgresql://lang:p%40ss%20word@{postgres_place}"

    def made(template: str = "template1") -> str:
        name = new_id("db")
        with psycopg.connect(f"{server}/app", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    migrated = made()
    open_store(Settings(data=Path(), database=f"{server}/{migrated}")).close()
    return lambda: f"{server}/{made(migrated)}?sslmode=disable"


@pytest.fixture(scope="session")
def _shared_url(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture
def postgres_url(_shared_url: str) -> str:
    """A database of a PostgreSQL with the schema in it and nothing else: one for all tests, emptied before each."""
    with psycopg.connect(_shared_url) as connection:
        # What the test before has left behind, should it have failed: its transactions would hold their locks.
        others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
        for metadata in (main, records):
            for table in reversed(metadata.sorted_tables):
                connection.execute(f"DELETE FROM {table.name}")
        for which in ("main", "records"):
            connection.execute(f"UPDATE schema_{which} SET version_num = %s", heads(which))
    return _shared_url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str | None:
    """Where a service keeps its data: ``None`` for SQLite, or the URL of an empty PostgreSQL database."""
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def module_database(request: pytest.FixtureRequest) -> str | None:
    """As ``database``, for the service of all tests of a module."""
    return None if request.param == "sqlite" else str(request.getfixturevalue("new_database")())


@pytest.fixture
def service(tmp_path: Path, database: str | None) -> Iterator[Service]:
    """A service with no accounts, on a free port, on each of the databases."""
    with Service(tmp_path / "data", database=database) as running:
        yield running


@pytest.fixture
def store(tmp_path: Path, database: str | None) -> Iterator[Store]:
    """An empty store of each kind."""
    if database is None:
        new_files(tmp_path)
    opened = open_store(Settings(data=tmp_path, database=database))
    yield opened
    opened.close()


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Store]:
    """An empty store on SQLite."""
    new_files(tmp_path / "store")
    opened = open_store(Settings(data=tmp_path / "store"))
    yield opened
    opened.close()
