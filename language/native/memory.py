"""Memories in SQLite files, one file for each declared name (``docs/memory.md``).

Every write is durable when it returns. Ids are assigned inside the transaction of the write, because workers, requests and
other processes share a store.
"""

from __future__ import annotations

import os
import sqlite3

from language.host import memory_ranking as ranking
from language.host.memory import MemoryEntry, Query, Rule, failed, number_of
from language.native.memory_file import MemoryFile
from language.native.memory_progress import StoredProgress
from language.native.memory_schema import folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Answer = TypeVar("Answer")

_COLUMNS = "m.id, m.category, m.content, m.tags, m.source, m.updated_at, m.key, m.about, m.expires_at"
_VISIBLE = "m.active = 1 AND m.about = ? AND (m.expires_at IS NULL OR m.expires_at > ?)"
_NEWEST = "ORDER BY m.updated_at DESC, m.id DESC LIMIT ?"
#: A search through the full-text index. CROSS JOIN prevents SQLite from scanning the entries first.
_BY_TEXT = "memory_text CROSS JOIN memory AS m ON m.id = memory_text.rowid WHERE memory_text MATCH ? AND"
_PUT = """
INSERT INTO memory (category, content, folded, tags, source, created_at, updated_at, about, key, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (source, about, key) WHERE active = 1 AND key IS NOT NULL DO UPDATE SET category = excluded.category,
  content = excluded.content, folded = excluded.folded, tags = excluded.tags, updated_at = excluded.updated_at,
  expires_at = excluded.expires_at
RETURNING id
"""
#: If the index finds this many entries for a text, the entries are scanned instead, the newest first: the scan soon has enough
#: results.
_MANY = 2000
#: The most expired entries that one write removes.
_EXPIRED_AT_ONCE = 20
#: Only this many first characters of a text are looked up in the index. The whole text is compared afterwards.
_INDEXED = 64
#: The greatest integer of SQLite.
_MOST_ROWS = 2**63 - 1


def folder_of(program: str) -> str:
    """The folder of a program's memories: ``PLATFORM_STATE_DIR``, else the folder of the program."""
    named = os.environ.get("PLATFORM_STATE_DIR")
    if named:
        return named
    beside = os.path.dirname(program) if os.path.isfile(program) else ""
    return os.path.join(beside or ".", ".lang", "state")


