"""Gates of a program under ``lang serve``, in one process and in several, from the outside alone."""

from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import servers
from tests.folders import paths_below
from tests.waiting_gates import wait_for

ROOT = Path(__file__).resolve().parent.parent.parent

PROGRAM = """require serve(PORT)
require file.read("*")
require file.write("*")
serve on PORT
    rate_limit 3 per hour
    timeout 20
    route "GET /gate"
        rate_limit none
        let ok be approve "Ship it?" within 25s
        give {"approved": ok}
    route "GET /quick"
        rate_limit none
        let ok be approve "Quick?" within 1s
        give {"approved": ok}
    route "GET /ask"
        rate_limit none
        let e be ask "Which env?" with ["staging", "prod"] within 25s
        give {"env": e}
    route "GET /short"
        rate_limit none
        timeout 1
        let ok be approve "Short?" within 25s
        give {"approved": ok}
    route "GET /count"
        rate_limit none
        give {"n": state_incr("n")}
    route "POST /peek"
        rate_limit none
        give {"text": read_file(request.json.path)}
    route "GET /limited"
        give "x"
    route "GET /approvals"
        give "mine"
    route "GET /approvals/:id"
        rate_limit none
        give "mine too"
"""


class Service:
    """A program under ``lang serve``."""

    def __init__(self, folder: Path, processes: int, redis: str | None) -> None:
        self.has_file = processes > 1 and redis is None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        (folder / "gates.lang").write_text(PROGRAM.replace("PORT", str(self.port)), encoding="utf-8")
        self.errors = folder / "errors.txt"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "language", "serve", "--bind", "127.0.0.1", "gates.lang"],
                cwd=folder,
                env={
                    "HOME": str(folder),
                    "PATH": os.environ["PATH"],
                    "PYTHONPATH": str(ROOT),
                    "PLATFORM_SERVE_PROCESSES": str(processes),
                    "PLATFORM_ERROR_DETAIL": "on",
                    "PLATFORM_SHUTDOWN_GRACE": "3",
                    "TMPDIR": str(self.temporary),
                    **({} if redis is None else {"PLATFORM_STATE_URL": f"redis://:p%40ss%20word@{redis}/1"}),
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        wait_for(self._answers, 30)

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.errors.read_text()
        try:
            return self.get("/approvals")[0] == 200
        except OSError:
            return False

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)
        connection.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body))
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        is_json = (reply.headers["Content-Type"] or "") == "application/json"
        return reply.status, json.loads(text) if is_json and text else text.decode(), reply.headers

    def get(self, path: str) -> tuple[int, Any]:
        return self.call("GET", path)[:2]

    def decide(self, identifier: str, body: Any) -> tuple[int, Any]:
        return self.call("POST", f"/approvals/{identifier}", body)[:2]

    def waiting(self, path: str) -> Waiting:
        """A request that waits in its gate."""
        return Waiting(self, path)

    def pending(self) -> list[dict[str, Any]]:
        listing: list[dict[str, Any]] = self.get("/approvals")[1]["pending"]
        return listing

    def token_of(self, identifier: str) -> str:
        def lines() -> list[str]:
            return [line for line in self.errors.read_text().splitlines() if f"approval pending {identifier} " in line]

        wait_for(lines)
        return lines()[0].split('"token": "')[1][:64]

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


class Waiting:
    def __init__(self, service: Service, path: str) -> None:
        known = {entry["id"] for entry in service.pending()}
        self._answer: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=lambda: self._answer.put(service.get(path)), daemon=True).start()

        def new() -> list[str]:
            return [entry["id"] for entry in service.pending() if entry["id"] not in known]

        wait_for(new)
        [self.id] = new()
        self.token = service.token_of(self.id)

    def answer(self, seconds: float = 10) -> Any:
        return self._answer.get(timeout=seconds)


@pytest.fixture(scope="module")
def redis() -> Iterator[str]:
    yield from servers.redis()


