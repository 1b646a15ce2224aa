"""The open databases of a host: which there are, which is the default, whose turn it is.

One connection for each scope, port, login and set of options, shared by everything that runs on the host, one call at a time.
After ``BEGIN`` a connection is reserved to the run, request or job that began; what is open when that ends is rolled back.
"""

from __future__ import annotations

from _thread import allocate_lock

from language.errors import RuntimeFault
from language.locks import Lock
from language.waits import TURN_NAP, interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeVar

    #: Raises for a reserved address, given with the port, that may not be reached.
    AddressCheck = Callable[[str, int], None]

    from language.capabilities.scopes import DbTarget, GrantedPath
    from language.runtime.context import Lifetime

    Answer = TypeVar("Answer")

MODES = ("readwrite", "readonly", "memory")
#: Seconds that connecting to a server may take.
CONNECT_SECONDS = 10

_PORTS = {"postgres": 5432, "mysql": 3306, "redis": 6379, "rediss": 6379}


class DatabaseEngine:
    """One connection to a database, not to be used by two at once. Methods raise ``RuntimeFault`` with the engine's message.

    Values are those of the language, without secrets. ``family`` is ``sql`` or ``redis``. ``ask`` is called for each further
    file that a statement would open: it checks the path and says where that must lie.
    """

    family = "sql"

    def rows(self, builtin: str, text: str, values: Sequence[Any], ask: Callable[[str], GrantedPath | None]) -> list[Any]:
        """The rows of a statement as maps."""
        raise NotImplementedError

    def execute(
        self, builtin: str, text: str, lists: Iterable[Sequence[Any]], ask: Callable[[str], GrantedPath | None]
    ) -> tuple[int, int]:
        """Runs a statement once for each list of values: the number of rows affected and the last id."""
        raise NotImplementedError

    def tables(self) -> list[str]:
        """The names of the tables, sorted."""
        raise NotImplementedError

    def command(self, words: Sequence[Any]) -> Any:
        """Runs one command of Redis and answers its reply."""
        raise NotImplementedError

    def further_scopes(self) -> Iterable[str]:
        """Scopes of what has been attached to the connection."""
        return ()

    @property
    def in_transaction(self) -> bool:
        return False

    def roll_back(self) -> None:
        """Ends an open transaction; a connection that cannot is closed."""

    def close(self) -> None:
        """Closes the connection. Never raises."""


def wrong_count(builtin: str, wanted: int, given: int) -> RuntimeFault:
    """The error of a statement with another number of placeholders than of values."""
    return RuntimeFault(f"{builtin}: the statement has {wanted} parameter(s) but {given} value(s) were passed")


class DatabaseConnection:
    """An engine, who may use it now, and what it was opened for."""

    __slots__ = ("_again", "_inherited", "_lock", "_owner", "engine", "target")

    def __init__(self, target: DbTarget, engine: DatabaseEngine, again: Callable[[], DatabaseEngine] | None = None) -> None:
        self.target = target
        self.engine = engine
        #: opens the same once more; ``None`` for what only memory holds
        self._again = again
        #: the engine of the process this one was forked from. Kept, because closing it would speak on the other's connection.
        self._inherited: DatabaseEngine | None = None
        self._lock = Lock()
        self._owner: Lifetime | None = None

    def call(self, lifetime: Lifetime, work: Callable[[DatabaseEngine], Answer]) -> Answer:
        """Runs ``work`` when it is the turn of this run, request or job."""
        while True:
            # Not `acquire` with a time: an exception from outside between it and a `try` would keep the lock for ever.
            with self._lock:
                if self._owner is None or self._owner is lifetime:
                    return self._with_turn(lifetime, work)
            pause = allocate_lock()
            pause.acquire()
            interruptible_wait(pause, TURN_NAP)

    def _with_turn(self, lifetime: Lifetime, work: Callable[[DatabaseEngine], Answer]) -> Answer:
        if self._inherited is self.engine and self._again is not None:
            self.engine = self._again()
        engine = self.engine
        if self._owner is None and engine.in_transaction:
            engine.roll_back()  # whoever began it was ended before it could be noted
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
        """This process has just been forked: what is connected belongs to the other one, and is opened again when needed."""
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


class Databases:
    """The connections of one host, the oldest first. A host says how to :meth:`connect`."""

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
        """A new engine: ``place`` is where a file must lie, ``from_json`` reads the text of a JSON column, ``check`` is asked
        before a server at a reserved address is reached.

        Raises ``RuntimeFault``: the engine's message, or which package is missing.
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
        """Opens what is not open yet, with the same login and options. Raises ``RuntimeFault``."""
        with self._lock:
            key = self._key(target)
            if key not in self._open:
                engine = self.connect(target, place, mode, from_json, check)
                in_memory = target.scheme is None and (mode == "memory" or place is None)
                again = None if in_memory else lambda: self.connect(target, place, mode, from_json, check)
                self._open[key] = DatabaseConnection(target, engine, again)

    def close(self, target: DbTarget | None) -> None:
        """Closes that connection, or the default; none is nothing to do. A URL without login, port and options stands for every
        connection to its database.
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
        return [key for key, connection in self._open.items() if connection.target.scope == target.scope]

    def _key(self, target: DbTarget) -> _Key:
        """What two openings must have in common to share a connection: never the password itself."""
        if target.scheme is None:
            return target.scope, None, ""
        from hashlib import blake2b

        if not self._seal:
            from os import urandom

            self._seal = urandom(32)
        login = repr((target.userinfo, target.query or None, target.database)).encode("utf-8", "surrogatepass")
        return target.scope, target.port or _PORTS.get(target.scheme), blake2b(login, key=self._seal).hexdigest()

    @property
    def default(self) -> DatabaseConnection:
        """The first opened that is still open. Raises ``RuntimeFault`` when there is none."""
        for connection in self._open.copy().values():
            return connection
        raise RuntimeFault('No database connection. Use db_open("path.db") first.')

    @property
    def files(self) -> list[str]:
        """The paths of the database files that are open."""
        return [connection.target.path for connection in self._open.copy().values() if connection.target.path is not None]

    def begin_anew(self) -> None:
        """To be called in a process that has just been forked, before anything else uses the databases there."""
        self._lock = Lock()
        for connection in self._open.values():
            connection.begin_anew()

    def close_all(self) -> None:
        while self._open:
            self.close(None)
