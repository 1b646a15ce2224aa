"""Client commands before a service that answers wrongly: each ends with an exit code and one line that says what was wrong."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from platform_api.commands import client, clock, deploy, jobs, rehearsal
from platform_api.commands.main import command

pytestmark = pytest.mark.once

PROJECT = {"id": "prj_1", "name": "Shop", "slug": "shop", "kind": "job", "status": "ready", "status_reason": None, "url": None}
PROJECT |= {"schedule": "@daily"}
DEPLOY = {"id": "dep_1", "number": 1, "status": "live", "error": None, "created_at": "2026-01-01T00:00:00.000Z"}
HELD = {"capability": "secret", "scope": "KEY_*"}
CEILING = {"text": "stdout", "items": [HELD], "denied_by_plan": [{"capability": "exec", "reason": "no"}]}
RUN = {"id": "run_1", "status": "succeeded", "output": "done\n", "exit_code": 0}
ENV = {
    "items": [{"name": "A", "kind": "variable", "value": "1", "fingerprint": None}],
    "missing": ["KEY"],
    "needs_redeploy": True,
}
RECORD = {"ts": 1.5, "capability": "net", "scope": None, "granted": True, "origin": "program", "why": "asked"}
GATE = {"id": "apr_1", "project": "Shop", "type": "ask", "message": "Well?", "expires_at": None, "options": ["a"]}
DEVICE = {"device_code": "d", "user_code": "ABCD-EFGH", "verify_url": "http://x/device", "expires_in": 900, "interval": 0}

#: The good answers of a service, by method and path.
ANSWERS: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/auth/device"): DEVICE,
    ("POST", "/auth/device/token"): {"status": "ok", "token": "lp_x", "user": {"email": "a@b.c"}},
    ("GET", "/me"): {"email": "a@b.c", "name": "A", "plan": "free"},
    ("DELETE", "/tokens/current"): {"ok": True},
    ("GET", "/projects"): {"items": [PROJECT]},
    ("POST", "/projects"): {"project": PROJECT},
    ("GET", "/projects/prj_1"): {
        "project": PROJECT, "ceiling": CEILING, "blocked": "", "missing_secrets": ["KEY"], "deploys": [DEPLOY],
    },
    ("DELETE", "/projects/prj_1"): {"ok": True, "status": "deleted"},
    ("POST", "/projects/prj_1/deploys"): {
        "deploy": DEPLOY | {"status": "queued"}, "ceiling": CEILING, "missing_secrets": ["KEY"], "url": "http://x/",
    },
    ("GET", "/projects/prj_1/deploys/dep_1"): {"deploy": DEPLOY},
    ("POST", "/projects/prj_1/stop"): {"ok": True, "status": "stopping"},
    ("GET", "/projects/prj_1/logs/tail"): {"items": [{"id": "1", "at": "", "line": "hello"}], "last": "1"},
    ("GET", "/projects/prj_1/audit"): {"items": [RECORD]},
    ("GET", "/approvals"): {"items": [GATE]},
    ("POST", "/approvals/apr_1"): {"ok": True, "status": "answered"},
    ("GET", "/projects/prj_1/env"): ENV,
    ("PUT", "/projects/prj_1/env/A"): {"ok": True, "name": "A"},
    ("GET", "/projects/prj_1/secrets"): {
        "items": [{"name": "KEY", "fingerprint": "0f", "created_at": None}], "missing": ["OTHER"],
    },
    ("POST", "/projects/prj_1/run"): {"run": RUN | {"status": "queued"}},
    ("GET", "/projects/prj_1/runs/run_1"): {"run": RUN},
    ("GET", "/projects/prj_1/runs"): {"items": [], "schedule": "@daily", "means": "runs at noon"},
    ("PUT", "/projects/prj_1/schedule"): {"ok": True, "schedule": "@daily", "means": "runs at noon"},
    ("GET", "/recipes/hello/package"): {
        "files": [
            {"path": "main.lang", "content": "", "encoding": "utf8"}, {"path": "b", "content": "AA==", "encoding": "base64"},
        ],
    },
}  # fmt: skip
ON = ("--project", "prj_1")
#: Commands that together read every answer.
COMMANDS = [
    ("login",), ("whoami",), ("projects",), ("status", "--project", "shop"), ("stop", *ON), ("delete", "--yes", *ON),
    ("deploy", "main.lang"), ("logs", *ON), ("audit", *ON), ("approvals",), ("approvals", "answer", "apr_1", "yes"),
    ("env", "set", "A=1", *ON), ("secrets", "ls", *ON), ("run", "--remote", *ON), ("schedule", *ON),
    ("schedule", "@daily", *ON), ("new", "made", "--recipe", "hello"), ("logout",),
]  # fmt: skip
GONE = object()
EXTREMES = (GONE, None, True, 0.25, -1, 10**4000, float("inf"), "\ud800\x1b[2J\0", "../..", [], [5], {})


class _Handler(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        self.server.asked.append((self.command, self.path))  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.removeprefix("/api/v1").split("?")[0]
        special = self.server.special.get((self.command, path))  # type: ignore[attr-defined]
        if callable(special):
            special(self)
            return
        # A wrong answer is given once: who asks again and again sees an end of it.
        body = self.server.special.pop((self.command, path), None)  # type: ignore[attr-defined]
        self.reply(json.dumps(ANSWERS.get((self.command, path), {})).encode() if body is None else body)

    def reply(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _answer

    def log_message(self, *_: object) -> None:
        pass


class Hostile(ThreadingHTTPServer):
    """Answers as ``ANSWERS`` says, but for what ``special`` holds."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.special: dict[tuple[str, str], Any] = {}
        self.asked: list[tuple[str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


@pytest.fixture(scope="module")
def server() -> Iterator[Hostile]:
    with Hostile() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def hostile(server: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    """The server with good answers, and a folder and an account that know it."""
    server.special, server.asked = {}, []
    (tmp_path / "main.lang").write_text('print("x")\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PLATFORM_URL", server.url)
    monkeypatch.setenv("PLATFORM_TOKEN", "lp_" + "x" * 43)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    monkeypatch.setattr(deploy, "_POLL_SECONDS", 0)
    monkeypatch.setattr(jobs, "_POLL_SECONDS", 0)
    return server


def run(words: tuple[str, ...]) -> int:
    """A command in this folder, which remembers nothing of the one before."""
    for left in Path("made").rglob("*") if Path("made").is_dir() else ():
        if left.is_file():
            left.unlink()
    Path(".lang/project.json").unlink(missing_ok=True)
    return command(words[0], words[1:])


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each part of an answer."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*before, key)
        yield from places(part, (*before, key))


def changed(answer: dict[str, Any], place: tuple[Any, ...], value: Any) -> bytes:
    """An answer with one part that is another, or is not there."""
    whole = copy.deepcopy(answer)
    holder: Any = whole
    for key in place[:-1]:
        holder = holder[key]
    if value is GONE:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return json.dumps(whole).encode()


def test_every_command_understands_the_good_answers(hostile: Hostile) -> None:
    for words in COMMANDS:
        assert run(words) == 0, words
    asked = {(method, path.removeprefix("/api/v1").split("?")[0]) for method, path in hostile.asked}
    assert asked >= set(ANSWERS)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_field_of_an_answer_breaks_a_command(
    hostile: Hostile, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 0
    asked = {(method, path.removeprefix("/api/v1").split("?")[0]) for method, path in hostile.asked}
    for route in sorted(asked & set(ANSWERS)):
        for place in places(ANSWERS[route]):
            for value in EXTREMES:
                hostile.special = {route: changed(ANSWERS[route], place, value)}
                capsys.readouterr()
                code = run(words)
                shown = capsys.readouterr()
                assert code in (0, 1), (route, place, value)
                assert code == 0 or shown.err.count("lang ") >= 1, (route, place, value)
                # Into a pipe, the output of a run is what its program wrote.
                written = shown.err if words[0] == "run" else shown.out + shown.err
                assert "\x1b[2J" not in written and "\0" not in written


def test_what_is_wrong_with_an_answer_is_named(hostile: Hostile, capsys: pytest.CaptureFixture[str]) -> None:
    for place, value, what in (
        (("deploy", "number"), GONE, "has no field 'deploy.number'"),
        (("ceiling", "denied_by_plan", 0, "reason"), 5, "'ceiling.denied_by_plan[0].reason' that is not a text"),
        (("deploy", "number"), float("inf"), "'deploy.number' that is no number from"),
    ):
        route = ("POST", "/projects/prj_1/deploys")
        hostile.special = {route: changed(ANSWERS[route], place, value)}
        assert run(("deploy", "main.lang")) == 1
        assert what in capsys.readouterr().err


@pytest.mark.parametrize("body", [b"", b"[]", b"5", b"\xff\xfe", b"<html>", b"[" * 100_000, b'{"a":' * 100_000], ids=range(7))
def test_what_is_no_json_object_is_no_answer(hostile: Hostile, body: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    hostile.special = {("GET", "/me"): body}
    assert run(("whoami",)) == 1
    assert "did not answer as a platform" in capsys.readouterr().err
    hostile.special = {("GET", "/me"): lambda handler: handler.reply(body, 400)}
    assert run(("whoami",)) == 1
    assert "answered 400, but not as a platform" in capsys.readouterr().err


@pytest.mark.parametrize(
    "refusal",
    [
        {"error": "no", "status": "high", "details": 5},
        {"error": "no", "status": None, "details": {"errors": 5}},
        {"error": "no", "details": {"errors": [5, {}, {"path": 5, "line": None, "message": []}]}},
    ],
    ids=range(3),
)
def test_a_refusal_of_another_form_is_still_shown(
    hostile: Hostile, refusal: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    for method, path, words in (
        ("GET", "/me", ("whoami",)),
        ("GET", "/projects/prj_1/logs", ("logs", "-f", *ON)),
        ("DELETE", "/tokens/current", ("logout",)),
    ):
        hostile.special = {(method, path): lambda handler: handler.reply(json.dumps(refusal).encode(), 400)}
        assert run(words) == 1
        assert f"lang {words[0]}: no\n" in capsys.readouterr().err


def test_an_answer_without_an_end_is_cut_off(
    hostile: Hostile, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = 0

    def endless(handler: _Handler) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                sent += handler.wfile.write(b" " * 65_536)
        except OSError:
            handler.close_connection = True

    monkeypatch.setattr(client, "LARGEST_ANSWER", 2 * 1024 * 1024)
    hostile.special = {("GET", "/me"): endless}
    assert run(("whoami",)) == 1
    assert "answered with more than 2 MiB" in capsys.readouterr().err
    hostile.special = {("GET", "/projects/prj_1/logs"): endless}
    service = client.client()
    with pytest.raises(client.Failure, match="an event of more than 1 MiB"):
        list(service.events("/projects/prj_1/logs"))
    assert sent > 0


@pytest.mark.parametrize(
    "sent",
    [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 400 Bad\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"],
    ids=["head", "refusal", "body"],
)
def test_an_answer_that_comes_byte_by_byte_has_an_end(
    hostile: Hostile, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    ended = threading.Event()

    def slow(handler: _Handler) -> None:
        handler.close_connection = True
        try:
            handler.wfile.write(sent)
            while not ended.wait(0.01):
                handler.wfile.write(b" ")
        except OSError:
            ended.set()

    monkeypatch.setattr(client, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(client, "STREAM_SECONDS", 0.3)
    hostile.special = {("GET", "/me"): slow, ("GET", "/projects/prj_1/logs"): slow}
    assert run(("whoami",)) == 1
    told = capsys.readouterr().err
    assert "the answer was not complete after 0.3 seconds" in told or "answered 400, but not as a platform" in told
    assert ended.wait(60), "the connection is closed"
    ended.clear()
    with pytest.raises(client.Failure):
        list(client.client().events("/projects/prj_1/logs"))
    assert ended.wait(60)


def test_a_stream_goes_on_for_longer_than_one_of_its_lines_may_take(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    events = b"".join(b"id: %d\ndata: {}\n\n" % number for number in range(12))
    hostile.special = {("GET", "/projects/prj_1/logs"): lambda handler: handler.reply(events)}
    now = 0.0
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: now))
    found = []
    for identity, _, _ in client.client().events("/projects/prj_1/logs"):
        found.append(identity)
        now += 0.8 * client.STREAM_SECONDS
    assert found == [str(number) for number in range(12)]


def test_a_deploy_is_not_followed_without_an_end(
    hostile: Hostile, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_now(status: str) -> None:
        for route in (("POST", "/projects/prj_1/deploys"), ("GET", "/projects/prj_1/deploys/dep_1")):
            body = changed(ANSWERS[route], ("deploy", "status"), status)
            hostile.special[route] = lambda handler, body=body: handler.reply(body)

    is_now("warming up\x1b[2J")
    assert run(("deploy", "main.lang")) == 1
    told = capsys.readouterr().err
    assert "is warming up" in told and "this version of lang does not know" in told and "\x1b[2J" not in told
    assert ("GET", "/api/v1/projects/prj_1/deploys/dep_1") not in hostile.asked
    is_now("starting")
    monkeypatch.setattr(deploy, "_LONGEST_SECONDS", 0)
    assert run(("deploy", "main.lang")) == 1
    assert "is still starting after 0 minutes. It continues without this command" in capsys.readouterr().err


def test_a_run_and_a_rehearsal_are_not_waited_for_without_an_end(
    hostile: Hostile, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_asked = ("POST", "/projects/prj_1/run")
    monkeypatch.setattr(jobs, "_LONGEST_SECONDS", 0)
    hostile.special[run_asked] = changed(ANSWERS[run_asked], ("run", "status"), "queued")
    assert run(("run", "--remote", *ON)) == 1
    assert "is still queued after 0 hours. It continues without this command" in capsys.readouterr().err
    monkeypatch.setattr(rehearsal, "_LONGEST_SECONDS", 0)
    given = {"id": "reh_1", "status": "running", "detail": "", "ceiling": "", "exit_code": None, "output": ""}
    answer = {"rehearsal": given | {"tried": [], "more": 0}}
    hostile.special[("POST", "/projects/prj_1/rehearsals")] = json.dumps(answer).encode()
    assert run(("deploy", "main.lang", "--rehearse")) == 1
    assert "is still running after 0 minutes. It continues without this command" in capsys.readouterr().err


def test_a_token_that_no_header_can_carry_is_not_kept(hostile: Hostile, capsys: pytest.CaptureFixture[str]) -> None:
    for token in ("", "a b", "a\r\nX: y", "é", "x" * 5_000):
        route = ("POST", "/auth/device/token")
        hostile.special = {route: changed(ANSWERS[route], ("token",), token)}
        assert run(("login",)) == 1
        assert "'token' of another form" in capsys.readouterr().err
        assert not Path(".lang/credentials.json").exists()
