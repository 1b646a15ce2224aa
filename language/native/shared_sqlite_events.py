"""The events of several worker processes of one machine, in the SQLite file of their shared store."""

from __future__ import annotations

import json
import os

from language.shared.event_board import MOST_SUBSCRIPTIONS, Event, Overflowed, QueueBounds, TooMany, fits
from language.shared.value_form import from_text, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any, Protocol, TypeVar

    Answer = TypeVar("Answer")

    class File(Protocol):
        """The file of the store, as far as it is used here."""

        def query(self, text: str, values: tuple[Any, ...] = ()) -> list[Any]: ...
        def transact(self, act: Callable[[sqlite3.Connection], Answer], *, empty_log: bool = False) -> Answer: ...


EVENTS_SCHEMA = """
CREATE TABLE subscription (
    number INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER NOT NULL, topics TEXT NOT NULL, most_events INTEGER NOT NULL,
    most_bytes INTEGER NOT NULL, drops INTEGER NOT NULL, dropped INTEGER NOT NULL DEFAULT 0,
    overflowed INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE event (
    number INTEGER PRIMARY KEY AUTOINCREMENT, subscription INTEGER NOT NULL, topic TEXT NOT NULL, value TEXT NOT NULL,
    size INTEGER NOT NULL
);
CREATE INDEX event_subscription ON event (subscription, number);
"""
_OLDEST = "DELETE FROM event WHERE number = (SELECT min(number) FROM event WHERE subscription = ?)"


class SqliteEvents:
    """The :class:`~language.shared.event_board.EventBoard` over a shared file."""

    shared = True

    def __init__(self, file: File) -> None:
        self._file = file

    def subscribe(self, topics: list[str], bounds: QueueBounds) -> str:
        def act(connection: sqlite3.Connection) -> str:
            _forget_dead(connection)
            if connection.execute("SELECT count(*) FROM subscription").fetchone()[0] >= MOST_SUBSCRIPTIONS:
                raise TooMany
            cursor = connection.execute(
                "INSERT INTO subscription (owner, topics, most_events, most_bytes, drops) VALUES (?, ?, ?, ?, ?)",
                (os.getpid(), json.dumps(topics), bounds.most_events, bounds.most_bytes, bounds.drops),
            )
            return str(cursor.lastrowid)

        return self._file.transact(act)

    def publish(self, topic: str, value: Any, size: int) -> int:
        text = to_text(value)
        size = len(topic) + len(text)

        def act(connection: sqlite3.Connection) -> int:
            count = 0
            known = connection.execute(
                "SELECT number, topics, most_events, most_bytes, drops FROM subscription WHERE NOT overflowed"
            ).fetchall()
            for number, topics, most_events, most_bytes, drops in known:
                if fits(topic, json.loads(topics)):
                    connection.execute(
                        "INSERT INTO event (subscription, topic, value, size) VALUES (?, ?, ?, ?)", (number, topic, text, size)
                    )
                    _bound(connection, number, QueueBounds(most_events, most_bytes, bool(drops)))
                    count += 1
            return count

        return self._file.transact(act)

    def take(self, identifier: str) -> Event | None:
        if not self.has_event(identifier):
            return None

        def act(connection: sqlite3.Connection) -> Event | None:
            known = connection.execute(
                "SELECT dropped, overflowed FROM subscription WHERE number = ?", (identifier,)
            ).fetchone()
            if known is None:
                return None
            if known[1]:
                raise Overflowed
            row = connection.execute(f"{_OLDEST} RETURNING topic, value", (identifier,)).fetchone()
            if row is None:
                return None
            connection.execute("UPDATE subscription SET dropped = 0 WHERE number = ?", (identifier,))
            return Event(row[0], from_text(row[1]), known[0])

        return self._file.transact(act)

    def has_event(self, identifier: str) -> bool:
        rows = self._file.query(
            "SELECT 1 FROM event WHERE subscription = ? "
            "UNION ALL SELECT 1 FROM subscription WHERE number = ? AND overflowed LIMIT 1",
            (identifier, identifier),
        )
        return bool(rows)

    def unsubscribe(self, identifier: str) -> None:
        self._file.transact(lambda connection: _forget(connection, [int(identifier)]))

    def topics(self) -> list[str]:
        rows = self._file.query("SELECT topics FROM subscription WHERE NOT overflowed")
        return sorted({topic for (topics,) in rows for topic in json.loads(topics)})


def _bound(connection: sqlite3.Connection, number: int, bounds: QueueBounds) -> None:
    """Removes the oldest events of a subscription until its bounds hold, or ends it."""
    events, size = connection.execute("SELECT count(*), sum(size) FROM event WHERE subscription = ?", (number,)).fetchone()
    while events > bounds.most_events or (size or 0) > bounds.most_bytes:
        if not bounds.drops:
            connection.execute("DELETE FROM event WHERE subscription = ?", (number,))
            connection.execute("UPDATE subscription SET overflowed = 1 WHERE number = ?", (number,))
            return
        row = connection.execute(f"{_OLDEST} RETURNING size", (number,)).fetchone()
        events, size = events - 1, size - row[0]
        connection.execute("UPDATE subscription SET dropped = dropped + 1 WHERE number = ?", (number,))


def _forget_dead(connection: sqlite3.Connection) -> None:
    """Ends the subscriptions of processes that have ended."""
    owners = [owner for (owner,) in connection.execute("SELECT DISTINCT owner FROM subscription").fetchall()]
    for owner in owners:
        if not is_alive(owner):
            rows = connection.execute("SELECT number FROM subscription WHERE owner = ?", (owner,)).fetchall()
            _forget(connection, [number for (number,) in rows])


def _forget(connection: sqlite3.Connection, numbers: list[int]) -> None:
    for number in numbers:
        connection.execute("DELETE FROM event WHERE subscription = ?", (number,))
        connection.execute("DELETE FROM subscription WHERE number = ?", (number,))


def is_alive(process: int) -> bool:
    """Whether a process of this machine runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
