"""The counters of a project. Whoever moves one holds it until the commit: numbers become visible in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.dialects import postgresql, sqlite

from platform_api.store.tables import counters

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row


def advance(connection: Connection, project_id: str, *, log_id: int = 0, audit_id: int = 0) -> Row[Any]:
    """Adds to the counters of a project, locks them until the commit, and gives them as they are then.

    Args:
        connection: a transaction on the records database.
    """
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = (
        dialect.insert(counters)
        .values(project_id=project_id, log_id=log_id, audit_id=audit_id)
        .on_conflict_do_update(
            index_elements=["project_id"],
            set_={"log_id": counters.c.log_id + log_id, "audit_id": counters.c.audit_id + audit_id},
        )
        .returning(counters)
    )
    return connection.execute(statement).one()
