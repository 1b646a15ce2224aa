"""SQLite through the builtins: values both ways, results, errors, modes, transactions, who may use a connection."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import language
from language.errors import RuntimeFault
from language.host.sql_text import first_word, numbered, placeholders
from language.native.host import NativeHost
from language.runtime.context import Context, Lifetime
from language.values import FALSE, TRUE, Secret
from language.values.decimals import parse
from language.values.display import display
from stdlib.dates import parse_date, parse_datetime
from stdlib.pages import paged
from stdlib.sql import db_close, db_open, page, sql, sql_batch, sql_exec, sql_tables

NO_CONNECTION = 'No database connection. Use db_open("path.db") first.'


def make(*requires):
    ctx = Context(NativeHost(), collect=True)
    for name, scope in requires or (("db", None),):
        ctx.capabilities.require(name, scope)
    return ctx


@pytest.fixture
def ctx():
    made = make()
    db_open(made, ":memory:", "memory")
    yield made
    made.host.databases.close_all()


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


def stored(ctx, value):
    """What comes back, and how SQLite stored it."""
    return tuple(sql(ctx, "SELECT v, typeof(v) AS kind FROM (SELECT ? AS v)", [value])[0].values())


class TestValues:
    @pytest.mark.parametrize(
        ("value", "expected", "kind"),
        [
            (1, 1, "integer"),
            (2**63 - 1, 2**63 - 1, "integer"),
            (-(2**63), -(2**63), "integer"),
            (2**63, "9223372036854775808", "text"),
            (-(2**63) - 1, "-9223372036854775809", "text"),
            (1.5, 1.5, "real"),
            ("é\n", "é\n", "text"),
            ("", "", "text"),
            (None, None, "null"),
            (b"\0\xff", b"\0\xff", "blob"),
            (TRUE, 1, "integer"),
            (FALSE, 0, "integer"),
            (parse("1.50"), "1.50", "text"),
            ([1, "a"], '[1, "a"]', "text"),
            ({"a": 1}, "{a: 1}", "text"),
            ([Secret("plain", ("KEY",))], "[secret(KEY)]", "text"),
        ],
    )
    def test_to_sqlite_and_back(self, ctx, value, expected, kind):
        back, how = stored(ctx, value)
        assert (back, how) == (expected, kind)
        assert type(back) is type(expected)

    @given(st.one_of(st.integers(), st.floats(allow_nan=False), st.text(st.characters(exclude_categories=["Cs"])), st.binary()))
    def test_what_comes_back_is_the_value_or_its_text(self, value):
        ctx = make()
        db_open(ctx, ":memory:", "memory")
        back, _ = stored(ctx, value)
        beyond = type(value) is int and not -(2**63) <= value < 2**63
        assert back == (display(value) if beyond else value)
        db_close(ctx)

    def test_a_column_declared_boolean_gives_booleans(self, ctx):
        sql_exec(ctx, "CREATE TABLE t (n INTEGER, done BOOLEAN NOT NULL, seen bool, how INT)")
        sql_exec(ctx, "INSERT INTO t VALUES (?, ?, ?, ?)", [1, TRUE, None, TRUE])
        sql_exec(ctx, "INSERT INTO t VALUES (0, 'false', 7, 0)")  # as a row of another program, or of long ago, may be
        rows = [{"n": 1, "done": TRUE, "seen": None, "how": 1}, {"n": 0, "done": FALSE, "seen": 7, "how": 0}]
        for query in (
            "SELECT * FROM t",
            "WITH x AS (SELECT * FROM t) SELECT * FROM x",
            "SELECT n, done, seen, how FROM t AS u;",
        ):
            found = sql(ctx, query)
            assert found == rows
            assert [type(value) for row in found for value in row.values()] == [type(v) for row in rows for v in row.values()]
        assert sql(ctx, "SELECT done FROM t WHERE done = ? AND '?' <> ?", [TRUE, "x"])[0]["done"] is TRUE
        assert sql(ctx, "SELECT done AS d, count(*) AS n FROM t GROUP BY done ORDER BY done")[0] == {"d": TRUE, "n": 1}
        assert sql(ctx, "UPDATE t SET done = ? WHERE n = 1 RETURNING done, n", [FALSE]) == [{"done": FALSE, "n": 1}]
        assert sql(ctx, "INSERT INTO t VALUES (2, 1, 1, 1) RETURNING done")[0]["done"] is TRUE
        for before in (
            "WITH x AS (SELECT 2 AS k)",
            'with recursive "a)b" (k) as not materialized (select 2), x as (select 1 as ")")',
        ):
            name = "x" if before.startswith("WITH") else '"a)b"'
            written = f"{before} UPDATE t SET done = ? WHERE n IN (SELECT k FROM {name}) RETURNING done, n"
            changed = sql(ctx, written, [FALSE])
            assert changed == [{"done": FALSE, "n": 2}] and changed[0]["done"] is FALSE, before
        assert sql(ctx, "SELECT max(n) AS n FROM t")[0]["n"] == 2
        assert sql(ctx, "PRAGMA table_info(t)")[1]["notnull"] == 1

    def test_columns_declared_as_dates_give_dates(self, ctx):
        sql_exec(ctx, "CREATE TABLE t (n INTEGER, day DATE, at DATETIME, seen timestamp, free)")
        day, clock = parse_date("2026-02-01"), parse_datetime("2026-02-01T10:00:00.5")
        moments = [
            parse_datetime(f"2026-02-01T1{hour}:00:00{more}") for hour, more in ((0, "Z"), (1, ".5+01:00"), (2, "+02:30"))
        ]
        for number, moment in enumerate(moments):
            sql_exec(ctx, "INSERT INTO t VALUES (?, ?, ?, ?, ?)", [number, day, clock, moment, day])
        sql_exec(ctx, "INSERT INTO t VALUES (9, 'soon', 1700000000, '2026-02-03 04:05:06', NULL)")
        rows = sql(ctx, "SELECT * FROM t ORDER BY n")
        assert [row["seen"] for row in rows[:3]] == moments and rows[0]["day"] == day and rows[0]["at"] == clock
        assert rows[0]["free"] == "2026-02-01"
        assert rows[3] == {
            "n": 9, "day": "soon", "at": 1700000000, "seen": parse_datetime("2026-02-03T04:05:06"), "free": None,
        }  # fmt: skip
        # What is stored of moments has their order, whatever their zones and fractions.
        assert [row["n"] for row in sql(ctx, "SELECT n FROM t WHERE n < 9 ORDER BY seen")] == [2, 0, 1]
        assert [row["n"] for row in sql(ctx, "SELECT n FROM t WHERE seen > ? AND n < 9", [moments[0]])] == [1]

    def test_the_schema_may_change(self, ctx):
        sql_exec(ctx, "CREATE TABLE a (v INT)")
        sql_exec(ctx, "INSERT INTO a VALUES (1)")
        assert type(sql(ctx, "SELECT v FROM a")[0]["v"]) is int
        sql_exec(ctx, "DROP TABLE a")
        sql_exec(ctx, "CREATE TABLE a (v BOOLEAN)")
        sql_exec(ctx, "INSERT INTO a VALUES (1)")
        assert sql(ctx, "SELECT v FROM a")[0]["v"] is TRUE
        sql_exec(ctx, "CREATE TEMP TABLE b (v BOOLEAN)")
        sql_exec(ctx, "INSERT INTO b VALUES (0)")
        assert sql(ctx, "SELECT v FROM b")[0]["v"] is FALSE

    def test_attached_databases_have_booleans_too(self, ctx):
        sql_exec(ctx, "CREATE TABLE t (v INTEGER)")
        sql_exec(ctx, "INSERT INTO t VALUES (1)")
        for name, quoted in (("other", "other"), ('a "b"', '"a ""b"""')):
            sql_exec(ctx, f"ATTACH ':memory:' AS {quoted}")
            sql_exec(ctx, f"CREATE TABLE {quoted}.t (n INTEGER, done BOOLEAN)")
            sql_exec(ctx, f"CREATE VIEW {quoted}.seen AS SELECT done AS how FROM t")
            sql_exec(ctx, f"INSERT INTO {quoted}.t VALUES (1, ?), (0, ?)", [TRUE, FALSE])
            assert sql(ctx, f"SELECT * FROM {quoted}.t") == [{"n": 1, "done": TRUE}, {"n": 0, "done": FALSE}], name
            assert sql(ctx, f"SELECT done FROM {quoted}.t WHERE n = 1")[0]["done"] is TRUE
            assert sql(ctx, f"SELECT how FROM {quoted}.seen")[0]["how"] is TRUE
            assert sql(ctx, f"UPDATE {quoted}.t SET n = 2 WHERE n = 1 RETURNING done")[0]["done"] is TRUE
            assert sql(ctx, f"SELECT x.done, y.v FROM {quoted}.t AS x, t AS y ORDER BY x.n DESC")[0] == {"done": TRUE, "v": 1}
        assert type(sql(ctx, "SELECT v FROM t")[0]["v"]) is int
        sql_exec(ctx, "DETACH other")
        assert "other" in error_of(sql, ctx, "SELECT done FROM other.t")

    def test_columns_in_order_and_the_last_of_a_repeated_name(self, ctx):
        assert list(sql(ctx, "SELECT 1 AS b, 2 AS a, 3 AS b")[0].items()) == [("b", 3), ("a", 2)]

    def test_no_rows(self, ctx):
        assert sql(ctx, "SELECT 1 WHERE 0") == []
        assert sql(ctx, "CREATE TABLE t (a)") == []

    def test_the_statement_is_raw_text(self, ctx):
        assert "near" in error_of(sql, ctx, 12)
        assert "near" in error_of(sql, ctx, TRUE)


