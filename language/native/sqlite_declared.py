"""Which columns of a result an SQLite schema declares as BOOLEAN, DATE, DATETIME or TIMESTAMP.

SQLite itself has no such values: it stores 0 and 1, and texts.
"""

from __future__ import annotations

import re
import sqlite3

from language.host.sql_text import placeholders, without_comments
from language.values import FALSE, TRUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Declared = tuple[tuple[int, Callable[[Any], Any]], ...]

#: The schema of one database of a connection: ``main``, ``temp`` or an attached one.
_SCHEMA = "SELECT sql FROM {} WHERE type IN ('table', 'view') AND sql IS NOT NULL"
_PLAIN = re.compile(r"CREATE\s+(?:TEMP\s+|TEMPORARY\s+)?(TABLE|VIEW)\b", re.IGNORECASE)
_NAME = r'(?:"(?:[^"]|"")+"|`[^`]+`|\[[^\]]+\]|\w+)'
#: The parts of a statement that begins with ``WITH``: the keyword, and what to skip before the statement that follows the
#: common table expressions.
_WITH = re.compile(r"[\s;]*WITH\b", re.IGNORECASE)
_PASSED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|(?P<sign>[()])|(?P<word>\w+)""")
_WRITING = ("INSERT", "REPLACE", "UPDATE", "DELETE")
_WRITTEN = re.compile(
    r"[\s;]*(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|REPLACE\s+INTO|UPDATE(?:\s+OR\s+\w+)?|DELETE\s+FROM)\s+"
    rf"(?P<table>(?:{_NAME}\s*\.\s*)?{_NAME}).*\bRETURNING\b(?P<columns>.*)",
    re.IGNORECASE | re.DOTALL,
)
#: The most queries of one connection whose columns are cached.
_REMEMBERED = 256
#: Stored value → boolean. Earlier versions stored booleans as texts.
_VALUES = {0: FALSE, 1: TRUE, "false": FALSE, "true": TRUE}


class DeclaredColumns:
    """Looks up the declared types of results.

    The schema is copied into empty in-memory databases of the same names. There the query becomes a view, whose columns have
    the declared types. The statement itself is not executed.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        #: the databases of the connection, each with the version of its schema
        self._version: dict[str, int] | None = None
        self._schema: sqlite3.Connection | None = None
        self._known: dict[str, Declared] = {}

    def of(self, text: str) -> Declared:
        """The positions of such columns in the result of a statement, each with the function that converts its values."""
        execute = self._connection.execute
        names = [row[1] for row in execute("PRAGMA database_list")]
        version = {name: execute(f"PRAGMA {_quoted(name)}.schema_version").fetchone()[0] for name in names}
        if version != self._version:
            self._version = version
            self._known.clear()
            self._read_schema(names)
        if self._schema is None:
            return ()
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            found = self._known[text] = _declared(self._schema, text)
        return found

    def close(self) -> None:
        if self._schema is not None:
            self._schema.close()
            self._schema = None

    def _read_schema(self, names: list[str]) -> None:
        self.close()
        execute = self._connection.execute
        statements = {name: [row[0] for row in execute(_SCHEMA.format(_master(name)))] for name in names}
        if not any(word in statement.lower() for those in statements.values() for statement in those for word in _WORDS):
            return
        self._schema = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        for name, those in statements.items():
            if name not in ("main", "temp"):
                self._schema.execute(f"ATTACH ':memory:' AS {_quoted(name)}")
            for statement in those:
                if begin := _PLAIN.match(statement):
                    try:
                        self._schema.execute(f"CREATE {begin[1]} {_quoted(name)}.{statement[begin.end() :].lstrip()}")
                    except (sqlite3.Error, sqlite3.Warning):
                        continue  # the columns of this table are not converted


def _master(name: str) -> str:
    return "sqlite_temp_master" if name == "temp" else f"{_quoted(name)}.sqlite_master"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _declared(schema: sqlite3.Connection, text: str) -> Declared:
    query = without_comments(text)
    for place in reversed(placeholders(query, "sqlite")):
        query = f"{query[:place]}NULL{query[place + 1 :]}"
    begin = _behind_with(query)
    written = _WRITTEN.match(query, begin)
    if written is not None:
        query = f"{query[:begin]} SELECT {written['columns'].rstrip('; ')} FROM {written['table']}"
    try:
        schema.execute(f'CREATE TEMP VIEW "the result" AS {query}')
        try:
            columns = schema.execute('PRAGMA temp.table_info("the result")').fetchall()
        finally:
            schema.execute('DROP VIEW temp."the result"')
    except (sqlite3.Error, sqlite3.Warning):
        return ()  # a pragma, or another statement that cannot be a view
    return tuple((column[0], _READERS[name]) for column in columns if (name := column[2].upper()) in _READERS)


def _behind_with(query: str) -> int:
    """The position at which the main statement begins after the common table expressions of ``WITH``; 0 without them."""
    begin = _WITH.match(query)
    depth = 0
    for passed in _PASSED.finditer(query, begin.end()) if begin is not None else ():
        if passed["sign"]:
            depth += 1 if passed["sign"] == "(" else -1
        elif depth == 0 and passed["word"] and passed["word"].upper() in _WRITING:
            return passed.start()
    return 0


def boolean(value: Any) -> Any:
    """The value of a column declared BOOLEAN; a value that is not a boolean is returned unchanged."""
    if value.__class__ is int:
        return _VALUES.get(value, value)
    if value.__class__ is str:
        return _VALUES.get(value.lower(), value)
    return value


def _date(value: Any) -> Any:
    from language.values.iso_times import read_date

    found = read_date(value) if value.__class__ is str else None
    return value if found is None else found


def _datetime(value: Any) -> Any:
    from language.values.iso_times import read_datetime

    found = read_datetime(value) if value.__class__ is str else None
    return value if found is None else found


_READERS = {"BOOLEAN": boolean, "BOOL": boolean, "DATE": _date, "DATETIME": _datetime, "TIMESTAMP": _datetime}
#: Every name of such a type contains one of these.
_WORDS = ("bool", "date", "timestamp")
