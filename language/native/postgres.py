"""PostgreSQL, over psycopg."""

from __future__ import annotations

import os

from language.errors import RuntimeFault
from language.host.databases import CONNECT_SECONDS, DatabaseEngine, wrong_count
from language.host.sql_text import numbered
from language.locks import Lock
from language.native.outgoing import checked_addresses, connector
from language.native.server_url import UNREADABLE, login_by_name, missing, options, unreadable
from language.values import Bool, to_bool
from language.values.decimals import Dec
from language.values.display import display
from language.waits import POLLING_INTERVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from language.capabilities.scopes import DbTarget, GrantedPath
    from language.host.databases import AddressCheck
    from language.native.outgoing import Forward

_TLS = {
    "disable": {"sslmode": "disable"},
    # Never unencrypted, even if the server asks for that.
    "allow": {"sslmode": "require"},
    "prefer": {"sslmode": "require"},
    "require": {"sslmode": "require"},
    "verify-ca": {"sslmode": "verify-full", "sslrootcert": "system"},
    "verify-full": {"sslmode": "verify-full", "sslrootcert": "system"},
}

_PORT = 5432
_NO_FILE = os.path.join(os.devnull, "none")
#: Settings that libpq would otherwise read from files and credential caches of the account that runs the program.
_UNINHERITED = {
    "passfile": _NO_FILE,
    "sslrootcert": _NO_FILE,
    "sslcert": _NO_FILE,
    "sslkey": _NO_FILE,
    "sslcrl": _NO_FILE,
    "gssencmode": "disable",
}
_FIRST_WITH_REQUIRED_METHODS = 160000

_RANGES = ("int4", "int8", "num", "date", "ts", "tstz")
_AS_TEXT = (
    *("uuid", "time", "timetz", "inet", "cidr", "record"),
    *(name + "range" for name in _RANGES),
    *(name + "multirange" for name in _RANGES),
)

_TABLES = (
    "SELECT CASE WHEN table_schema = ANY (current_schemas(false)) THEN table_name ELSE table_schema || '.' || table_name END "
    "FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema') "
    "AND table_schema NOT LIKE 'pg\\_%' AND table_type = 'BASE TABLE'"
)


class PostgresEngine(DatabaseEngine):
    """One connection to a PostgreSQL server. It is opened again when it was lost between two statements."""

    def __init__(self, target: DbTarget, from_json: Callable[[str], Any], check: AddressCheck) -> None:
        try:
            import psycopg
        except ImportError:
            raise missing("psycopg", "postgres") from None
        self._psycopg: Any = psycopg
        self._check = check
        self._from_json = from_json
        given = options(target, ("sslmode", "application_name"))
        mode = given.pop("sslmode", "require")
        if mode not in _TLS:
            raise RuntimeFault(f'db_open: unknown sslmode "{mode}" (one of: {", ".join(_TLS)})')
        user, password = login_by_name(target)
        self._parts: dict[str, Any] = {
            **_UNINHERITED,
            **_TLS[mode],
            **given,
            "host": target.host,
            "port": target.port or _PORT,
            "user": user,
            "password": password,
            "dbname": target.database or user,
            "connect_timeout": CONNECT_SECONDS,
            "client_encoding": "UTF8",
        }
        if psycopg.pq.version() >= _FIRST_WITH_REQUIRED_METHODS:
            self._parts |= {"require_auth": "!gss,!sspi", "sslcertmode": "disable"}
        self._forward: Forward | None = None
        self._connection = self._connect()

    def _place(self) -> dict[str, Any]:
        """The address that the library connects to, and the name that the certificate is verified against."""
        host, port = self._parts["host"], self._parts["port"]
        through = connector()
        if through is not None:
            self._close_forward()
            try:
                self._forward = through.forward(host, port, "db", CONNECT_SECONDS)
            except OSError as error:
                reason = error.strerror or error
                raise RuntimeFault(f"db error: cannot connect to {host}: {reason}", kind="network") from None
            return {"hostaddr": self._forward.address, "port": self._forward.port}
        try:
            addresses = checked_addresses(host, port, self._check)
        except OSError as error:
            raise RuntimeFault(f"db error: cannot resolve the host {host}: {error.strerror or error}") from None
        return {"hostaddr": ",".join(addresses), "host": ",".join([host] * len(addresses))}

    def _close_forward(self) -> None:
        if self._forward is not None:
            self._forward.close()
            self._forward = None

    def _connect(self) -> Any:
        psycopg = self._psycopg
        _hide_environment()
        place = self._place()
        try:
            connection = _interruptible(psycopg).connect(
                **self._parts | place, autocommit=True, cursor_factory=psycopg.RawCursor
            )
            _read_as_language_values(connection, self._from_json)
        except psycopg.Error as error:
            raise _fault(error) from None
        except UNREADABLE as error:
            raise unreadable(error) from None
        return connection

    def rows(self, builtin: str, text: str, values: Sequence[Any], ask: Callable[[str], GrantedPath | None]) -> list[Any]:
        with self._run(builtin, text, values) as cursor:
            if cursor.description is None:
                return []
            names = [column.name for column in cursor.description]
            try:
                return [dict(zip(names, row)) for row in cursor]
            except self._psycopg.Error as error:
                raise _fault(error) from None
            except UNREADABLE as error:
                raise unreadable(error) from None

    def execute(
        self, builtin: str, text: str, lists: Iterable[Sequence[Any]], ask: Callable[[str], GrantedPath | None]
    ) -> tuple[int, int]:
        affected = 0
        for values in lists:
            with self._run(builtin, text, values) as cursor:
                affected += max(cursor.rowcount, 0) if cursor.description is None or _writes(cursor) else 0
        return affected, 0

    def tables(self) -> list[str]:
        with self._run("sql_tables", _TABLES, ()) as cursor:
            return sorted(row[0] for row in cursor)

    def _run(self, builtin: str, text: str, values: Sequence[Any]) -> Any:
        statement, wanted = numbered(text)
        if wanted != len(values):
            raise wrong_count(builtin, wanted, len(values))
        if self._connection.closed:
            self._connection = self._connect()
        cursor = self._connection.cursor()
        try:
            # Without parameters the driver sends a text that may hold several statements. A prepared statement must be a single
            # one.
            single = True if not values and ";" in text.rstrip("; \t\r\n") else None
            cursor.execute(statement, [_bound(value) for value in values], prepare=single)
        except self._psycopg.Error as error:
            cursor.close()
            if self._connection.info.transaction_status == self._psycopg.pq.TransactionStatus.ACTIVE:
                self.close()  # the server waits for data that is not sent, such as the rest of a `COPY`
            raise _fault(error) from None
        except UNREADABLE as error:
            self.close()
            raise unreadable(error) from None
        return cursor

    @property
    def in_transaction(self) -> bool:
        status = self._psycopg.pq.TransactionStatus
        return not self._connection.closed and self._connection.info.transaction_status in (status.INTRANS, status.INERROR)

    def roll_back(self) -> None:
        try:
            self._connection.rollback()
        except self._psycopg.Error:
            self.close()

    def close(self) -> None:
        self._connection.close()
        self._close_forward()


