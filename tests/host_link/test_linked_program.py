"""Programs under ``--host-link``: what they are given, where they get, what is heard of them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from runner.links import Egress, Link, LinkState, StartValues
from tests.host_link.linked_program import addresses, of_process, records, started
from tests.runner.links.dialling import Caller, Told

VALUES = StartValues(
    env={"GREETING": "hello", "PYTHONPATH": "/nowhere-given", "PLATFORM_SHUTDOWN_GRACE": "x"},
    secrets={"KEY": "in-no-list"},
)


def test_values_come_over_the_link_alone(tmp_path: Path) -> None:
    source = """
require env("*")
require secret("KEY")
require exec("env")
require reveal("KEY")
print(env("GREETING"), env("PATH", "no path"), env("KEY", "no plain text"))
print(secret("KEY"), reveal(secret("KEY")) == "in-no-list")
print(env("PYTHONPATH"), env("PLATFORM_SHUTDOWN_GRACE", "kept"))
print(run("env").stdout)
"""

    async def body() -> None:
        async with started(tmp_path, source, ceiling="stdout,time,env,secret,exec,reveal", values=VALUES) as program:
            code, lines = await program.ended()
            assert (code, lines[:3]) == (0, ["hello no path no plain text", "secret(KEY) true", "/nowhere-given kept"])
            below = "\n".join(lines[3:])
            assert "GREETING" not in below and "in-no-list" not in below and "nowhere-given" not in below
            assert "PATH=/usr/bin:/bin" in below and "HTTPS_PROXY=http://127.0.0.1:" in below
            [summary] = [record["summary"] for record in program.told.of("audit of program") if "summary" in record]
            assert summary["exit"] == 0
            assert [r["capability"] for r in records(program.told)].count("env") == 5

    asyncio.run(body())


CURES = """
require secret("KEY")
require env("CITY")
require env("*")
require net("*")
require random
task told(act)
    try
        act()
    recover why
        print(why)
told(() => env("CITY"))
told(() => secret("KEY"))
told(() => read_file("notes.txt"))
told(() => random())
told(() => fetch("http://a.example/"))
random()
"""


def test_what_is_refused_or_missing_is_put_right_with_the_next_deploy(tmp_path: Path) -> None:
    async def body() -> None:
        async with started(tmp_path, CURES, ceiling="stdout,time,env=CITY,secret,net=b.example") as program:
            code, lines = await program.ended()
            assert code == 1 and lines[0].endswith(
                ':2:1: secret("KEY") has no value: set it with `lang secrets set KEY` and deploy again'
            )
            assert lines[1:6] == [
                'env("CITY"): variable not defined (the project has no value for it, and there is no default)',
                'secret("KEY"): variable not defined (the project has no value for it, and there is no default)',
                'Capability not granted: file.read("notes.txt") — no `require` line of the deployed program covers it',
                "Capability not granted: random — above the ceiling of this deploy: the plan, the owner of the project or a "
                "rehearsal withholds it",
                'Capability not granted: net("a.example") — above the ceiling of this deploy: the plan, the owner of the '
                "project or a rehearsal withholds it",
            ]
            assert lines[-2].startswith("help: `lang status` shows the ceiling")

    asyncio.run(body())


@pytest.mark.parametrize(
    ("act", "cure"),
    [
        ('require env("CITY")\nenv("CITY")', "set it with `lang env set CITY=VALUE` and deploy again, or give a default"),
        ('require secret("KEY")\nsecret("KEY")', "set it with `lang secrets set KEY` and deploy again, or give a default"),
        ('read_file("a.txt")', 'add `require file.read("a.txt")` at the top of the program, and deploy it again'),
        ('require env("*")\nenv("CITY")', 'ceiling of this deploy: write `require env("CITY")` in place of `require env("*")`'),
        ("now()", "`lang status` shows the ceiling, and `lang deploy` tells what the plan does not allow"),
    ],
)
def test_the_help_of_a_deployed_program_names_the_commands_of_the_platform(tmp_path: Path, act: str, cure: str) -> None:
    async def body() -> None:
        async with started(tmp_path, act, ceiling="stdout,env=CITY,secret") as program:
            code, lines = await program.ended()
            assert code == 1 and any(cure in line for line in lines), lines
            assert not any("--cap-set" in line or ".env" in line for line in lines)

    asyncio.run(body())


SERVICE = """
require serve(8080)
require net("*")
serve on 8080
    route "GET /gate"
        let ok be approve "Ship it?"
        give {"approved": ok}
    route "GET /ask"
        let found be ask "Where to?" with ["here", "there"]
        give {"to": found}
    route "GET /quick"
        let ok be confirm "Quick?" within 1s
        give {"approved": ok}
    route "GET /fetch"
        try
            give text(fetch("http://" + request.query["to"]))
        recover why
            give {"why": why}
