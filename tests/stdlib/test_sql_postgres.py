"""PostgreSQL and MySQL through the builtins, against servers of this machine."""

from __future__ import annotations

import threading
import time

import pytest

from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context, Lifetime
from language.values import FALSE, TRUE, Secret
from language.values.decimals import Dec, parse
from stdlib.dates import duration, parse_date, parse_datetime
from stdlib.pages import paged
from stdlib.sql import db_close, db_open, page, sql, sql_batch, sql_exec, sql_tables
from tests import servers


@pytest.fixture(scope="module")
def postgres_place():
    yield from servers.postgres()


@pytest.fixture(scope="module")
def mysql_place():
    yield from servers.mysql()


def make():
    ctx = Context(NativeHost(), collect=True)
    ctx.capabilities.require("db", "*")
    return ctx


def opened(url):
    ctx = make()
    db_open(ctx, url)
    for name in sql_tables(ctx):
        sql_exec(ctx, f"DROP TABLE {name}")
    return ctx


@pytest.fixture
def pg(postgres_place):
    ctx = opened(f"postgres://lang:p%40ss%20word@{postgres_place}/app")
    yield ctx
    ctx.host.databases.close_all()


@pytest.fixture
def my(mysql_place):
    ctx = opened(f"mysql://lang:p%40ss%20word@{mysql_place}/app")
    yield ctx
    ctx.host.databases.close_all()


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


def one(ctx, query, *values):
    (row,) = sql(ctx, query, list(values))
    (value,) = row.values()
    return value


class TestPostgresConnections:
    def test_tls_unless_disabled(self, postgres_place):
        query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        for options, expected in (
            ("", TRUE),
            ("?sslmode=prefer", TRUE),
            ("?sslmode=require", TRUE),
            ("?sslmode=disable", FALSE),
        ):
            ctx = make()
            db_open(ctx, f"postgresql://lang:p%40ss%20word@{postgres_place}/app{options}")
            assert one(ctx, query) is expected
            db_close(ctx)

    def test_an_untrusted_certificate(self, postgres_place):
        for mode in ("verify-full", "verify-ca"):
            message = error_of(db_open, make(), f"postgres://lang:p%40ss%20word@{postgres_place}/app?sslmode={mode}")
            assert "certificate verify failed" in message

    def test_the_password_shows_nowhere(self, postgres_place):
        ctx = make()
        message = error_of(db_open, ctx, f"postgres://lang:wrong-secret@{postgres_place}/app")
        assert message.startswith("db error: ")
        assert "authentication failed" in message
        assert "wrong-secret" not in message
        assert "wrong-secret" not in str(ctx.capabilities.records)

    def test_a_secret_url(self, postgres_place):
        ctx = make()
        db_open(ctx, Secret(f"postgres://lang:p%40ss%20word@{postgres_place}/app", ("DATABASE_URL",)))
        assert one(ctx, "SELECT 1") == 1

    @pytest.mark.parametrize(
        "option", ["host=evil.test", "hostaddr=127.0.0.2", "passfile=/etc/passwd", "sslkey=/x", "service=x"]
    )
    def test_options_that_lead_elsewhere(self, option):
        name = option.partition("=")[0]
        message = error_of(db_open, make(), f"postgres://127.0.0.1:1/app?{option}")
        assert message == f'db_open: unknown option "{name}" in the URL (valid options: sslmode, application_name)'

    def test_nobody_there(self):
        assert "refused" in error_of(db_open, make(), f"postgres://lang@127.0.0.1:{servers.free_port()}/app")

    def test_a_server_that_does_not_answer(self):
        import socket

        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            began = time.monotonic()
            for scheme in ("postgres", "mysql"):
                error_of(db_open, make(), f"{scheme}://u:p@127.0.0.1:{silent.getsockname()[1]}/app")
            assert 10 < time.monotonic() - began < 100

    def test_one_that_was_lost_is_opened_again(self, pg, postgres_place):
        pid = one(pg, "SELECT pg_backend_pid()")
        other = make()
        db_open(other, f"postgres://lang:p%40ss%20word@{postgres_place}/app")
        assert one(other, "SELECT pg_terminate_backend(?)", pid) is TRUE
        assert error_of(sql, pg, "SELECT 1").startswith("db error: ")
        assert one(pg, "SELECT pg_backend_pid()") != pid


