"""SQLite files, confined: a statement can reach only the files that were granted.

The guard is SQLite's authorizer, which is called for each action of a statement when it is prepared. The text of the
statement is not parsed.
"""

from __future__ import annotations

import os
import re
import sqlite3
from _thread import allocate_lock

from language.capabilities.scopes import is_inside, normal_path
from language.errors import RuntimeFault
from language.host.databases import BY_PLACE, DatabaseEngine, wrong_count
from language.host.sql_text import first_word, placeholders, without_comments
from language.native.sqlite_declared import DeclaredColumns
from language.values import Bool
from language.values.display import display
from language.waits import interruptible_wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from language.capabilities.scopes import GrantedPath

_OK = sqlite3.SQLITE_OK
_DENY = sqlite3.SQLITE_DENY

#: Pragmas that name a folder or a library, or that act on other databases of the process too.
REFUSED_PRAGMAS = frozenset({"temp_store_directory", "data_store_directory", "hard_heap_limit", "soft_heap_limit"})
REFUSED_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "fsdir", "zipfile"})
KNOWN_MODULES = frozenset({"fts3", "fts3tokenize", "fts4", "fts4aux", "fts5", "fts5vocab", "rtree", "rtree_i32", "geopoly"})

_LARGEST = 2**63
#: How many instructions of SQLite's virtual machine run between two cancellation points.
_STEPS = 100_000
_BUSY_SECONDS = 5.0
#: Seconds within which a cancellation is raised again. Cancellation is repeated until the program has ended.
_RAISED_AGAIN_SECONDS = 2.0
_ROW_WORDS = frozenset({"SELECT", "VALUES", "EXPLAIN"})
_WRITE_WORDS = frozenset({"INSERT", "REPLACE", "UPDATE", "DELETE", "WITH"})
_VACUUM_INTO = re.compile(r"""[\s;]*VACUUM\b(?:\s+(?:\w+|"[^"]*"))??\s+INTO\s*'[^']*(?:''[^']*)*'[\s;]*\Z""", re.IGNORECASE)
_INTO = re.compile(r"\bINTO\b", re.IGNORECASE)

#: The bytes that end a journal of a transaction over several files (https://www.sqlite.org/fileformat.html).
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")


