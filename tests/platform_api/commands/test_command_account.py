"""``lang login``, ``whoami`` and ``logout`` as processes against a running service."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from platform_service import Service

from platform_api.accounts import devices
from platform_api.accounts.principal import ALL_SCOPES, Principal

ROOT = Path(__file__).resolve().parents[3]


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), **more}


def lang(home: Path, *words: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "language", *words]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, env=environment(home, **more), cwd=home, timeout=60
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_a_device_is_signed_in_by_a_person_and_out_again(service: Service, home: Path) -> None:
    account = service.account()
    waiting = subprocess.Popen(
        [sys.executable, "-m", "language", "login", "--url", service.url, "--name", "laptop"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(home),
    )
    assert waiting.stdout is not None
    assert waiting.stdout.readline().startswith(f"Open {service.url}/device?code=")
    code = re.search(r"[A-Z]{4}-[A-Z]{4}", waiting.stdout.readline())
    assert code is not None
    person = Principal(account, "owner@example.com", "owner", "team", False, "session", ALL_SCOPES)
    devices.decide(service.platform.store.main, person, code[0], ("read", "deploy"))
    out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, err
    assert "Signed in" in out and "owner@example.com" in out and "lp_" not in out + err

    kept = home / ".lang" / "credentials.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    shown = lang(home, "whoami", "--json")
    assert json.loads(shown.stdout) == {
        "id": account, "email": "owner@example.com", "name": "owner", "plan": "team", "admin": False, "via": "device",
    }  # fmt: skip
    token = json.loads(kept.read_text())["tokens"][service.url]["token"]
    assert lang(home, "logout").returncode == 0
    assert service.client(token).get("/api/v1/me").status_code == 401, "the service has forgotten the token too"
    refused = lang(home, "whoami")
    assert (refused.returncode, refused.stdout) == (1, "") and "lang login" in refused.stderr


def test_a_token_of_the_environment_is_used_and_never_stored(service: Service, home: Path) -> None:
    token = service.token(service.account())
    shown = lang(home, "whoami", PLATFORM_URL=service.url, PLATFORM_TOKEN=token)
    assert shown.stdout == f"owner@example.com (owner), plan team, at {service.url}\n"
    assert not (home / ".lang").exists()


def test_what_is_wrong_is_said_in_one_line(service: Service, home: Path) -> None:
    wrong = lang(home, "whoami", "--json", PLATFORM_URL=service.url, PLATFORM_TOKEN="lp_wrong")
    assert wrong.returncode == 1 and json.loads(wrong.stdout)["code"] == "unauthorized"
    assert wrong.stderr.startswith("lang whoami: ") and wrong.stderr.count("\n") == 1
    nobody = lang(home, "whoami", PLATFORM_URL="http://127.0.0.1:9", PLATFORM_TOKEN="x")
    assert (nobody.returncode, nobody.stdout) == (1, "") and "http://127.0.0.1:9 could not be reached" in nobody.stderr
    for words in (["whoami", "extra"], ["whoami", "--bogus"], ["approvals", "approve"], ["approvals", "deny", "apr_1", "why"]):
        assert lang(home, *words, PLATFORM_URL=service.url).returncode == 2, words
    unknown = lang(home, "whoami")
    assert unknown.returncode == 1 and "PLATFORM_URL" in unknown.stderr


@pytest.mark.parametrize("content", ["", "[]", "{", '{"tokens": []}', "\x00"])
def test_a_broken_file_of_tokens_is_named_and_left_alone(home: Path, content: str) -> None:
    kept = home / ".lang" / "credentials.json"
    kept.parent.mkdir()
    kept.write_text(content)
    result = lang(home, "whoami", PLATFORM_URL="http://127.0.0.1:9")
    assert result.returncode == 1 and str(kept) in result.stderr
    assert kept.read_text() == content


def test_a_redirect_carries_the_token_nowhere(home: Path) -> None:
    import http.server
    import threading

    seen: list[str | None] = []

    class Redirecting(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_port}/elsewhere")  # type: ignore[attr-defined]
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirecting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        result = lang(home, "whoami", PLATFORM_URL=f"http://127.0.0.1:{server.server_port}", PLATFORM_TOKEN="lp_x")
    finally:
        server.shutdown()
        server.server_close()
    assert result.returncode == 1 and "302" in result.stderr
    assert seen == ["Bearer lp_x"], "one request, and none behind the redirect"
