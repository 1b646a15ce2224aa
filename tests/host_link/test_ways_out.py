"""Every way out of a program goes through its link: databases, HTTPS, routes that pass requests on."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from runner.links import Egress, StartValues
from tests import servers
from tests.host_link.linked_program import addresses, started
from tests.host_link.test_linked_program import web

postgres = pytest.fixture(scope="module")(servers.postgres)
mysql = pytest.fixture(scope="module")(servers.mysql)
redis = pytest.fixture(scope="module")(servers.redis)

#: Names in the place of the address: nothing in the program can resolve them.
DATABASES = """
require db("*")
require secret("*")
db_open(secret("POSTGRES"))
print(sql("SELECT 6 * 7 AS answer, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))
db_close()
db_open(secret("MYSQL"))
print(sql("SELECT 6 * 7 AS answer"))
db_close()
db_open(secret("REDIS"))
redis_set("key", "42")
print(redis_get("key"))
try
    db_open(secret("ELSEWHERE"))
recover why
    print(why)
"""


def test_databases_are_reached_by_name_and_over_tls(tmp_path: Path, postgres: str, mysql: str, redis: str) -> None:
    def at(server: str, name: str) -> str:
        return f"{name}:{server.partition(':')[2]}"

    login = "lang:p%40ss%20word"
    secrets = {
        "POSTGRES": f"postgres://{login}@{at(postgres, 'pg.example')}/app?sslmode=require",
        "MYSQL": f"mysql://{login}@{at(mysql, 'my.example')}/app?ssl-mode=REQUIRED",
        "REDIS": f"redis://:p%40ss%20word@{at(redis, 're.example')}",
        "ELSEWHERE": f"postgres://{login}@{at(postgres, 'other.example')}/app",
    }

    def items(*hosts: str) -> str:
        """Of each server its database, with the port where it listens."""
        places = [at(server, host) for server, host in zip((postgres, mysql, redis), hosts)]
        return "db=postgres://{}/app,db=mysql://{}/app,db=redis://{}".format(*places)

    names = items("pg.example", "my.example", "re.example") + "," + items(*["127.0.0.1"] * 3)

    async def body() -> None:
        way_out = Egress(names, private_addresses=True, resolver=addresses)
        values = StartValues(secrets=secrets)
        async with started(tmp_path, DATABASES, ceiling="db,secret,stdout", values=values, way_out=way_out) as program:
            code, lines = await program.ended()
            assert code == 0, lines
            assert lines[0] == "[{answer: 42, ssl: true}]", lines
            assert lines[1:3] == ["[{answer: 42}]", "42"]
            assert "the runner refused the connection" in lines[3] and "p@ss" not in "".join(lines)
            made = {(r["capability"], r["scope"]): r["granted"] for r in program.told.of("audit of runner")}
            assert made == {
                ("db", at(postgres, "pg.example")): True,
                ("db", at(mysql, "my.example")): True,
                ("db", at(redis, "re.example")): True,
                ("db", at(postgres, "other.example")): False,
            }

    asyncio.run(body())


WEB = """
require serve(8080)
require net("secure.example")
require net("plain.example")
serve on 8080
    route "GET /secure"
        give fetch("https://secure.example:PORT/").body
    route "GET /not-it"
        give fetch("https://plain.example:PORT/").error
    route "GET /passed"
        proxy to "http://plain.example:OPEN"
"""


@pytest.fixture(scope="module")
def authority() -> Iterator[trustme.CA]:
    yield trustme.CA()


def test_tls_is_made_by_the_program_and_requests_are_passed_on(tmp_path: Path, authority: trustme.CA) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("secure.example").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "roots.pem")

    async def body() -> None:
        secure = await asyncio.start_server(web, "127.0.0.1", 0, ssl=context)
        plain = await asyncio.start_server(web, "127.0.0.1", 0)
        ports = [server.sockets[0].getsockname()[1] for server in (secure, plain)]
        source = WEB.replace("PORT", str(ports[0])).replace("OPEN", str(ports[1]))
        ceiling = "serve,net=*.example,net=127.0.0.1"
        way_out = Egress(ceiling, private_addresses=True, resolver=addresses)
        environment = {"SSL_CERT_FILE": str(tmp_path / "roots.pem")}
        async with (
            secure,
            plain,
            started(tmp_path, source, "serve", ceiling=ceiling, way_out=way_out, environment=environment) as program,
        ):
            await program.told.until("ready")
            assert json.loads((await program.get("/secure"))[1]) == "served"
            # The certificate is verified against the name that the program asked for, in the program.
            assert "the certificate does not verify" in (await program.get("/not-it"))[1]
            assert await program.get("/passed") == (200, "served")
            scopes = [(r["scope"], r["granted"]) for r in program.told.of("audit of runner")]
            assert scopes == [
                (f"secure.example:{ports[0]}", True), (f"plain.example:{ports[0]}", True), (f"plain.example:{ports[1]}", True),
            ]  # fmt: skip

    asyncio.run(body())