class SQLiteEngine(DatabaseEngine):
    """One SQLite database. ``place`` is ``None`` for one in memory."""

    def __init__(self, place: GrantedPath | None, *, readonly: bool) -> None:
        self._readonly = readonly
        self._ask: Callable[[str], GrantedPath | None] | None = None
        self._attaching = False
        self._refusal: RuntimeFault | None = None
        #: granted to the running statement: text as written → the place it must lie in
        self._granted: list[tuple[str, GrantedPath | None]] = []
        #: schema name → scope
        self._attached: dict[str, str] = {}
        self._files: list[str] = []
        try:
            self._connection = self._open(place)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise RuntimeFault(str(error), kind="database") from None
        self._declared = DeclaredColumns(self._connection)
        self._connection.set_authorizer(self._authorize)
        self._connection.set_progress_handler(_go_on, _STEPS)

    def _open(self, place: GrantedPath | None) -> sqlite3.Connection:
        if place is None:
            return _connect(":memory:", uri=False)
        from urllib.parse import quote

        # Resolves symbolic links before opening. The result is checked again, because a link may have been created meanwhile.
        real = os.path.realpath(place.path)
        _stay(real, place)
        _check_journal(real)
        uri = f"file:{quote(real, errors='surrogateescape')}?mode={'ro' if self._readonly else 'rwc'}"
        connection = _connect(uri, uri=True)
        try:
            _stay(connection.execute("PRAGMA database_list").fetchone()[2], place)
        except BaseException:
            connection.close()
            raise
        self._files.append(real)
        return connection

    # ---- statements -----------------------------------------------------------------------------------------------------

    def rows(self, builtin: str, text: str, values: Sequence[Any], ask: Callable[[str], GrantedPath | None]) -> list[Any]:
        def fetch(cursor: sqlite3.Cursor) -> list[Any]:
            described = cursor.description
            if described is None:
                return []
            names = [column[0] for column in described]
            declared = self._declared.of(text)
            if not declared:
                return [dict(zip(names, row)) for row in cursor]
            rows = []
            for values in cursor:
                row = list(values)
                for place, read in declared:
                    row[place] = read(row[place])
                rows.append(dict(zip(names, row)))
            return rows

        rows: list[Any] = self._run(builtin, text, values, ask, fetch)
        return rows

    def execute(
        self, builtin: str, text: str, lists: Iterable[Sequence[Any]], ask: Callable[[str], GrantedPath | None]
    ) -> tuple[int, int]:
        word = first_word(text)
        if self._returns_rows(word, text):
            raise RuntimeFault(f"{builtin}: this statement returns rows — read them with sql()")
        affected = last = 0

        def count(cursor: sqlite3.Cursor) -> int:
            nonlocal last
            last = cursor.lastrowid or 0
            if word == "WITH":  # Python counts no changed rows for it
                return int(self._connection.execute("SELECT changes()").fetchone()[0])
            return max(cursor.rowcount, 0)

        for values in lists:
            affected += self._run(builtin, text, values, ask, count)
        return affected, last

    def tables(self) -> list[str]:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        return sorted(self._run("sql_tables", query, (), _ask_nobody, lambda cursor: [row[0] for row in cursor]))

    def _run(
        self,
        builtin: str,
        text: str,
        values: Sequence[Any],
        ask: Callable[[str], GrantedPath | None],
        finish: Callable[[sqlite3.Cursor], Any],
    ) -> Any:
        for file in self._files:
            _check_journal(file)
        word = first_word(text)
        self._ask = ask
        self._attaching = word in ("ATTACH", "VACUUM")
        self._refusal = None
        self._granted.clear()
        connection = self._connection
        if self._attaching:
            if word == "VACUUM":
                _check_vacuum(text)
            # makes SQLite prepare cached statements again, and so call the authorizer for them
            connection.set_authorizer(self._authorize)
        cursor = connection.cursor()
        try:
            cursor.execute(text, [_bound(value) for value in values])
            answer = finish(cursor)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise self._fault(builtin, text, values, error) from None
        finally:
            cursor.close()
            self._ask = None
            self._attaching = False
        if word in ("ATTACH", "DETACH"):
            self._note_attached()
        return answer

    def _returns_rows(self, word: str, text: str) -> bool:
        if word in _ROW_WORDS:
            return True
        if word == "PRAGMA" or (word in _WRITE_WORDS and (word == "WITH" or "returning" in text.lower())):
            try:
                plan = self._connection.execute("EXPLAIN " + text.lstrip("; \t\r\n\f\ufeff")).fetchall()
            except (sqlite3.Error, sqlite3.Warning):
                return False  # SQLite itself reports the error
            return any(step[1] == "ResultRow" for step in plan)
        return False

    def _fault(self, builtin: str, text: str, values: Sequence[Any], error: Exception) -> RuntimeFault:
        if self._refusal is not None:
            return self._refusal
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            _wait_for_cancellation()
        if isinstance(error, sqlite3.ProgrammingError):
            wanted = len(placeholders(text, "sqlite"))
            if wanted != len(values) and "bindings" in str(error):
                return wrong_count(builtin, wanted, len(values))
        help_ = BY_PLACE.format(builtin) if "bindings" in str(error) else ""
        return RuntimeFault(str(error), kind="database", help=help_)

    # ---- what a statement may reach -------------------------------------------------------------------------------------

    def _authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_FUNCTION:
            if second is not None and second.lower() in REFUSED_FUNCTIONS:
                return self._refuse(f"the function {second.lower()} is not available: it reaches outside the database")
        elif action == sqlite3.SQLITE_PRAGMA:
            if first is not None and first.lower() in REFUSED_PRAGMAS:
                return self._refuse(f"PRAGMA {first.lower()} is not available: it reaches outside the database")
        elif action == sqlite3.SQLITE_ATTACH:
            try:
                self._check_attached(first)
            except RuntimeFault as fault:
                self._refusal = fault
                return _DENY
        elif action == sqlite3.SQLITE_CREATE_VTABLE and second is not None and second.lower() not in KNOWN_MODULES:
            return self._refuse(f"the virtual table module {second} is not available")
        return _OK

    def _refuse(self, why: str) -> int:
        self._refusal = RuntimeFault(why)
        return _DENY

    def _check_attached(self, path: str | None) -> None:
        if path is None:
            raise RuntimeFault("ATTACH needs the path as a literal text in the statement")
        if not self._attaching or self._ask is None:
            raise RuntimeFault("a file is attached by a statement of its own: ATTACH 'path' AS name")
        if path == "":
            self._granted.append((path, None))  # a temporary database of SQLite's own; VACUUM uses one
            return
        plain = "\\" not in path and ".." not in path.split("/") and "://" not in path
        if not plain or path.lower().startswith("file:") or (path != ":memory:" and normal_path(path) == ":memory:"):
            raise RuntimeFault("the path of ATTACH and VACUUM INTO must be plain: without `..`, backslash or URL")
        place = self._ask(path)
        if place is not None:
            _check_journal(os.path.realpath(place.path))
        self._granted.append((path, place))

    def _note_attached(self) -> None:
        listed = {row[1]: row[2] for row in self._connection.execute("PRAGMA database_list")}
        for name in [name for name in self._attached if name not in listed]:
            del self._attached[name]
        fresh = [name for name in listed if name not in self._attached and name not in ("main", "temp")]
        for name in fresh:  # there is at most one
            path, place = self._granted[0]
            try:
                if place is not None:
                    _stay(listed[name], place)
            except RuntimeFault:
                self._connection.execute(f'DETACH "{name.replace(chr(34), chr(34) * 2)}"')
                raise
            self._attached[name] = path if place is None else place.path
        self._files = [file for name, file in listed.items() if file and name != "temp"]

    def further_scopes(self) -> Iterable[str]:
        return [scope for scope in self._attached.values() if scope]

    # ---- transactions ---------------------------------------------------------------------------------------------------

    @property
    def in_transaction(self) -> bool:
        try:
            return self._connection.in_transaction
        except sqlite3.ProgrammingError:
            return False  # closed

    def roll_back(self) -> None:
        try:
            self._connection.rollback()
        except sqlite3.Error:
            self.close()

    def close(self) -> None:
        self._declared.close()
        try:
            self._connection.close()
        except sqlite3.Error:
            return  # the connection is no longer used, whether it could be closed or not


