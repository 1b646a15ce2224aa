"""Databases in a process that was forked: nothing of the other process's connections is used or closed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from language.capabilities.scopes import GrantedPath, db_target
from language.host.databases import DatabaseEngine, Databases
from language.native.databases import NativeDatabases
from language.runtime.context import Lifetime


def opened(folder: Path, mode: str) -> Databases:
    databases = NativeDatabases()
    path = ":memory:" if mode == "memory" else str(folder / "app.db")
    databases.open(db_target(path), GrantedPath(path, None), mode, json.loads, _no_address)
    databases.default.call(Lifetime(), lambda engine: engine.execute("sql_exec", "CREATE TABLE t (n INTEGER)", [[]], _none))
    return databases


def _no_address(address: str, _: int) -> None:
    raise AssertionError(address)


def _none(_: str) -> GrantedPath | None:
    return None


def count(databases: Databases) -> list[Any]:
    return databases.default.call(Lifetime(), lambda engine: engine.rows("sql", "SELECT count(*) AS n FROM t", [], _none))


def engine_of(databases: Databases) -> DatabaseEngine:
    return databases.default.call(Lifetime(), lambda engine: engine)


def test_a_file_is_opened_again(tmp_path: Path) -> None:
    databases = opened(tmp_path, "readwrite")
    before = engine_of(databases)
    databases.begin_anew()
    after = engine_of(databases)
    assert after is not before
    assert engine_of(databases) is after
    assert count(databases) == [{"n": 0}]
    databases.close_all()
    assert before.tables() == ["t"], "closed although it belongs to the other process"


def test_one_that_is_not_used_is_not_closed_either(tmp_path: Path) -> None:
    databases = opened(tmp_path, "readwrite")
    before = engine_of(databases)
    databases.begin_anew()
    databases.close_all()
    assert before.tables() == ["t"]


def test_memory_is_as_it_was(tmp_path: Path) -> None:
    databases = opened(tmp_path, "memory")
    before = engine_of(databases)
    databases.begin_anew()
    assert engine_of(databases) is before
    assert count(databases) == [{"n": 0}]
