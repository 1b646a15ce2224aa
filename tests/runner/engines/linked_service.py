"""A real service on an engine: started with its host link, answering over the socket that it was handed."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from runner.engines import Program, Usage
from runner.links import Egress, GateAsked, Link, StartValues
from tests.runner.engines.engine_stage import HERE, Neighbour, Stage

SERVICE = """
require serve(8080)
require file.read
require exec("{python}")
serve on 8080
    route "GET /"
        give "hello"
    route "GET /greeting"
        give read_file("greeting.txt")
    route "GET /attack"
        give run("{python}", ["-IB", "/app/attacks.py", "the_interpreter"]).stdout
"""

BESIDE = """
require serve(8080)
require file.read
require exec("{python}")
require net("127.0.0.1:{port}")
serve on 8080
    route "GET /outside"
        give http_get("http://127.0.0.1:{port}/").body
    route "GET /beside"
        let process be proc_spawn("{python}", ["-IB", "/app/attacks.py", "outward", read_file("network.json")])
        let lines be []
        let event be proc_recv(process, 60)
        while event.type != "exit"
            set lines to append(lines, event.data)
            set event to proc_recv(process, 60)
        give lines
"""


class Events:
    """Notes that the program is ready."""

    def __init__(self) -> None:
        self.is_ready = asyncio.Event()

    def ready(self) -> None:
        self.is_ready.set()

    def audit(self, record: Mapping[str, Any], witness: str) -> None: ...

    def gate_opened(self, gate: GateAsked) -> None: ...

    def gate_closed(self, gate: str, outcome: str, channel: str, value: str | None) -> None: ...

    def lost(self) -> None: ...


async def get(path: str, url: str) -> tuple[str, str]:
    """Status line and body of an answer over a Unix socket."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(f"GET {url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return head.partition("\r\n")[0], body


def served(
    stage: Stage, project: str, files: Mapping[str, str], ceiling: str, egress: Egress, talk: Callable[[str], Awaitable[None]]
) -> Usage:
    """Starts a service on an engine of the language, lets ``talk`` ask it at the path of its socket, and ends it."""
    package, cache = stage.folder / project, stage.folder / f"{project}-cache"
    package.mkdir()
    for name, text in files.items():
        (package / name).write_text(text, encoding="utf-8")
    shutil.copy(HERE / "attacks.py", package)
    given = stage.program(project, package=package, cache=cache, mode="serve", entry="main.lang")
    program = Program(**{name: getattr(given, name) for name in Program.__slots__} | {"ceiling": ceiling})
    path = str(stage.folder / f"{project}.sock")

    async def act() -> Usage:
        engine = stage.engine_of_language()
        events = Events()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            listening.listen()
            listening.setblocking(False)
            link = Link(program.link, StartValues(env={"KNOWN": "yes"}), egress, events, listening=listening)
            await link.open()
            await engine.prepare(package, "main.lang", cache)
            running = await engine.start(program)
            ended = asyncio.create_task(running.wait())
            ready = asyncio.create_task(events.is_ready.wait())
            await asyncio.wait((ended, ready), return_when=asyncio.FIRST_COMPLETED)
            assert not ended.done(), [line.text async for _, line in running.lines(None)]
            await talk(path)
            used = await running.usage()
            assert (await running.stop(30)).reason == "stopped"
            await link.close()
            await running.remove()
            await engine.close()
        return used

    return stage.run(act(), 120)


def a_service_answers_and_its_commands_cannot_look_into_it(stage: Stage, neighbour: Neighbour) -> None:
    async def talk(path: str) -> None:
        status, body = await get(path, "/")
        assert "200" in status and "hello" in body, (status, body)
        status, body = await get(path, "/greeting")
        assert "packaged greeting" in body, (status, body)
        status, body = await get(path, "/attack")
        assert "200" in status, body
        told = json.loads(body[body.index("{") : body.rindex("}") + 1].replace('\\"', '"'))
        assert told["interpreters"] >= 1 and told["got"] == {}, told

    files = {"main.lang": SERVICE.format(python=stage.python), "greeting.txt": "packaged greeting"}
    ceiling = f"serve=8080,file.read,exec={stage.python},stdout"
    used = served(stage, "service", files, ceiling, Egress(ceiling, private_addresses=False), talk)
    assert 0 < used.memory_mb < 128
    assert neighbour.answers()


def a_process_beside_a_service_has_no_network(stage: Stage, neighbour: Neighbour) -> None:
    """The program may connect to a port of the machine, which it does through the link; its process reaches nothing."""
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\nfrom outside")
        await writer.drain()
        writer.close()

    with socket.create_server(("127.0.0.1", 0)) as machine, socket.socket(socket.AF_UNIX) as abstract:
        port, name = machine.getsockname()[1], f"lang-test-beside-{os.getpid()}"
        abstract.bind("\0" + name)
        abstract.listen()

        async def talk(path: str) -> None:
            outside = await asyncio.start_server(answer, sock=machine)
            status, body = await get(path, "/outside")
            assert "200" in status and "from outside" in body and len(asked) == 1, (status, body)
            status, body = await get(path, "/beside")
            assert "200" in status, body
            tried = [json.loads(line) for line in json.loads(body[body.index("[") : body.rindex("]") + 1])]
            assert [f"connect to 127.0.0.1:{port}", ""] in tried and len(tried) == 11, tried
            assert not (reached := [attack for attack in tried if attack[1]]), reached
            assert len(asked) == 1
            outside.close()

        files = {
            "main.lang": BESIDE.format(python=stage.python, port=port),
            "network.json": json.dumps({"port": port, "abstract": name}),
        }
        ceiling = f"serve=8080,file.read,exec={stage.python},net=127.0.0.1:{port},stdout"
        served(stage, "beside", files, ceiling, Egress(ceiling, private_addresses=True), talk)
    assert neighbour.answers()
