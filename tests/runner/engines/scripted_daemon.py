"""Something that answers as a Docker daemon does, as far as a test says, and fails where the test says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

#: What a daemon of a swarm tells of itself.
INFO = {
    "Name": "here",
    "Swarm": {"NodeID": "n1"},
    "SecurityOptions": ["name=seccomp,profile=builtin"],
    "PidsLimit": True,
    "MemoryLimit": True,
    "CpuCfsQuota": True,
    "MemTotal": 1 << 32,
}


class Unended(bytes):
    """The begin of an answer that does not come to its end."""


class Daemon:
    """The daemon at one Unix socket.

    Attributes:
        answers: by method and path, without the version of the API and the query: what is answered as JSON, bytes as they are,
            of which ``Unended`` are followed by nothing,
            a number as the status of a refusal, or what gives one of these for the body of the request.
        asked: the method and path of each request.
        query: that of the newest request.
        connections: how many are open.
    """

    def __init__(self, path: Path) -> None:
        self.host = f"unix://{path}"
        self.answers: dict[tuple[str, str], Any] = {("GET", "/version"): {"ApiVersion": "1.47"}, ("GET", "/info"): INFO}
        self.volumes: set[str] = set()
        self.asked: list[tuple[str, str]] = []
        self.query = ""
        self.connections = 0

    def count(self, method: str, path: str) -> int:
        """How often that was asked."""
        return self.asked.count((method, path))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers on one connection until it is closed."""
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                method, target, _ = head[0].split(" ")
                fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                path, _, self.query = target.removeprefix("/v1.47").partition("?")
                self.asked.append((method, path))
                found = self._answer(method, path, body)
                status, told = (found, b'{"message": "no"}') if isinstance(found, int) else (200, found)
                if isinstance(told, Unended):
                    writer.write(b"HTTP/1.1 200 x\r\n\r\n" + told)
                    await writer.drain()
                    await reader.read()  # until the client has gone
                    return
                if not isinstance(told, bytes):
                    told = json.dumps(told).encode()
                writer.write(f"HTTP/1.1 {status} x\r\nContent-Length: {len(told)}\r\n\r\n".encode() + told)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):  # the loop ends
            pass
        finally:
            self.connections -= 1
            writer.close()

    def _answer(self, method: str, path: str, body: bytes) -> Any:
        found = self.answers.get((method, path))
        if callable(found):
            return found(body)
        if found is not None:
            return found
        if path == "/volumes/create":
            self.volumes.add(json.loads(body)["Name"])
            return {}
        name = path.removeprefix("/volumes/")
        if name != path:
            if name not in self.volumes:
                return 404
            if method == "DELETE":
                self.volumes.remove(name)
            return {}
        return 404


@asynccontextmanager
async def scripted_daemon(path: Path) -> AsyncIterator[Daemon]:
    """One that listens at a path."""
    made = Daemon(path)
    server = await asyncio.start_unix_server(made.serve, path)
    try:
        yield made
    finally:
        server.close()


async def until(condition: Callable[[], object]) -> None:
    """Waits for a condition, for a minute."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)