class SqliteMemory(StoredProgress):
    """The store of one name in a folder. The file is created at the first use. Safe to use from many threads."""

    def __init__(self, folder: str, name: str) -> None:
        self._name = name
        # The working directory of the process may change.
        self._file = MemoryFile(os.path.abspath(folder), name)

    # ---- entries --------------------------------------------------------------------------------------------------------

    def add(self, entry: MemoryEntry, now: float) -> str:
        import json

        content = entry.content
        values = (
            *(entry.category, content, folded(content), json.dumps(entry.tags), entry.source, now, now, entry.about),
            *(entry.key, entry.expires),
        )

        def act(connection: sqlite3.Connection) -> str:
            connection.execute(
                "DELETE FROM memory WHERE id IN (SELECT id FROM memory WHERE expires_at <= ? LIMIT ?)", (now, _EXPIRED_AT_ONCE)
            )
            return f"mem_{connection.execute(_PUT, values).fetchall()[0][0]}"

        return self._change(act)

    def search(self, query: Query, now: float) -> list[MemoryEntry]:
        where, values = [_VISIBLE], [query.about, now]
        if query.category is not None:
            where.append("m.category = ?")
            values.append(query.category)
        if query.source is not None:
            where.append("m.source = ?")
            values.append(query.source)
        if query.tags:
            import json

            where.append(_EVERY_TAG if query.every_tag else _ANY_TAG)
            values.append(json.dumps(query.tags))
        origin = "memory AS m WHERE"
        indexed: list[Any] = []
        if query.search:
            wanted = folded(query.search)
            where.append("instr(m.folded, ?) > 0")
            values.append(wanted)
            if _is_indexed(wanted) and self._is_rare(wanted, query.about):
                origin, indexed = _BY_TEXT, [_phrase(wanted)]
        condition = " AND ".join(where)
        limit = min(query.limit, _MOST_ROWS)
        return self._entries(f"SELECT {_COLUMNS} FROM {origin} {condition} {_NEWEST}", (*indexed, *values, limit))

    def ranked(self, words: list[str], about: str, limit: int, now: float) -> list[MemoryEntry]:
        # If there are few entries, each is compared with the words, because the index covers the entries about everybody.
        if self._is_few(about):
            few = self._entries(f"SELECT {_COLUMNS} FROM memory AS m WHERE {_VISIBLE} {_NEWEST}", (about, now, _MANY))
            return ranking.best(few, ranking.useful(ranking.frequencies_in(few, words), len(few)), limit)
        # Counted from the index alone, expired entries included: leaving them out would take longer than all the rest.
        text = "SELECT count(*) FROM (SELECT 1 FROM memory WHERE active = 1 AND about = ? LIMIT ?)"
        total = self._read(text, (about, ranking.MOST_COUNTED))[0][0]
        weights = ranking.useful({word: self._frequency(word, about, now) for word in words}, total)
        candidates: dict[str, MemoryEntry] = {}
        for word in sorted(weights, key=lambda word: -weights[word]):  # the rarest word first
            if len(candidates) >= ranking.COMMON:
                break
            origin, indexed, order = _holding(word)
            text = f"SELECT {_COLUMNS} FROM {origin} {_VISIBLE} AND instr(m.folded, ?) > 0 {order}"
            values = (*indexed, about, now, word, ranking.COMMON)
            candidates.update((entry.id, entry) for entry in self._entries(text, values))
        return ranking.best(candidates.values(), weights, limit)

    def forget(self, identifiers: list[str], erase: bool, now: float) -> None:
        numbers = [number for number in map(number_of, identifiers) if number]

        def hide(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "UPDATE memory SET active = 0, updated_at = ? WHERE id = ? AND active = 1",
                [(now, number) for number in numbers],
            )

        def remove(connection: sqlite3.Connection) -> None:
            removed = connection.executemany("DELETE FROM memory WHERE id = ?", [(number,) for number in numbers])
            if removed.rowcount > 0:
                # The full-text index keeps fragments of removed texts until its segments are merged.
                connection.execute("INSERT INTO memory_text (memory_text) VALUES ('optimize')")

        self._change(remove if erase else hide, empty_log=erase)

    def count(self, now: float) -> int:
        text = "SELECT count(*) FROM memory WHERE active = 1 AND (expires_at IS NULL OR expires_at > ?)"
        counted: int = self._read(text, (now,))[0][0]
        return counted

    # ---- rules ----------------------------------------------------------------------------------------------------------

    def add_rule(self, rule: Rule) -> None:
        def act(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO rules (name, level, description, condition, action, category, tags, active) "
                "VALUES (?, ?, ?, '', 'warn', ?, '[]', 1) ON CONFLICT (name) DO UPDATE SET level = excluded.level, "
                "description = excluded.description, condition = '', category = excluded.category, active = 1",
                (rule.name, rule.level, rule.description, rule.category),
            )

        self._change(act)

    def rules(self) -> list[Rule]:
        rows = self._read("SELECT name, level, description, category FROM rules WHERE active = 1 ORDER BY rowid")
        return [Rule(row[0], row[1], row[2], row[3] or "") for row in rows]

    # ---- parts ----------------------------------------------------------------------------------------------------------

    def _is_rare(self, wanted: str, about: str) -> bool:
        """Whether searching the full-text index is less work than scanning the entries."""
        if about and self._is_few(about):
            return False
        text = "SELECT count(*) FROM (SELECT 1 FROM memory_text WHERE memory_text MATCH ? LIMIT ?)"
        return bool(self._read(text, (_phrase(wanted), _MANY))[0][0] < _MANY)

    def _is_few(self, about: str) -> bool:
        """Whether there are fewer than :data:`_MANY` entries about somebody."""
        text = "SELECT count(*) FROM (SELECT 1 FROM memory WHERE active = 1 AND about = ? LIMIT ?)"
        return bool(self._read(text, (about, _MANY))[0][0] < _MANY)

    def _frequency(self, word: str, about: str, now: float) -> int:
        origin, indexed, _ = _holding(word)
        text = f"SELECT count(*) FROM (SELECT 1 FROM {origin} {_VISIBLE} AND instr(m.folded, ?) > 0 LIMIT ?)"
        counted: int = self._read(text, (*indexed, about, now, word, ranking.COMMON))[0][0]
        return counted

    def _entries(self, text: str, values: tuple[Any, ...]) -> list[MemoryEntry]:
        return [
            MemoryEntry(
                f"mem_{number}",
                category,
                content,
                self._tags(number, tags),
                source,
                updated,
                key=key,
                about=whom,
                expires=expires,
            )
            for number, category, content, tags, source, updated, key, whom, expires in self._read(text, values)
        ]

    def _tags(self, number: int, text: str) -> list[str]:
        if text == "[]":
            return []
        import json

        try:
            tags = json.loads(text)
        except ValueError:
            tags = None
        if type(tags) is not list:
            raise self._damaged_tags(number)
        return [str(tag) for tag in tags]

    def _damaged_tags(self, number: int) -> Exception:
        return failed(
            self._name,
            f"the entry mem_{number} of {self._file.path} is damaged: its tags are not a JSON list. `lang memory check` lists "
            "all that is damaged; forget_memory removes the entry",
        )

    def _read(self, text: str, values: tuple[Any, ...] = ()) -> list[Any]:
        try:
            return self._file.query(text, values)
        except (sqlite3.Error, OSError, OverflowError) as error:
            if "malformed JSON" in str(error):
                rows = self._file.query("SELECT id FROM memory WHERE active = 1 AND NOT json_valid(tags) LIMIT 1")
                if rows:
                    raise self._damaged_tags(rows[0][0]) from None
            raise self._fault("read", error) from None

    def _change(self, act: Callable[[sqlite3.Connection], Answer], *, empty_log: bool = False) -> Answer:
        try:
            return self._file.transact(act, empty_log=empty_log)
        except (sqlite3.Error, OSError, OverflowError) as error:
            raise self._fault("write", error) from None

    def _fault(self, verb: str, error: Exception) -> Exception:
        why = (isinstance(error, OSError) and error.strerror) or str(error)
        cure = ""
        if "malformed" in why or "damaged" in why:
            command = f"`lang memory check {self._name}` says what is damaged, `lang memory export {self._name}` saves the rest"
            cure = f": {command}"
        return failed(self._name, f"cannot {verb} {self._file.path}: {why}{cure}")


_ANY_TAG = "EXISTS (SELECT 1 FROM json_each(?) AS w JOIN json_each(m.tags) AS t ON t.value = w.value)"
_EVERY_TAG = "NOT EXISTS (SELECT 1 FROM json_each(?) AS w WHERE w.value NOT IN (SELECT t.value FROM json_each(m.tags) AS t))"


def _is_indexed(wanted: str) -> bool:
    """Whether a case-folded text can be looked up in the index, which holds trigrams."""
    return len(wanted) >= 3


def _phrase(wanted: str) -> str:
    return '"' + wanted[:_INDEXED].replace('"', '""') + '"'


def _holding(word: str) -> tuple[str, list[Any], str]:
    """The parts of a query for the entries that may contain a word: its FROM and WHERE, their values, and ORDER BY with the
    newest first.
    """
    if _is_indexed(word):
        return _BY_TEXT, [_phrase(word)], "ORDER BY memory_text.rowid DESC LIMIT ?"
    return "memory AS m WHERE", [], _NEWEST
