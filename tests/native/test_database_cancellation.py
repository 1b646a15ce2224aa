"""A statement that a server works on for long ends with its request, and the next one finds a connection that works."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests import servers
from tests.serve.served import Served

PROGRAM = """
require serve(8080)
require db("*")
db_open("URL")
serve on 8080
    timeout 0.5
    route "GET /slow"
        give sql("SLEEP")
    route "GET /begun"
        sql_exec("BEGIN")
        sql_exec("INSERT INTO t VALUES (1)")
        give sql("SLEEP")
    route "GET /quick"
        timeout 20
        give sql("SELECT COUNT(*) AS n FROM t")
    route "GET /large"
        timeout 20
        give length(sql("SELECT REPEAT('x', 100000) AS a FROM t, t AS t2, t AS t3")[0].a)
"""


@pytest.fixture(scope="module", params=["postgres", "mysql", "mysql-tls"])
def app(request: pytest.FixtureRequest) -> Iterator[Served]:
    kind, _, tls = request.param.partition("-")
    for address in getattr(servers, kind)():
        url = f"{kind}://lang:p%40ss%20word@{address}/app" + ("?ssl-mode=REQUIRED" if tls else "")
        sleep = "SELECT pg_sleep(30)" if kind == "postgres" else "SELECT SLEEP(30)"
        setup = 'db_open("URL")\nsql_exec("CREATE TABLE t (a INTEGER)")\n'
        app = Served(PROGRAM.replace('db_open("URL")\n', setup).replace("URL", url).replace("SLEEP", sleep))
        yield app
        databases = app.context.host.databases
        assert databases is not None
        databases.close_all()


@pytest.mark.parametrize("path", ["/slow", "/begun", "/slow"])
def test_it_ends_at_the_timeout(app: Served, path: str) -> None:
    began = time.monotonic()
    assert app("GET", path).status == 504
    assert time.monotonic() - began < 20
    quick = app("GET", "/quick")
    assert (quick.status, b'"n": 0' in quick.body) == (200, True), "rolled back"
    assert time.monotonic() - began < 20
    assert not [line for line in app.host.errors if " 500 " in line]


def test_large_answers_arrive_whole(app: Served) -> None:
    databases = app.context.host.databases
    assert databases is not None
    for count in (1, 5):
        databases.default.engine.execute("t", "DELETE FROM t", [()], lambda _: None)
        for _ in range(count):
            databases.default.engine.execute("t", "INSERT INTO t VALUES (1)", [()], lambda _: None)
        assert app("GET", "/large").body == b"100000"
    databases.default.engine.execute("t", "DELETE FROM t", [()], lambda _: None)
