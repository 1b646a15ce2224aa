"""The shared store of several worker processes of one machine: an SQLite file in a private folder.

Each operation is one transaction. Every process opens the file at its first use. The file is not kept after the service has
ended, so writes are not flushed to disk (no ``fsync``).
"""

from __future__ import annotations

import os
import sqlite3
import time

from language.native import private_folders
from language.native.shared_sqlite_events import EVENTS_SCHEMA, SqliteEvents
from language.native.sqlite_file import SqliteFile, journal_mode
from language.shared.buckets import LOOK_SECONDS, MOST_BUCKETS, taken
from language.shared.gate_board import DECIDED, GateRecord, objection
from language.shared.store import StoreFailure
from language.shared.value_form import from_text, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Answer = TypeVar("Answer")

#: How many seconds a process waits for the database lock. A transaction takes far less than a millisecond.
_BUSY_SECONDS = 20.0
#: A gate that is this many seconds beyond its deadline belongs to a process that has ended.
_GONE_SECONDS = 60.0

_SCHEMA = """
CREATE TABLE state (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, value TEXT NOT NULL);
CREATE TABLE bucket (
    name TEXT NOT NULL, key TEXT NOT NULL, tokens REAL NOT NULL, seen REAL NOT NULL, PRIMARY KEY (name, key)
) WITHOUT ROWID;
CREATE INDEX bucket_seen ON bucket (name, seen);
CREATE TABLE gate (
    number INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL, options TEXT,
    digest BLOB NOT NULL, expires_at INTEGER NOT NULL, deadline REAL NOT NULL, decision INTEGER, value TEXT
);
CREATE INDEX gate_answered ON gate (owner) WHERE decision IS NOT NULL OR value IS NOT NULL;
CREATE TABLE service (boot TEXT NOT NULL);
"""


def create() -> str:
    """Makes an empty store in a private folder and returns the path of its file. Raises ``StoreFailure``.

    Stores of services that were killed are removed.
    """
    try:
        folder = private_folders.make(_PREFIX, _FILES)
        path = os.path.join(folder, _FILES)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute(f"PRAGMA journal_mode = {journal_mode()}")
            connection.executescript(_SCHEMA + EVENTS_SCHEMA)
            connection.execute("INSERT INTO service VALUES (?)", (os.urandom(3).hex(),))
        finally:
            connection.close()
    except (OSError, sqlite3.Error) as error:
        raise StoreFailure(error) from None
    return path


def remove(path: str) -> None:
    """Removes a store that is no longer used."""
    private_folders.remove(os.path.dirname(path), _FILES)


_PREFIX = "lang-serve-"
#: The database file; SQLite's own files beside it begin with the same name.
_FILES = "shared.sqlite"


class SqliteStore:
    """A :class:`~language.shared.store.SharedStore` over the file that :func:`create` made. Methods raise ``StoreFailure``."""

    def __init__(self, path: str) -> None:
        self._file = _File(path)
        self.state = SqliteState(self._file)
        self.gates = SqliteBoard(self._file)
        self.events = SqliteEvents(self._file)

    def buckets(self, name: str, amount: float, window: float) -> SqliteBuckets:
        return SqliteBuckets(self._file, name, amount, window)

    def close(self) -> None:
        self._file.close()