class TestSecrets:
    def test_a_secret_value_needs_reveal(self, ctx, monkeypatch, tmp_path):
        monkeypatch.setenv("PLATFORM_AUDIT_DIR", str(tmp_path))
        key = Secret("plain", ("KEY",))
        message = error_of(sql, ctx, "SELECT ? AS v", [key])
        assert message.startswith('reveal() not permitted: Capability not granted: reveal("KEY")')
        ctx.capabilities.require("reveal", "KEY")
        assert sql(ctx, "SELECT ? AS v", [key]) == [{"v": "plain"}]
        log = (tmp_path / "reveal.log").read_text(encoding="utf-8").splitlines()
        assert [line.split(" ")[2] for line in log] == ["result=denied", "result=granted"]
        assert "plain" not in "".join(log)

    def test_each_builtin_asks(self, ctx):
        key = Secret("plain", ("KEY",))
        for call in (sql, sql_exec, paged):
            assert "reveal" in error_of(call, ctx, "SELECT ?", [key])
        assert "reveal" in error_of(sql_batch, ctx, "SELECT ?", [[key]])

    @pytest.mark.parametrize("password", ["p@ss/word", "p@ss?word", "p@ss#word", "@ss/word"])
    def test_a_password_with_the_marks_of_a_url_is_not_told_as_its_host(self, ctx, password):
        for scheme in ("postgres", "mysql", "redis"):
            with pytest.raises(RuntimeFault) as caught:
                db_open(ctx, Secret(f"{scheme}://u:{password}@127.0.0.1:1/x", ("A",)))
            assert "ss" not in caught.value.message.replace("password", "")
            assert "%40" in caught.value.message

    def test_a_url_may_be_a_secret_a_path_may_not(self):
        ctx = make()
        message = error_of(db_open, ctx, Secret("hidden.db", ("PATH",)))
        assert message.startswith("db_open: only a URL can be a secret")
        assert "hidden" not in message