def _hide_environment() -> None:
    """Removes the ``PG*`` variables from the environment that the C library of this process reads.

    Each of them would fill in a part of a connection, ``PGSERVICE`` from a file, and some cannot be switched off by a value.
    Programs that may read a variable, and child processes, see them as before: Python keeps its own copy of the environment.
    """
    for name in os.environ:
        if name.startswith("PG"):
            os.unsetenv(name)


def _interruptible(psycopg: Any) -> Any:
    """The connection class with interruptible waits. It waits in Python, one polling interval at a time: no exception is
    delivered to C code.

    A cancelled statement is also cancelled at the server, and its connection is closed, because its state is unknown.
    """
    from psycopg.waiting import wait_selector

    class Interruptible(psycopg.Connection):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self.lock = Lock()  # acquired for every statement

        def wait(self, gen: Any, interval: float = POLLING_INTERVAL, **more: Any) -> Any:
            try:
                return wait_selector(gen, self.pgconn.socket, interval=min(interval, POLLING_INTERVAL), **more)
            except psycopg.Error:
                raise
            except BaseException:
                try:
                    self.cancel()
                finally:
                    self.pgconn.finish()
                raise

    return Interruptible


def _fault(error: Exception) -> RuntimeFault:
    return RuntimeFault(f"db error: {str(error).strip()}", kind="database")


def _writes(cursor: Any) -> bool:
    return str(cursor.statusmessage or "").startswith(("INSERT", "UPDATE", "DELETE", "MERGE"))


def _bound(value: Any) -> Any:
    kind = value.__class__
    if kind is Dec:
        return value.value
    if kind is Bool:
        return bool(value)
    if kind is str or kind is float or kind is bytes or kind is int or value is None:
        return value
    from language.native.database_times import python_time

    time = python_time(value)
    return display(value) if time is None else time


def _read_as_language_values(connection: Any, from_json: Callable[[str], Any]) -> None:
    """Sets up how column values become values of the language: numbers exactly, types without a counterpart as the server's
    text.
    """
    from psycopg.adapt import Loader

    from language.native.database_times import date_column, datetime_column, interval_column

    class Text(Loader):
        def load(self, data: Any) -> Any:
            return bytes(data).decode("utf-8", "replace")

    class Day(Loader):
        def load(self, data: Any) -> Any:
            return date_column(bytes(data).decode("utf-8", "replace"))

    class Moment(Loader):
        def load(self, data: Any) -> Any:
            return datetime_column(bytes(data).decode("utf-8", "replace"))

    class Length(Loader):
        def load(self, data: Any) -> Any:
            return interval_column(bytes(data).decode("utf-8", "replace"))

    class Boolean(Loader):
        def load(self, data: Any) -> Any:
            return to_bool(bytes(data) == b"t")

    class Numeric(Loader):
        def load(self, data: Any) -> Any:
            return numeric(bytes(data).decode("ascii"))

    class Json(Loader):
        def load(self, data: Any) -> Any:
            return from_json(bytes(data).decode("utf-8", "replace"))

    class Vector(Loader):
        def load(self, data: Any) -> Any:
            return [float(part) for part in bytes(data).decode("ascii").strip("[]").split(",") if part]

    adapters = connection.adapters
    for name in _AS_TEXT:
        adapters.register_loader(name, Text)
    adapters.register_loader("date", Day)
    adapters.register_loader("timestamp", Moment)
    adapters.register_loader("timestamptz", Moment)
    adapters.register_loader("interval", Length)
    adapters.register_loader("bool", Boolean)
    adapters.register_loader("numeric", Numeric)
    adapters.register_loader("json", Json)
    adapters.register_loader("jsonb", Json)
    # The OID of a type from an extension differs between databases.
    with connection.cursor() as cursor:
        for (oid,) in cursor.execute("SELECT oid FROM pg_type WHERE typname IN ('vector', 'halfvec')").fetchall():
            adapters.register_loader(oid, Vector)


def numeric(text: str) -> Any:
    """A decimal, exactly. ``NaN`` and the infinities, which decimals do not have, become floats."""
    from language.values.decimals import parse

    value = parse(text)
    return float(text) if value is None else value