@pytest.fixture(scope="module", params=["one process", "three processes", "two processes over Redis"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    processes = {"one": 1, "two": 2, "three": 3}[request.param.split()[0]]
    address = request.getfixturevalue("redis") if "Redis" in request.param else None
    service = Service(tmp_path_factory.mktemp("served"), processes, address)
    yield service
    if service.process.poll() is None:
        service.end()


def test_the_case_of_the_manual(service: Service) -> None:
    assert service.call("GET", "/approvals")[:2] == (200, {"pending": []})
    started = time.monotonic()
    assert service.get("/quick") == (200, {"approved": False})
    assert 0.9 < time.monotonic() - started < 20

    gate = service.waiting("/gate")
    [entry] = service.pending()
    assert entry["type"] == "approve" and entry["message"] == "Ship it?" and "token" not in entry
    assert service.decide(gate.id, b"not json")[0] == 400
    assert service.decide(gate.id, {"token": gate.token, "decision": "yes"})[0] == 400
    assert service.decide(gate.id, {"token": "0" * 64, "decision": True})[0] == 403
    assert service.decide(gate.id, {"token": gate.token, "value": "x"})[0] == 400
    assert service.get(f"/approvals/{gate.id}/{gate.token}?d=maybe")[0] == 400
    assert service.call("HEAD", f"/approvals/{gate.id}/{gate.token}?d=yes")[0] == 405
    assert service.decide(gate.id, b"x" * 70_000)[0] == 413
    assert [entry["id"] for entry in service.pending()] == [gate.id]
    assert service.decide(gate.id, {"token": gate.token, "decision": True}) == (200, {"ok": True})
    assert gate.answer() == (200, {"approved": True})
    assert service.decide(gate.id, {"token": gate.token, "decision": True})[0] == 404
    status, page = service.get(f"/approvals/{gate.id}/{gate.token}?d=no")
    assert status == 404 and "<h1>Not found</h1>" in page
    assert service.decide("none", {"token": "x", "decision": True})[0] == 404

    for given, env in (("qa", "qa"), ("", "staging")):
        asked = service.waiting("/ask")
        assert service.decide(asked.id, {"token": asked.token, "value": given}) == (200, {"ok": True})
        assert asked.answer() == (200, {"env": env})


def test_a_link_decides(service: Service) -> None:
    gate = service.waiting("/gate")
    status, page, fields = service.call("GET", f"/approvals/{gate.id}/{gate.token}")
    assert status == 200 and "<h1>Decision needed</h1>" in page and fields["Cache-Control"] == "no-store"
    assert fields["Referrer-Policy"] == "no-referrer" and fields["X-Robots-Tag"] == "noindex"
    status, page = service.get(f"/approvals/{gate.id}/{gate.token}?d=yes")
    assert status == 200 and "<h1>Approved</h1>" in page
    assert gate.answer() == (200, {"approved": True})


def test_of_twenty_decisions_at_once_one_counts(service: Service) -> None:
    for _ in range(3):
        gate = service.waiting("/gate")
        start = threading.Barrier(20)
        outcomes: list[tuple[bool, int]] = []

        def post(decision: bool, gate: Waiting, start: threading.Barrier, outcomes: list[tuple[bool, int]]) -> None:
            start.wait()
            outcomes.append((decision, service.decide(gate.id, {"token": gate.token, "decision": decision})[0]))

        threads = [threading.Thread(target=post, args=(n % 2 == 0, gate, start, outcomes)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        winners = [decision for decision, status in outcomes if status == 200]
        assert len(winners) == 1 and sorted(status for _, status in outcomes) == [200] + [404] * 19
        assert gate.answer() == (200, {"approved": winners[0]})


def test_a_hundred_gates_wait_and_the_listing_still_answers(service: Service) -> None:
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(service.get("/gate"))) for _ in range(100)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(service.pending()) == 100, 20)
    started = time.monotonic()
    for entry in service.pending():
        token = service.token_of(entry["id"])
        assert service.decide(entry["id"], {"token": token, "decision": True})[0] == 200
    assert time.monotonic() - started < 60
    for thread in threads:
        thread.join(30)
    assert answers == [(200, {"approved": True})] * 100


def test_a_request_that_times_out_takes_its_gate_along(service: Service) -> None:
    gate = service.waiting("/short")
    status, _ = gate.answer(5)
    assert status == 504
    wait_for(lambda: service.pending() == [], 2)
    assert service.decide(gate.id, {"token": gate.token, "decision": True})[0] == 404


def test_programs_cannot_take_the_reserved_routes_and_keep_their_own(service: Service) -> None:
    assert service.get("/approvals")[1] == {"pending": []}
    assert service.get("/approvals/x") == (200, "mine too")


def test_state_and_limits_are_those_of_the_service(service: Service) -> None:
    assert [service.get("/count")[1]["n"] for _ in range(12)] == list(range(1, 13))
    replies = [service.call("GET", "/limited") for _ in range(5)]
    assert [status for status, _, _ in replies] == [200, 200, 200, 429, 429]
    assert [fields["RateLimit-Remaining"] for _, _, fields in replies] == ["2", "1", "0", "0", "0"]
    assert replies[4][2]["RateLimit-Limit"] == "3" and 1100 < int(replies[4][2]["Retry-After"]) <= 1201


def test_the_store_is_out_of_the_reach_of_the_program(service: Service) -> None:
    files = [path for path in paths_below(service.temporary) if path.is_file() and path.name.startswith("shared.sqlite")]
    assert bool(files) is service.has_file
    for path in files:
        status, fields = service.call("POST", "/peek", {"path": str(path)})[:2]
        assert status == 500 and "explicitly denied" in fields["error"]
    (service.temporary / "plain.txt").write_text("seen")
    assert service.call("POST", "/peek", {"path": str(service.temporary / "plain.txt")})[1] == {"text": "seen"}


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1", "sqlite:///tmp/x"])
def test_a_store_that_cannot_be_opened_ends_the_start(tmp_path: Path, url: str) -> None:
    (tmp_path / "gates.lang").write_text(PROGRAM.replace("PORT", "1"), encoding="utf-8")
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PLATFORM_STATE_URL": url}
    words = [sys.executable, "-m", "language", "serve", "--workers", "2", "gates.lang"]
    result = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1 and result.stdout == ""
    assert "the shared store of the worker processes failed" in result.stderr and "Traceback" not in result.stderr


def test_the_end_of_the_service_refuses_what_waits(service: Service) -> None:
    """The last of this file: handlers can still answer, and nothing is left behind."""
    gate = service.waiting("/gate")
    started = time.monotonic()
    service.process.send_signal(signal.SIGTERM)
    assert gate.answer() == (200, {"approved": False})
    assert 1 < time.monotonic() - started < 30
    assert service.process.wait(20) == 0
    text = service.errors.read_text()
    assert f"shutting down with pending gates -> DENIED: {gate.id}" in text and "[serve] stopped" in text
    assert [path.name for path in service.temporary.iterdir() if path.name != "plain.txt"] == []
