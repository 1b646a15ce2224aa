"""The open databases of a host: which connections there are, which one is the default, and who may use each.

There is one connection for each scope, port, login and set of options. Everything that runs on the host shares it, one call at
a time. After ``BEGIN`` a connection is reserved for the run, request or job that began the transaction. A transaction that is
still open when its owner ends is rolled back.
"""

from __future__ import annotations

from _thread import allocate_lock

from language.errors import RuntimeFault
from language.locks import Lock
from language.waits import TRANSACTION_POLLING_INTERVAL, interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeVar

    #: Called with a reserved address and a port. Raises when it may not be connected to.
    AddressCheck = Callable[[str, int], None]

    from language.capabilities.scopes import DbTarget, GrantedPath
    from language.runtime.context import Lifetime

    Answer = TypeVar("Answer")

MODES = ("readwrite", "readonly", "memory")
#: How many seconds connecting to a server may take.
CONNECT_SECONDS = 10


class DatabaseEngine:
    """One connection to a database, not safe for concurrent use. Methods raise ``RuntimeFault`` with the engine's message.

    Values are those of the language, without secrets. ``family`` is ``sql`` or ``redis``. ``ask`` is called for each further
    file that a statement would open: it checks the path and returns where the file must lie.
    """

    family = "sql"

    def rows(self, builtin: str, text: str, values: Sequence[Any], ask: Callable[[str], GrantedPath | None]) -> list[Any]:
        """The rows of a statement as maps."""
        raise NotImplementedError

    def execute(
        self, builtin: str, text: str, lists: Iterable[Sequence[Any]], ask: Callable[[str], GrantedPath | None]
    ) -> tuple[int, int]:
        """Runs a statement once for each list of values. Returns the number of affected rows and the last id."""
        raise NotImplementedError

    def tables(self) -> list[str]:
        """The names of the tables, sorted."""
        raise NotImplementedError

    def command(self, words: Sequence[Any]) -> Any:
        """Runs one command of Redis and returns its reply."""
        raise NotImplementedError

    def further_scopes(self) -> Iterable[str]:
        """Scopes of the databases that were attached to the connection."""
        return ()

    @property
    def in_transaction(self) -> bool:
        return False

    def roll_back(self) -> None:
        """Rolls back an open transaction. A connection that cannot do so is closed."""

    def close(self) -> None:
        """Closes the connection. Never raises."""


#: How a statement gets its values.
BY_PLACE = "each `?` of the statement stands for the next value of a list: `{}(statement, [a, b])`"


def wrong_count(builtin: str, wanted: int, given: int) -> RuntimeFault:
    """The error of a statement whose number of placeholders differs from that of the values."""
    message = f"{builtin}: the statement has {wanted} parameter(s) but {given} value(s) were passed"
    return RuntimeFault(message, help=BY_PLACE.format(builtin))


class DatabaseConnection:
    """An engine with its lock, the owner of its transaction, and the target that it was opened for."""

    __slots__ = ("_again", "_inherited", "_lock", "_owner", "engine", "target")

    def __init__(self, target: DbTarget, engine: DatabaseEngine, again: Callable[[], DatabaseEngine] | None = None) -> None:
        self.target = target
        self.engine = engine
        #: opens the same database again; ``None`` for one in memory
        self._again = again
        #: the engine of the parent process. It is kept, because closing it would send data on the parent's connection.
        self._inherited: DatabaseEngine | None = None
        self._lock = Lock()
        self._owner: Lifetime | None = None

    def call(self, lifetime: Lifetime, work: Callable[[DatabaseEngine], Answer]) -> Answer:
        """Runs ``work`` once no other run, request or job has a transaction on this connection."""
        while True:
            # Not `acquire` followed by `try`: a cancellation between the two would leave the lock held.
            with self._lock:
                if self._owner is None or self._owner is lifetime:
                    return self._with_turn(lifetime, work)
            pause = allocate_lock()
            pause.acquire()
            interruptible_wait(pause, TRANSACTION_POLLING_INTERVAL)

    def _with_turn(self, lifetime: Lifetime, work: Callable[[DatabaseEngine], Answer]) -> Answer:
        if self._inherited is self.engine and self._again is not None:
            self.engine = self._again()
        engine = self.engine
        if self._owner is None and engine.in_transaction:
            engine.roll_back()  # the owner was cancelled before it was recorded
        try:
            return work(engine)
        finally:
            if not engine.in_transaction:
                self._owner = None
            elif self._owner is None:
                self._owner = lifetime
                lifetime.at_end(lambda: self._give_up(lifetime))

    def _give_up(self, lifetime: Lifetime) -> None:
        with self._lock:
            if self._owner is lifetime:
                self._owner = None
                self.engine.roll_back()

    def begin_anew(self) -> None:
        """Called in a process that was just forked: connections belong to the parent, and are opened again when needed."""
        self._lock = Lock()
        self._owner = None
        if self._again is not None:
            self._inherited = self.engine

    def close(self) -> None:
        with self._lock:
            self._owner = None
            if self._inherited is not self.engine:
                self.engine.close()


