"""A statement reaches no other file than those the program may open: the disk is looked at from outside."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

import pytest

from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from stdlib.sql import db_close, db_open, sql, sql_batch, sql_exec

PRECIOUS = "precious"
MAGIC = bytes.fromhex("d9d505f920a163d7")


class World:
    """A folder `data` that the program may use, and what lies beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outside = folder / "outside"
        self.data = folder / "data"
        for each in (self.outside, self.data):
            each.mkdir()
        with sqlite3.connect(self.outside / "other.db") as other:
            other.execute("CREATE TABLE t (a)")
            other.execute("INSERT INTO t VALUES (?)", [PRECIOUS])
        self.context = Context(NativeHost(), collect=True)
        self.context.capabilities.require("db", "data/*")
        self.before = self.seen()

    def seen(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in self.outside.rglob("*") if path.is_file()}

    def refused(self, statement: str, params: object = None) -> str:
        """Both ways of running it fail, and nothing outside has changed."""
        for call in (sql_exec, sql):
            with pytest.raises(RuntimeFault) as caught:
                call(self.context, statement, params)
            assert self.seen() == self.before
        with pytest.raises(RuntimeFault):
            sql_batch(self.context, statement, [params or []])
        assert self.seen() == self.before
        assert [path.name for path in self.folder.iterdir()] in (["data", "outside"], ["outside", "data"])
        assert PRECIOUS not in caught.value.message
        return caught.value.message


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = World(tmp_path)
    db_open(made.context, "data/app.db")
    sql_exec(made.context, "CREATE TABLE mine (a)")
    yield made
    made.context.host.databases.close_all()


class TestAttach:
    def test_without_a_grant(self, world):
        assert world.refused("ATTACH 'outside/other.db' AS o").startswith('Capability not granted: db("outside/other.db")')
        assert world.refused("ATTACH DATABASE 'outside/new.db' AS o").startswith('Capability not granted: db("outside/new.db")')
        absolute = str(world.outside / "other.db")
        assert world.refused(f"ATTACH '{absolute}' AS o").startswith(f'Capability not granted: db("{absolute}")')
        asked = [(r["scope"], r["granted"]) for r in world.context.capabilities.records if r["scope"] == "outside/other.db"]
        assert asked and not any(granted for _, granted in asked)

    @pytest.mark.parametrize(
        "statement",
        [
            "attach 'outside/other.db' as o",
            " ; ;ATTACH 'outside/other.db' AS o",
            "/* SELECT */ -- x\n ATTACH 'outside/other.db' AS o",
            "\ufeffATTACH 'outside/other.db' AS o",
            'ATTACH "outside/other.db" AS o',
            "ATTACH [outside/other.db] AS o",
            "ATTACH `outside/other.db` AS o",
            "ATTACH outside AS o",
            "ATTACH 'data/../outside/other.db' AS o",
            "ATTACH 'data\\..\\outside\\other.db' AS o",
            "ATTACH 'file:outside/other.db' AS o",
            "ATTACH 'FILE:outside/other.db' AS o",
            "ATTACH 'file:data/x.db?vfs=unix-none' AS o",
            "ATTACH 'file://localhost/etc/passwd' AS o",
            "ATTACH 'outside/' || 'other.db' AS o",
            "ATTACH ('outside/other.db') || '' AS o",
            "ATTACH (SELECT 'outside/other.db') AS o",
            "ATTACH CAST('outside/other.db' AS TEXT) AS o",
            "ATTACH x'6f7574736964652f6f746865722e6462' AS o",
            "ATTACH 'data/./:memory:/../../outside/other.db' AS o",
        ],
    )
    def test_spellings(self, world, statement):
        world.refused(statement)

    def test_a_path_in_a_parameter_is_not_literal(self, world):
        assert "literal" in world.refused("ATTACH ? AS o", ["outside/other.db"])
        assert "literal" in world.refused("ATTACH ? AS o", ["data/x.db"])

    def test_with_a_grant_and_no_longer_than_it(self, world):
        ctx = world.context
        sql_exec(ctx, "ATTACH 'data/second.db' AS second")
        sql_exec(ctx, "CREATE TABLE second.t (a)")
        assert sql(ctx, "SELECT * FROM second.t") == []
        ctx.capabilities.enter(kept("data/app.db"))
        with pytest.raises(RuntimeFault, match=r'Capability not granted: db\("data/second.db"\)'):
            sql(ctx, "SELECT * FROM second.t")
        ctx.capabilities.leave()
        sql_exec(ctx, "DETACH second")
        ctx.capabilities.enter(kept("data/app.db"))
        assert sql(ctx, "SELECT * FROM mine") == []
        # The statement was prepared before: it is asked for again nevertheless.
        with pytest.raises(RuntimeFault, match=r'Capability not granted: db\("data/second.db"\)'):
            sql_exec(ctx, "ATTACH 'data/second.db' AS second")
        ctx.capabilities.leave()

    def test_in_memory_needs_its_own_grant(self, world):
        world.refused("ATTACH ':memory:' AS m")
        world.context.capabilities.require("db", ":memory:")
        sql_exec(world.context, "ATTACH ':memory:' AS m")

    def test_several_statements_are_one_too_many(self, world):
        world.refused("SELECT 1; ATTACH 'outside/other.db' AS o")