class _File(SqliteFile):
    """The connection of this process. Methods raise ``StoreFailure``."""

    def __init__(self, path: str) -> None:
        super().__init__(path, _BUSY_SECONDS)

    def query(self, text: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            return super().query(text, values)
        except (sqlite3.Error, OSError) as error:
            raise StoreFailure(error) from None

    def transact(self, act: Callable[[sqlite3.Connection], Answer], *, empty_log: bool = False) -> Answer:
        try:
            return super().transact(act, empty_log=empty_log)
        except (sqlite3.Error, OSError) as error:
            raise StoreFailure(error) from None

    def change(self, text: str, values: tuple[Any, ...]) -> list[Any]:
        """Runs one statement that writes and returns its rows."""
        return self.transact(lambda connection: connection.execute(text, values).fetchall())

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA temp_store = MEMORY")


class SqliteState:
    """The ``state_*`` values."""

    __slots__ = ("_file",)

    def __init__(self, file: _File) -> None:
        self._file = file

    def get(self, name: str, default: Any = None) -> Any:
        rows = self._file.query("SELECT value FROM state WHERE name = ?", (name,))
        return from_text(rows[0][0]) if rows else default

    def __setitem__(self, name: str, value: Any) -> None:
        self._file.change(_PUT, (name, to_text(value)))

    def pop(self, name: str, default: Any = None) -> Any:
        rows = self._file.change("DELETE FROM state WHERE name = ? RETURNING value", (name,))
        return from_text(rows[0][0]) if rows else default

    def copy(self) -> dict[str, Any]:
        rows = self._file.query("SELECT name, value FROM state ORDER BY number")
        return {name: from_text(value) for name, value in rows}

    def change(self, name: str, new: Callable[[Any], Any]) -> Any:
        def act(connection: sqlite3.Connection) -> Any:
            row = connection.execute("SELECT value FROM state WHERE name = ?", (name,)).fetchone()
            value = new(None if row is None else from_text(row[0]))
            connection.execute(_PUT, (name, to_text(value)))
            return value

        return self._file.transact(act)


_PUT = "INSERT INTO state (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class SqliteBuckets:
    """The token buckets of one limit. Monotonic time is the same for all processes of a machine."""

    __slots__ = ("_amount", "_file", "_look_at", "_name", "_taken", "_window")

    def __init__(self, file: _File, name: str, amount: float, window: float) -> None:
        self._file = file
        self._name = name
        self._amount = amount
        self._window = window
        self._look_at = time.monotonic() + LOOK_SECONDS
        self._taken = 0

    def take(self, key: str) -> float:
        def act(connection: sqlite3.Connection) -> float:
            now = time.monotonic()
            row = connection.execute("SELECT tokens, seen FROM bucket WHERE name = ? AND key = ?", (self._name, key)).fetchone()
            tokens, elapsed = (self._amount, 0.0) if row is None else (row[0], now - row[1])
            left = taken(tokens, elapsed, self._amount, self._window)
            connection.execute(
                "INSERT OR REPLACE INTO bucket (name, key, tokens, seen) VALUES (?, ?, ?, ?)",
                (self._name, key, left if left >= 0 else left + 1.0, now),
            )
            self._taken += 1
            if now >= self._look_at or self._taken >= MOST_BUCKETS // 4:
                self._look_at = now + LOOK_SECONDS
                self._taken = 0
                self._forget(connection, now)
            return left

        return self._file.transact(act)

    def _forget(self, connection: sqlite3.Connection, now: float) -> None:
        """Removes full buckets (unused for two windows). Of too many buckets it removes those unused for the longest time."""
        connection.execute("DELETE FROM bucket WHERE name = ? AND seen <= ?", (self._name, now - 2 * self._window))
        connection.execute(
            "DELETE FROM bucket WHERE (name, key) IN "
            "(SELECT name, key FROM bucket WHERE name = ? ORDER BY seen DESC LIMIT -1 OFFSET ?)",
            (self._name, MOST_BUCKETS),
        )


class SqliteBoard:
    """The pending gates of all processes."""

    shared = True

    def __init__(self, file: _File) -> None:
        self._file = file
        self._known_boot = ""

    def after_fork(self, begin: Callable[[], None]) -> None:
        self._file.beginnings.append(begin)

    def open(self, record: GateRecord) -> str:
        import json

        options = None if record.options is None else json.dumps(record.options)
        fields = (_owner(), record.kind, record.message, options, record.digest, record.expires_at, record.deadline)
        boot = self._boot

        def act(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM gate WHERE deadline < ?", (time.monotonic() - _GONE_SECONDS,))
            cursor = connection.execute(
                "INSERT INTO gate (owner, kind, message, options, digest, expires_at, deadline) VALUES (?, ?, ?, ?, ?, ?, ?)",
                fields,
            )
            # Set before the transaction is committed: a caller that is cancelled after it can still withdraw the gate.
            record.id = f"interact_{cursor.lastrowid}-{boot}"

        self._file.transact(act)
        return record.id

    def look(self, identifier: str) -> GateRecord | None:
        number = self._number_in(identifier)
        rows = self._file.query(f"SELECT {_COLUMNS} FROM gate WHERE number = ?", (number,)) if number else ()
        return _record_of(rows[0], identifier) if rows else None

    def pending(self, now: float) -> list[GateRecord]:
        boot = self._boot
        rows = self._file.query(
            f"SELECT {_COLUMNS} FROM gate WHERE decision IS NULL AND value IS NULL AND deadline > ? ORDER BY number", (now,)
        )
        return [_record_of(row, f"interact_{row[0]}-{boot}") for row in rows]

    def decide(self, identifier: str, digest: bytes, decision: bool | None, value: str | None, now: Callable[[], float]) -> str:
        number = self._number_in(identifier)

        def act(connection: sqlite3.Connection) -> str:
            row = connection.execute(f"SELECT {_COLUMNS} FROM gate WHERE number = ?", (number,)).fetchone()
            record = None if row is None else _record_of(row, identifier)
            outcome = objection(record, digest, decision, value, now())
            if outcome is DECIDED and record is not None:
                column, answer = ("value", value) if record.kind == "ask" else ("decision", int(decision is True))
                connection.execute(f"UPDATE gate SET {column} = ? WHERE number = ?", (answer, number))
            return outcome

        return self._file.transact(act)

    def take(self, identifier: str) -> bool | str | None:
        rows = self._file.change("DELETE FROM gate WHERE number = ? RETURNING decision, value", (self._number_in(identifier),))
        return _answer_of(*rows[0]) if rows else None

    def answered(self) -> list[str]:
        rows = self._file.query(
            "SELECT number FROM gate WHERE owner = ? AND (decision IS NOT NULL OR value IS NOT NULL)", (_owner(),)
        )
        return [f"interact_{number}-{self._boot}" for (number,) in rows]

    @property
    def _boot(self) -> str:
        """A text that makes the ids of this run of the service different from those of other runs."""
        if not self._known_boot:
            self._known_boot = self._file.query("SELECT boot FROM service")[0][0]
        return self._known_boot

    def _number_in(self, identifier: str) -> int:
        """The number of a gate in its id; 0, which no gate has, for any other text."""
        digits = identifier.removeprefix("interact_").partition("-")[0]
        number = int(digits) if len(digits) < 19 and digits.isascii() and digits.isdigit() else 0
        return number if identifier == f"interact_{number}-{self._boot}" else 0


_COLUMNS = "number, kind, message, options, digest, expires_at, deadline, decision, value"


def _record_of(row: Any, identifier: str) -> GateRecord:
    import json

    _, kind, message, options, digest, expires_at, deadline, decision, value = row
    return GateRecord(
        kind,
        message,
        None if options is None else json.loads(options),
        digest,
        expires_at,
        deadline,
        identifier=identifier,
        answer=_answer_of(decision, value),
    )


def _answer_of(decision: int | None, value: str | None) -> bool | str | None:
    return bool(decision) if decision is not None else value


def _owner() -> str:
    """Identifies this process to the others."""
    return str(os.getpid())
