"""Many clients at once, a part of which goes away in the middle: no answer goes to somebody else, nothing stays behind."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from random import Random

import httpx

from tests.examples.running_services import Service, served
from tests.open_descriptors import open_descriptors, open_without_connections

PROGRAM = """
require serve(8080)
let n be 0
task who(token)
    when starts_with(token, "user-")
        give {"id": token}
serve on 8080
    auth with who
    max_body "3mb"
    max_streams 1000
    timeout 5
    route "GET /echo/:id"
        set n to n + 1
        sleep(0.001)
        give {"id": params.id, "q": query, "n": n}
    route "POST /bytes/:id"
        give {"id": params.id, "n": length(read_body_bytes()), "spilled": request.body_file != nothing}
    route "GET /me" requires auth
        give {"id": request.user.id}
    route "GET /ticks/:id"
        stream
            each i in range(50)
                send {"id": params.id}
                sleep(0.01)
    route "GET /late/:id"
        timeout 0.05
        sleep(5)
"""
SECONDS = 5.0
CLIENTS = 100


class Client:
    """One connection at a time, a random walk of requests."""

    def __init__(self, number: int, address: tuple[str, int], end: float) -> None:
        self.random = Random(number)
        self.number = number
        self.address = address
        self.end = end
        self.wrong: list[object] = []
        self.answered = 0
        self.left = 0

    async def run(self) -> None:
        count = 0
        while time.monotonic() < self.end:
            try:
                reader, writer = await asyncio.open_connection(*self.address)
            except ConnectionError as error:
                self.wrong.append(repr(error))
                return
            try:
                open_ = True
                while open_ and time.monotonic() < self.end:
                    count += 1
                    open_ = await self.ask(f"{self.number}-{count}", reader, writer)
            except (ConnectionError, TimeoutError, asyncio.IncompleteReadError, ValueError) as error:
                self.wrong.append(repr(error))
            finally:
                writer.close()

    async def ask(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether the connection goes on."""
        kind = self.random.choice(("echo", "echo", "echo", "bytes", "me", "ticks", "late"))
        size = self.random.choice((10, 5000, 1_200_000)) if kind == "bytes" else 0
        lines = {
            "echo": f"GET /echo/{name}?pad={'x' * self.random.choice((0, 2000))} HTTP/1.1",
            "bytes": f"POST /bytes/{name} HTTP/1.1\r\nContent-Length: {size}",
            "me": f"GET /me HTTP/1.1\r\nAuthorization: Bearer user-{name}",
            "ticks": f"GET /ticks/{name} HTTP/1.1",
            "late": f"GET /late/{name} HTTP/1.1",
        }
        data = f"{lines[kind]}\r\nHost: localhost\r\n\r\n".encode() + b"z" * size
        leaves = kind == "ticks" or self.random.random() < 0.2
        if leaves and kind != "ticks" and self.random.random() < 0.5:
            data = data[: self.random.randrange(1, len(data))]
        writer.write(data)
        if leaves:
            if kind == "ticks":
                seen = await asyncio.wait_for(reader.read(500), 20)
                if b"data: " in seen and f'"{name}"'.encode() not in seen:
                    self.wrong.append((name, seen))
            else:
                await asyncio.sleep(self.random.random() * 0.01)
            self.left += 1
            return False
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        answer = json.loads(await asyncio.wait_for(reader.readexactly(int(length.partition(b":")[2])), 20))
        self.answered += 1
        if kind == "late":
            right = answer["status"] == 504
        elif kind == "me":
            right = answer == {"id": f"user-{name}"}
        elif kind == "bytes":
            right = answer == {"id": name, "n": size, "spilled": size > 1_048_576}
        else:
            right = (answer["id"], answer["n"]) == (name, 1)
        if not right:
            self.wrong.append((name, answer))
        return b"connection: close" not in head.lower()


def threads_of(service: Service) -> int:
    return len(os.listdir(f"/proc/{service.process.pid}/task"))


async def walk(clients: list[Client]) -> None:
    await asyncio.gather(*(client.run() for client in clients))


def test_answers_never_mix_and_nothing_stays_behind(tmp_path: Path) -> None:
    (tmp_path / "app.lang").write_text(PROGRAM)
    spill = tmp_path / "spill"
    spill.mkdir()
    with served(tmp_path, "app.lang", TMPDIR=str(spill)) as service:
        descriptors = open_without_connections(service, "/bytes/first")
        host, _, port = service.url.removeprefix("http://").partition(":")
        end = time.monotonic() + SECONDS
        clients = [Client(number, (host, int(port)), end) for number in range(CLIENTS)]
        asyncio.run(walk(clients))
        assert [one for client in clients for one in client.wrong] == []
        assert sum(client.answered for client in clients) > CLIENTS and sum(client.left for client in clients) > CLIENTS
        until = time.monotonic() + 20
        while time.monotonic() < until:
            open_now, threads = open_descriptors(service.process.pid), threads_of(service)
            left = [name for folder in spill.iterdir() for name in os.listdir(folder)]
            if open_now == descriptors and threads <= 8 and not left:
                break
            time.sleep(0.2)
        assert open_now == descriptors
        assert (threads <= 8, left) == (True, []), threads
        assert "internal error" not in service.log and "Traceback" not in service.log
    assert list(spill.iterdir()) == []


ENDLESS = """
require serve(8080)
serve on 8080
    timeout 0.3
    route "GET /"
        stream
            let i be 0
            while true
                send i
                set i to i + 1
"""


def test_a_stream_that_is_cut_off_says_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "app.lang").write_text(ENDLESS)
    with served(tmp_path, "app.lang") as service:
        for _ in range(4):
            events = httpx.get(service.url, timeout=30).text.split("\n\n")
            assert events.pop() == ""
            assert events.pop() == 'event: error\ndata: {"error": "cancelled: request timed out after 0.3s"}'
            assert len(events) > 100 and events == [f"data: {number}" for number in range(len(events))]