"""


async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers one request."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: close\r\n\r\nserved")
    writer.close()


def test_a_service_is_reached_connects_asks_people_and_ends(tmp_path: Path) -> None:
    async def body() -> None:
        server = await asyncio.start_server(web, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        # The program holds more than the runner lets it have: as if its own check had failed.
        way_out = Egress(f"net=web.example:{port},net=127.0.0.1:{port}", private_addresses=True, resolver=addresses)
        async with (
            server,
            started(tmp_path, SERVICE, "serve", ceiling="serve,net,time", way_out=way_out, values=VALUES) as program,
        ):
            link, told = program.link, program.told
            await told.until("ready")
            for name in ("environ", "cmdline"):
                shown = of_process(program.process.pid, name)
                assert b"serve" in shown or b"LANG" in shown
                assert not any(given in shown for given in (b"in-no-list", b"nowhere-given", link.state.resume.encode()))
            assert await link.ping(60)

            # Connections: what the runner's ceiling covers, and nothing else.
            assert 'body: \\"served' in (await program.get(f"/fetch?to=web.example:{port}/"))[1]
            for place in (f"web.example:{port + 1}", "other.example:80", "169.254.169.254", "[::1]:1"):
                status, answer = await program.get(f"/fetch?to={place}/")
                assert (status, "refused the connection" in answer or "not granted" in answer) == (200, True), answer
            runners = [(r["scope"], r["granted"]) for r in told.of("audit of runner")]
            assert runners[:2] == [(f"web.example:{port}", True), (f"web.example:{port + 1}", False)]
            assert [r["granted"] for r in records(told) if r["scope"] == f"web.example:{port}"] == [True]

            # A wrong token decides nothing; the right one once.
            waiting = asyncio.ensure_future(program.get("/gate"))
            [gate] = await told.until("gate")
            link.state.gates[gate.id] = "0" * 64
            assert await link.decide(gate.id, decision=True, value=None, seconds=60) is False
            link.state.gates[gate.id] = gate.token
            assert await link.decide(gate.id, decision=True, value=None, seconds=60) is True
            assert json.loads((await waiting)[1]) == {"approved": True}
            assert told.of("closed") == [(gate.id, "approved", "api", None)]
            assert not any(gate.token in line for line in program.lines)

            # The program hears of a decision after a loss, too; by its own route it decides as ever.
            waiting = asyncio.ensure_future(program.get("/ask"))
            asked = (await told.until("gate", 2))[1]
            assert asked.options == ("here", "there")
            assert link._connection is not None
            link._connection.close()
            again = (await told.until("gate", 3))[2]
            assert (again.id, again.token) == (asked.id, asked.token)
            assert again.expires_at == asked.expires_at and 0 < again.left_ms < asked.left_ms <= 300_000
            assert await link.decide(asked.id, decision=None, value="there", seconds=60) is True
            assert json.loads((await waiting)[1]) == {"to": "there"}
            assert (await told.until("closed", 2))[1] == (asked.id, "answered", "api", "there")
            waiting = asyncio.ensure_future(program.get("/gate"))
            gate = (await told.until("gate", 4))[3]
            status, _ = await program.get(f"/approvals/{gate.id}/{gate.token}?d=no")
            assert (status, json.loads((await waiting)[1])) == (200, {"approved": False})
            assert (await told.until("closed", 3))[2] == (gate.id, "denied", "link", None)
            assert json.loads((await program.get("/quick"))[1]) == {"approved": False}
            assert (await told.until("closed", 4))[3][1:] == ("expired", "deadline", None)

            # What the runner says it may repeat by a signal.
            await link.stop(5)
            program.process.terminate()
            code, lines = await program.ended()
            assert code in (0, 143), "whichever it has heard first"
            assert "Serving HTTP for the runner (4 route(s))" in lines
            humans = [r["granted"] for r in records(told) if r["capability"] == "human"]
            assert humans == [True, True, False, False]

    asyncio.run(body())


def test_what_happens_while_nobody_is_there_is_told_to_the_next_runner(tmp_path: Path) -> None:
    async def body() -> None:
        server = await asyncio.start_server(web, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        way_out = Egress(f"net=web.example,net=127.0.0.1:{port}", private_addresses=True, resolver=addresses)
        async with server, started(tmp_path, SERVICE, "serve", ceiling="serve,net,time", way_out=way_out) as program:
            await program.told.until("ready")
            waiting = asyncio.ensure_future(program.get("/quick"))
            [gate] = await program.told.until("gate")
            kept = LinkState.from_json(json.loads(json.dumps(program.link.state.to_json())))
            await program.link.close()
            # It serves on, its gate expires, and what wants a connection waits for the runner.
            assert json.loads((await waiting)[1]) == {"approved": False}
            fetching = asyncio.ensure_future(program.get(f"/fetch?to=web.example:{port}/"))
            told = Told()
            link = Link(tmp_path / "link", StartValues(), way_out, told, listening=None, kept=kept)
            await link.open()
            assert await told.until("closed") == [(gate.id, "expired", "deadline", None)]
            assert "served" in (await fetching)[1]
            assert link.state.gates == {} and await link.ping(60)
            # A thief who comes while it is away learns nothing, and the program gets through.
            assert link._connection is not None
            link._connection.close()
            with suppress(OSError):
                thief = Caller(tmp_path / "link")
                await thief.say(type="hello", protocol=1, version="1", mode="serve", resume="")
                assert await thief.hear() is None
            assert "served" in (await program.get(f"/fetch?to=web.example:{port}/"))[1]
            await link.stop(5)
            assert (await program.ended())[0] == 0
            await link.close()

    asyncio.run(body())


def asked_for_the_time(told: Told) -> list[object]:
    """The records of ``now()``, without that of the grant itself."""
    return [r for r in records(told) if r["capability"] == "time" and r["line"] is not None]


def test_another_runner_process_takes_up_a_program_and_no_record_is_lost(tmp_path: Path) -> None:
    source = """