class TestPostgresValues:
    @pytest.mark.parametrize(
        ("query", "value"),
        [
            ("SELECT ?::int", 5),
            ("SELECT ?::bigint", -(2**63)),
            ("SELECT ?::numeric", parse("12345678901234567890.1200")),
            ("SELECT ?", parse("1.50")),
            ("SELECT ?::float8", 0.1),
            ("SELECT ?", "é ' \\ \n"),
            ("SELECT ?", b"\0\xff"),
            ("SELECT ?", TRUE),
            ("SELECT ?", FALSE),
            ("SELECT ?::text", None),
            ("SELECT ?", parse_date("0001-01-01")),
            ("SELECT ?", parse_date("9999-12-31")),
            ("SELECT ?", parse_datetime("2026-02-01T03:04:05.000001")),
            ("SELECT ?", parse_datetime("2026-02-01T03:04:05.5+05:30")),
            *(
                ("SELECT ?", duration(text))
                for text in ("PT0S", "PT0.000001S", "-PT0.5S", "P999999999D", "-P999999999D", "P1DT2H")
            ),
        ],
    )
    def test_there_and_back(self, pg, query, value):
        back = one(pg, query, value)
        assert type(back) is type(value)
        assert back.value == value.value and str(back.value) == str(value.value) if type(value) is Dec else back == value

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ("DATE '2026-02-01'", parse_date("2026-02-01")),
            ("DATE 'infinity'", "infinity"),
            ("DATE '0044-03-15 BC'", "0044-03-15 BC"),
            ("TIMESTAMP '2026-02-01 03:04:05.5'", parse_datetime("2026-02-01T03:04:05.5")),
            ("TIMESTAMPTZ '2026-02-01 03:04:05+02'", parse_datetime("2026-02-01T01:04:05Z")),
            ("TIMESTAMP '-infinity'", "-infinity"),
            ("TIME '03:04:05'", "03:04:05"),
            ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            ("INTERVAL '1 day'", duration("P1D")),
            ("INTERVAL '-2 days 03:04:05.000001'", duration("-P2D") + duration("PT3H4M5.000001S")),
            ("INTERVAL '2 days -03:04:05.5'", duration("P2D") - duration("PT3H4M5.5S")),
            ("INTERVAL '100 hours'", duration("PT100H")),
            ("INTERVAL '0'", duration()),
            ("TIMESTAMP '2026-03-01' - TIMESTAMP '2026-02-01 12:00'", duration("P27DT12H")),
            ("ARRAY[INTERVAL '1 hour', NULL]", [duration("PT1H"), None]),
            ("NULL::interval", None),
            ("INTERVAL '1 month'::text", "1 mon"),
            ("ARRAY[1, 2]", [1, 2]),
            ("ARRAY[ARRAY['a', NULL]]", [["a", None]]),
            ("ARRAY[DATE '2026-02-01']", [parse_date("2026-02-01")]),
            ("'{\"a\": [1, 2.5, true, null]}'::jsonb", {"a": [1, 2.5, TRUE, None]}),
            ("'[\"é\"]'::json", ["é"]),
            ("'{}'::jsonb", {}),
            ("int4range(1, 5)", "[1,5)"),
            ("'192.168.0.1'::inet", "192.168.0.1"),
            ("'NaN'::float8", pytest.approx(float("nan"), nan_ok=True)),
            ("'Infinity'::numeric", float("inf")),
            ("(1, 'a')", "(1,a)"),
        ],
    )
    def test_from_the_database(self, pg, expression, expected):
        assert one(pg, f"SELECT {expression}") == expected

    def test_an_interval_without_a_fixed_length_is_an_error(self, pg):
        for written in ("1 month", "-2 years", "1 year 3 days 04:00:00"):
            message = error_of(sql, pg, f"SELECT INTERVAL '{written}' AS v")
            assert "is no duration: months, years and infinity have no fixed length" in message
            assert one(pg, "SELECT 1") == 1
        assert "is longer than" in error_of(sql, pg, "SELECT INTERVAL '2000000000 days' AS v")

    def test_intervals_in_the_styles_of_a_server(self, pg):
        texts = ("1 day", "-3 days", "00:00:01.5", "-01:00:00.000001", "1 day -00:00:01", "-1 days +02:03:04", "0")
        sql_exec(pg, "CREATE TABLE waits (n int, v interval)")
        sql_batch(pg, "INSERT INTO waits VALUES (?, ?::text::interval)", [[n, text] for n, text in enumerate(texts)])
        query = "SELECT v, extract(epoch FROM v) AS s FROM waits ORDER BY n"
        found = [row["v"] for row in sql(pg, query)]
        assert [value.micros for value in found] == [row["s"].value * 10**6 for row in sql(pg, query)]
        sql_exec(pg, "SET intervalstyle = 'iso_8601'")
        assert [row["v"] for row in sql(pg, query)] == found
        assert "no fixed length" in error_of(sql, pg, "SELECT INTERVAL '1 year 2 days' AS v")
        assert "no fixed length" in error_of(sql, pg, "SELECT INTERVAL '1 mon 2 minutes' AS v")
        for style in ("postgres_verbose", "sql_standard"):
            sql_exec(pg, f"SET intervalstyle = '{style}'")
            assert "is no duration" in error_of(sql, pg, "SELECT INTERVAL '1 day 02:00' AS v")
            assert one(pg, "SELECT (?::interval = INTERVAL '-1 day +02:00')", duration("-PT22H")) is TRUE

    def test_python_truth_never_comes_out(self, pg):
        row = sql(pg, "SELECT true AS a, ARRAY[true] AS b, '[true]'::json AS c, NULL::bool AS d")[0]
        assert row["a"] is TRUE and row["b"][0] is TRUE and row["c"][0] is TRUE and row["d"] is None

    def test_casts_and_other_types(self, pg):
        assert one(pg, "SELECT ?::jsonb -> 'a'", '{"a": 5}') == 5
        assert one(pg, "SELECT ?::numeric", 2**70).value == 2**70
        assert one(pg, "SELECT ?", [1, "a"]) == '[1, "a"]'
        assert one(pg, 'SELECT \'?\' || ? || "t"."?" FROM (SELECT \'x\' AS "?") AS t -- ?', "b") == "?bx"

    def test_secrets(self, pg):
        assert "reveal" in error_of(sql, pg, "SELECT ?", [Secret("plain", ("KEY",))])


