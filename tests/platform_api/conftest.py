"""A running service for every test: uvicorn, SQLite files of its own, and clients that speak HTTP to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from platform_service import Service

from platform_api.identifiers import new_id
from platform_api.settings import Settings
from platform_api.store.store import Store, open_store
from tests import servers


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service with no accounts, on a free port."""
    with Service(tmp_path / "data") as running:
        yield running


@pytest.fixture(scope="session")
def postgres_place() -> Iterator[str]:
    """``host:port`` of a PostgreSQL."""
    yield from servers.postgres()


@pytest.fixture
def postgres_url(postgres_place: str) -> str:
    """An empty database of a PostgreSQL."""
    name = new_id("db")
    server = f"postgresql://lang:p%40ss%20word@{postgres_place}"
    with psycopg.connect(f"{server}/app", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return f"{server}/{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str | None:
    """Where a service keeps its data: ``None`` for SQLite, or the URL of an empty PostgreSQL database."""
    return None if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def store(tmp_path: Path, database: str | None) -> Iterator[Store]:
    """An empty store of each kind."""
    opened = open_store(Settings(data=tmp_path, database=database))
    yield opened
    opened.close()


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Store]:
    """An empty store on SQLite."""
    opened = open_store(Settings(data=tmp_path / "store"))
    yield opened
    opened.close()
