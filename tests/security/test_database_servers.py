"""Database servers: the URL alone says who logs in; no server, character set or statement gets more than was meant."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from stdlib.redis import family
from stdlib.sql import db_close, db_open, sql, sql_exec
from tests import servers

ROOT = Path(__file__).parents[2]
PASSWORD = "p%40ss%20word"


@pytest.fixture(scope="module")
def postgres_place() -> Iterator[str]:
    yield from servers.postgres()


@pytest.fixture(scope="module")
def mysql_place() -> Iterator[str]:
    yield from servers.mysql()


@pytest.fixture(scope="module")
def redis_place() -> Iterator[str]:
    yield from servers.redis()


@pytest.fixture
def ctx() -> Iterator[Context]:
    made = Context(NativeHost(), collect=True)
    made.capabilities.require("db", "*")
    yield made
    made.host.databases.close_all()


def refusal(act: Callable[[], Any]) -> str:
    with pytest.raises(RuntimeFault) as caught:
        act()
    text = caught.value.message
    assert "p@ss" not in text and PASSWORD not in text and "hunter2" not in text
    return text


# ---- who logs in -------------------------------------------------------------------------------------------------------


class TestNothingIsInherited:
    """From the environment and the home folder of whoever runs the program."""

    @pytest.fixture
    def home(self, tmp_path: Path, postgres_place: str) -> Path:
        host, _, port = postgres_place.partition(":")
        (tmp_path / ".pgpass").write_text("*:*:*:*:p@ss word\n")
        (tmp_path / ".pg_service.conf").write_text(
            f"[inside]\nhost={host}\nport={port}\nuser=lang\npassword=p@ss word\ndbname=app\noptions=-c search_path=evil\n"
        )
        (tmp_path / ".my.cnf").write_text("[client]\nuser=lang\npassword=p@ss word\n")
        for file in tmp_path.iterdir():
            file.chmod(0o600)
        return tmp_path

    def run(self, home: Path, source: str, **variables: str) -> list[str]:
        (home / "p.lang").write_text(f'require db("*")\nrequire env("*")\nrequire exec("printenv")\n{source}\n')
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), **variables}
        done = subprocess.run(
            [sys.executable, "-m", "language", "run", "p.lang"], cwd=home, env=env, capture_output=True, text=True, check=False
        )
        assert "p@ss" not in done.stderr
        # Below the line that tells an error stand the source, its caret and what helps.
        return (done.stdout + done.stderr.partition("\n")[0]).splitlines()

    def test_the_password_of_postgres(self, home: Path, postgres_place: str) -> None:
        tries = {
            "PGPASSWORD": "p@ss word",
            "PGPASSFILE": str(home / ".pgpass"),
            "PGSERVICE": "inside",
            "PGSERVICEFILE": str(home / ".pg_service.conf"),
        }
        for user in ("lang@", "lang:@"):
            [line] = self.run(home, f'db_open("postgres://{user}{postgres_place}/app")', **tries)
            assert "no password supplied" in line or "empty password" in line

    @pytest.mark.parametrize("scheme", ["postgres", "mysql"])
    def test_a_user_must_be_named(self, home: Path, scheme: str) -> None:
        variables = {"PGUSER": "lang", "USER": "lang", "LOGNAME": "lang"}
        [line] = self.run(home, f'db_open("{scheme}://127.0.0.1:1/app")', **variables)
        assert line.endswith(f"db_open: the URL names no user (expected {scheme}://user:password@host/database)")

    def test_no_variable_changes_a_session(self, home: Path, postgres_place: str) -> None:
        variables = {
            "PGOPTIONS": "-c search_path=evil -c work_mem=99MB",
            "PGTZ": "Asia/Tokyo",
            "PGDATESTYLE": "German",
            "PGGEQO": "off",
            "PGCLIENTENCODING": "LATIN1",
            "PGAPPNAME": "evil",
            "PGHOST": "169.254.169.254",
            "PGHOSTADDR": "169.254.169.254",
            "PGPORT": "1",
            "PGDATABASE": "postgres",
            "PGSSLMODE": "disable",
            "PGSSLROOTCERT": "/nowhere",
            "PGREQUIREAUTH": "none",
            "PGTARGETSESSIONATTRS": "standby",
            "PGMAXPROTOCOLVERSION": "nonsense",
        }
        query = (
            "SELECT current_setting('search_path') || ' ' || current_setting('TimeZone') || ' ' || current_setting('DateStyle')"
            " || ' ' || current_setting('geqo') || ' ' || current_setting('client_encoding') || ' ' || current_database()"
            " || ' ' || current_setting('application_name') || ' ' || current_setting('work_mem') || ' ' || user"
            " || ' ' || (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS all"
        )
        for database in ("/app", ""):
            open_it = f'db_open("postgres://lang:{PASSWORD}@{postgres_place}{database or "/postgres"}")\n'
            source = open_it + f'print(sql("{query}")[0]["all"])'
            plain = self.run(home, source)
            assert " UTF8 " in plain[0] and plain[0].endswith(" lang true")
            assert self.run(home, source, **variables) == plain

    def test_the_program_and_its_children_still_see_the_variables(self, home: Path, postgres_place: str) -> None:
        source = f'db_open("postgres://lang:{PASSWORD}@{postgres_place}/app")\n'
        source += 'print(env("PGTZ"))\nprint(trim(run("printenv", ["PGTZ"])["stdout"]))'
        assert self.run(home, source, PGTZ="Asia/Tokyo") == ["Asia/Tokyo", "Asia/Tokyo"]

    def test_the_password_of_mysql(self, home: Path, mysql_place: str) -> None:
        variables = {"MYSQL_PWD": "p@ss word", "MYSQL_HOST": "127.0.0.1", "MYSQL_HOME": str(home)}
        [line] = self.run(home, f'db_open("mysql://lang@{mysql_place}/app")', **variables)
        assert "Access denied" in line

    def test_the_password_of_redis(self, home: Path, redis_place: str) -> None:
        variables = {"REDIS_URL": f"redis://:{PASSWORD}@{redis_place}", "REDISCLI_AUTH": "p@ss word"}
        [line] = self.run(home, f'db_open("redis://{redis_place}")\nredis_get("x")', **variables)
        assert "uthentication required" in line


LOGINS = [
    ("redis://:{p}@{redis}/0", "redis://mallory:wrong@{redis}/0"),
    ("redis://:{p}@{redis}/0", "redis://:wrong@{redis}/0"),
    ("redis://:{p}@{redis}", "redis://default:wrong@{redis}"),
    ("postgres://lang:{p}@{postgres}/app", "postgres://mallory:wrong@{postgres}/app"),
    ("postgres://lang:{p}@{postgres}/app", "postgres://lang:wrong@{postgres}/app"),
    ("postgres://lang:{p}@{postgres}/app", "postgres://lang@{postgres}/app"),
    ("postgres://lang:{p}@{postgres}/app", "postgres://lang:wrong@{postgres}/APP"),
    ("mysql://lang:{p}@{mysql}/app", "mysql://mallory:wrong@{mysql}/app"),
    ("mysql://lang:{p}@{mysql}/app", "mysql://lang:wrong@{mysql}/app"),
]


class TestOneConnectionForEachLogin:
    @pytest.fixture
    def places(self, postgres_place: str, mysql_place: str, redis_place: str) -> dict[str, str]:
        return {"postgres": postgres_place, "mysql": mysql_place, "redis": redis_place, "p": PASSWORD}

    @pytest.mark.parametrize(("good", "bad"), LOGINS)
    def test_another_login_is_tried(self, ctx: Context, places: dict[str, str], good: str, bad: str) -> None:
        db_open(ctx, good.format(**places))
        refusal(lambda: db_open(ctx, bad.format(**places)))
        assert len(ctx.host.databases._open) == 1

    @pytest.mark.parametrize("good", sorted({good for good, _ in LOGINS}))
    def test_another_port_is_another_server(self, ctx: Context, places: dict[str, str], good: str) -> None:
        url = good.format(**places)
        db_open(ctx, url)
        scheme = url.partition(":")[0]
        other = url.replace(places[scheme], f"127.0.0.1:{servers.free_port()}")
        assert "refused" in refusal(lambda: db_open(ctx, other))

    def test_the_same_login_is_the_same_connection(self, ctx: Context, places: dict[str, str]) -> None:
        url = "postgres://lang:{p}@{postgres}/app".format(**places)
        db_open(ctx, url)
        sql_exec(ctx, "CREATE TEMPORARY TABLE mine (n INT)")
        db_open(ctx, url.replace("postgres://", "postgresql://"))
        assert sql(ctx, "SELECT count(*) AS n FROM mine") == [{"n": 0}]

    def test_another_database_of_redis_is_another_connection(self, ctx: Context, places: dict[str, str]) -> None:
        first, second = ("redis://:{p}@{redis}/{n}".format(**places, n=number) for number in (3, 4))
        db_open(ctx, first)
        family.builtins["redis_set"].function(ctx, "mine", "of the first")
        db_open(ctx, second)
        db_close(ctx, first)
        assert family.builtins["redis_get"].function(ctx, "mine") is None
        db_open(ctx, first)
        db_close(ctx, second)
        assert family.builtins["redis_get"].function(ctx, "mine") == "of the first"

    def test_two_users_at_once_and_closing(self, ctx: Context, places: dict[str, str]) -> None:
        url = "postgres://lang:{p}@{postgres}/app".format(**places)
        db_open(ctx, url)
        sql_exec(ctx, "DROP ROLE IF EXISTS bob")
        sql_exec(ctx, "CREATE ROLE bob LOGIN PASSWORD 'hunter2'")
        bob = url.replace(f"lang:{PASSWORD}", "bob:hunter2")
        db_open(ctx, bob)
        assert sql(ctx, "SELECT user AS u") == [{"u": "lang"}]
        keys = repr(list(ctx.host.databases._open)) + repr(vars(ctx.host.databases))
        assert not any(secret in keys for secret in ("p@ss", PASSWORD, "hunter2"))
        db_close(ctx, url)
        assert sql(ctx, "SELECT user AS u") == [{"u": "bob"}]
        db_open(ctx, url)
        db_close(ctx, "postgres://bob:wrong@{postgres}/app".format(**places))
        assert sql(ctx, "SELECT user AS u") == [{"u": "bob"}]
        db_close(ctx, "postgres://127.0.0.1/app")
        assert refusal(lambda: sql(ctx, "SELECT 1")).startswith("No database connection")


# ---- statements --------------------------------------------------------------------------------------------------------


class TestPostgres:
    @pytest.fixture
    def pg(self, ctx: Context, postgres_place: str) -> Context:
        db_open(ctx, f"postgres://lang:{PASSWORD}@{postgres_place}/app")
        return ctx

    @pytest.mark.parametrize(
        "statement",
        [
            "SELECT 1; DROP TABLE kept",
            "SELECT 1;;DROP TABLE kept;",
            "SELECT 1 ; -- x\nDROP TABLE kept",
            "SELECT ';'; DROP TABLE kept",
            "COMMIT; DROP TABLE kept",
        ],
    )
    def test_one_statement_at_a_time(self, pg: Context, statement: str) -> None:
        sql_exec(pg, "CREATE TABLE IF NOT EXISTS kept (n INT)")
        for act in (sql, sql_exec):
            refusal(partial(act, pg, statement))
        assert sql(pg, "SELECT count(*) AS n FROM kept") == [{"n": 0}]

    @pytest.mark.parametrize("statement", ["COPY kept FROM STDIN", "COPY kept TO STDOUT", "COPY (SELECT 1) TO STDOUT"])
    def test_copying_to_and_from_the_client(self, pg: Context, statement: str) -> None:
        sql_exec(pg, "CREATE TABLE IF NOT EXISTS kept (n INT)")
        for act in (sql, sql_exec):
            refusal(partial(act, pg, statement))
        assert sql(pg, "SELECT 1 AS n") == [{"n": 1}]  # the connection, or a new one, goes on

    def test_a_client_encoding_of_two_byte_characters(self, pg: Context) -> None:
        for encoding in ("SJIS", "GBK", "BIG5", "LATIN1", "UTF8"):
            sql_exec(pg, f"SET client_encoding TO '{encoding}'")
            for text in ("a\\' OR 1=1 --", "\\", "'", "é\\'"):
                if encoding in ("SJIS", "GBK", "BIG5") and not text.isascii():
                    continue
                assert sql(pg, "SELECT ?::text AS t", [text]) == [{"t": text}]

    def test_notices_and_notifications_disturb_nothing(self, pg: Context) -> None:
        sql_exec(pg, "LISTEN c")
        sql_exec(pg, "NOTIFY c, 'x'")
        sql_exec(pg, "DO $$ BEGIN RAISE NOTICE 'hello'; END $$")
        assert sql(pg, "SELECT 1 AS n") == [{"n": 1}]


class TestMySQL:
    @pytest.fixture
    def my(self, ctx: Context, mysql_place: str) -> Context:
        db_open(ctx, f"mysql://lang:{PASSWORD}@{mysql_place}/app")
        return ctx

    @pytest.mark.parametrize("charset", ["gbk", "sjis", "big5", "gb2312", "cp932", "latin1", "utf8mb4"])
    @pytest.mark.parametrize("mode", ["", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"])
    def test_a_text_ends_where_it_ends_in_every_character_set(self, my: Context, charset: str, mode: str) -> None:
        sql_exec(my, f"SET SESSION sql_mode = '{mode}'")
        sql_exec(my, f"SET NAMES {charset}")
        for text in ("中\\' OR 1=1 -- ", "¿' OR 1=1 -- ", "\\", "'", "\\'", "''", "表\\", "\u0000'", "a\nb", "ok %s ? `"):
            [row] = sql(my, "SELECT 1 AS n FROM (SELECT 'x' AS t) AS s WHERE s.t = ? UNION ALL SELECT 2", [text])
            assert row == {"n": 2}
            [row] = sql(my, "SELECT HEX(CONVERT(? USING utf8mb4)) AS h", [text])
            assert row["h"] == text.encode().hex().upper()

    def test_one_statement_at_a_time(self, my: Context) -> None:
        sql_exec(my, "CREATE TABLE IF NOT EXISTS kept (n INT)")
        for act in (sql, sql_exec):
            refusal(partial(act, my, "SELECT 1; DROP TABLE kept"))
        assert sql(my, "SELECT count(*) AS n FROM kept") == [{"n": 0}]

    def test_no_file_of_the_client_is_loaded(self, my: Context, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("hunter2\n")
        sql_exec(my, "CREATE TABLE IF NOT EXISTS kept2 (t TEXT)")
        refusal(lambda: sql_exec(my, f"LOAD DATA LOCAL INFILE '{tmp_path}/secret' INTO TABLE kept2"))
        assert sql(my, "SELECT count(*) AS n FROM kept2") == [{"n": 0}]


# ---- hostile servers ---------------------------------------------------------------------------------------------------


class Hostile:
    """A server that plays a part: ``play(receive, send)``. What it heard stays in ``heard``."""

    def __init__(self, play: Callable[[Callable[[], bytes], Callable[[bytes], None]], None]) -> None:
        self.heard = b""
        self._play = play
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        connection.settimeout(30)

        def receive() -> bytes:
            data = connection.recv(1 << 16)
            self.heard += data
            return data

        with connection:
            try:
                self._play(receive, connection.sendall)
                while receive():
                    pass
            except OSError:
                return

    def __enter__(self) -> Hostile:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self._thread.join(30)


def packet(number: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "little") + bytes([number]) + body


GREETING = packet(
    0,
    b"\x0a8.0.0\0" + b"\x01\0\0\0" + b"12345678\0" + b"\xff\xf7" + b"\x21" + b"\x02\0" + b"\xff\x81" + b"\x15"
    + b"\0" * 10 + b"123456789012\0" + b"mysql_native_password\0",
)  # fmt: skip
OK = b"\0\0\0\x02\0\0\0"


@pytest.mark.parametrize("plugin", [b"mysql_clear_password", b"dialog", b"mysql_old_password"])
def test_mysql_gives_no_password_in_the_clear(ctx: Context, plugin: bytes) -> None:
    def play(receive: Callable[[], bytes], send: Callable[[bytes], None]) -> None:
        send(GREETING)
        receive()
        send(packet(2, b"\xfe" + plugin + b"\0" + b"\x04Password: \0"))

    with Hostile(play) as server:
        text = refusal(lambda: db_open(ctx, f"mysql://u:hunter2@{server.place}/app"))
    assert text == "the server asks for the password in clear text, which it gets only over TLS (?ssl-mode=REQUIRED)"
    assert b"hunter2" not in server.heard


def test_mysql_sends_no_file_that_the_server_asks_for(ctx: Context, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")

    def play(receive: Callable[[], bytes], send: Callable[[bytes], None]) -> None:
        send(GREETING)
        receive()
        send(packet(2, OK))
        receive()  # SET NAMES
        send(packet(1, OK))
        receive()  # SELECT
        send(packet(1, b"\xfb" + str(secret).encode()))

    with Hostile(play) as server:
        db_open(ctx, f"mysql://u:p@{server.place}/app")
        refusal(lambda: sql(ctx, "SELECT 1"))
        ctx.host.databases.close_all()
    assert b"hunter2" not in server.heard


NONSENSE = [b"", b"\0" * 64, b"\xff" * 64, b"\x00\x00\x00\x00", b"HTTP/1.1 200 OK\r\n\r\n", bytes(range(256)) * 8]


@pytest.mark.parametrize(
    "url", ["mysql://u:hunter2@{}/a", "postgres://u:hunter2@{}/a?sslmode=disable", "redis://u:hunter2@{}/1"]
)
@pytest.mark.parametrize("nonsense", range(len(NONSENSE)))
def test_nonsense_is_an_error(ctx: Context, url: str, nonsense: int) -> None:
    def play(receive: Callable[[], bytes], send: Callable[[bytes], None]) -> None:
        if not url.startswith("mysql"):
            receive()
        send(NONSENSE[nonsense])
        raise OSError("enough")

    with Hostile(play) as server:
        refusal(lambda: db_open(ctx, url.format(server.place)))


@pytest.mark.parametrize(
    "answer",
    [
        b"\x05" + b"\xff" * 40,
        b"\x01\x03def",
        b"\xfd\xff\xff\xff" + b"x" * 8,
        b"\xff",
        b"\xff\x01",
        b"\xfe",
        b"\x01\xff\xff",
        b"\xfc\xff",
        b"",
    ],
)
def test_a_result_of_mysql_that_cannot_be_read_is_an_error(ctx: Context, answer: bytes) -> None:
    def play(receive: Callable[[], bytes], send: Callable[[bytes], None]) -> None:
        send(GREETING)
        receive()
        send(packet(2, OK))
        receive()
        send(packet(1, OK))
        receive()
        send(packet(1, answer) + packet(2, b"\x03def" + b"\xfe" * 9) + packet(3, b"\x01x"))
        raise OSError("enough")

    with Hostile(play) as server:
        db_open(ctx, f"mysql://u:p@{server.place}/app")
        refusal(lambda: sql(ctx, "SELECT 1"))


@pytest.mark.parametrize(
    "answer",
    [b"$99999999999999999999\r\n", b"$x\r\n", b":x\r\n", b"?\r\n", b"$5\r\nab", b"*1\r\n" * 5000],
)
def test_a_reply_of_redis_that_cannot_be_read_is_an_error(ctx: Context, answer: bytes) -> None:
    def play(receive: Callable[[], bytes], send: Callable[[bytes], None]) -> None:
        while b"\r\nGET\r\n" not in (data := receive()):
            send(b"+OK\r\n" * len(re.findall(rb"^\*\d", data, re.M)))
        send(answer)
        raise OSError("enough")

    with Hostile(play) as server:
        db_open(ctx, f"redis://{server.place}")
        refusal(lambda: family.builtins["redis_get"].function(ctx, "k"))