def _connect(name: str, *, uri: bool) -> sqlite3.Connection:
    # Autocommit mode: Python begins no transactions. A lock of this class replaces Python's check of the thread.
    return sqlite3.connect(name, uri=uri, isolation_level=None, check_same_thread=False, timeout=_BUSY_SECONDS)


def _go_on() -> int:
    return 0  # the call itself is the cancellation point


def _wait_for_cancellation() -> None:
    """Waits until the cancellation that ended a statement is raised again. SQLite has discarded the exception, and the program
    must not continue with an error of the statement instead.
    """
    never = allocate_lock()
    never.acquire()
    interruptible_wait(never, _RAISED_AGAIN_SECONDS)


def _ask_nobody(path: str) -> GrantedPath | None:
    raise RuntimeFault("not authorized", kind="capability")


def _bound(value: Any) -> Any:
    kind = value.__class__
    if kind is str or kind is float or kind is bytes or value is None:
        return value
    if kind is int and -_LARGEST <= value < _LARGEST:
        return value
    if getattr(kind, "language_type", None) == "datetime" and value.zone is not None:
        from language.native.database_times import utc_text

        return utc_text(value)
    return int(bool(value)) if kind is Bool else display(value)


def _stay(real: str, place: GrantedPath) -> None:
    """Refuses a file that lies outside of the granted place."""
    if place.within is not None and not is_inside(real, place.within):
        raise RuntimeFault(
            f'Capability not granted: db("{place.path}") — symbolic link leaves the granted path', kind="capability"
        )


def _check_vacuum(text: str) -> None:
    """Refuses ``VACUUM INTO`` of an expression. With a literal path, whoever reads the program sees which file is written."""
    bare = without_comments(text)
    quoted = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]", "''", bare)
    if _INTO.search(quoted) and not _VACUUM_INTO.match(bare):
        raise RuntimeFault("VACUUM INTO needs the path as a literal text in the statement")


def _check_journal(file: str) -> None:
    """Refuses a journal that would delete a file other than this database's own when SQLite replays it.

    SQLite writes the name of such a file when a transaction spans several databases. Anybody who may write beside a database
    could put any name there.
    """
    journal = file + "-journal"
    try:
        with open(journal, "rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            if size < 16:
                return
            opened.seek(-16, os.SEEK_END)
            tail = opened.read(16)
            length = int.from_bytes(tail[:4], "big")
            if tail[8:] != _JOURNAL_MAGIC or not length:
                return
            opened.seek(max(size - 16 - length, 0))
            name = opened.read(length)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RuntimeFault(f"cannot read the journal of the database: {error.strerror}", kind="file") from None
    if not name.startswith(os.fsencode(file) + b"-mj") or b"/" in name[len(os.fsencode(file)) :]:
        raise RuntimeFault(
            "the journal of this database names another file: recover it with the sqlite3 tool first", kind="file"
        )
