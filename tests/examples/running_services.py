"""An example as its page says to run it: a copy of its folder, served on a free port of 127.0.0.1."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.servers import free_port

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples"
COMMAND = [sys.executable, "-m", "language"]
START_SECONDS = 30


@dataclass(frozen=True)
class Service:
    """A running example. ``log`` is what it wrote to its console so far."""

    url: str
    folder: Path
    log_file: Path
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8")

    def waits_for(self, words: str, seconds: float = 10) -> str:
        """The first line of the console that holds those words."""
        deadline = time.monotonic() + seconds
        while True:
            for line in self.log.splitlines():
                if words in line:
                    return line
            assert time.monotonic() < deadline, f"no line with {words!r} in:\n{self.log}"
            time.sleep(0.05)


def lang(folder: Path, *words: str) -> str:
    """What a command prints, run in a folder; it must succeed without a word of complaint."""
    done = subprocess.run(
        [*COMMAND, *words],
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def copied(name: str, beneath: Path) -> Path:
    """A copy of an example without what a run of it may have left behind."""
    return Path(shutil.copytree(EXAMPLES / name, beneath / name, ignore=shutil.ignore_patterns("*.db*")))


@contextmanager
def served(folder: Path, *words: str, bound: bool = True, **environment: str) -> Iterator[Service]:
    """Serves a program of that folder, named last, until the block ends. It must then end in order, with nothing pending.

    Not ``bound``, it is started without an address to listen on: for this machine alone.
    """
    port = free_port()
    log = folder / "console.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--port", str(port), *(("--bind", "127.0.0.1") if bound else ()), *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PLATFORM_SHUTDOWN_GRACE": "3", **environment},
        )
    service = Service(f"http://127.0.0.1:{port}", folder, log, process)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(service):
            assert process.poll() is None and time.monotonic() < deadline, service.log
            time.sleep(0.05)
        yield service
        process.terminate()
        assert process.wait(15) == 0, service.log
    finally:
        process.kill()
        process.wait()


def _answers(service: Service) -> bool:
    try:
        return httpx.get(f"{service.url}/llms.txt", timeout=2).status_code == 200
    except httpx.TransportError:
        return False