def kept(scope):
    from language.capabilities import declared

    return (declared("db", scope),)


class TestVacuum:
    def test_into(self, world):
        assert world.refused("VACUUM INTO 'outside/copy.db'").startswith('Capability not granted: db("outside/copy.db")')
        assert "literal" in world.refused("VACUUM INTO 'outside/' || 'copy.db'")
        assert "literal" in world.refused("VACUUM main INTO (SELECT 'outside/copy.db')")
        assert "literal" in world.refused("VACUUM INTO ?", ["outside/copy.db"])
        assert "literal" in world.refused("VACUUM/**/INTO/**/('outside/copy.db')")
        world.refused("VACUUM INTO 'data/../outside/copy.db'")
        world.refused("VACUUM INTO 'file:outside/copy.db'")
        world.refused("VACUUM INTO 'data/../outside/copy.db' -- INTO 'data/x.db'")

    def test_with_a_grant(self, world):
        ctx = world.context
        sql_exec(ctx, "VACUUM")
        sql_exec(ctx, "VACUUM main INTO 'data/it''s.db' ;")
        with sqlite3.connect(world.data / "it's.db") as copy:
            assert copy.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]
        (world.data / "it's.db").unlink()
        ctx.capabilities.enter(kept("data/app.db"))
        with pytest.raises(RuntimeFault, match="Capability not granted"):
            sql_exec(ctx, "VACUUM main INTO 'data/it''s.db' ;")
        assert not (world.data / "it's.db").exists()


class TestFunctionsAndPragmas:
    @pytest.mark.parametrize(
        "statement",
        [
            "SELECT load_extension('./data/evil')",
            "SELECT LOAD_EXTENSION('x', 'y')",
            "WITH x AS (SELECT load_extension('x')) SELECT * FROM x",
            "SELECT fts3_tokenizer('simple', x'0000000000000000')",
            "SELECT readfile('outside/other.db')",
            "SELECT writefile('outside/new', 'x')",
            "CREATE VIRTUAL TABLE temp.v USING csv(filename='outside/other.db')",
            "CREATE VIRTUAL TABLE v USING zipfile('outside/other.db')",
        ],
    )
    def test_functions_and_modules(self, world, statement):
        world.refused(statement)

    @pytest.mark.parametrize(
        "statement",
        [
            "PRAGMA temp_store_directory = 'outside'",
            "pragma main.TEMP_STORE_DIRECTORY('outside')",
            "PRAGMA temp_store_directory",
            "PRAGMA data_store_directory = 'outside'",
            "EXPLAIN PRAGMA temp_store_directory = 'outside'",
            "PRAGMA hard_heap_limit = 1",
        ],
    )
    def test_pragmas(self, world, statement):
        world.refused(statement)

    def test_in_a_trigger(self, world):
        sql_exec(world.context, "CREATE TRIGGER tr AFTER INSERT ON mine BEGIN SELECT load_extension('x'); END")
        world.refused("INSERT INTO mine VALUES (1)")

    def test_ordinary_ones_work(self, world):
        ctx = world.context
        sql_exec(ctx, "PRAGMA foreign_keys = ON")
        assert sql(ctx, "PRAGMA foreign_keys") == [{"foreign_keys": 1}]
        assert sql(ctx, "PRAGMA journal_mode = WAL") == [{"journal_mode": "wal"}]
        sql_exec(ctx, "CREATE VIRTUAL TABLE search USING fts5(body)")
        sql_exec(ctx, "INSERT INTO search VALUES ('red green')")
        assert sql(ctx, "SELECT count(*) AS n FROM search WHERE search MATCH 'green'") == [{"n": 1}]


