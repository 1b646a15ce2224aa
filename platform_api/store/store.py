"""The two databases of the service, opened and brought up to date."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from platform_api.store.database import Database
from platform_api.store.migrations.apply import migrate

if TYPE_CHECKING:
    from platform_api.settings import Settings


class Store:
    """What the service keeps.

    Attributes:
        main: what is decided and wanted.
        records: what happened: log lines, audit records, history. With PostgreSQL it is the same database.
    """

    def __init__(self, main: Database, records: Database) -> None:
        self.main = main
        self.records = records

    def close(self) -> None:
        """Ends every connection."""
        self.main.close()
        if self.records is not self.main:
            self.records.close()


def open_store(settings: Settings, *, apply_migrations: bool = True) -> Store:
    """The store of these settings.

    Args:
        apply_migrations: whether the schema is brought up to date first. Without it a schema of another version is an error.

    Errors: ``RuntimeError`` for a schema of another version, ``OSError`` for a folder that cannot be written.
    """
    if settings.database is None:
        settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        previous = os.umask(0o077)
        try:
            main = Database(settings.data / "platform.db")
            records = Database(settings.data / "records.db")
            migrate(main, "main", apply=apply_migrations)
            migrate(records, "records", apply=apply_migrations)
        finally:
            os.umask(previous)
        return Store(main, records)
    url = settings.database
    for prefix in ("postgresql://", "postgres://"):
        if url.startswith(prefix):
            url = "postgresql+psycopg://" + url.removeprefix(prefix)
    if not url.startswith("postgresql+psycopg://"):
        raise ValueError("--database must be a postgresql:// URL")
    both = Database(url)
    migrate(both, "main", apply=apply_migrations)
    migrate(both, "records", apply=apply_migrations)
    return Store(both, both)
