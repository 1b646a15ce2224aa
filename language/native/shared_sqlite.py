"""The store of several worker processes of one machine: an SQLite file in a private folder.

Each operation is one transaction. Every process opens the file by itself, when it first needs it; none of it is meant to
outlive the service, so nothing waits for the disk.
"""

from __future__ import annotations

import os
import sqlite3
import time
from weakref import WeakSet

from language.locks import Lock
from language.native import private_folders
from language.shared.buckets import LOOK_SECONDS, MOST_BUCKETS, taken
from language.shared.gate_board import DECIDED, GateRecord, objection
from language.shared.store import StoreFailure
from language.shared.value_form import from_text, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Answer = TypeVar("Answer")

#: How long a process waits for its turn. A turn takes far less than a millisecond.
_BUSY_SECONDS = 20.0
#: A gate that outlived its deadline by this much belonged to a process that is gone.
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
    """Makes an empty store in a private folder of its own and answers the path of its file. Raises ``StoreFailure``.

    What services left behind that were killed is removed on the way.
    """
    try:
        folder = private_folders.make(_PREFIX, _FILES)
        path = os.path.join(folder, _FILES)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_SCHEMA)
            connection.execute("INSERT INTO service VALUES (?)", (os.urandom(3).hex(),))
        finally:
            connection.close()
    except (OSError, sqlite3.Error) as error:
        raise StoreFailure(error) from None
    return path


def remove(path: str) -> None:
    """Removes a store that nobody uses any more."""
    private_folders.remove(os.path.dirname(path), _FILES)


_PREFIX = "lang-serve-"
#: The file, and what SQLite puts beside it.
_FILES = "shared.sqlite"


class SqliteStore:
    """A :class:`~language.shared.store.SharedStore` over the file that :func:`create` made. Methods raise ``StoreFailure``."""

    def __init__(self, path: str) -> None:
        self._file = _File(path)
        self.state = SqliteState(self._file)
        self.gates = SqliteBoard(self._file)

    def buckets(self, name: str, amount: float, window: float) -> SqliteBuckets:
        return SqliteBuckets(self._file, name, amount, window)

    def close(self) -> None:
        self._file.close()


class _File:
    """The connection of this process, one operation at a time. It is opened with the first of them, and closed while the
    process is forked: SQLite keeps by process what it knows of the locks on a file, and a fork would copy what is true of its
    parent.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        #: called in a process that was forked from this one
        self.beginnings: list[Callable[[], None]] = []
        _files.add(self)

    # An exception that another thread raises in this one leaves no transaction open: the connection as a context begins none,
    # so nothing is lost where it is not entered, and it is left in C.

    def query(self, text: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Runs one statement and answers its rows."""
        try:
            with self._lock:
                return (self._connection or self._open()).execute(text, values).fetchall()
        except (sqlite3.Error, OSError) as error:
            raise StoreFailure(error) from None

    def transact(self, act: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Runs statements of which all count or none; nobody else writes in between."""
        try:
            with self._lock, self._connection or self._open() as connection:
                connection.execute("BEGIN IMMEDIATE")
                return act(connection)
        except (sqlite3.Error, OSError) as error:
            raise StoreFailure(error) from None

    def close(self) -> None:
        with self._lock:
            self._close()

    def before_fork(self) -> None:
        self._lock.acquire()
        self._close()

    def after_fork(self) -> None:
        self._lock.release()

    def begin_anew(self) -> None:
        self._lock.release()
        for begin in self.beginnings:
            begin()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        # Never made anew: a store that was removed is a store that is gone.
        from urllib.parse import quote

        connection = sqlite3.connect(
            f"file:{quote(self.path)}?mode=rw", uri=True, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS
        )
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA temp_store = MEMORY")
        self._connection = connection
        return connection


_files: WeakSet[_File] = WeakSet()
#: what the fork that is under way has to open again
_held: list[_File] = []


def _before_fork() -> None:
    for file in list(_files):
        file.before_fork()
        _held.append(file)


def _after_fork() -> None:
    while _held:
        _held.pop().after_fork()


def _after_fork_in_child() -> None:
    while _held:
        _held.pop().begin_anew()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


class SqliteState:
    """The ``state_*`` values."""

    __slots__ = ("_file",)

    def __init__(self, file: _File) -> None:
        self._file = file

    def get(self, name: str, default: Any = None) -> Any:
        rows = self._file.query("SELECT value FROM state WHERE name = ?", (name,))
        return from_text(rows[0][0]) if rows else default

    def __setitem__(self, name: str, value: Any) -> None:
        self._file.query(_PUT, (name, to_text(value)))

    def pop(self, name: str, default: Any = None) -> Any:
        rows = self._file.query("DELETE FROM state WHERE name = ? RETURNING value", (name,))
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
    """The token buckets of one limit. Monotonic time is that of the machine, which its processes share."""

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
        """Drops the buckets unseen for two windows, which are full, and of too many the ones unseen for longest."""
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
            # Known before the transaction counts: whoever is interrupted after it can take the gate back.
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
        rows = self._file.query("DELETE FROM gate WHERE number = ? RETURNING decision, value", (self._number_in(identifier),))
        return _answer_of(*rows[0]) if rows else None

    def answered(self) -> list[str]:
        rows = self._file.query(
            "SELECT number FROM gate WHERE owner = ? AND (decision IS NOT NULL OR value IS NOT NULL)", (_owner(),)
        )
        return [f"interact_{number}-{self._boot}" for (number,) in rows]

    @property
    def _boot(self) -> str:
        """What keeps the ids of this start of the service apart from those of all others."""
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
    """This process, as others see it."""
    return str(os.getpid())