class TestStatements:
    def test_exec(self, ctx):
        assert sql_exec(ctx, "CREATE TABLE t (id INTEGER PRIMARY KEY, a)") == {"rows_affected": 0, "last_id": 0}
        assert sql_exec(ctx, "INSERT INTO t (a) VALUES (?), (?)", [1, 2]) == {"rows_affected": 2, "last_id": 2}
        assert sql_exec(ctx, "UPDATE t SET a = 3")["rows_affected"] == 2
        assert sql_exec(ctx, "WITH x AS (SELECT 9 AS a) INSERT INTO t (a) SELECT a FROM x") == {
            "rows_affected": 1,
            "last_id": 3,
        }
        assert sql_exec(ctx, "DELETE FROM t")["rows_affected"] == 3
        assert sql_exec(ctx, "ALTER TABLE t ADD COLUMN b CHECK (b > 0)")["rows_affected"] == 0

    @pytest.mark.parametrize(
        "statement",
        [
            "INSERT INTO t VALUES (1) RETURNING a",
            "  ; /* c */ insert into t values (1) returning a",
            "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x RETURNING a",
            "SELECT a FROM t",
            "-- c\nSELECT a FROM t",
            "VALUES (1)",
            "PRAGMA user_version",
            "EXPLAIN INSERT INTO t VALUES (1)",
            "WITH x AS (SELECT 1) SELECT * FROM x",
        ],
    )
    def test_a_statement_that_returns_rows_is_refused_before_it_runs(self, ctx, statement):
        sql_exec(ctx, "CREATE TABLE t (a)")
        assert error_of(sql_exec, ctx, statement).startswith("sql_exec: this statement returns rows")
        assert error_of(sql_batch, ctx, statement, [[]]).startswith("sql_batch: this statement returns rows")
        assert sql(ctx, "SELECT * FROM t") == []

    def test_a_column_called_returning_is_no_returning(self, ctx):
        sql_exec(ctx, 'CREATE TABLE t ("returning")')
        assert sql_exec(ctx, "INSERT INTO t VALUES ('returning')")["rows_affected"] == 1
        assert sql_exec(ctx, 'UPDATE t SET "returning" = 1')["rows_affected"] == 1

    def test_returning_is_for_sql(self, ctx):
        sql_exec(ctx, "CREATE TABLE t (a)")
        assert sql(ctx, "INSERT INTO t VALUES (?) RETURNING a * 2 AS twice", [4]) == [{"twice": 8}]
        assert sql(ctx, "SELECT a FROM t") == [{"a": 4}]

    def test_batch(self, ctx):
        sql_exec(ctx, "CREATE TABLE t (a UNIQUE)")
        assert sql_batch(ctx, "INSERT INTO t VALUES (?)", [[1], [2]]) == {"rows_affected": 2}
        assert sql_batch(ctx, "INSERT INTO t VALUES (?)", []) == {"rows_affected": 0}
        assert "UNIQUE" in error_of(sql_batch, ctx, "INSERT INTO t VALUES (?)", [[3], [1], [4]])
        assert [row["a"] for row in sql(ctx, "SELECT a FROM t")] == [1, 2, 3]
        assert "list" in error_of(sql_batch, ctx, "INSERT INTO t VALUES (?)", "x")

    def test_tables(self, ctx):
        for name in ("b", "a", "c"):
            sql_exec(ctx, f"CREATE TABLE {name} (id INTEGER PRIMARY KEY AUTOINCREMENT)")
        sql_exec(ctx, "CREATE VIEW v AS SELECT 1")
        assert sql_tables(ctx) == ["a", "b", "c"]

    def test_engine_errors_come_with_the_message_of_the_engine(self, ctx):
        assert error_of(sql, ctx, "SELECT * FROM none") == "no such table: none"
        assert "one statement" in error_of(sql, ctx, "SELECT 1; SELECT 2")
        assert error_of(sql_exec, ctx, "CREATE TABLE t (a); DROP TABLE t").startswith("You can only execute one")

    def test_paged_outside_a_route_is_the_list(self, ctx):
        sql_batch_rows(ctx, 5)
        assert [row["a"] for row in paged(ctx, "SELECT a FROM t ORDER BY a")] == [0, 1, 2, 3, 4]

    def test_one_page(self, ctx):
        sql_batch_rows(ctx, 5)
        rows, total = page(ctx, "SELECT a FROM t WHERE a > ? ORDER BY a -- c", [0], 2, 1)
        assert ([row["a"] for row in rows], total) == ([2, 3], 4)
        assert page(ctx, "SELECT a FROM t", [], 10, 50) == ([], 5)


