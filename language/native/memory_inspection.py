"""Reads everything in the file of a memory, including what programs do not see, and finds damage."""

from __future__ import annotations

import json
import os
import sqlite3

from language.native.memory_schema import VERSION, folded
from language.native.sqlite_file import SqliteFile, connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_BUSY_SECONDS = 20.0
_PROBLEMS = 20
_FIELDS = ("id", "category", "content", "tags", "source", "created_at", "updated_at", "about", "key", "expires_at")
#: The columns of the first schema.
_FIRST_FIELDS = _FIELDS[:7]
_ROWS = 500


class _Inspected(SqliteFile):
    """A connection that sets up nothing, so that a damaged file can be looked at."""

    def __init__(self, path: str) -> None:
        super().__init__(path, _BUSY_SECONDS)


def problems(path: str, *, reindex: bool = False) -> list[str]:
    """The damage in a memory: at most 20 messages of SQLite and one for each damaged entry. Empty if the memory is intact.

    With ``reindex`` the full-text index is rebuilt first; writers wait meanwhile. Raises ``OSError`` if the file does not
    exist.
    """
    os.stat(path)
    file = _Inspected(path)
    try:
        return file.transact(lambda connection: _problems(connection, reindex))
    except sqlite3.Error as error:
        return [str(error)]
    finally:
        file.close()


def _problems(connection: sqlite3.Connection, reindex: bool) -> list[str]:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        return [f"it was written by a newer version of lang (layout {version}, known is {VERSION})"]
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory'").fetchone():
        return ["the file is a database and no memory"]
    if reindex and version == VERSION:
        connection.execute("INSERT INTO memory_text (memory_text) VALUES ('rebuild')")
    found = [row[0] for row in connection.execute(f"PRAGMA integrity_check({_PROBLEMS})") if row[0] != "ok"]
    if version < VERSION:
        return found + [line for row in connection.execute("SELECT id, tags FROM memory") for line in _wrong_tags(*row)]
    try:
        connection.execute("INSERT INTO memory_text (memory_text, rank) VALUES ('integrity-check', 1)")
    except sqlite3.Error:
        found.append("the index of the texts does not fit the entries: `lang memory check --reindex` makes it anew")
    for number, tags, content, kept in connection.execute("SELECT id, tags, content, folded FROM memory"):
        found += _wrong_tags(f"mem_{number}", tags)
        if kept != folded(content):
            found.append(f"mem_{number}: its text in folded case is another one")
    return found


def _wrong_tags(identifier: str, text: str | None) -> list[str]:
    try:
        fits = type(json.loads(text or "[]")) is list
    except ValueError:
        fits = False
    return [] if fits else [f"{identifier}: its tags are not a JSON list"]


def contents(path: str, report: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """The entries that are not forgotten, the rules and the tasks of a memory, each with its ``kind``. What cannot be read is
    passed to ``report``, and the rest is returned. Raises ``OSError`` if the file does not exist.
    """
    os.stat(path)
    with _reading(path) as connection:
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.Error as error:
            report(str(error))
            return
        yield from _entries(connection, _FIELDS if version == VERSION else _FIRST_FIELDS, report)
        yield from _rest(connection, report)


class _reading:
    """A connection to a file. In a read-only folder the file is opened as immutable, because SQLite cannot create its log
    there.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: _Inspected | None = None

    def __enter__(self) -> sqlite3.Connection:
        if os.access(os.path.dirname(os.path.abspath(self._path)), os.W_OK):
            self._file = _Inspected(self._path)
            return self._file.connection()
        self._plain = connect(self._path, _BUSY_SECONDS, "ro&immutable=1")
        return self._plain

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        else:
            self._plain.close()


def _entries(
    connection: sqlite3.Connection, fields: tuple[str, ...], report: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """The entries in the order of their row ids. If one cannot be read, the rest is read backwards from the end."""
    first, last = 0, 2**63 - 1
    for order, step in (("ASC", 1), ("DESC", -1)):
        failure = None
        while failure is None:
            try:
                rows = connection.execute(
                    f"SELECT rowid, {', '.join(fields)} FROM memory WHERE rowid > ? AND rowid < ? AND active = 1 "
                    f"ORDER BY rowid {order} LIMIT ?",
                    (first, last, _ROWS if step > 0 else 1),
                ).fetchall()
            except sqlite3.Error as error:
                failure = error
                break
            if not rows:
                return
            for row in rows:
                yield _entry(dict(zip(fields, row[1:])), report)
            first, last = (rows[-1][0], last) if step > 0 else (first, rows[-1][0])
        if step < 0:
            report(f"entries after mem_{first} and before mem_{last} cannot be read: {failure}")


def _entry(found: dict[str, Any], report: Callable[[str], None]) -> dict[str, Any]:
    identifier = found["id"] if isinstance(found["id"], str) else f"mem_{found['id']}"
    for line in _wrong_tags(identifier, found["tags"]):
        report(line)
        return {"kind": "entry", **found, "id": identifier}
    return {"kind": "entry", **found, "id": identifier, "tags": json.loads(found["tags"] or "[]")}


#: The other tables: what a row of them is, and the columns.
_TABLES = {
    "rule": ("rules WHERE active = 1", "name, level, description, category"),
    "step": ("progress", "task_name, step_name, status, started_at, finished_at, result, error, retries"),
}


def _rest(connection: sqlite3.Connection, report: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    for kind, (table, columns) in _TABLES.items():
        try:
            rows = connection.execute(f"SELECT {columns} FROM {table} ORDER BY rowid").fetchall()
        except sqlite3.Error as error:
            report(f"the {kind}s cannot be read: {error}")
            continue
        for row in rows:
            yield {"kind": kind, **dict(zip(columns.split(", "), row))}
