"""Writing to an SQLite file from several processes without the fault of SQLite 3.7.0 to 3.51.2 in its write-ahead log.

In those versions a commit can be lost when one connection begins the log anew while another one has just moved its content into
the database (https://sqlite.org/wal.html, "the WAL-reset bug"; fixed in 3.51.3, 3.50.7 and 3.44.6). One lock on a file is held
around every write transaction, every checkpoint and every close, and SQLite makes no checkpoint by itself: then no two
connections are ever in that state. The lock is used with every version, because its waiters take turns. Those that wait
for SQLite's own lock ask again and again, and one that is never in time fails with "database is locked".
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows
    fcntl = None  # type: ignore[assignment]

#: Bytes of the log from which on its content is moved into the database.
CHECKPOINT_BYTES = 4 * 1024 * 1024
_MENDED = ((3, 51, 3), (3, 50, 7), (3, 44, 6))


def is_affected(version: tuple[int, int, int]) -> bool:
    """Whether this version of SQLite has the fault."""
    if version < (3, 7, 0):
        return False
    return not any(version >= mended and (mended == _MENDED[0] or version[:2] == mended[:2]) for mended in _MENDED)


class WriteAheadLog:
    """The right to write to one SQLite file.

    Args:
        path: the file of the database. The lock lies beside it.
    """

    def __init__(self, path: Path, version: tuple[int, int, int] = sqlite3.sqlite_version_info) -> None:
        self.path = path
        self._thread_lock = threading.RLock()
        self._depth = 0
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._lock_file: int | None = None if fcntl is None else os.open(f"{path}-lock", flags, 0o600)
        if fcntl is None and is_affected(version):
            raise RuntimeError(f"SQLite {sqlite3.sqlite_version} can lose commits and there are no file locks here: use 3.51.3")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Holds the right to write. Threads of this process wait for each other in any case."""
        with self._thread_lock:
            self._depth += 1
            try:
                if self._lock_file is not None and self._depth == 1:
                    fcntl.flock(self._lock_file, fcntl.LOCK_EX)
                yield
            finally:
                self._depth -= 1
                if self._lock_file is not None and self._depth == 0:
                    fcntl.flock(self._lock_file, fcntl.LOCK_UN)

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Sets up a new connection."""
        with self.writing():
            connection.execute("PRAGMA busy_timeout = 10000")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA wal_autocheckpoint = 0")

    def checkpoint_when_long(self, connection: sqlite3.Connection) -> None:
        """Moves the content of a long log into the database. Called by a writer, behind its commit, with the right to write."""
        try:
            length = os.stat(f"{self.path}-wal").st_size
        except FileNotFoundError:
            return
        if length > CHECKPOINT_BYTES:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Closes the file of the lock."""
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None
