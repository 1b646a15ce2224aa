"""MySQL and MariaDB, over PyMySQL."""

from __future__ import annotations

import select
from io import BufferedReader, RawIOBase
from math import isfinite

from language.errors import RuntimeFault
from language.host.databases import CONNECT_SECONDS, DatabaseEngine, wrong_count
from language.host.sql_text import placeholders
from language.native.outgoing import connect
from language.native.server_url import UNREADABLE, login_by_name, missing, options, unreadable
from language.values import Bool, to_bool
from language.values.decimals import Dec
from language.values.display import display, number_text
from language.waits import POLLING_INTERVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from language.capabilities.scopes import DbTarget, GrantedPath
    from language.host.databases import AddressCheck

#: Authentication methods that send the password in plain text, or in a form that is easily reversed.
_UNPROTECTED = ("mysql_clear_password", "dialog", "mysql_old_password")

_TLS = ("DISABLED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")

_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"


class MySQLEngine(DatabaseEngine):
    """One connection to a MySQL server. It is opened again when it was lost between two statements."""

    def __init__(self, target: DbTarget, from_json: Callable[[str], Any], check: AddressCheck) -> None:
        try:
            import pymysql  # type: ignore[import-untyped]
            from pymysql.constants import CR, FIELD_TYPE, SERVER_STATUS  # type: ignore[import-untyped]
        except ImportError:
            raise missing("pymysql", "mysql") from None
        self._pymysql: Any = pymysql
        self._lost = frozenset({CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST})
        self._status = SERVER_STATUS
        mode = options(target, ("ssl-mode",)).get("ssl-mode", "DISABLED").upper()
        if mode not in _TLS:
            raise RuntimeFault(f'db_open: unknown ssl-mode "{mode}" (one of: {", ".join(_TLS)})')
        user, password = login_by_name(target)
        self._check = check
        self._parts: dict[str, Any] = {
            "host": target.host,
            "port": target.port or 3306,
            "user": user,
            "password": password,
            "database": target.database,
            "connect_timeout": CONNECT_SECONDS,
            "read_timeout": CONNECT_SECONDS,  # until the login is complete; `connect_timeout` covers the TCP connection only
            "charset": "utf8mb4",
            "autocommit": True,
            # Ignores the user's option files, and refuses the server's requests for files of this machine.
            "read_default_file": None,
            "local_infile": False,
            "conv": _decoders(FIELD_TYPE, from_json),
            "defer_connect": True,
            "auth_plugin_map": dict.fromkeys(_UNPROTECTED, _unprotected(pymysql.OperationalError)),
        }
        if mode == "DISABLED":
            self._parts["ssl_disabled"] = True
        else:
            self._parts["ssl"] = _tls(mode)
        self._tiny = FIELD_TYPE.TINY
        self._connection = self._connect()

    def _connect(self) -> Any:
        connection = self._pymysql.connect(**self._parts)
        try:
            connection.connect(_connected(self._parts, self._check))
        except (self._pymysql.Error, OSError) as error:
            raise _fault(error) from None
        except UNREADABLE as error:
            raise unreadable(error) from None
        connection._read_timeout = None
        connection._rfile = BufferedReader(_InterruptibleReader(connection._sock))
        if "ssl" in self._parts and not connection._secure:
            connection.close()
            raise RuntimeFault("db_open: the server does not offer TLS, which ssl-mode asks for", kind="network")
        return connection

    def rows(self, builtin: str, text: str, values: Sequence[Any], ask: Callable[[str], GrantedPath | None]) -> list[Any]:
        with self._run(builtin, text, values) as cursor:
            if cursor.description is None:
                return []
            names = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
            truths = [at for at, column in enumerate(cursor.description) if column[1] == self._tiny and column[3] == 1]
            if truths:  # `BOOL` and `BOOLEAN` are stored as this type
                rows = [_with_truths(row, truths) for row in rows]
            return [dict(zip(names, row)) for row in rows]

    def execute(
        self, builtin: str, text: str, lists: Iterable[Sequence[Any]], ask: Callable[[str], GrantedPath | None]
    ) -> tuple[int, int]:
        affected = last = 0
        for values in lists:
            with self._run(builtin, text, values) as cursor:
                if cursor.description is None:
                    affected += max(cursor.rowcount, 0)
                last = cursor.lastrowid or 0
        return affected, last

    def tables(self) -> list[str]:
        with self._run("sql_tables", _TABLES, ()) as cursor:
            return sorted(row[0] for row in cursor.fetchall())

    def _run(self, builtin: str, text: str, values: Sequence[Any]) -> Any:
        if not self._connection.open:
            self._connection = self._connect()
        connection = self._connection
        plain = bool(connection.server_status & self._status.SERVER_STATUS_NO_BACKSLASH_ESCAPES)
        places = placeholders(text, "mysql-plain" if plain else "mysql")
        if len(places) != len(values):
            raise wrong_count(builtin, len(places), len(values))
        cursor = connection.cursor()
        try:
            parts: list[str] = []
            done = 0
            for place, value in zip(places, values):
                parts += (text[done:place], _literal(value))
                done = place + 1
            cursor.execute("".join([*parts, text[done:]]))
        except (self._pymysql.Error, OSError) as error:
            cursor.close()
            if not isinstance(error, self._pymysql.Error) or (error.args[:1] and error.args[0] in self._lost):
                self.close()
            raise _fault(error) from None
        except UNREADABLE as error:
            connection._force_close()
            raise unreadable(error) from None
        except BaseException:
            # Cancelled in the middle of a reply: its rest must not be read as the next one. The server ends the statement when
            # it finds the connection closed.
            connection._force_close()
            raise
        return cursor

    @property
    def in_transaction(self) -> bool:
        connection = self._connection
        return bool(connection.open and connection.server_status & self._status.SERVER_STATUS_IN_TRANS)

    def roll_back(self) -> None:
        try:
            self._connection.rollback()
        except (self._pymysql.Error, OSError):
            self.close()

    def close(self) -> None:
        if self._connection.open:
            try:
                self._connection.close()
            except (self._pymysql.Error, OSError):
                return  # the server has closed the connection


