"""docs/mcp.md: its server passes its own tests, its client prints what stands under it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from serving import REPOSITORY, free_port, served

PAGE = (REPOSITORY / "docs" / "mcp.md").read_text(encoding="utf-8")
SERVER, CLIENT = re.findall(r"^```lang\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(OUTPUT,) = re.findall(r"^```output\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "server.lang").write_text(SERVER, encoding="utf-8")
    return tmp_path


def lang(folder, *words):
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "ANN_TOKEN": "t-ann"}
    command = [sys.executable, "-m", "language", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_server_passes_its_tests(folder):
    assert "1 passed, 0 failed" in lang(folder, "test", "server.lang").stdout


def test_the_client_prints_what_the_page_says(folder):
    port = free_port()
    (folder / "client.lang").write_text(CLIENT.replace("8080", str(port)), encoding="utf-8")
    with served(folder / "server.lang", port, folder, ANN_TOKEN="t-ann"):
        done = lang(folder, "run", "client.lang")
    assert (done.stdout, done.stderr) == (OUTPUT, "")


def test_the_programs_are_laid_out(folder):
    (folder / "client.lang").write_text(CLIENT, encoding="utf-8")
    assert lang(folder, "fmt", "--check", ".").returncode == 0
