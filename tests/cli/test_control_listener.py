"""``PLATFORM_CONTROL_ADDR``: a program under ``lang run`` whose gates a runner answers."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import os
import pty
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Lang
from tests.waiting_gates import wait_for

PROGRAM = 'print(approve "Ship it?" within 30s)\nprint(ask "Which env?" with ["staging", "prod"] within 30s)\n'


class Running:
    """A program under ``lang run`` with a control listener."""

    def __init__(self, folder: Path, env: dict[str, str], *flags: str, stdin: int = subprocess.DEVNULL) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        (folder / "gates.lang").write_text(PROGRAM, encoding="utf-8")
        self.errors = folder / "errors.txt"
        self.secret = env.get("PLATFORM_CONTROL_SECRET")
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "language", "run", *flags, "gates.lang"],
                cwd=folder,
                env={**env, "PLATFORM_CONTROL_ADDR": f"127.0.0.1:{self.port}"},
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def call(self, method: str, path: str, body: Any = None, *, sign: bool = True, **fields: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        if sign and self.secret:
            fields["X-Platform-Signature"] = "sha256=" + hmac.new(self.secret.encode(), data, hashlib.sha256).hexdigest()
        connection.request(method, path, data or None, fields)
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        is_json = reply.headers["Content-Type"] == "application/json"
        return reply.status, json.loads(text) if is_json else text.decode()

    def gate(self, number: int) -> tuple[str, str]:
        """Id and token of the gate of this number, once it waits."""

        def lines() -> list[str]:
            return [line for line in self.errors.read_text().splitlines() if "approval pending" in line]

        wait_for(lambda: len(lines()) >= number)
        line = lines()[number - 1]
        return line.split("/approvals/")[1].split(" ")[0], line.split('"token": "')[1][:64]

    def output(self) -> str:
        output, _ = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, self.errors.read_text()
        return output


@pytest.fixture
def secret_env(environment: dict[str, str]) -> dict[str, str]:
    return {**environment, "PLATFORM_CONTROL_SECRET": "key"}


def decide(running: Running) -> None:
    identifier, token = running.gate(1)
    assert running.call("POST", f"/approvals/{identifier}", {"token": "0" * 64, "decision": True})[0] == 403
    status, listing = running.call("GET", "/approvals")
    assert status == 200 and [entry["id"] for entry in listing["pending"]] == [identifier]
    assert running.call("POST", f"/approvals/{identifier}", {"token": token, "decision": True}) == (200, {"ok": True})
    identifier, token = running.gate(2)
    # The program ends with this answer, which arrives all the same.
    assert running.call("POST", f"/approvals/{identifier}", {"token": token, "value": "prod"}) == (200, {"ok": True})


def test_a_runner_answers(tmp_path: Path, environment: dict[str, str]) -> None:
    running = Running(tmp_path, environment)
    decide(running)
    assert running.output() == "true\nprod\n"


def test_it_goes_before_a_terminal(tmp_path: Path, environment: dict[str, str]) -> None:
    leader, follower = pty.openpty()
    running = Running(tmp_path, environment, stdin=follower)
    os.close(follower)
    os.write(leader, b"n\nstaging\n")
    decide(running)
    assert running.output() == "true\nprod\n"
    os.close(leader)


def test_it_holds_for_a_report_as_json(tmp_path: Path, environment: dict[str, str]) -> None:
    running = Running(tmp_path, environment, "--format", "json")
    decide(running)
    assert json.loads(running.output())["output"] == ["true", "prod"]


def test_refused_gates_stay_refused(tmp_path: Path, environment: dict[str, str]) -> None:
    running = Running(tmp_path, environment, "--gates", "deny")
    assert running.output() == "false\nstaging\n"


def test_with_a_secret_every_request_is_signed(tmp_path: Path, secret_env: dict[str, str]) -> None:
    running = Running(tmp_path, secret_env)
    identifier, token = running.gate(1)
    decision = {"token": token, "decision": True}
    for wrong in (
        "",
        "sha256=",
        "sha256=" + "0" * 64,
        hmac.new(b"other", json.dumps(decision).encode(), hashlib.sha256).hexdigest(),
    ):
        fields = {"X-Platform-Signature": wrong} if wrong else {}
        assert running.call("POST", f"/approvals/{identifier}", decision, sign=False, **fields)[0] == 401
    assert running.call("GET", "/approvals", sign=False)[0] == 401
    assert running.call("GET", f"/approvals/{identifier}/{token}?d=yes", sign=False)[0] == 401
    decide(running)
    assert running.output() == "true\nprod\n"


def test_it_answers_nothing_else(tmp_path: Path, environment: dict[str, str]) -> None:
    running = Running(tmp_path, environment)
    identifier, token = running.gate(1)
    assert running.call("GET", "/") == (404, {"error": "no route for GET /", "status": 404})
    assert running.call("GET", "/llms.txt")[0] == 404
    assert running.call("PUT", f"/approvals/{identifier}")[0] == 404
    assert running.call("POST", f"/approvals/{identifier}", b"x" * 70_000)[0] == 413
    status, page = running.call("GET", f"/approvals/{identifier}/{token}")
    assert status == 200 and "<h1>Decision needed</h1>" in page
    assert "<h1>Denied</h1>" in running.call("GET", f"/approvals/{identifier}/{token}?d=no")[1]
    identifier, token = running.gate(2)
    running.call("POST", f"/approvals/{identifier}", {"token": token, "value": ""})
    assert running.output() == "false\nstaging\n"


def test_nobody_connected_is_no_reason_to_stay(tmp_path: Path, environment: dict[str, str]) -> None:
    running = Running(tmp_path, environment)
    running.gate(1)
    idle = socket.create_connection(("127.0.0.1", running.port))
    for number in (1, 2):
        identifier, token = running.gate(number)
        body = {"token": token, "decision": False} if number == 1 else {"token": token, "value": ""}
        running.call("POST", f"/approvals/{identifier}", body)
    started = time.monotonic()
    running.output()
    assert time.monotonic() - started < 30
    idle.close()


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


@pytest.mark.parametrize(
    "text", ["9000", ":9000", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000", "::1:9000", "a:b"]
)
def test_an_address_that_cannot_be_meant_ends_the_start(lang: Lang, text: str) -> None:
    result = lang("run", "a.lang", files={"a.lang": 'print("ran")'}, env={"PLATFORM_CONTROL_ADDR": text})
    assert result.code == 2 and result.out == "" and "PLATFORM_CONTROL_ADDR" in result.err


def test_the_outside_needs_a_secret(lang: Lang) -> None:
    for address in ("0.0.0.0:9000", "example.com:9000", "[::]:9000"):
        result = lang("run", "a.lang", files={"a.lang": 'print("ran")'}, env={"PLATFORM_CONTROL_ADDR": address})
        assert result.code == 2 and result.out == "" and "PLATFORM_CONTROL_SECRET" in result.err


def test_an_address_that_is_taken_ends_the_start(lang: Lang, taken: int) -> None:
    result = lang("run", "a.lang", files={"a.lang": 'print("ran")'}, env={"PLATFORM_CONTROL_ADDR": f"127.0.0.1:{taken}"})
    assert result.code == 1 and result.out == "" and "Address already in use" in result.err


def test_the_variable_is_not_read_from_an_env_file(lang: Lang, taken: int) -> None:
    files = {"a.lang": 'print(approve "?")', ".env": f"PLATFORM_CONTROL_ADDR=127.0.0.1:{taken}\n"}
    result = lang("run", "a.lang", files=files)
    assert result.code == 0 and result.out == "false\n"