def _connected(parts: Any, check: AddressCheck) -> socket.socket:
    return connect(parts["host"], parts["port"], check, CONNECT_SECONDS, capability="db")


class _InterruptibleReader(RawIOBase):
    """Reads from a connection in waits of one polling interval: no exception is delivered to a thread that is blocked in the
    system.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        sock = self._socket
        over_tls = getattr(sock, "pending", None)
        if over_tls is None or not over_tls():
            poll = select.poll()
            poll.register(sock.fileno(), select.POLLIN)
            while not poll.poll(POLLING_INTERVAL * 1000):
                pass
        return sock.recv_into(buffer)


def _unprotected(error: Any) -> Any:
    """Answers a server that asks for the password by an unprotected method. The password is sent only over TLS."""

    class Unprotected:
        def __init__(self, connection: Any) -> None:
            self._connection = connection

        def authenticate(self, packet: Any) -> Any:
            connection = self._connection
            if not connection._secure or packet.is_extra_auth_data():
                raise error(
                    0, "the server asks for the password in clear text, which it gets only over TLS (?ssl-mode=REQUIRED)"
                )
            connection.write_packet(connection.password + b"\0")
            answer = connection._read_packet()
            answer.check_error()
            return answer

    return Unprotected


def _fault(error: Exception) -> RuntimeFault:
    """The server's message. An error of the protocol is a pair of number and text."""
    return RuntimeFault(str(error.args[1] if len(error.args) > 1 else error), kind="database")


def _literal(value: Any) -> str:
    """A value as an SQL literal."""
    kind = value.__class__
    if kind is Bool:
        return "TRUE" if value else "FALSE"
    if kind is Dec:
        return display(value)
    if kind is bytes:
        return f"X'{value.hex()}'"
    if kind is int:
        return number_text(value)
    if kind is float:
        if not isfinite(value):
            raise RuntimeFault(f"MySQL has no number {display(value)}")
        return f"{value!r}e0" if "e" not in repr(value) else repr(value)
    if value is None:
        return "NULL"
    if getattr(kind, "language_type", None) == "duration":
        from language.native.database_times import clock_text

        return f"TIME'{clock_text(value)}'"
    return _quoted(value if kind is str else _written(value))


def _written(value: Any) -> str:
    """The text of a value without a literal of its own."""
    if getattr(value.__class__, "language_type", None) == "datetime":
        if value.zone is not None:
            raise RuntimeFault(
                "MySQL has no datetimes with a time zone: store the clock of one zone, "
                'parse_datetime(format_time(to_timezone(x, "UTC"), "%FT%T.%f"))',
                kind="database",
            )
        return value.display().replace("T", " ")  # type: ignore[no-any-return]
    return display(value)


def _quoted(text: str) -> str:
    """A text as a literal that has the same meaning in every character set and SQL mode that a program can choose.

    Escaping by backslashes is not safe: in GBK a backslash can be the second byte of a character.
    """
    if text.isascii() and text.isprintable() and not ("'" in text or "\\" in text):
        return f"'{text}'"
    return f"_utf8mb4 X'{text.encode('utf-8', 'replace').hex()}'"


def _with_truths(row: tuple[Any, ...], truths: list[int]) -> tuple[Any, ...]:
    values = list(row)
    for at in truths:
        if values[at] is not None:
            values[at] = to_bool(values[at])
    return tuple(values)


def _tls(mode: str) -> Any:
    import ssl

    from language.native.tls_socket import TlsSocket

    context = ssl.create_default_context()
    context.sslsocket_class = TlsSocket
    context.check_hostname = mode == "VERIFY_IDENTITY"
    if mode == "REQUIRED":
        context.verify_mode = ssl.CERT_NONE
    return context


def _decoders(types: Any, from_json: Callable[[str], Any]) -> dict[Any, Any]:
    """How columns of each type become values. A type that is not named here stays text or bytes."""
    from pymysql.converters import encoders  # type: ignore[import-untyped]

    from language.native.database_times import clock_column, date_column, datetime_column

    def decimal(text: str) -> Any:
        from language.values.decimals import parse

        return parse(text)

    integers = (types.TINY, types.SHORT, types.INT24, types.LONG, types.LONGLONG, types.YEAR)
    return {
        **encoders,
        **dict.fromkeys(integers, int),
        types.FLOAT: float,
        types.DOUBLE: float,
        types.DATE: date_column,
        types.DATETIME: datetime_column,
        types.TIMESTAMP: datetime_column,
        types.TIME: clock_column,
        types.DECIMAL: decimal,
        types.NEWDECIMAL: decimal,
        types.JSON: from_json,
    }