class TestPostgresStatements:
    def test_exec_batch_tables(self, pg):
        assert sql_exec(pg, "CREATE TABLE b (id serial, a int UNIQUE)") == {"rows_affected": 0, "last_id": 0}
        sql_exec(pg, "CREATE TABLE a (x int)")
        sql_exec(pg, "CREATE SCHEMA IF NOT EXISTS other")
        sql_exec(pg, "CREATE TABLE other.c (x int)")
        assert sql_tables(pg) == ["a", "b", "other.c"]
        assert sql_exec(pg, "INSERT INTO b (a) VALUES (?), (?)", [1, 2]) == {"rows_affected": 2, "last_id": 0}
        assert sql_exec(pg, "INSERT INTO b (a) VALUES (?) RETURNING id", [3]) == {"rows_affected": 1, "last_id": 0}
        assert sql_batch(pg, "INSERT INTO b (a) VALUES (?)", [[4], [5]]) == {"rows_affected": 2}
        assert "duplicate key" in error_of(sql_batch, pg, "INSERT INTO b (a) VALUES (?)", [[6], [1], [7]])
        assert [row["a"] for row in paged(pg, "SELECT a FROM b ORDER BY a")] == [1, 2, 3, 4, 5, 6]
        assert page(pg, "SELECT a FROM b WHERE a > ? ORDER BY a", [2], 2, 1) == ([{"a": 4}, {"a": 5}], 4)

    def test_errors(self, pg):
        assert error_of(sql, pg, "SELECT * FROM none").startswith('db error: relation "none" does not exist')
        expected = "sql: the statement has 1 parameter(s) but 0 value(s) were passed"
        assert error_of(sql, pg, "SELECT ?") == expected
        assert "cannot insert multiple commands" in error_of(sql, pg, "SELECT 1; SELECT 2")
        assert "cannot insert multiple commands" in error_of(sql_exec, pg, "SELECT ?::int; SELECT 2", [1])
        assert one(pg, "SELECT ';'") == ";"
        assert "COPY" in error_of(sql, pg, "COPY pg_class TO STDOUT")

    def test_transactions(self, pg):
        sql_exec(pg, "CREATE TABLE t (a int)")
        for word, expected in (("ROLLBACK", 0), ("COMMIT", 1)):
            sql_exec(pg, "BEGIN")
            sql_exec(pg, "INSERT INTO t VALUES (1)")
            sql_exec(pg, word)
            assert one(pg, "SELECT count(*) FROM t") == expected
        sql_exec(pg, "BEGIN")
        error_of(sql, pg, "SELECT * FROM none")
        assert "aborted" in error_of(sql, pg, "SELECT 1")
        pg.lifetime.end()
        assert one(pg, "SELECT count(*) FROM t") == 1

    def test_another_job_waits(self, pg):
        sql_exec(pg, "CREATE TABLE t (a int)")
        other = pg.fork()
        other.lifetime = Lifetime()
        seen = []
        sql_exec(pg, "BEGIN")
        sql_exec(pg, "INSERT INTO t VALUES (1)")
        thread = threading.Thread(target=lambda: seen.append(one(other, "SELECT count(*) FROM t")))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        pg.lifetime.end()
        thread.join(10)
        assert seen == [0]


