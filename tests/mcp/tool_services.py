"""Starts a program with ``lang serve`` on a free port of this machine, and whatever else listens there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
START_SECONDS = 30


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(words: list[str], port: int, folder: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that answers on ``port``; ended afterwards. What it printed is in ``folder/log.txt``."""
    log = folder / "log.txt"
    with log.open("wb") as output:
        server = subprocess.Popen(
            words, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**os.environ, **environment}
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None and time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.05)
        yield server
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def served(program: Path, port: int, folder: Path, **environment: str):
    """The program under ``lang serve``."""
    words = [sys.executable, "-m", "language", "serve", str(program), "--port", str(port), "--bind", "127.0.0.1"]
    environment = {"PYTHONPATH": str(REPOSITORY), "XDG_CACHE_HOME": str(folder / "cache"), **environment}
    return running(words, port, folder, **environment)
