"""Schemathesis reads what the examples publish about themselves and sends what it makes of it: no answer is a fault of the
server, and every answer is one that was described.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.examples.running_services import Service, copied, lang, served
from tests.examples.test_support_desk import ANA, client


def attack(service: Service, *words: str) -> str:
    command = Path(sys.executable).parent / "schemathesis"
    done = subprocess.run(
        [
            command,
            "run",
            f"{service.url}/openapi.json",
            "--checks=not_a_server_error",
            "--max-examples=40",
            "--seed=1",
            "--workers=1",
            "--request-timeout=10",
            "--suppress-health-check=all",
            "--no-color",
            *words,
        ],
        capture_output=True,
        cwd=service.folder,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "] 500 " not in service.log
    return done.stdout


def test_the_documentation_site(tmp_path: Path) -> None:
    with served(copied("docs_site", tmp_path), "site.lang") as site:
        assert "Tested: 5" in attack(site)


def test_the_dashboard(tmp_path: Path) -> None:
    with served(copied("dashboard", tmp_path), "dashboard.lang") as board:
        # The stream has no end, so nothing that reads answers to their end can ask for it.
        attack(board, "--exclude-path=/events")
        assert httpx.get(f"{board.url}/api/numbers").json()["sales"] > 0


def test_the_support_desk_signed_in(tmp_path: Path) -> None:
    folder = copied("support_desk", tmp_path)
    lang(folder, "run", "seed.lang")
    with served(folder, "desk.lang") as desk:
        http, _ = client(desk, ANA)
        cookie = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
        attack(desk, f"--header=Cookie: {cookie}", "--exclude-path=/sign-out")
        assert http.get("/tickets").status_code == 200


@pytest.mark.parametrize("name", ["support_desk"])
def test_nobody_without_a_session_gets_further(name: str, tmp_path: Path) -> None:
    folder = copied(name, tmp_path)
    lang(folder, "run", "seed.lang")
    with served(folder, "desk.lang") as desk:
        attack(desk)
        http, _ = client(desk, ANA)
        assert http.get("/api/tickets").json()["total"] == 4
