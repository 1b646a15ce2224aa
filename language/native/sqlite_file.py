"""One SQLite file that several processes write to, each with one connection, and no commit of which is lost.

SQLite 3.7.0 to 3.51.2 can lose a commit when one connection restarts the write-ahead log while another one has just moved its
content into the database (https://sqlite.org/wal.html, "the WAL-reset bug"; fixed in 3.51.3, 3.50.7 and 3.44.6). A lock on a
file beside the database is therefore held around every write transaction, every checkpoint and every close, and SQLite makes no
checkpoint by itself. The lock is taken with every version of SQLite: processes of several versions can share a file. Where
there are no file locks, an affected version works without a write-ahead log.
"""

from __future__ import annotations

import os
import sqlite3
from atexit import register
from time import monotonic, sleep
from urllib.parse import quote
from weakref import WeakSet

from language.locks import Lock
from language.native.file_locks import AVAILABLE, LOCK_EX, LOCK_NB, LOCK_UN, flock
from language.waits import WRITER_POLLING_INTERVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Answer = TypeVar("Answer")

#: Length of the log in bytes from which on a writer moves its content into the database.
CHECKPOINT_BYTES = 4 * 1024 * 1024
#: The name of the file whose lock writers hold is that of the database with this ending.
LOCK_ENDING = "-lock"
_FIXED = ((3, 51, 3), (3, 50, 7), (3, 44, 6))
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


def is_affected(version: tuple[int, int, int]) -> bool:
    """Whether this version of SQLite can lose commits in its write-ahead log."""
    if version < (3, 7, 0):
        return False
    return not any(version >= fixed and (fixed == _FIXED[0] or version[:2] == fixed[:2]) for fixed in _FIXED)


def journal_mode(version: tuple[int, int, int] = sqlite3.sqlite_version_info, *, locks: bool = AVAILABLE) -> str:
    """The journal of a file that several processes write to: ``WAL`` where it loses no commit, else ``DELETE``."""
    return "WAL" if locks or not is_affected(version) else "DELETE"


