"""The service as a process that can be killed, on a socket that stays open: who connects meanwhile waits for the next one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]


class ServiceProcess:
    """A service on the SQLite files of a folder. It runs from ``start`` to ``kill``, as often as one likes.

    Args:
        folder: its data; its log lies beside them.
        surroundings: more variables.
    """

    def __init__(self, folder: Path, **surroundings: str) -> None:
        self.data = folder / "data"
        self.log = folder / "service.log"
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._surroundings = surroundings
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and waits until it answers."""
        descriptor = self._socket.fileno()
        words = [sys.executable, "-m", "language", "platform", "serve", "--fd", str(descriptor)]
        surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "PLATFORM_RATE_LIMITS": "off", **self._surroundings}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*words, "--data", str(self.data), "--base-url", self.url],
                pass_fds=[descriptor],
                env=surroundings,
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )
        assert httpx.get(f"{self.url}/readyz", timeout=120).status_code == 200

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """Ends it as the loss of power would: it is told nothing."""
        if self._process is not None:
            self._process.kill()
            assert self._process.wait() == -9, f"it had ended before: {self.log.read_text()[-4000:]}"
            self._process = None

    def close(self) -> None:
        """Ends it and closes the socket."""
        self.kill()
        self._socket.close()
