"""SQL databases: SQLite, PostgreSQL, MySQL. Gate: ``db``; a secret among the values also needs ``reveal``."""

from __future__ import annotations

from language.capabilities.scopes import DbTarget, db_target
from language.errors import RuntimeFault
from language.registry import Family
from language.values import TRUE, Secret, as_map, type_of
from language.values.display import raw_text
from stdlib.native_only import native_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from language.capabilities.scopes import GrantedPath
    from language.host.databases import DatabaseConnection, DatabaseEngine, Databases
    from language.runtime.context import Context
    from language.values import Bool

    Answer = TypeVar("Answer")

family = Family("sql", "SQL databases")

_NO_DRIVERS = "this build has no database drivers"


@family.builtin("db_open(target, mode?)", capability="db", profile="native", context=True)
def db_open(ctx: Context, target: Any, mode: Any = None) -> Bool:
    """Opens a database: `postgres://user:password@host/name`, `mysql://...`, `redis://...`, else the path of an SQLite file.

    Modes of an SQLite file: `readwrite` (the default; makes the file), `readonly`, `memory` (no file at all; its usual path is
    `:memory:`). Opening a database that is open already does nothing; a different login makes another connection. All data
    builtins use the default connection, which is the first one opened that is still open. Needs `require db("PATH")` or
    `require db("postgres://host/name")`.

    A server must answer within 10 seconds. The login comes only from the URL, never from environment variables or files of the
    person who runs the program. PostgreSQL is reached over TLS unless the URL says `?sslmode=disable` (`verify-full` checks the
    certificate), MySQL over TLS with `?ssl-mode=REQUIRED` (`VERIFY_IDENTITY` checks it). Link-local addresses and those of
    metadata services need a grant that names them. The drivers come with `pip install 'ceiling-lang[postgres]'`,
    `'ceiling-lang[mysql]'`, `'ceiling-lang[redis]'`.

    `db_open("app.db")`
    """
    databases = _databases(ctx, "db_open")
    wanted = _target(ctx, "db_open", target)
    how = _mode("db_open", mode)
    place = ctx.check_db(wanted)
    from language.values.json_decoding import decode

    capabilities = ctx.capabilities
    databases.open(
        wanted,
        place,
        how,
        lambda text: decode(text, "sql"),
        lambda address, _: capabilities.check_db_address(wanted, address),
    )
    return TRUE


@family.builtin("db_close(target?)", profile="native", context=True)
def db_close(ctx: Context, target: Any = None) -> Bool:
    """Closes that connection, or the default one; the oldest that remains becomes the default. A URL without login, port and
    options closes all connections to its database. An unknown target does nothing.
    """
    databases = _databases(ctx, "db_close")
    databases.close(None if target is None else db_target(_plain(target)))
    return TRUE


@family.builtin("sql(query, params?)", capability="db", profile="native", context=True)
def sql(ctx: Context, query: Any, params: Any = None) -> list[Any]:
    """The rows of a query as a list of maps, columns in order; of two columns with one name the last counts.

    `?` in the query stands for the next value of the list `params`, whatever the database: the only safe way to pass values.
    SQLite stores true and false as 1 and 0, and gives them back as booleans from columns that the schema declares `BOOLEAN`;
    decimals, lists and maps it stores as their display text. PostgreSQL and MySQL take booleans, decimals and bytes as they
    are, and texts can be cast (`?::jsonb`). From a server come also decimals, booleans, JSON as maps and lists, arrays as
    lists, UUIDs as text. Dates and datetimes are written and read as such (PostgreSQL gives a `timestamptz` the offset of the
    connection, MySQL stores no zones); in SQLite they are texts, given back as values from columns that the schema declares
    `DATE`, `DATETIME` or `TIMESTAMP`. A duration is an `interval` of PostgreSQL, and an `interval` is a duration, its days of
    24 hours; one with months or years is an error, as they have no fixed length: ask for `column::text`. In MySQL a duration is
    a `TIME` of at most 838:59:59.999999 either way, and a `TIME` is a duration. A secret among the values needs
    `require reveal("NAME")`.

    `sql("SELECT name FROM users WHERE age > ?", [17])`
    """
    return all_rows(ctx, "sql", query, params)


@family.builtin("sql_exec(stmt, params?)", capability="db", profile="native", context=True)
def sql_exec(ctx: Context, stmt: Any, params: Any = None) -> dict[str, int]:
    """Runs one statement: `{rows_affected, last_id}`, where `last_id` is SQLite's row id or MySQL's insert id (PostgreSQL: 0).

    Statements take effect at once. After `sql_exec("BEGIN")` the connection is reserved to this run, request or job up to
    `COMMIT` or `ROLLBACK`; a transaction that is still open when it ends is rolled back. In SQLite, `ATTACH 'path' AS name`
    and `VACUUM INTO 'path'` need the capability `db` of that path, and a statement that returns rows (`RETURNING`) is for
    `sql`.

    `sql_exec("INSERT INTO users VALUES (?, ?)", ["Ann", 31])`
    """
    values, text = _values(ctx, "sql_exec", params), raw_text(stmt)
    try:
        affected, last = _call(ctx, "sql_exec", lambda engine: engine.execute("sql_exec", text, [values], _asker(ctx)))
    except RuntimeFault as fault:
        raise _of_a_map(fault, "sql_exec", params) from None
    return {"rows_affected": affected, "last_id": last}


