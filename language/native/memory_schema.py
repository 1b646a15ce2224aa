"""The schema of a memory in an SQLite file: creates the tables and migrates those of earlier schemas.

``memory.folded`` is the content in folded case, which the full-text index ``memory_text`` holds as trigrams. Triggers keep the
index consistent with the entries that are not forgotten.
"""

from __future__ import annotations

import os
import sqlite3

from language.native.sqlite_file import journal_mode

VERSION = 2

_ENTRIES = """
CREATE TABLE memory (
  id INTEGER PRIMARY KEY AUTOINCREMENT, category TEXT NOT NULL, content TEXT NOT NULL, folded TEXT NOT NULL,
  data TEXT NOT NULL DEFAULT '{}', tags TEXT NOT NULL DEFAULT '[]', source TEXT NOT NULL, confidence REAL NOT NULL DEFAULT 1.0,
  active INTEGER NOT NULL DEFAULT 1, created_at REAL NOT NULL, updated_at REAL NOT NULL,
  about TEXT NOT NULL DEFAULT '', key TEXT, expires_at REAL
);
CREATE INDEX memory_newest ON memory (about, updated_at, id) WHERE active = 1;
CREATE INDEX memory_category ON memory (about, category, updated_at, id) WHERE active = 1;
CREATE INDEX memory_source ON memory (about, source, updated_at, id) WHERE active = 1;
CREATE UNIQUE INDEX memory_key ON memory (source, about, key) WHERE active = 1 AND key IS NOT NULL;
CREATE INDEX memory_expires ON memory (expires_at) WHERE expires_at IS NOT NULL;
CREATE VIEW memory_active AS SELECT id, folded FROM memory WHERE active = 1;
CREATE VIRTUAL TABLE memory_text USING fts5 (
  folded, content = 'memory_active', content_rowid = 'id', tokenize = 'trigram case_sensitive 1'
);
CREATE TRIGGER memory_added AFTER INSERT ON memory WHEN new.active = 1 BEGIN
  INSERT INTO memory_text (rowid, folded) VALUES (new.id, new.folded);
END;
CREATE TRIGGER memory_removed AFTER DELETE ON memory WHEN old.active = 1 BEGIN
  INSERT INTO memory_text (memory_text, rowid, folded) VALUES ('delete', old.id, old.folded);
END;
CREATE TRIGGER memory_changed AFTER UPDATE OF folded ON memory WHEN old.active = 1 AND new.active = 1 BEGIN
  INSERT INTO memory_text (memory_text, rowid, folded) VALUES ('delete', old.id, old.folded);
  INSERT INTO memory_text (rowid, folded) VALUES (new.id, new.folded);
END;
CREATE TRIGGER memory_hidden AFTER UPDATE OF active ON memory WHEN old.active = 1 AND new.active = 0 BEGIN
  INSERT INTO memory_text (memory_text, rowid, folded) VALUES ('delete', old.id, old.folded);
END;
"""
_OTHERS = """
CREATE TABLE IF NOT EXISTS rules (name TEXT PRIMARY KEY, level TEXT, description TEXT, condition TEXT, action TEXT,
  category TEXT, tags TEXT, active INTEGER);
CREATE TABLE IF NOT EXISTS progress (task_name TEXT, step_name TEXT, status TEXT, started_at REAL, finished_at REAL,
  result TEXT, error TEXT, metadata TEXT, retries INTEGER, PRIMARY KEY (task_name, step_name));
CREATE TABLE IF NOT EXISTS progress_task (name TEXT PRIMARY KEY, created_at REAL, source TEXT);
CREATE TABLE IF NOT EXISTS decisions (id TEXT PRIMARY KEY);
"""
#: The columns of the first schema, whose ids were texts.
_FIRST_COLUMNS = (
    "id", "category", "content", "data", "tags", "source", "confidence", "active", "created_at", "updated_at",
)  # fmt: skip


class NoMemory(sqlite3.DatabaseError):
    """The file is a database, but not a memory."""


def folded(text: str) -> str:
    """The form in which a text is compared: case-folded and without NUL, at which the full-text index would stop."""
    return text.casefold().replace("\0", "\ufffe")


def create(path: str) -> None:
    """Creates an empty memory atomically: the file appears only when it is complete. Raises ``sqlite3.Error`` and ``OSError``.

    The caller must hold the writers' lock, so nobody else creates it at the same time.
    """
    fresh = path + "-new"
    for ending in ("", "-wal", "-shm", "-journal"):
        if os.path.lexists(fresh + ending):
            os.unlink(fresh + ending)  # left by a process that was killed
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        connection = sqlite3.connect(fresh, isolation_level=None)
        try:
            connection.execute(f"PRAGMA journal_mode = {journal_mode()}")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(f"BEGIN;{_ENTRIES}{_OTHERS}PRAGMA user_version = {VERSION};COMMIT;")
        finally:
            connection.close()
    except BaseException:
        os.unlink(fresh)
        raise
    os.rename(fresh, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)  # otherwise a power failure could lose the name of the file, and with it acknowledged writes
    finally:
        os.close(folder)


def upgrade(connection: sqlite3.Connection) -> None:
    """Migrates an existing memory to the current schema, in one transaction. Raises ``sqlite3.Error``.

    The caller must hold the writers' lock.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == VERSION:
        return
    if version > VERSION:
        raise NoMemory(f"it was written by a newer version of lang (layout {version}, known is {VERSION})")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        columns = tuple(row[1] for row in connection.execute("PRAGMA table_info(memory)"))
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if columns != _FIRST_COLUMNS and tables:
            raise NoMemory("the file is a database and no memory")
        if columns:
            connection.execute("ALTER TABLE memory RENAME TO memory_before")
        for statement in _statements(_ENTRIES + _OTHERS):
            connection.execute(statement)
        if columns:
            _take_over(connection)
        connection.execute(
            "INSERT OR IGNORE INTO progress_task (name, created_at, source) "
            "SELECT task_name, coalesce(min(started_at), 0), 'main' FROM progress GROUP BY task_name"
        )
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _take_over(connection: sqlite3.Connection) -> None:
    """Migrates the entries of the first schema. Their tags are kept unchanged, even if they are not valid JSON."""
    wrong = connection.execute(
        "SELECT id FROM memory_before WHERE id IS NULL OR id != 'mem_' || CAST(substr(id, 5) AS INTEGER) LIMIT 1"
    ).fetchone()
    if wrong is not None:
        raise NoMemory(f"an entry has the id {wrong[0]!r}, which is none of a memory")
    connection.create_function("folded", 1, folded, deterministic=True)
    connection.execute(
        "INSERT INTO memory (id, category, content, folded, data, tags, source, confidence, active, created_at, updated_at) "
        "SELECT CAST(substr(id, 5) AS INTEGER), coalesce(category, ''), coalesce(content, ''), folded(coalesce(content, '')), "
        "coalesce(data, '{}'), coalesce(tags, '[]'), coalesce(source, 'main'), coalesce(confidence, 1.0), coalesce(active, 1), "
        "coalesce(created_at, 0), coalesce(updated_at, 0) FROM memory_before ORDER BY 1"
    )
    connection.execute("DROP TABLE memory_before")


def _statements(script: str) -> list[str]:
    """The statements of a script, to execute one by one: ``executescript`` would commit the open transaction."""
    statements = []
    pending = ""
    for piece in script.split(";"):
        pending += piece + ";"
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    return statements