class TestPaths:
    @pytest.mark.parametrize(
        "path",
        ["outside/other.db", "data/../outside/other.db", "../x.db", "file:outside/other.db", "data\\..\\outside\\other.db"],
    )
    def test_open(self, world, path):
        with pytest.raises(RuntimeFault, match="Capability not granted"):
            db_open(world.context, path)
        assert world.seen() == world.before

    def test_a_uri_is_a_file_name(self, world):
        name = "data/file:x.db?mode=memory"
        db_open(world.context, name)
        db_close(world.context, "data/app.db")
        sql_exec(world.context, "CREATE TABLE t (a)")
        assert (world.folder / name).exists()

    def test_a_link_out_of_the_folder(self, world):
        (world.data / "link.db").symlink_to(world.outside / "other.db")
        (world.data / "folder").symlink_to(world.outside)
        for path in ("data/link.db", "data/folder/other.db", "data/folder/new.db"):
            with pytest.raises(RuntimeFault, match="symbolic link leaves the granted path"):
                db_open(world.context, path)
            assert "symbolic link" in world.refused(f"ATTACH '{path}' AS o")
            assert "symbolic link" in world.refused(f"VACUUM INTO '{path}'")

    def test_what_is_open_is_the_file_that_was_checked(self, world):
        """A link put in the place of the file later leads nowhere new."""
        ctx = world.context
        sql_exec(ctx, "INSERT INTO mine VALUES (1)")
        (world.data / "app.db").unlink()
        (world.data / "app.db").symlink_to(world.outside / "other.db")
        with pytest.raises(RuntimeFault):
            sql(ctx, "SELECT * FROM t")
        assert world.seen() == world.before


def journal_naming(victim: Path, database: Path) -> bytes:
    """A journal as a crash leaves it in a transaction over several files, whose common journal is ``victim``."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("CREATE TABLE IF NOT EXISTS filler (a)")
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.execute("INSERT INTO filler VALUES (1)")
    journal = Path(f"{database}-journal").read_bytes()
    page = connection.execute("PRAGMA page_size").fetchone()[0]
    connection.execute("ROLLBACK")
    connection.close()
    name = str(victim).encode()
    lock_page = 0x40000000 // page + 1
    tail = struct.pack(">I", lock_page) + name + struct.pack(">II", len(name), sum(name) & 0xFFFFFFFF) + MAGIC
    return MAGIC + journal[8:] + tail


class TestJournals:
    """SQLite deletes the file that a journal names: who may write beside a database must not choose it."""

    @pytest.fixture
    def victim(self, world):
        path = world.outside / "victim.txt"
        path.write_text(PRECIOUS, encoding="utf-8")
        return path

    def test_plain_sqlite_deletes_it(self, world, victim):
        database = world.data / "plain.db"
        journal = journal_naming(victim, database)
        Path(f"{database}-journal").write_bytes(journal)
        with sqlite3.connect(database) as connection:
            connection.execute("SELECT * FROM filler").fetchall()
        # What the tests below guard against; newer libraries leave the file alone by themselves.
        assert victim.exists() is (sqlite3.sqlite_version_info >= (3, 53))

    def test_on_opening(self, world, victim):
        database = world.data / "trap.db"
        Path(f"{database}-journal").write_bytes(journal_naming(victim, database))
        with pytest.raises(RuntimeFault, match="names another file"):
            db_open(world.context, "data/trap.db")
        with pytest.raises(RuntimeFault, match="names another file"):
            sql_exec(world.context, "ATTACH 'data/trap.db' AS t")
        assert victim.read_text(encoding="utf-8") == PRECIOUS

    def test_while_it_is_open(self, world, victim):
        database = world.data / "app.db"
        Path(f"{database}-journal").write_bytes(journal_naming(victim, database))
        with pytest.raises(RuntimeFault, match="names another file"):
            sql(world.context, "SELECT * FROM mine")
        assert victim.read_text(encoding="utf-8") == PRECIOUS

    def test_of_an_attached_database(self, world, victim):
        sql_exec(world.context, "ATTACH 'data/second.db' AS second")
        database = world.data / "second.db"
        Path(f"{database}-journal").write_bytes(journal_naming(victim, database))
        with pytest.raises(RuntimeFault, match="names another file"):
            sql(world.context, "SELECT * FROM second.filler")
        assert victim.read_text(encoding="utf-8") == PRECIOUS

    def test_an_ordinary_journal_is_played_back(self, world):
        database = world.data / "crashed.db"
        with sqlite3.connect(database) as connection:
            connection.execute("CREATE TABLE t (a)")
        journal = journal_naming(world.data / "x", database)
        ordinary = journal[: journal.rindex(struct.pack(">I", 0x40000000 // 4096 + 1))]
        Path(f"{database}-journal").write_bytes(ordinary)
        db_close(world.context)
        db_open(world.context, "data/crashed.db")
        assert [row["name"] for row in sql(world.context, "SELECT name FROM sqlite_master ORDER BY name")] == ["filler", "t"]
        assert not Path(f"{database}-journal").exists()
