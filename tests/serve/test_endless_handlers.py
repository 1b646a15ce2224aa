"""Handlers that would never end, under ``lang serve`` with a timeout: 504, and the worker works on (7.8)."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.waiting_gates import wait_for

ROOT = Path(__file__).resolve().parent.parent.parent
WORKERS = 2
SLOW = 8.0
PROGRAM = """
require serve(PORT)
require db(":memory:")
require exec
db_open(":memory:")
let letters be join(apply(range(200000), (i) => "a"), "") + "!"
let pairs be join(apply(range(1000000), (i) => "ab"), "")
let numbers be "[" + join(apply(range(300000), (i) => "1,"), "") + "1]"
task spin(n)
    let i be n
    while true
        set i to i + 1
serve on PORT
    timeout 1
    route "GET /while"
        while true
            let x be 1
    route "GET /each"
        each i in range(1000000000000)
            let x be i
    route "GET /recovering"
        while true
            try
                while true
                    let x be 1
            recover e
                let y be e
    route "GET /parallel"
        give parallel_map(spin, [1, 2, 3, 4, 5, 6, 7, 8])
    route "GET /nested"
        give parallel_map((x) => parallel_map(spin, [1, 2]), [1, 2, 3])
    route "GET /waiting-workers"
        give parallel_map((x) => sleep(100), range(20))
    route "GET /regexes"
        while true
            regex_find_all("(a*)*b|a+(a+)+b", letters)
    route "GET /regex"
        give length(regex_find_all("(a|b)*?c|[ab]{1,300}c", pairs))
    route "GET /regex-workers"
        give parallel_map((x) => length(regex_find_all("(a|b)*?c|[ab]{1,300}c", pairs)), [1, 2, 3, 4])
    route "GET /sleep"
        sleep(100)
    route "GET /sort"
        give sort_by(range(3000000), (x) => spin(x))
    route "GET /json"
        while true
            json_decode(numbers)
    route "GET /sql"
        give sql("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT max(x) FROM c")
    route "GET /process"
        give run("sleep", ["4711"])
    route "GET /processes"
        give parallel_map((x) => run("sleep", ["4711"]), [1, 2, 3])
    route "GET /talking-process"
        give run("sh", ["-c", "while true; do echo x; sleep 0.01; done"])
    route "GET /starting"
        timeout 0.01
        give parallel_map((x) => run("sleep", ["4711"]), [1, 2, 3])
    route "GET /started"
        timeout 0.02
        give parallel_map((x) => run("sleep", ["4711"]), [1, 2, 3])
    route "GET /fine"
        timeout none
        give run("echo", ["fine"])
"""
ENDLESS = re.findall(r'"GET (/\S+)"', PROGRAM)[:-3]


class Running:
    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = int(taken.getsockname()[1])
        (folder / "app.lang").write_text(PROGRAM.replace("PORT", str(self.port)), encoding="utf-8")
        self.errors = folder / "errors.txt"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "language", "serve", "--bind", "127.0.0.1", "app.lang"],
                cwd=folder,
                env={
                    "HOME": str(folder),
                    "PATH": os.environ["PATH"],
                    "PYTHONPATH": str(ROOT),
                    "PLATFORM_SERVE_WORKERS": str(WORKERS),
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        wait_for(self._listens, 30)

    def _listens(self) -> bool:
        assert self.process.poll() is None, self.errors.read_text()
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
            return True
        except OSError:
            return False

    def get(self, path: str) -> tuple[int, bytes, float]:
        began = time.monotonic()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path)
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        return reply.status, body, time.monotonic() - began

    def seconds(self) -> float:
        """Processor time of the server so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("endless"))
    yield running
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(20) == 0
    log = running.errors.read_text()
    assert "Traceback" not in log and " 500 " not in log, log


def test_a_process_can_be_run_from_any_worker(running: Running) -> None:
    """Before anything else of the service ran: modules are imported by whichever thread is first."""
    with ThreadPoolExecutor(8) as clients:
        for status, body, _ in clients.map(running.get, ["/fine"] * 16):
            assert (status, b"fine" in body) == (200, True)


@pytest.mark.parametrize("path", ENDLESS)
def test_it_ends_at_the_timeout(running: Running, path: str) -> None:
    # One more than there are workers: somebody has to wait for one, and has waited long enough then.
    with ThreadPoolExecutor(WORKERS + 1) as clients:
        for status, body, seconds in clients.map(running.get, [path] * (WORKERS + 1)):
            assert (status, body) == (504, b'{"error": "gateway timeout: the handler exceeded 1s", "status": 504}')
            assert seconds < SLOW
    with ThreadPoolExecutor(WORKERS * 2) as clients:
        for status, _, seconds in clients.map(running.get, ["/fine"] * WORKERS * 2):
            assert status == 200 and seconds < SLOW
    # Nobody goes on in the background, here or in a process.
    wait_for(lambda: _idle(running))
    assert not _children(running.process.pid)


def test_a_command_that_is_just_being_started_ends_too(running: Running) -> None:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        with ThreadPoolExecutor(WORKERS * 2) as clients:
            for status, _, _ in clients.map(running.get, ["/starting", "/started"] * 60):
                assert status == 504
    finally:
        for process in busy:
            process.kill()
            process.wait()
    wait_for(lambda: not _children(running.process.pid), 10)


def _idle(running: Running) -> bool:
    before = running.seconds()
    time.sleep(0.3)
    return running.seconds() - before < 0.1


def _children(pid: int) -> list[str]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread or a child that has just ended
            for child in (task / "children").read_text().split():
                if "Z" not in Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]:
                    found.append(Path(f"/proc/{child}/cmdline").read_text())
    return found
