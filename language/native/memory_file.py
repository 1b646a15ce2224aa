"""The file of a memory: finds or creates it, checks it after an unclean shutdown, opens it.

Two lock files lie beside ``NAME.db``. Writers hold the lock of ``NAME.db-lock``. Every process that has the memory open holds a
shared lock on ``NAME.db-open``. If nobody holds that lock and a write-ahead log exists, a process was killed or the power
failed.
"""

from __future__ import annotations

import os
import sqlite3
from stat import S_ISLNK, S_ISREG

from language.native import memory_schema
from language.native.file_locks import LOCK_EX, LOCK_NB, LOCK_SH, flock
from language.native.sqlite_file import SqliteFile, journal_mode

_BUSY_SECONDS = 5.0
_OPEN_ENDING = "-open"
_OPEN_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class Damaged(sqlite3.DatabaseError):
    """SQLite found the content of the file damaged."""


class MemoryFile(SqliteFile):
    """The connection of this process to a memory. The file is created at the first use.

    Methods raise ``sqlite3.Error`` or ``OSError``; ``sqlite3.Error`` also for a file that must not be used.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._folder = folder
        self._name = name
        self._use = -1
        self._was_killed = False
        super().__init__(os.path.join(folder, f"{name}.db"), _BUSY_SECONDS)

    def _open(self) -> sqlite3.Connection:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        return super()._open()

    def _before_opening(self) -> None:
        size = _size_of(self.path)
        log = _size_of(self.path + "-wal")
        if size is None:
            _check_spelling(self._folder, os.path.basename(self.path))
            if log:
                raise sqlite3.DatabaseError(
                    "the file is missing but its write-ahead log is there: put the file back, or remove the files "
                    f"{os.path.basename(self.path)}-* to begin with an empty memory"
                )
            memory_schema.create(self.path)
        elif size == 0:
            raise Damaged(
                "the file is empty, so it is not a memory: put a copy back, or remove it to begin with an empty memory"
            )
        else:
            _check_spelling(self._folder, os.path.basename(self.path))
        self._after_closing()  # an earlier attempt to open may have failed
        self._use = os.open(self.path + _OPEN_ENDING, _OPEN_FLAGS, 0o600)
        try:
            flock(self._use, LOCK_EX | LOCK_NB)
            self._was_killed = bool(log)
        except BlockingIOError:
            self._was_killed = False
        flock(self._use, LOCK_SH)  # never blocks: only who holds the writers' lock holds this one alone

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA journal_mode = {journal_mode()}")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        memory_schema.upgrade(connection)
        if self._was_killed:
            problems = [row[0] for row in connection.execute("PRAGMA quick_check(3)")]
            if problems != ["ok"]:
                raise Damaged("the file is damaged: " + "; ".join(problems))

    def _after_closing(self) -> None:
        if self._use >= 0:
            os.close(self._use)
            self._use = -1


def _size_of(path: str) -> int | None:
    """The length of a file; ``None`` if it does not exist. Raises ``sqlite3.DatabaseError`` for anything but a regular file."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    if S_ISLNK(status.st_mode):
        # The lock file beside a link is not the lock file beside its target.
        raise sqlite3.DatabaseError(
            "it is a symbolic link: put the file itself there, or name its folder in PLATFORM_STATE_DIR"
        )
    if not S_ISREG(status.st_mode):
        raise sqlite3.DatabaseError("it is no regular file")
    return status.st_size


def _check_spelling(folder: str, wanted: str) -> None:
    """Refuses a file whose name differs in case, on a file system for which the two names are the same."""
    names = os.listdir(folder)
    if wanted not in names and os.path.lexists(os.path.join(folder, wanted)):
        other = next((name for name in names if name.casefold() == wanted.casefold()), wanted)
        raise sqlite3.DatabaseError(
            f"this file system takes it for {other}, which is another memory: declare a name that differs in more than case"
        )
