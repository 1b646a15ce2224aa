"""Counters that all replicas share: events of a key within a window that begins with its first event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from platform_api.moments import SECOND, now
from platform_api.refusals import Refusal
from platform_api.store.tables import counts

if TYPE_CHECKING:
    from sqlalchemy import Connection


def count(connection: Connection, key: str, window: int, events: int = 1) -> int:
    """Counts events and returns their number in the window.

    Args:
        window: milliseconds after which counting starts again.
    """
    moment = now()
    row = connection.execute(select(counts).where(counts.c.key == key).with_for_update()).one_or_none()
    if row is None:
        dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
        statement = dialect.insert(counts).values(key=key, since=moment, events=events)
        added = statement.on_conflict_do_update(index_elements=["key"], set_={"events": counts.c.events + events})
        return int(connection.execute(added.returning(counts.c.events)).scalar_one())
    if moment - row.since > window:
        connection.execute(update(counts).where(counts.c.key == key).values(since=moment, events=events))
        return events
    connection.execute(update(counts).where(counts.c.key == key).values(events=row.events + events))
    return int(row.events) + events


def refuse_above(connection: Connection, key: str, limit: int, window: int, what: str) -> None:
    """Errors: ``rate_limited`` with the seconds to wait, if there are ``limit`` events of the key within the window."""
    row = connection.execute(select(counts).where(counts.c.key == key)).one_or_none()
    if row is not None and row.events >= limit and (wait := row.since + window - now()) > 0:
        seconds = max(1, -(-wait // SECOND))
        raise Refusal("rate_limited", f"{what}: try again in {seconds} seconds.", retry_after=seconds)


def take_back(connection: Connection, key: str) -> None:
    """Takes back one event that was counted."""
    connection.execute(update(counts).where(counts.c.key == key, counts.c.events > 0).values(events=counts.c.events - 1))


def forget(connection: Connection, key: str) -> None:
    """Sets the count of a key to nothing."""
    connection.execute(delete(counts).where(counts.c.key == key))