class TestMySQL:
    @pytest.mark.parametrize(
        ("query", "value"),
        [
            ("SELECT ?", 5),
            ("SELECT ?", -(2**63)),
            ("SELECT ?", 0.1),
            ("SELECT ?", -1.5e-300),
            ("SELECT ?", parse("1234567890123456.1200")),
            ("SELECT ?", "é ' \\ \" \n % %s"),
            ("SELECT ?", b"\0\xff'\\"),
            ("SELECT ?", None),
            *(
                ("SELECT ?", duration(text))
                for text in ("PT0S", "PT0.000001S", "-PT0.5S", "PT26H", "-P34DT22H59M59.999999S", "P34DT22H59M59.999999S")
            ),
        ],
    )
    def test_there_and_back(self, my, query, value):
        back = one(my, query, value)
        assert type(back) is type(value)
        assert str(back.value) == str(value.value) if type(value) is Dec else back == value

    def test_columns(self, my):
        sql_exec(
            my, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, b BOOL, d DECIMAL(9,3), j JSON, w DATE, x BLOB, s TEXT)"
        )
        done = sql_exec(
            my,
            "INSERT INTO t (b, d, j, w, x, s) VALUES (?, ?, ?, ?, ?, ?)",
            [TRUE, parse("1.5"), "[1]", "2026-02-01", b"\xff", "é"],
        )
        assert done == {"rows_affected": 1, "last_id": 1}
        row = sql(my, "SELECT * FROM t")[0]
        assert list(row) == ["id", "b", "d", "j", "w", "x", "s"]
        assert row["b"] is TRUE
        assert str(row["d"].value) == "1.500"
        assert row["w"] == parse_date("2026-02-01")
        assert row["x"] == b"\xff" and row["s"] == "é"
        assert sql_exec(my, "INSERT INTO t (s) VALUES ('x')")["last_id"] == 2
        assert sql_batch(my, "UPDATE t SET s = ? WHERE id = ?", [["p", 1], ["q", 2]]) == {"rows_affected": 2}
        assert sql_tables(my) == ["t"]
        assert page(my, "SELECT id FROM t ORDER BY id", [], 1, 1) == ([{"id": 2}], 2)

    @pytest.mark.parametrize("mode", ["", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"])
    @pytest.mark.parametrize("text", ["'", "\\", "\\'", "'' OR 1=1 -- ", "\\\\'", "a\0b", "\x1a\r\n", '"', "¿'文\\'"])
    def test_no_text_leaves_its_place(self, my, mode, text):
        sql_exec(my, f"SET sql_mode = '{mode}'")
        assert one(my, "SELECT ?", text) == text

    def test_dates(self, my):
        sql_exec(my, "CREATE TABLE days (d DATE, t DATETIME(6), s TIMESTAMP(6) NULL)")
        day, clock = parse_date("2026-02-01"), parse_datetime("2026-02-01T10:00:00.000001")
        sql_exec(my, "INSERT INTO days VALUES (?, ?, ?)", [day, clock, clock])
        assert sql(my, "SELECT * FROM days WHERE d = ? AND t = ?", [day, clock]) == [{"d": day, "t": clock, "s": clock}]
        sql_exec(my, "SET sql_mode = ''")
        assert one(my, "SELECT CAST('0000-00-00' AS DATE)") in ("0000-00-00", None)
        assert "no datetimes with a time zone" in error_of(sql, my, "SELECT ?", [parse_datetime("2026-02-01T10:00:00Z")])

    def test_times_are_durations(self, my):
        texts = ("03:04:05.000000", "-838:59:59.000000", "100:00:00.000001", "-00:00:00.500000", "00:00:00.000000")
        sql_exec(my, "CREATE TABLE waits (n INT, v TIME(6), w TIME)")
        sql_batch(my, "INSERT INTO waits (n, v) VALUES (?, ?)", [[n, text] for n, text in enumerate(texts)])
        found = [row["v"] for row in sql(my, "SELECT v FROM waits ORDER BY n")]
        seconds = ("PT3H4M5S", "-P34DT22H59M59S", "P4DT4H0.000001S", "-PT0.5S", "PT0S")
        assert found == [duration(text) for text in seconds]
        sql_exec(my, "DELETE FROM waits")
        sql_batch(my, "INSERT INTO waits (n, v) VALUES (?, ?)", [[n, value] for n, value in enumerate(found)])
        assert [row["s"] for row in sql(my, "SELECT CAST(v AS CHAR) AS s FROM waits ORDER BY n")] == list(texts)
        assert sql(my, "SELECT n, w FROM waits WHERE v = ?", [duration("P4DT4H0.000001S")]) == [{"n": 2, "w": None}]
        clocks = "TIMEDIFF(TIMESTAMP'2026-02-01 00:00:00', ?)"
        assert one(my, f"SELECT {clocks}", parse_datetime("2026-02-02T01:00:00")) == duration("-P1DT1H")
        later = "ADDTIME(TIMESTAMP'2026-02-01 10:00:00', ?)"
        assert one(my, f"SELECT CAST({later} AS DATETIME)", duration("P1DT1H")) == parse_datetime("2026-02-02T11:00:00")
        for text in ("P34DT23H", "-P34DT23H", "P999999999D"):
            assert "no times longer than 838:59:59.999999" in error_of(sql, my, "SELECT ?", [duration(text)])

    def test_numbers_that_mysql_lacks(self, my):
        assert error_of(sql, my, "SELECT ?", [float("nan")]) == "MySQL has no number nan"

    def test_escapes_in_another_mode(self, my):
        sql_exec(my, "SET sql_mode = 'NO_BACKSLASH_ESCAPES'")
        assert one(my, "SELECT CONCAT('\\', ?)", "a\\'b") == "\\a\\'b"

    def test_errors(self, my):
        assert error_of(sql, my, "SELECT * FROM none") == "Table 'app.none' doesn't exist"
        assert error_of(sql, my, "SELECT ?, '?'") == "sql: the statement has 1 parameter(s) but 0 value(s) were passed"
        assert "SQL syntax" in error_of(sql, my, "SELECT 1; SELECT 2")

    def test_the_server_gets_no_file_of_this_machine(self, my, tmp_path):
        (tmp_path / "mine").write_text("private", encoding="utf-8")
        sql_exec(my, "CREATE TABLE f (a TEXT)")
        error_of(sql_exec, my, f"LOAD DATA LOCAL INFILE '{tmp_path}/mine' INTO TABLE f")
        assert one(my, "SELECT COUNT(*) FROM f") == 0

    def test_transactions(self, my):
        sql_exec(my, "CREATE TABLE t (a INT)")
        sql_exec(my, "BEGIN")
        sql_exec(my, "INSERT INTO t VALUES (1)")
        my.lifetime.end()
        assert one(my, "SELECT COUNT(*) FROM t") == 0

    def test_tls_only_when_asked(self, mysql_place):
        for options, secure in (("", False), ("?ssl-mode=DISABLED", False), ("?ssl-mode=REQUIRED", True)):
            ctx = make()
            db_open(ctx, f"mysql://lang:p%40ss%20word@{mysql_place}/app{options}")
            assert bool(sql(ctx, "SHOW STATUS LIKE 'Ssl_cipher'")[0]["Value"]) is secure
            db_close(ctx)
        url = f"mysql://lang:p%40ss%20word@{mysql_place}/app?ssl-mode=VERIFY_IDENTITY"
        assert "certificate verify failed" in error_of(db_open, make(), url)

    def test_one_that_was_lost_is_opened_again(self, my, mysql_place):
        number = one(my, "SELECT CONNECTION_ID()")
        other = make()
        db_open(other, f"mysql://lang:p%40ss%20word@{mysql_place}/app")
        sql_exec(other, f"KILL {number}")
        error_of(sql, my, "SELECT 1")
        assert one(my, "SELECT CONNECTION_ID()") != number