def sql_batch_rows(ctx, count):
    sql_exec(ctx, "CREATE TABLE t (a)")
    sql_batch(ctx, "INSERT INTO t VALUES (?)", [[n] for n in range(count)])


class TestPlaceholders:
    @pytest.mark.parametrize(
        ("call", "name", "query", "params", "wanted", "given"),
        [
            (sql, "sql", "SELECT ?", None, 1, 0),
            (sql, "sql", "SELECT ?", "no list", 1, 0),
            (sql, "sql", "SELECT 1", [1], 0, 1),
            (sql, "sql", "SELECT ?, '?', \"?\", [?], /* ? */ ? FROM t -- ?", [1], 2, 1),
            (sql_exec, "sql_exec", "UPDATE t SET a = ?", [], 1, 0),
            (paged, "paged", "SELECT ?", [], 1, 0),
        ],
    )
    def test_wrong_count(self, ctx, call, name, query, params, wanted, given):
        sql_exec(ctx, 'CREATE TABLE t (a, "?")')
        expected = f"{name}: the statement has {wanted} parameter(s) but {given} value(s) were passed"
        assert error_of(call, ctx, query, params).startswith(expected)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("a = ? AND b = ?", "a = $1 AND b = $2"),
            ("'?' \"?\" ?", "'?' \"?\" $1"),
            ("'it''s ?' ?", "'it''s ?' $1"),
            ("-- ?\n? /* ? /* ? */ ? */ ?", "-- ?\n$1 /* ? /* ? */ ? */ $2"),
            ("E'\\'?' ?", "E'\\'?' $1"),
            ("'\\' ?", "'\\' $1"),
            ("$$ ? $$ ? $t$ ? $$ $t$ ?", "$$ ? $$ $1 $t$ ? $$ $t$ $2"),
            ("?::jsonb", "$1::jsonb"),
            ("a$$ ?", "a$$ $1"),
            ("'?", "'?"),
        ],
    )
    def test_numbered_for_postgres(self, text, expected):
        assert numbered(text)[0] == expected
        assert numbered(text)[1] == expected.count("$1") + expected.count("$2")

    @pytest.mark.parametrize(
        ("dialect", "text", "places"),
        [
            ("mysql", "'\\'?' ?", [6]),
            ("mysql-plain", "'\\'?' ?", [3]),
            ("mysql", "`?` # ?\n?", [8]),
            ("mysql", "1--?", [3]),
            ("mysql", "-- ?\n?", [5]),
            ("sqlite", "`?` [?] '?' ?", [12]),
            ("sqlite", "/* ?", []),
        ],
    )
    def test_other_dialects(self, dialect, text, places):
        assert placeholders(text, dialect) == places

    @pytest.mark.parametrize("text", ["BEGIN", " ; begin", "-- x\n BEGIN", "/* a */;/* b */begin immediate", "\ufeffBegin;"])
    def test_first_word(self, text):
        assert first_word(text) == "BEGIN"


