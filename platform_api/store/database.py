"""One database: its connections and its transactions, for threads and for the event loop."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import create_engine, event, func, select

from platform_api.store.pace import Pace
from platform_api.store.write_ahead_log import WriteAheadLog

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine import ExceptionContext

P = ParamSpec("P")
R = TypeVar("R")

#: The channel of PostgreSQL's NOTIFY. Its payload is a topic.
CHANNEL = "platform"
_THREADS = 8


class Database:
    """Transactions on one database.

    ``reading()`` and ``writing()`` are for threads; ``read`` and ``write`` are the same for the event loop. A read of SQLite is
    done in the event loop itself: it takes less time than handing it to a thread and back. Everything else is done in a thread.

    Args:
        place: an SQLAlchemy URL of PostgreSQL, or the path of an SQLite file.
    """

    def __init__(self, place: str | Path) -> None:
        self._log: WriteAheadLog | None = None
        self._listeners: list[Callable[[set[str]], None]] = []
        self._pace = Pace()
        self._watching: Connection | None = None
        # Of the event loop in that thread: `connection`, `raw` is the driver's, `taken` says which one of all it is,
        # `version` is the one that was read in this turn.
        self._of_loop = threading.local()
        self._taken = count(1)
        self._of_loops: set[Connection] = set()
        self._version = 0
        if isinstance(place, str):
            self.engine = create_engine(
                place,
                pool_size=_THREADS,
                max_overflow=_THREADS,
                pool_pre_ping=True,
                isolation_level="READ COMMITTED",
                hide_parameters=True,  # a statement that fails is logged, its values are not
            )
            event.listen(self.engine, "handle_error", _leave_values_out)
        else:
            self._log = WriteAheadLog(place)
            self.engine = _sqlite(place, self._log)
        # What is read in several statements is of one moment.
        self._readers = self.engine if self.is_sqlite else self.engine.execution_options(isolation_level="REPEATABLE READ")
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="store")

    @property
    def is_sqlite(self) -> bool:
        """Whether this is an SQLite file."""
        return self._log is not None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that writes nothing. Everything that is read in it is of one moment."""
        with self._readers.connect() as connection:
            if self._log is not None:
                _raw(connection).execute("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is committed at the end of the block, and rolled back when it raises.

        With SQLite it holds the right to write from its first moment: nothing that it has read changes before it commits.
        """
        if self._log is None:
            with self.engine.begin() as connection:
                _topics(connection).clear()
                yield connection
                topics = set(_topics(connection))
                _notify(connection, self._pace.due(topics))
            self._tell(topics)
            return
        with self._log.writing(), self.engine.connect() as connection:
            _topics(connection).clear()
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
            topics = set(_topics(connection))
            self._log.checkpoint_when_long(_raw(connection))
        self._tell(topics)

    async def read(self, operation: Callable[Concatenate[Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What ``operation(connection, ...)`` gives in a transaction that writes nothing."""
        if self._log is None:
            return await self._in_thread(self._reading, operation, args, kwargs)
        connection = self._connection_of_loop()
        raw = self._of_loop.raw
        try:
            raw.execute("BEGIN")
            found = operation(connection, *args, **kwargs)
        except BaseException:
            self._close_of_loop(connection)  # it may have been left in the middle of a result
            raise
        connection.rollback()
        if raw.in_transaction:  # it has asked for nothing
            raw.rollback()
        return found

    def version(self) -> tuple[int, int] | None:
        """A value that changes with each commit, in this process or another: while it is the same, reading again gives the same
        results. ``None`` with PostgreSQL, which does not tell. For the event loop.
        """
        if self._log is None:
            return None
        self._connection_of_loop()
        # SQLite's number says something beside others of one connection alone, and `read` may have taken another one.
        return self._of_loop.taken, self._of_loop.raw.execute("PRAGMA data_version").fetchone()[0]

    def version_in_turn(self) -> tuple[int, int] | None:
        """As ``version``, read once a turn of the event loop: for what was asked before this turn began.

        A commit that was acknowledged before something was asked is in it: the acknowledgement came before the question, the
        question before the turn, and the turn before it was read.
        """
        of_loop = self._of_loop
        version: tuple[int, int] | None = getattr(of_loop, "version", None)
        if version is None:
            version = of_loop.version = self.version()
            # In the next turn this is called before anything that the next turn receives: callbacks keep their order.
            asyncio.get_running_loop().call_soon(setattr, of_loop, "version", None)
        return version

    async def scan(self, operation: Callable[Concatenate[Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """As ``read``, for what looks through many rows: in a thread with SQLite too, so that the event loop goes on."""
        return await self._in_thread(self._reading, operation, args, kwargs)

    async def write(self, operation: Callable[Concatenate[Connection, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What ``operation(connection, ...)`` gives in a transaction that is committed before this returns."""
        return await self._in_thread(self._writing, operation, args, kwargs)

    def listen(self, listener: Callable[[set[str]], None]) -> None:
        """Calls ``listener`` with the topics of each transaction that this process commits, in its thread."""
        self._listeners.append(listener)

    def notify_held_back(self) -> None:
        """Tells other replicas the topics that were told too often a moment ago (PostgreSQL)."""
        if topics := self._pace.held_back():
            with self.engine.begin() as connection:
                _notify(connection, topics)

    def has_changed(self) -> bool:
        """Whether anybody, in this process or another, has committed since the last call (SQLite)."""
        if self._watching is None:
            self._watching = self.engine.connect()
        version = int(self._watching.exec_driver_sql("PRAGMA data_version").scalar_one())
        known, self._version = self._version, version
        return known != version

    def close(self) -> None:
        """Waits for the transactions under way and ends every connection."""
        self._threads.shutdown(wait=True)
        if self._watching is not None:
            self._watching.close()
        for connection in list(self._of_loops):
            self._close_of_loop(connection)
        if self._log is None:
            self.engine.dispose()
            return
        with self._log.writing():
            self.engine.dispose()
        self._log.close()

    def _connection_of_loop(self) -> Connection:
        connection: Connection | None = getattr(self._of_loop, "connection", None)
        if connection is None or connection.closed:
            self._of_loop.connection = connection = self.engine.connect()
            self._of_loop.raw = _raw(connection)
            self._of_loop.taken = next(self._taken)
            self._of_loops.add(connection)
        return connection

    def _close_of_loop(self, connection: Connection) -> None:
        self._of_loops.discard(connection)
        connection.close()

    def _tell(self, topics: set[str]) -> None:
        if topics:
            for listener in self._listeners:
                listener(topics)

    async def _in_thread(self, step: Callable[..., R], *args: Any) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(step, *args))

    def _reading(self, operation: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        with self.reading() as connection:
            return operation(connection, *args, **kwargs)

    def _writing(self, operation: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        with self.writing() as connection:
            return operation(connection, *args, **kwargs)


def announce(connection: Connection, topic: str) -> None:
    """Tells everybody who waits for ``topic``, on every replica, once this transaction has been committed.

    Args:
        topic: a project id, ``runner:`` and the id of a runner, or ``account:`` and the id of an account.
    """
    _topics(connection).add(topic)


def _topics(connection: Connection) -> set[str]:
    topics: set[str] = connection.info.setdefault("topics", set())
    return topics


def _notify(connection: Connection, topics: set[str]) -> None:
    for topic in sorted(topics):
        connection.execute(select(func.pg_notify(CHANNEL, topic)))


def _raw(connection: Connection) -> sqlite3.Connection:
    raw = connection.connection.dbapi_connection
    assert isinstance(raw, sqlite3.Connection)
    return raw


def _leave_values_out(context: ExceptionContext) -> None:
    """PostgreSQL says in the details of an error which values a row has; what goes to the log is its first line alone."""
    original = context.original_exception
    first = getattr(getattr(original, "diag", None), "message_primary", None)
    wrapped = context.sqlalchemy_exception
    if first is None:
        return
    whole = str(original)
    original.args = (first,)
    if wrapped is not None:
        wrapped.args = tuple(part.replace(whole, first) if isinstance(part, str) else part for part in wrapped.args)


def _sqlite(path: Path, log: WriteAheadLog) -> Engine:
    # Autocommit for the driver: transactions begin where this module says so, and a single read is its own transaction.
    engine = create_engine(
        f"sqlite:///{path}",
        pool_size=_THREADS,
        max_overflow=_THREADS,
        hide_parameters=True,  # a statement that fails is logged, its values are not
        connect_args={"check_same_thread": False, "isolation_level": None, "timeout": 10},
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _record: object) -> None:
        log.prepare(connection)

    return engine
