"""A real service on an engine: started with its host link, answering over the socket that it was handed."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from collections.abc import Mapping
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


def a_service_answers_and_its_commands_cannot_look_into_it(stage: Stage, neighbour: Neighbour) -> None:
    package, cache = stage.folder / "service", stage.folder / "service-cache"
    package.mkdir()
    (package / "main.lang").write_text(SERVICE.format(python=stage.python), encoding="utf-8")
    (package / "greeting.txt").write_text("packaged greeting", encoding="utf-8")
    shutil.copy(HERE / "attacks.py", package)
    ceiling = f"serve=8080,file.read,exec={stage.python},stdout"
    given = stage.program("service", package=package, cache=cache, mode="serve", entry="main.lang")
    program = Program(**{name: getattr(given, name) for name in Program.__slots__} | {"ceiling": ceiling})
    path = str(stage.folder / "service.sock")

    async def act() -> Usage:
        engine = stage.engine_of_language()
        events = Events()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            listening.listen()
            listening.setblocking(False)
            egress = Egress(ceiling, private_addresses=False)
            link = Link(program.link, StartValues(env={"KNOWN": "yes"}), egress, events, listening=listening)
            await link.open()
            await engine.prepare(package, "main.lang", cache)
            running = await engine.start(program)
            ended = asyncio.create_task(running.wait())
            ready = asyncio.create_task(events.is_ready.wait())
            await asyncio.wait((ended, ready), return_when=asyncio.FIRST_COMPLETED)
            assert not ended.done(), [line.text async for _, line in running.lines(None)]
            status, body = await get(path, "/")
            assert "200" in status and "hello" in body, (status, body)
            used = await running.usage()
            status, body = await get(path, "/greeting")
            assert "packaged greeting" in body, (status, body)
            status, body = await get(path, "/attack")
            assert "200" in status, body
            told = json.loads(body[body.index("{") : body.rindex("}") + 1].replace('\\"', '"'))
            assert told["interpreters"] >= 1 and told["got"] == {}, told
            assert (await running.stop(30)).reason == "stopped"
            await link.close()
            await running.remove()
            await engine.close()
        return used

    used = stage.run(act(), 120)
    assert 0 < used.memory_mb < 128
    assert neighbour.answers()
