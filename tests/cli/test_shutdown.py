"""``shutdown()``: a served program ends its own service, in order."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

PROGRAM = """
require serve({port})
serve on {port}
    route "GET /end"
        shutdown()
        shutdown()
        sleep(0.2)
        give "ended"
    route "GET /slow"
        print("begun")
        sleep(2)
        give "slept"
    route "GET /inside"
        sandbox
            shutdown()
        give "not refused"
    route "GET /tool"
        give call_tool(() => shutdown(), nothing)
"""


@pytest.fixture(params=["1", "2"], ids=["one process", "two processes"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    (tmp_path / "app.lang").write_text(PROGRAM.replace("{port}", str(port)), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "language", "serve", "app.lang", "--bind", "127.0.0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PLATFORM_SERVE_PROCESSES": request.param, "PLATFORM_DEV": "1"},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Serving HTTP on port")
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate()


def test_requests_in_flight_finish_and_the_command_ends(service: tuple[subprocess.Popen[str], str]) -> None:
    process, url = service
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(httpx.get, f"{url}/slow", timeout=30)
        assert process.stdout is not None
        while "begun" not in process.stdout.readline():
            assert process.poll() is None
        assert httpx.get(f"{url}/end", timeout=30).json() == "ended"
        assert slow.result().json() == "slept"
    assert process.wait(30) == 0
    assert process.stderr is not None
    assert process.stderr.read().endswith("[serve] stopped\n")
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)


def test_sandbox_and_tools_cannot(service: tuple[subprocess.Popen[str], str]) -> None:
    process, url = service
    for path in ("/inside", "/tool"):
        reply = httpx.get(f"{url}{path}", timeout=30)
        assert reply.status_code == 500
        assert "shutdown() is not for sandbox blocks and tool calls" in reply.text
    assert process.poll() is None