let n be 0
while n < 30000
    set n to n + 1
    now()
let ok be approve "on?"
print(ok)
"""

    async def body() -> None:
        async with started(tmp_path, source) as program:
            await program.told.until("ready")
            count = len(asked_for_the_time(program.told))
            kept = LinkState.from_json(json.loads(json.dumps(program.link.state.to_json())))
            await program.link.close()  # as if it was killed: nothing is said
            assert kept.audited < 30000
            told = Told()
            link = Link(
                tmp_path / "link", StartValues(), Egress("none", private_addresses=False), told, listening=None, kept=kept
            )
            await link.open()
            [gate] = await told.until("gate")
            assert await link.decide(gate.id, decision=True, value=None, seconds=60)
            code, lines = await program.ended()
            assert (code, lines[-1]) == (0, "true")
            assert count + len(asked_for_the_time(told)) == 30000
            assert told.of("ready") == [] and "summary" in told.of("audit of program")[-1]
            await link.close()

    asyncio.run(body())


def test_a_run_is_ended_and_its_last_records_arrive(tmp_path: Path) -> None:
    async def body() -> None:
        async with started(tmp_path, "print(1)\nwhile true\n    sleep(0.01)\n") as program:
            await program.told.until("ready")
            await program.told.until("audit of program", 3)
            await program.link.stop(5)
            code, _ = await program.ended()
            assert code == 130
            assert program.told.of("audit of program")[-1]["summary"]["exit"] == 130

    asyncio.run(body())


@pytest.mark.parametrize("source", ["print(1)\nwhile true\n    sleep(0.01)\n", SERVICE], ids=["worker", "service"])
@pytest.mark.parametrize("asked", [True, False])
def test_a_signal_that_nobody_announced_is_no_end_of_its_own(tmp_path: Path, source: str, asked: bool) -> None:
    """As one of a container engine that is stopped: a worker is started again, and not taken to be done."""

    async def body() -> None:
        async with started(tmp_path, source, "serve", ceiling="stdout,serve,time") as program:
            await program.told.until(*(("ready",) if source == SERVICE else ("audit of program", 4)))
            if asked:
                await program.link.stop(5)
            else:
                program.process.terminate()
            code, _ = await program.ended()
            assert code == (0 if asked else 143)

    asyncio.run(body())


@pytest.mark.parametrize("mode", ["run", "serve"])
def test_a_stop_that_comes_before_the_program_has_begun_is_kept(tmp_path: Path, mode: str) -> None:
    """It was dropped until the program could obey it."""

    async def body() -> None:
        source = SERVICE if mode == "serve" else "while true\n    sleep(0.01)\n"
        async with started(tmp_path, source, mode, ceiling="stdout,serve,time") as program:
            while not program.link.connected:
                await asyncio.sleep(0)
            await program.link.stop(5)
            code, _ = await program.ended()
            assert code == (0 if mode == "serve" else 130)

    asyncio.run(body())


def test_a_service_that_is_drained_answers_what_it_has_and_ends_while_a_newer_one_accepts(tmp_path: Path) -> None:
    async def body() -> None:
        async with started(tmp_path, SERVICE, "serve", ceiling="serve,time") as program:
            await program.told.until("ready")
            waiting = asyncio.ensure_future(program.get("/gate"))
            [gate] = await program.told.until("gate")
            await program.link.drain()
            await program.link.ping(60)
            assert await program.link.decide(gate.id, decision=True, value=None, seconds=60)
            assert json.loads((await waiting)[1]) == {"approved": True}
            code, _ = await program.ended()
            assert code == 0
            # Who comes now waits for the newer program: the socket is open at the runner.
            later = asyncio.ensure_future(program.get("/quick"))
            accepted, _ = await asyncio.get_running_loop().sock_accept(program.listening)
            accepted.close()
            with pytest.raises((IndexError, ConnectionError)):
                await later

    asyncio.run(body())


def test_a_second_serve_block_is_refused(tmp_path: Path) -> None:
    source = 'require serve\nserve on 1\n    route "GET /"\n        give 1\nserve on 2\n    route "GET /"\n        give 2\n'

    async def body() -> None:
        async with started(tmp_path, source, "serve", ceiling="serve") as program:
            code, lines = await program.ended()
            assert code == 1 and any("one serve block" in line for line in lines)

    asyncio.run(body())


def test_it_is_dialled_before_anything_else_and_refuses_what_does_not_go_with_it(tmp_path: Path) -> None:
    async def body() -> None:
        for flags in (("--workers", "2"), ("--env-file", "x"), ("--bind", "0.0.0.0"), ("--audit", "json")):
            async with started(tmp_path, "this is no program (", "serve", flags=flags) as program:
                code, lines = await program.ended()
                assert code == 2 and flags[0] in lines[0] and "--host-link" in lines[0]
                os.unlink(program.socket_path)

    asyncio.run(body())


@pytest.mark.parametrize("mode", ["run", "serve"])
def test_nobody_there_is_said_before_the_program_is_looked_at(tmp_path: Path, mode: str) -> None:
    program = tmp_path / "p.lang"
    program.write_text("this is no program (")
    found = subprocess.run(
        [sys.executable, "-m", "language", mode, str(program), "--host-link", str(tmp_path / "none.sock")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 2 and "No such file or directory" in found.stderr and "p.lang" not in found.stderr
