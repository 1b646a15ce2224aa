"""Moves events from the outbox into the history of their project and to the watchers of their account.

The outbox is in the main database, the history in that of records. With SQLite the two files have no common transaction; still
no event is lost or written twice, because the counters of a project store the last number that was moved, and a number becomes
visible only after all lower ones. With PostgreSQL it is one transaction, and one replica at a time does it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select, update

from platform_api.history.chain import append_history
from platform_api.history.outbox import OUTBOX
from platform_api.records.counters import advance
from platform_api.store.database import announce
from platform_api.store.tables import account_events, counters, history_outbox

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.changes import Changes
    from platform_api.store.store import Store

_AT_A_TIME = 500
#: The number of the advisory lock of PostgreSQL for moving; it is arbitrary.
_LOCK = 7_313_002
_LOOK_AGAIN = 5.0


def move(store: Store, told: Callable[[Connection, Sequence[Row[Any]]], None] | None = None) -> int:
    """Moves the events in the outbox and returns their number; 0 without any, or if another replica is moving them.

    Args:
        told: called with the events, in the transaction on the main database that removes them from the outbox.
    """
    if store.main is store.records:
        with store.main.writing() as connection:
            if not connection.scalar(select(func.pg_try_advisory_xact_lock(_LOCK))):
                return 0
            rows = _noted(connection)
            _take_over(connection, rows, once=False)
            _forget(connection, rows, told)
        return len(rows)
    with store.main.reading() as connection:
        rows = _noted(connection)
    if rows:
        with store.records.writing() as connection:
            _take_over(connection, rows, once=True)
        with store.main.writing() as connection:
            _forget(connection, rows, told)
    return len(rows)


async def keep_moving(
    store: Store, changes: Changes, told: Callable[[Connection, Sequence[Row[Any]]], None] | None = None
) -> None:
    """Moves events as they come, until it is cancelled."""
    with changes.subscribe(OUTBOX) as noted:
        while not changes.closed:
            if await asyncio.to_thread(move, store, told) < _AT_A_TIME:
                await noted.next(_LOOK_AGAIN)


def _noted(connection: Connection) -> Sequence[Row[Any]]:
    return connection.execute(select(history_outbox).order_by(history_outbox.c.id).limit(_AT_A_TIME)).all()


def _forget(
    connection: Connection, rows: Sequence[Row[Any]], told: Callable[[Connection, Sequence[Row[Any]]], None] | None
) -> None:
    if not rows:
        return
    own = history_outbox.c.id
    taken = set(connection.scalars(delete(history_outbox).where(own.in_([row.id for row in rows])).returning(own)))
    if told is not None:
        told(connection, [row for row in rows if row.id in taken])


def _take_over(connection: Connection, rows: Sequence[Row[Any]], *, once: bool) -> None:
    # Locks are taken in the order of projects, then of accounts, as everywhere, so that there is no deadlock.
    taken = []
    for project_id, own in groupby(sorted(rows, key=lambda row: (row.project_id, row.id)), lambda row: row.project_id):
        held = advance(connection, project_id)
        fresh = [row for row in own if not once or row.id > held.outbox_id]
        if not fresh:
            continue
        events = [(row.at, json.loads(row.event)) for row in fresh if row.chained]
        append_history(connection, project_id, events, held)
        connection.execute(update(counters).where(counters.c.project_id == project_id).values(outbox_id=fresh[-1].id))
        announce(connection, project_id)
        taken += fresh
    for account_id in sorted({row.account_id for row in taken if row.account_id is not None}):
        _tell(connection, account_id, sorted((row for row in taken if row.account_id == account_id), key=lambda row: row.id))


def _tell(connection: Connection, account_id: str, rows: Sequence[Row[Any]]) -> None:
    first = int(advance(connection, account_id, log_id=len(rows)).log_id) - len(rows) + 1
    connection.execute(
        insert(account_events),
        [
            {"account_id": account_id, "id": number, "at": row.at, "project_id": row.project_id, "event": row.event}
            for number, row in enumerate(rows, first)
        ],
    )
    announce(connection, f"account:{account_id}")
