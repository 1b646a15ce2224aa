"""An engine under test, the starts that are made on it, and a program of another project that must go on answering."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from runner.engines import Engine, Exit, Line, Position, Program, Running
from tests.folders import paths_below
from tests.servers import missing

HERE = Path(__file__).resolve().parent
#: Seconds for what takes milliseconds on a machine with time.
LONG = 60.0

Answer = TypeVar("Answer")


def attack_words(program: Program, python: str) -> list[str]:
    """The script of attacks instead of the language; its arguments travel as the ceiling."""
    return [python, "-IB", f"/app/{program.entry}", *json.loads(program.ceiling)]


class Stage:
    """One loop for all tests of a module: an engine's programs live on it."""

    def __init__(self, name: str, host: str = "") -> None:
        self.name = name
        self.host = host
        # In the home folder of the superuser: what leads to it is closed to others, as it is for a runner.
        self.folder = Path(tempfile.mkdtemp(prefix="lang-engine-", dir=os.environ.get("HOME")))
        self.loop = asyncio.Runner()
        self.package = self.folder / "package"
        self.package.mkdir()
        shutil.copy(HERE / "attacks.py", self.package)
        self.engine = self.run(self._engine())
        self.readable_package()

    @property
    def python(self) -> str:
        """The command of Python inside of the sandbox."""
        return "python3" if self.name == "docker" else sys.executable

    async def _engine(self) -> Engine:
        def words(program: Program) -> list[str]:
            return attack_words(program, self.python)

        if self.name == "docker":
            from runner.engines.docker import DockerEngine

            made = DockerEngine(self.folder, host=self.host, words=words)
            made.ensure_image()
            return made
        from runner.engines.process import ProcessEngine

        process = ProcessEngine(self.folder, words=words, grouped=self.name == "process")
        if process.unprotected:
            shutil.rmtree(self.folder)
            missing(f"a sandbox ({process.unprotected})", "bubblewrap")
        return process

    def engine_of_language(self) -> Engine:
        """Another engine of the same runner, which starts the language. To be called on the loop."""
        if self.name == "docker":
            from runner.engines.docker import DockerEngine

            return DockerEngine(self.folder, host=self.host)
        from runner.engines.process import ProcessEngine

        (self.folder / "other").mkdir(exist_ok=True)
        return ProcessEngine(self.folder / "other")

    def readable_package(self) -> None:
        self.package.chmod(0o755)
        for path in self.package.iterdir():
            path.chmod(0o644)

    def build_native(self) -> None:
        """Puts the attacks in C into the package."""
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            missing("a C compiler", "gcc libc6-dev")
        words = [str(compiler), "-O1", "-static", "-o", str(self.package / "native"), str(HERE / "native.c")]
        subprocess.run(words, check=True, timeout=300)
        self.readable_package()

    def run(self, act: Coroutine[Any, Any, Answer], seconds: float = LONG) -> Answer:
        async def bounded() -> Answer:
            async with asyncio.timeout(seconds):
                return await act

        return self.loop.run(bounded())

    def program(self, project: str, *words: str, memory_mb: int = 256, disk_mb: int = 100, **parts: Any) -> Program:
        start = uuid.uuid4().hex[:16]
        link = self.folder / "links" / start
        link.mkdir(parents=True, mode=0o755)
        given = {
            "deploy": "d1",
            "run": None,
            "mode": "run",
            "cache": None,
            "package": self.package,
            "entry": "attacks.py",
            **parts,
        }
        return Program(
            project=project, start=start, link=link, ceiling=json.dumps(words), memory_mb=memory_mb, disk_mb=disk_mb, **given
        )

    def start(self, program: Program) -> Running:
        return self.run(self.engine.start(program))

    def result(self, program: Program) -> tuple[Exit, list[Line]]:
        """Starts it, waits for its end, removes it."""

        async def act() -> tuple[Exit, list[Line]]:
            running = await self.engine.start(program)
            try:
                lines = [line async for _, line in running.lines(None)]
                return await running.wait(), lines
            finally:
                await running.remove()

        return self.run(act())

    def first_line(self, running: Running) -> str:
        async def act() -> str:
            async for _, line in running.lines(None):
                return line.text
            raise AssertionError(f"it ended: {await running.wait()}")

        return self.run(act())

    def lines(self, running: Running, after: Position | None) -> list[tuple[Position, Line]]:
        async def act() -> list[tuple[Position, Line]]:
            return [found async for found in running.lines(after)]

        return self.run(act())

    def volume(self, project: str) -> Path:
        """Where the files of a project lie on this machine."""
        if self.name == "docker":
            told = subprocess.run(
                ["docker", "volume", "inspect", "-f", "{{.Mountpoint}}", self.engine.volume(project)],  # type: ignore[attr-defined]
                env={**os.environ, "DOCKER_HOST": self.host}, capture_output=True, text=True, check=False,
            )  # fmt: skip
            return Path(told.stdout.strip() or "/nowhere")
        return self.engine.volumes.path(project)  # type: ignore[attr-defined,no-any-return]

    def left_of_scratch(self) -> list[str]:
        """What is left on this machine of volumes for one start."""
        if self.name == "docker":
            return []  # they lie in the memory of their containers
        return [str(path) for path in paths_below(self.folder) if path.parent.name == "scratch"]

    def left_of(self, program: Program) -> list[str]:
        """The processes of this machine that still do what a start did."""
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = Path(f"/proc/{process}/cmdline").read_bytes()
            except OSError:
                continue
            if json.loads(program.ceiling)[0].encode() in words.split(b"\0"):
                found.append(process)
        return found

    def close(self) -> None:
        self.run(self.engine.close())
        self.loop.close()
        shutil.rmtree(self.folder)


class Neighbour:
    """A program of another project, which answers over the socket of its link."""

    def __init__(self, stage: Stage, project: str) -> None:
        program = stage.program(project, "neighbour")
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(program.link / "host.sock"))
        (program.link / "host.sock").chmod(0o666)
        self.listening.listen(1)
        self.listening.settimeout(LONG)
        self.running = stage.start(program)
        self.connection, _ = self.listening.accept()
        self.connection.settimeout(LONG)

    def answers(self) -> bool:
        self.connection.sendall(b"still there?")
        return self.connection.recv(1024) == b"still there?"

    def close(self, stage: Stage) -> None:
        self.connection.close()
        self.listening.close()
        stage.run(self.running.remove())
