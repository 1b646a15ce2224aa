"""Brings the schema of a database up to date (alembic), or says that it is not."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import text

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.store.database import Database

_FOLDER = Path(__file__).parent
#: PostgreSQL's advisory lock that replicas take while they migrate: an arbitrary number of our own.
_LOCK = 7_313_001


def migrate(database: Database, which: str, *, apply: bool = True) -> None:
    """Applies the migrations that are missing.

    Args:
        which: ``main`` or ``records``.
        apply: without it, missing migrations are an error.

    Errors: ``RuntimeError`` when the schema is older and nothing may be applied, or when it is newer than this program knows.
    """
    script = ScriptDirectory(str(_FOLDER / which), version_locations=[str(_FOLDER / which)])
    with database.writing() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        context = _context(connection, which)
        have, wanted = context.get_current_heads(), tuple(script.get_heads())
        if have == wanted:
            return
        if have and not set(have) <= {revision.revision for revision in script.walk_revisions()}:
            raise RuntimeError(
                f"the schema of the store ({which}) is {', '.join(have)}, newer than this program: install that one"
            )
        if not apply:
            found = ", ".join(have) or "empty"
            raise RuntimeError(
                f"the schema of the store ({which}) is {found}, not {', '.join(wanted)}: run `lang platform migrate`"
            )
        context = _context(connection, which, lambda heads, _context: script._upgrade_revs("heads", heads))
        with Operations.context(context):
            context.run_migrations()


def is_current(connection: Connection, which: str) -> bool:
    """Whether the schema is the one that this program needs.

    Args:
        which: ``main`` or ``records``.
    """
    return _context(connection, which).get_current_heads() == heads(which)


@cache
def heads(which: str) -> tuple[str, ...]:
    """The versions of the schema that this program needs.

    Args:
        which: ``main`` or ``records``.
    """
    return tuple(ScriptDirectory(str(_FOLDER / which), version_locations=[str(_FOLDER / which)]).get_heads())


def _context(connection: Connection, which: str, steps: object = None) -> MigrationContext:
    # Alembic must not commit: the transaction is the caller's, and all migrations are applied or none.
    return MigrationContext.configure(
        connection,
        opts={"version_table": f"schema_{which}", "fn": steps, "transactional_ddl": True, "transaction_per_migration": False},
    )
