"""A link over TCP: a secret in the place of the socket's path, a port in the place of a descriptor, and CONNECT."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from runner.links import Egress, StartValues, TcpLink
from tests.host_link.linked_program import ENVIRONMENT, ROOT, addresses
from tests.host_link.test_linked_program import web
from tests.runner.links.dialling import SECONDS, Told
from tests.servers import free_port

SECRET = "0123456789abcdef" * 4


@asynccontextmanager
async def listening(ceiling: str, *, port: int | None = None) -> AsyncIterator[tuple[TcpLink, Told]]:
    told = Told()
    egress = Egress(ceiling, private_addresses=True, resolver=addresses)
    link = TcpLink("127.0.0.1", SECRET, StartValues(env={"A": "1"}), egress, told, port=port)
    await link.open()
    try:
        yield link, told
    finally:
        await link.close()


async def said(port: int, *lines: bytes) -> bytes:
    """All that is answered to these bytes."""
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for line in lines:
            writer.write(line)
        answer = await reader.read()
        writer.close()
        return answer


def hello(**more: str) -> bytes:
    return json.dumps({"type": "hello", "protocol": 1, "version": "1", "mode": "run", **more}).encode() + b"\n"


@pytest.mark.parametrize("secret", [{}, {"secret": ""}, {"secret": SECRET[:-1]}, {"secret": "é"}, {"resume": SECRET}])
def test_who_does_not_know_the_secret_is_told_nothing(secret: dict[str, str]) -> None:
    async def body() -> None:
        async with listening("none") as (link, _):
            assert await said(link.port, hello(**secret)) == b""
            # And keeps nobody else out.
            reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
            writer.write(hello(secret=SECRET))
            assert json.loads(await reader.readline())["env"] == {"A": "1"}
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", link.port)
            writer.close()

    asyncio.run(body())


def test_a_short_secret_is_none() -> None:
    with pytest.raises(ValueError, match="32 characters"):
        TcpLink("127.0.0.1", "short", StartValues(), Egress("none", private_addresses=False), Told(), port=None)


def test_what_the_proxy_refuses() -> None:
    async def body() -> None:
        async with listening("net=a.example,net=127.0.0.1") as (link, told):
            authorised = f"Proxy-Authorization: Bearer {link.state.resume}\r\n"
            for request, status in (
                ("CONNECT a.example:1 HTTP/1.1\r\n", b"407"),
                # The secret of the link lies in a file or a variable: it opens nothing once the program is there.
                (f"CONNECT a.example:1 HTTP/1.1\r\nProxy-Authorization: Bearer {SECRET}\r\n", b"407"),
                (f"CONNECT a.example:1 HTTP/1.1\r\nProxy-Authorization: Bearer {link.state.resume[:-1]}\r\n", b"407"),
                (f"CONNECT a.example:1 HTTP/1.1\r\nProxy-Authorization: Basic {link.state.resume}\r\n", b"407"),
                (f"CONNECT a.example:1 HTTP/1.1\r\nProxy-Authorization: Bearer x\r\n{authorised}", b"400"),
                (f"GET http://a.example:1/ HTTP/1.1\r\n{authorised}", b"405"),
                (f"CONNECT a.example HTTP/1.1\r\n{authorised}", b"400"),
                (f"CONNECT b.example:1 HTTP/1.1\r\n{authorised}", b"403"),
                (f"CONNECT 169.254.169.254:80 HTTP/1.1\r\n{authorised}", b"403"),
                (f"CONNECT a.example:1 HTTP/1.1\r\nCapability: db\r\n{authorised}", b"403"),
            ):
                assert (await said(link.egress_port, request.encode() + b"\r\n")).split(b" ")[1] == status, request
            assert await said(link.egress_port, b"x" * 100_000) == b""
            assert {record["granted"] for record in told.of("audit of runner")} == {False}

    asyncio.run(body())


def test_a_service_over_tcp(tmp_path: Path) -> None:
    source = """
require serve(8080)
require net("web.example")
require net("other.example")
require exec("env")
serve on 8080
    route "GET /"
        try
            give {"a": env("A", "unread"), "to": text(fetch("http://" + request.query["to"])), "child": run("env").stdout}
        recover why
            give why
"""

    async def body() -> None:
        server = await asyncio.start_server(web, "127.0.0.1", 0)
        there = server.sockets[0].getsockname()[1]
        port = free_port()
        (tmp_path / "p.lang").write_text('require env("A")\n' + source)
        async with server, listening(f"net=web.example:{there},net=127.0.0.1:{there}", port=port) as (link, told):
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "language", "serve", str(tmp_path / "p.lang"), "--host-link", f"tcp://127.0.0.1:{link.port}",
                env={**ENVIRONMENT, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PLATFORM_HOST_LINK_SECRET": SECRET},
                cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
            try:
                await told.until("ready")
                get = "GET /?to=%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                answer = await said(port, (get % f"web.example:{there}/").encode())
                assert b"served" in answer and b'"a": "1"' in answer and SECRET.encode() not in answer
                answer = await said(port, (get % "other.example/").encode())
                assert b"the runner refused the connection" in answer
                await link.stop(5)
                assert process.stdout is not None
                lines = await process.stdout.read()
                assert await process.wait() == 0 and SECRET.encode() not in lines
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
            assert [r["granted"] for r in told.of("audit of runner")] == [True, False]

    asyncio.run(body())


def test_a_link_over_tcp_needs_its_secret(tmp_path: Path) -> None:
    import subprocess

    for place, why in (("tcp://127.0.0.1:1", "needs its secret"), ("tcp://nowhere", "tcp://host:port")):
        found = subprocess.run(
            [sys.executable, "-m", "language", "run", "p.lang", "--host-link", place],
            capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert found.returncode == 2 and why in found.stderr


def test_who_dials_and_says_nothing_keeps_nobody_out() -> None:
    async def body() -> None:
        async with listening("none") as (link, _):
            silent = [await asyncio.open_connection("127.0.0.1", link.port) for _ in range(20)]
            reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
            writer.write(hello(secret=SECRET))
            assert json.loads(await reader.readline())["type"] == "start"
            for their_reader, their_writer in silent:
                with suppress(ConnectionResetError):  # one that had not been accepted yet
                    assert await their_reader.read() == b""
                their_writer.close()
            writer.close()

    asyncio.run(body())