class SqliteFile:
    """The connection of this process to a file; it does one operation at a time.

    It is opened at the first operation and closed before the process is forked: SQLite keeps the state of file locks by
    process, and a fork would copy the parent's state. It is closed when the process exits normally.

    All methods raise ``sqlite3.Error`` or ``OSError``. A class that derives from this one sets up its connections in
    ``_prepare``.

    Args:
        path: the database. It is never created by this class.
        busy_seconds: how long an operation waits for another process.
    """

    def __init__(self, path: str, busy_seconds: float) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._turn = -1
        self._identity = (0, 0)
        #: called in every process that is forked from this one
        self.beginnings: list[Callable[[], None]] = []
        _files.add(self)

    # A cancellation leaves no transaction open and no lock held. The connection as a context manager begins no transaction, so
    # nothing is lost where it is not entered, and its exit is implemented in C, as the release of the lock is.

    def query(self, text: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Runs one statement that only reads and returns its rows."""
        with self._lock:
            return (self._connection or self._open()).execute(text, values).fetchall()

    def transact(self, act: Callable[[sqlite3.Connection], Answer], *, empty_log: bool = False) -> Answer:
        """Runs statements in one transaction that no other writer interleaves.

        With ``empty_log`` the log is emptied afterwards, so that no deleted content is left in it. A reader that takes longer
        than ``busy_seconds`` can prevent that.
        """
        with self._lock:
            connection = self._connection or self._open()
            try:
                self._take_turn()
                self._check_identity()
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    answer = act(connection)
                self._shorten(connection, empty_log)
            finally:
                flock(self._turn, LOCK_UN)
            return answer

    def connection(self) -> sqlite3.Connection:
        """The connection, for a caller that only reads and does not share this object with other threads."""
        with self._lock:
            return self._connection or self._open()

    def close(self) -> None:
        """Closes the connection. The next operation opens another one."""
        with self._lock:
            self._close()

    def before_fork(self) -> None:
        """Closes the connection and lets no other thread open one until the fork is done."""
        self._lock.acquire()
        try:
            self._close()
        except (sqlite3.Error, OSError):
            return  # the connection is no longer used, whether it was closed cleanly or not

    def after_fork(self) -> None:
        """Lets threads open connections again, in the process that forked."""
        self._lock.release()

    def begin_anew(self) -> None:
        """Lets threads open connections again, in the forked child."""
        self._lock.release()
        for begin in self.beginnings:
            begin()

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Sets up a new connection. Called with the writers' lock held."""

    def _open(self) -> sqlite3.Connection:
        if self._turn < 0:
            self._turn = os.open(self.path + LOCK_ENDING, _LOCK_FLAGS, 0o600)
        try:
            self._take_turn()
            self._before_opening()
            # Never creates the file: a store that was removed stays removed.
            connection = connect(self.path, self._busy_seconds)
            try:
                self._identity = _identity(self.path)
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        finally:
            flock(self._turn, LOCK_UN)
        return connection

    def _before_opening(self) -> None:
        """Called before a connection is opened, with the writers' lock held."""

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if self._turn < 0:
            return
        try:
            if connection is not None:
                self._take_turn()
                connection.close()
        finally:
            os.close(self._turn)  # releases the lock
            self._turn = -1
        self._after_closing()

    def _after_closing(self) -> None:
        """Called when the connection is closed."""

    def _take_turn(self) -> None:
        """Takes the writers' lock, waiting for other processes that hold it."""
        end = 0.0
        while True:
            try:
                flock(self._turn, LOCK_EX | LOCK_NB)
                return
            except BlockingIOError:
                now = monotonic()
                end = end or now + self._busy_seconds
                if now > end:
                    raise sqlite3.OperationalError("database is locked") from None
            sleep(WRITER_POLLING_INTERVAL)

    def _check_identity(self) -> None:
        """Refuses to write to a file that was renamed or deleted, because nobody would find what is written there."""
        if _identity(self.path) != self._identity:
            raise sqlite3.OperationalError("the file was moved or replaced while it was in use: start the program again")

    def _shorten(self, connection: sqlite3.Connection, empty_log: bool) -> None:
        """Moves the content of the log into the database when it is long, or has to be empty."""
        try:
            if os.stat(self.path + "-wal").st_size <= (0 if empty_log else CHECKPOINT_BYTES):
                return
            # A reader may keep the log in use. Only a caller that must empty the log waits for it.
            connection.execute(f"PRAGMA busy_timeout = {self._busy_seconds * 1000 if empty_log else 0:.0f}")
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.execute(f"PRAGMA busy_timeout = {self._busy_seconds * 1000:.0f}")
        except (sqlite3.Error, OSError):
            return  # what was written is committed to the log; the next writer tries again

    def __del__(self) -> None:
        try:
            self.close()
        except (sqlite3.Error, OSError, AttributeError):
            return  # never opened, or not closed cleanly; the file is intact in either case


def connect(path: str, busy_seconds: float, mode: str = "rw") -> sqlite3.Connection:
    """A connection to an existing file, which makes no checkpoint by itself. Raises ``sqlite3.Error``."""
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=busy_seconds,
        cached_statements=32,
    )
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


_files: WeakSet[SqliteFile] = WeakSet()
#: the connections to reopen after the fork that is under way
_held: list[SqliteFile] = []


def close_all() -> None:
    """Closes all connections of this process, before it ends. A connection that cannot be closed cleanly is left open: its file
    is intact, and the next process that opens it recovers from the log.
    """
    for file in list(_files):
        try:
            file.close()
        except (sqlite3.Error, OSError):
            continue


def _before_fork() -> None:
    for file in list(_files):
        _held.append(file)
        file.before_fork()


def _after_fork() -> None:
    while _held:
        _held.pop().after_fork()


def _after_fork_in_child() -> None:
    while _held:
        _held.pop().begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
register(close_all)
