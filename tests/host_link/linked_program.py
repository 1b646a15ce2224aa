"""A real program of the command line at one end of a link, the runner's real end at the other."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from runner.links import Egress, Link, LinkState, StartValues
from tests.runner.links.dialling import SECONDS, Told

ROOT = Path(__file__).resolve().parent.parent.parent
#: What a runner gives to the process itself, and nothing of a user.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


async def addresses(host: str, port: int) -> list[str]:
    """A resolver for names of tests: all of them are this machine."""
    return [host if host[0].isdigit() else "127.0.0.1"]


class Started:
    """A program that runs. ``lines`` has what it wrote, standard error among it."""

    def __init__(self, link: Link, told: Told, process: asyncio.subprocess.Process, listening: socket.socket) -> None:
        self.link = link
        self.told = told
        self.process = process
        self.listening = listening
        self.socket_path: str = listening.getsockname()
        self.lines: list[str] = []
        self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.lines.append(line.decode("utf-8", "replace").rstrip("\n"))

    async def ended(self) -> tuple[int, list[str]]:
        """Waits for its end: the exit code and what it wrote."""
        async with asyncio.timeout(SECONDS):
            code = await self.process.wait()
            await self._reading
        return code, self.lines

    async def get(self, target: str) -> tuple[int, str]:
        """Asks its service over the listening socket."""
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_unix_connection(self.socket_path)
            writer.write(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
            answer = await reader.read()
            writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), body.decode()


@asynccontextmanager
async def started(
    folder: Path,
    source: str,
    mode: str = "run",
    *,
    ceiling: str = "stdout,time",
    values: StartValues | None = None,
    way_out: Egress | None = None,
    environment: Mapping[str, str] | None = None,
    command: tuple[str, ...] = (),
    flags: tuple[str, ...] = (),
    kept: LinkState | None = None,
) -> AsyncIterator[Started]:
    """Starts the program, ``command`` before it (a sandbox), and ends it."""
    told = Told()
    program = folder / "program.lang"
    program.write_text(source, encoding="utf-8")
    (folder / "link").mkdir(exist_ok=True)
    path = str(folder / "web.sock")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(path)
    listening.listen()
    listening.setblocking(False)
    egress = way_out or Egress(ceiling, private_addresses=True, resolver=addresses)
    link = Link(
        folder / "link", values or StartValues(), egress, told, listening=listening if mode == "serve" else None, kept=kept
    )
    await link.open()
    process = await asyncio.create_subprocess_exec(
        *command, sys.executable, "-m", "language", mode, str(program), "--cap-set", ceiling,
        "--host-link", str(folder / "link" / "host.sock"), *flags,
        cwd=folder, env={**ENVIRONMENT, "PYTHONPATH": str(ROOT), "HOME": str(folder), **(environment or {})},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    running = Started(link, told, process, listening)
    try:
        yield running
    finally:
        if process.returncode is None:
            process.kill()
        code, lines = await running.ended()
        print(f"the program ended with {code}", *lines, sep="\n")  # shown where a test fails
        await link.close()
        listening.close()


def of_process(number: int, name: str) -> bytes:
    """A file below ``/proc/PID``."""
    return Path(f"/proc/{number}/{name}").read_bytes()


def children(number: int) -> list[int]:
    """The processes that a process has started, and those they started."""
    found = [int(each) for each in Path(f"/proc/{number}/task/{number}/children").read_text().split()]
    return found + [below for each in found for below in children(each)]


def records(told: Told) -> list[dict[str, Any]]:
    """The program's records without the summary."""
    return [record for record in told.of("audit of program") if "summary" not in record]


__all__ = ["ENVIRONMENT", "ROOT", "Started", "addresses", "children", "of_process", "os", "records", "started"]
