"""How long closed gates are kept: the history of a project tells of them on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, delete, func, not_, select

from platform_api.moments import DAY
from platform_api.store.tables import OPEN_GATES, gates

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.store.database import Database

#: Closed gates of a project that are kept, and how long.
KEPT, AGE = 1_000, 30 * DAY
#: Rows that one transaction deletes: writers wait no longer than for those.
_AT_A_TIME = 1_000


def prune_gates(database: Database, moment: int) -> None:
    """Throws away gates closed more than 30 days before a moment, and all but the newest 1,000 closed ones of a project.

    A gate that waits for a person, or whose decision is on its way to its program, is kept.
    """
    _delete(database, gates.c.decided_at < moment - AGE)
    with database.reading() as connection:
        many = select(gates.c.project_id).group_by(gates.c.project_id).having(func.count() > KEPT).order_by(gates.c.project_id)
        busy = connection.scalars(many).all()
    for project_id in busy:
        with database.reading() as connection:
            newest = _newest_dropped(connection, project_id)
        if newest is not None:
            _delete(database, gates.c.project_id == project_id, gates.c.id <= newest)


def _newest_dropped(connection: Connection, project_id: str) -> str | None:
    """The newest closed gate of a project that is one too many."""
    closed = select(gates.c.id).where(gates.c.project_id == project_id, not_(OPEN_GATES)).order_by(gates.c.id.desc())
    return connection.scalar(closed.offset(KEPT).limit(1))


def _delete(database: Database, *which: ColumnElement[bool]) -> None:
    while True:
        with database.writing() as connection:
            # A gate that somebody holds is left for the next time: two replicas that prune never wait for each other.
            some = select(gates.c.id).where(not_(OPEN_GATES), *which).order_by(gates.c.id).limit(_AT_A_TIME)
            ids = connection.scalars(some.with_for_update(skip_locked=True)).all()
            connection.execute(delete(gates).where(gates.c.id.in_(ids)))
        if len(ids) < _AT_A_TIME:
            return
