"""Memories in SQLite files, one a declared name (10, section 2.5 of the manual).

A write goes through at once, in the transaction that also makes the id: workers, requests and other processes share a store.
"""

from __future__ import annotations

import json
import os
import sqlite3

from language.host.memory import MemoryEntry, Rule, failed
from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

_BUSY_SECONDS = 5.0
_TABLES = """
CREATE TABLE IF NOT EXISTS memory (id TEXT PRIMARY KEY, category TEXT, content TEXT, data TEXT, tags TEXT, source TEXT,
  confidence REAL, active INTEGER, created_at REAL, updated_at REAL);
CREATE TABLE IF NOT EXISTS rules (name TEXT PRIMARY KEY, level TEXT, description TEXT, condition TEXT, action TEXT,
  category TEXT, tags TEXT, active INTEGER);
CREATE TABLE IF NOT EXISTS progress (task_name TEXT, step_name TEXT, status TEXT, started_at REAL, finished_at REAL,
  result TEXT, error TEXT, metadata TEXT, retries INTEGER, PRIMARY KEY (task_name, step_name));
CREATE TABLE IF NOT EXISTS decisions (id TEXT PRIMARY KEY);
"""
_NUMBER = "CAST(substr(id, 5) AS INTEGER)"


def folder_of(program: str) -> str:
    """Where the memories of a program lie: ``PLATFORM_STATE_DIR``, else beside its file."""
    named = os.environ.get("PLATFORM_STATE_DIR")
    if named:
        return named
    beside = os.path.dirname(program) if os.path.isfile(program) else ""
    return os.path.join(beside or ".", ".lang", "state")


class SqliteMemory:
    """The store of one name below a folder, made when it is first asked. Safe to use from many threads."""

    def __init__(self, folder: str, name: str) -> None:
        self._name = name
        self._path = os.path.join(folder, f"{name}.db")
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0

    def add(self, category: str, content: str, tags: list[str], source: str, now: float) -> str:
        def insert(connection: sqlite3.Connection) -> str:
            # Nothing is deleted, so the highest number is the last one ever given.
            last: int = connection.execute(f"SELECT coalesce(max({_NUMBER}), 0) FROM memory").fetchone()[0]
            identifier = f"mem_{last + 1}"
            values = (identifier, category, content, "{}", json.dumps(tags), source, 1.0, 1, now, now)
            connection.execute("INSERT INTO memory VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            return identifier

        return self._change(insert)

    def entries(self) -> list[MemoryEntry]:
        rows = self._read("SELECT id, category, content, tags, source, updated_at FROM memory WHERE active = 1")
        return [MemoryEntry(row[0], row[1], row[2], _tags(row[3]), row[4], row[5]) for row in rows]

    def forget(self, identifier: str, now: float) -> None:
        self._change(
            lambda connection: connection.execute(
                "UPDATE memory SET active = 0, updated_at = ? WHERE id = ? AND active = 1", (now, identifier)
            )
        )

    def rules(self) -> list[Rule]:
        rows = self._read("SELECT name, level, description, category FROM rules WHERE active = 1 ORDER BY rowid")
        return [Rule(row[0], row[1], row[2], row[3] or "") for row in rows]

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def _read(self, statement: str) -> list[tuple]:  # type: ignore[type-arg]
        with self._lock:
            try:
                return self._open().execute(statement).fetchall()
            except sqlite3.Error as error:
                raise failed(self._name, f"cannot read {self._path}: {error}") from None

    def _change(self, act: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                connection = self._open()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    result = act(connection)
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
                return result
            except sqlite3.Error as error:
                raise failed(self._name, f"cannot write {self._path}: {error}") from None

    def _open(self) -> sqlite3.Connection:
        # A connection does not survive a fork: each process opens its own.
        if self._connection is None or self._process != os.getpid():
            try:
                os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            except OSError as error:
                raise failed(self._name, f"cannot make {os.path.dirname(self._path)}: {error.strerror}") from None
            connection = sqlite3.connect(
                self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=16
            )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_TABLES)
            self._connection, self._process = connection, os.getpid()
        return self._connection


def _tags(text: str | None) -> list[str]:
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return []
    return [str(tag) for tag in found] if isinstance(found, list) else []