class TestConnections:
    def test_none(self):
        ctx = make()
        for call, values in ((sql, ["SELECT 1"]), (sql_exec, ["SELECT 1"]), (sql_batch, ["SELECT 1", []]), (sql_tables, [])):
            assert error_of(call, ctx, *values) == NO_CONNECTION
        assert db_close(ctx) is TRUE
        assert db_close(ctx, "unknown.db") is TRUE

    def test_the_default_is_the_oldest_that_is_open(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        ctx = make()
        for name in ("a.db", "./x/../b.db", "c.db"):
            assert db_open(ctx, name) is TRUE
            assert db_open(ctx, name, "readonly") is TRUE  # open already
        sql_exec(ctx, "CREATE TABLE in_a (x)")
        db_close(ctx, "a.db")
        assert sql_tables(ctx) == []
        sql_exec(ctx, "CREATE TABLE in_b (x)")
        db_close(ctx)
        sql_exec(ctx, "CREATE TABLE in_c (x)")
        db_close(ctx, "c.db")
        assert error_of(sql_tables, ctx) == NO_CONNECTION
        assert tables(tmp_path / "a.db") == ["in_a"]
        assert tables(tmp_path / "b.db") == ["in_b"]
        assert tables(tmp_path / "c.db") == ["in_c"]

    def test_modes(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        ctx = make()
        assert error_of(db_open, ctx, "none.db", "readonly") == "unable to open database file"
        assert not (tmp_path / "none.db").exists()
        db_open(ctx, "none.db", "memory")
        sql_exec(ctx, "CREATE TABLE t (a)")
        db_close(ctx)
        assert not (tmp_path / "none.db").exists()
        db_open(ctx, "a b?c#%20.db")
        sql_exec(ctx, "CREATE TABLE t (a)")
        db_close(ctx)
        assert tables(tmp_path / "a b?c#%20.db") == ["t"]
        db_open(ctx, "a b?c#%20.db", "readonly")
        assert sql(ctx, "SELECT * FROM t") == []
        assert error_of(sql_exec, ctx, "DROP TABLE t") == "attempt to write a readonly database"
        db_close(ctx)
        assert "unknown mode" in error_of(db_open, ctx, "a.db", "append")
        assert "text" in error_of(db_open, ctx, 1)
        assert "unable to open" in error_of(db_open, ctx, "none/a.db")
        assert "unknown kind of database" in error_of(db_open, ctx, "sqlserver://h/x")

    def test_a_file_that_is_no_database(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a.db").write_text("not a database, however long it is\n" * 100, encoding="utf-8")
        ctx = make()
        db_open(ctx, "a.db")
        assert error_of(sql_tables, ctx) == "file is not a database"

    def test_a_host_without_drivers_refuses_before_any_check(self):
        answer = language.Program('sql("select 1")').run()
        assert answer["errors"] == [
            "Runtime error: <embedded>:1:4: sql: not available in the wasm profile — this build has no database drivers "
            "(run the program with the native `lang` binary)"
        ]
        assert answer["audit"] == []


def tables(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        return [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]


class TestGate:
    def test_open_and_each_use_are_checked(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        ctx = make(("db", "data.db"))
        assert error_of(db_open, ctx, "other.db").startswith('Capability not granted: db("other.db")')
        assert not (tmp_path / "other.db").exists()
        db_open(ctx, "./data.db")
        ctx.capabilities.enter(())  # as in `sandbox`
        for call, values in (
            (sql, ["SELECT 1"]),
            (sql_exec, ["CREATE TABLE t (a)"]),
            (sql_batch, ["SELECT ?", [[1]]]),
            (sql_tables, []),
            (paged, ["SELECT 1"]),
        ):
            assert error_of(call, ctx, *values).startswith('Capability not granted: db("data.db")')
        assert db_close(ctx) is TRUE
        ctx.capabilities.leave()
        assert tables(tmp_path / "data.db") == []
        asked = [(r["scope"], r["granted"]) for r in ctx.capabilities.records if r["capability"] == "db"]
        assert asked == [("other.db", False), ("data.db", True)] + [("data.db", False)] * 5

    def test_canonical_urls(self):
        """3.13, case F: the check comes before a connection is tried."""
        ctx = make(("db", "mysql://db.local/app"))
        refused = "Capability not granted: db("
        assert error_of(db_open, ctx, "mysql://db.local/other").startswith(refused + '"mysql://db.local/other")')
        assert error_of(db_open, ctx, "./app.db").startswith(refused + '"app.db")')
        granted = error_of(db_open, ctx, "mysql://u:p@DB.local:3306/app?ssl=1")
        assert not granted.startswith(refused)
        asked = [(r["scope"], r["granted"]) for r in ctx.capabilities.records if r["capability"] == "db"]
        assert asked[-1] == ("mysql://db.local/app", True)
        assert "u:p" not in granted


class TestTransactions:
    @pytest.fixture
    def opened(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        ctx = make()
        db_open(ctx, "t.db")
        sql_exec(ctx, "CREATE TABLE t (a)")
        yield ctx
        ctx.host.databases.close_all()

    def rows(self, ctx):
        return [row["a"] for row in sql(ctx, "SELECT a FROM t")]

    def test_commit_and_rollback(self, opened):
        for word, expected in (("ROLLBACK", []), ("COMMIT", [1])):
            sql_exec(opened, "BEGIN")
            sql_exec(opened, "INSERT INTO t VALUES (1)")
            sql_exec(opened, word)
            assert self.rows(opened) == expected

    def test_without_begin_each_statement_takes_effect_at_once(self, opened, tmp_path):
        sql_exec(opened, "INSERT INTO t VALUES (1)")
        with sqlite3.connect(tmp_path / "t.db") as other:
            assert other.execute("SELECT a FROM t").fetchall() == [(1,)]

    def test_what_is_open_at_the_end_is_rolled_back(self, opened):
        sql_exec(opened, "BEGIN")
        sql_exec(opened, "INSERT INTO t VALUES (1)")
        opened.lifetime.end()
        assert self.rows(opened) == []

    def test_another_job_waits_for_the_end_of_a_transaction(self, opened):
        other = opened.fork()
        other.lifetime = Lifetime()
        seen: list[object] = []
        sql_exec(opened, "BEGIN")
        sql_exec(opened, "INSERT INTO t VALUES (1)")
        thread = threading.Thread(target=lambda: seen.append(self.rows(other)))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive() and seen == []
        assert self.rows(opened) == [1]  # its own run goes on
        assert self.rows(opened.fork()) == [1]  # and so do its workers
        sql_exec(opened, "ROLLBACK")
        thread.join(10)
        assert seen == [[]]

    def test_savepoints_reserve_too(self, opened):
        sql_exec(opened, "SAVEPOINT s")
        sql_exec(opened, "INSERT INTO t VALUES (1)")
        opened.lifetime.end()
        assert self.rows(opened) == []

    def test_the_end_of_a_program(self, tmp_path):
        source = f'require db("*")\ndb_open("{tmp_path}/p.db")\nsql_exec("CREATE TABLE t (a)")\nsql_exec("BEGIN")\n'
        source += 'sql_exec("INSERT INTO t VALUES (1)")\nprint(sql("SELECT a FROM t"))\n'
        from language.compiler.compilation import compile_source
        from language.runtime.instance import Instance

        host = NativeHost()
        instance = Instance(compile_source(source, "p.lang").named("p.lang"), host, collect=True)
        instance.run()
        assert instance.context.collected == ["[{a: 1}]"]
        again = make()
        again.host = host
        assert sql(again, "SELECT a FROM t") == []

    def test_many_threads_one_connection(self, opened):
        def work():
            for _ in range(50):
                sql_exec(opened, "INSERT INTO t VALUES (1)")

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sql(opened, "SELECT COUNT(*) AS n FROM t") == [{"n": 200}]