#: Scope, port, and a digest of login and options.
_Key = tuple[str, int | None, str]


def _names(target: DbTarget) -> tuple[str | None, ...]:
    """A URL without login, port and options; the scope of a target that is not a URL."""
    return (target.scope,) if target.scheme is None else (target.scheme, target.host, target.database)


class Databases:
    """The connections of one host, oldest first. A host implements :meth:`connect`."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: dict[_Key, DatabaseConnection] = {}
        self._seal = b""

    def connect(
        self,
        target: DbTarget,
        place: GrantedPath | None,
        mode: str,
        from_json: Callable[[str], Any],
        check: AddressCheck,
    ) -> DatabaseEngine:
        """A new engine. ``place`` is where a file must lie, ``from_json`` parses JSON columns, ``check`` is called before a
        server at a reserved address is connected to.

        Raises ``RuntimeFault`` with the engine's message, or with the name of a missing package.
        """
        raise NotImplementedError

    def open(
        self,
        target: DbTarget,
        place: GrantedPath | None,
        mode: str,
        from_json: Callable[[str], Any],
        check: AddressCheck,
    ) -> None:
        """Opens a connection unless one with the same login and options is open. Raises ``RuntimeFault``."""
        with self._lock:
            key = self._key(target)
            if key not in self._open:
                engine = self.connect(target, place, mode, from_json, check)
                in_memory = target.scheme is None and (mode == "memory" or place is None)
                again = None if in_memory else lambda: self.connect(target, place, mode, from_json, check)
                self._open[key] = DatabaseConnection(target, engine, again)

    def close(self, target: DbTarget | None) -> None:
        """Closes that connection, or the default one. Does nothing when it is not open.

        A URL without login, port and options closes all connections to its database.
        """
        with self._lock:
            keys = list(self._open)[:1] if target is None else self._keys(target)
            connections = [self._open.pop(key) for key in keys]
        for connection in connections:
            connection.close()

    def _keys(self, target: DbTarget) -> list[_Key]:
        key = self._key(target)
        if key in self._open:
            return [key]
        if target.userinfo is not None or target.port is not None or target.query:
            return []
        return [key for key, connection in self._open.items() if _names(connection.target) == _names(target)]

    def _key(self, target: DbTarget) -> _Key:
        """The key by which two calls of :meth:`open` share a connection. It does not contain the password."""
        if target.scheme is None:
            return target.scope, None, ""
        from hashlib import blake2b

        from language.capabilities.scopes import DATABASE_PORTS

        if not self._seal:
            from os import urandom

            self._seal = urandom(32)
        login = repr((target.userinfo, target.query or None, target.database)).encode("utf-8", "surrogatepass")
        return target.scope, target.port or DATABASE_PORTS.get(target.scheme or ""), blake2b(login, key=self._seal).hexdigest()

    @property
    def default(self) -> DatabaseConnection:
        """The first opened connection that is still open. Raises ``RuntimeFault`` when there is none."""
        for connection in self._open.copy().values():
            return connection
        raise RuntimeFault('No database connection. Use db_open("path.db") first.')

    @property
    def files(self) -> list[str]:
        """The paths of the database files that are open."""
        return [connection.target.path for connection in self._open.copy().values() if connection.target.path is not None]

    def begin_anew(self) -> None:
        """Called in a process that was just forked, before it uses a database."""
        self._lock = Lock()
        for connection in self._open.values():
            connection.begin_anew()

    def close_all(self) -> None:
        while self._open:
            self.close(None)