@family.builtin("sql_batch(stmt, rows)", capability="db", profile="native", context=True)
def sql_batch(ctx: Context, stmt: Any, rows: Any) -> dict[str, int]:
    """Runs one statement for each list of values: `{rows_affected}` in total. No transaction of its own: rows before one that
    fails stay.

    `sql_batch("INSERT INTO users VALUES (?, ?)", [["Ann", 31], ["Bo", 4]])`
    """
    _databases(ctx, "sql_batch")
    if type(rows) is not list:
        raise RuntimeFault(
            f"sql_batch: the second argument must be a list of parameter lists, got {type_of(rows)}", kind="type"
        )
    lists, text = [_values(ctx, "sql_batch", row) for row in rows], raw_text(stmt)
    affected, _ = _call(ctx, "sql_batch", lambda engine: engine.execute("sql_batch", text, lists, _asker(ctx)))
    return {"rows_affected": affected}


@family.builtin("sql_tables()", capability="db", profile="native", context=True)
def sql_tables(ctx: Context) -> list[str]:
    """The names of the tables, sorted; of PostgreSQL without those of the system."""
    return _call(ctx, "sql_tables", lambda engine: engine.tables())


def all_rows(ctx: Context, builtin: str, query: Any, params: Any) -> list[Any]:
    """The rows of a query given as language values. Raises ``RuntimeFault`` beginning with the builtin's name."""
    values, text = _values(ctx, builtin, params), raw_text(query)
    try:
        return _call(ctx, builtin, lambda engine: engine.rows(builtin, text, values, _asker(ctx)))
    except RuntimeFault as fault:
        raise _of_a_map(fault, builtin, params) from None


def _of_a_map(fault: RuntimeFault, builtin: str, params: Any) -> RuntimeFault:
    """The error of a statement that lacks values; its help says that a map gives none, if one was given."""
    from language.host.databases import BY_PLACE

    if as_map(params) is not None and fault.help == BY_PLACE.format(builtin):
        fault.help = (
            "a map gives no values here: write `?` in place of each name, and the values in their order as a list, "
            f"`{builtin}(statement, [a, b])`"
        )
    return fault


def page(ctx: Context, query: Any, params: Any, limit: int, offset: int) -> tuple[list[Any], int]:
    """One page of a query without ``LIMIT``: its rows and how many there are in all. Raises ``RuntimeFault``."""
    values, text = _values(ctx, "paged", params), raw_text(query)

    def work(engine: DatabaseEngine) -> tuple[list[Any], int]:
        ask = _asker(ctx)
        # On a new line: the query may end in a comment.
        counted = engine.rows("paged", f"SELECT COUNT(*) AS _c FROM ({text}\n) AS _sub", values, ask)
        rows = engine.rows("paged", f"{text}\nLIMIT ? OFFSET ?", [*values, limit, offset], ask)
        return rows, counted[0]["_c"]

    return _call(ctx, "paged", work)


# ---- parts -------------------------------------------------------------------------------------------------------------


def connection_of(ctx: Context, builtin: str, kind: str) -> DatabaseConnection:
    """The default connection; its scope, and those attached to it, are checked again. ``kind`` is ``sql`` or ``redis``."""
    connection = _databases(ctx, builtin).default
    if connection.engine.family != kind:
        wanted = "an SQL database" if kind == "sql" else "Redis"
        raise RuntimeFault(f"{builtin}: the default connection, {connection.target.scope}, is not {wanted}")
    if ctx.capabilities.depth:
        ctx.check_db(connection.target)  # a sandbox may grant the file differently than db_open
    else:
        ctx.check("db", connection.target.scope)
    for scope in connection.engine.further_scopes():
        ctx.check("db", scope)
    return connection


def _call(ctx: Context, builtin: str, work: Callable[[DatabaseEngine], Answer]) -> Answer:
    return connection_of(ctx, builtin, "sql").call(ctx.lifetime, work)


def _databases(ctx: Context, builtin: str) -> Databases:
    databases = ctx.host.databases
    if databases is None:
        raise native_only(builtin, _NO_DRIVERS)
    return databases


def _target(ctx: Context, builtin: str, target: Any) -> DbTarget:
    """The target of a URL or path; the URL may be a secret, because it may contain a password."""
    if type(target) is not str and type(target) is not Secret:
        raise RuntimeFault(f"{builtin}() expects a path or URL as text, got {type_of(target)}", kind="type")
    text = _plain(target)
    if type(target) is Secret and "://" not in text:
        raise RuntimeFault(f"{builtin}: only a URL can be a secret: the path of a file is shown in errors and in the audit")
    return db_target(text)


def _plain(target: Any) -> str:
    text = target.plaintext if type(target) is Secret else target
    return text if type(text) is str else raw_text(target)


def _mode(builtin: str, mode: Any) -> str:
    from language.host.databases import MODES

    if mode is None:
        return MODES[0]
    if mode not in MODES:
        raise RuntimeFault(f"{builtin}: unknown mode {raw_text(mode)} (one of: {', '.join(MODES)})")
    return str(mode)


def _values(ctx: Context, builtin: str, params: Any) -> list[Any]:
    """The values to bind. An argument that is not a list counts as no values."""
    _databases(ctx, builtin)  # checked first: whether there are databases at all
    if type(params) is not list:
        return []
    if any(type_of(value) == "array" for value in params):  # the text of an array may leave out elements
        params = [value.to_list() if type_of(value) == "array" else value for value in params]
    if any(type(value) is Secret for value in params):
        from stdlib.sealing import unsealed

        return [unsealed(ctx, value) if type(value) is Secret else value for value in params]
    return list(params)


def _asker(ctx: Context) -> Callable[[str], GrantedPath | None]:
    return lambda path: ctx.check_db(db_target(path))
