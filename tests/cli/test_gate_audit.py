"""A gate under ``lang serve``: the link on the console, the page that names the program, the decision in the audit's chain."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

PROGRAM = """
require serve({port})
serve on {port}
    route "GET /gate"
        give approve "Ship \\"it\\"?" within 60s
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_decision_by_the_link_of_the_console(tmp_path: Path, environment: dict[str, str], workers: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
    (tmp_path / "desk.lang").write_text(PROGRAM.format(port=port), encoding="utf-8")
    words = ["serve", "desk.lang", "--audit", "audit.jsonl", "--audit-chain", "--workers", workers]
    errors = tmp_path / "errors"
    with errors.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "language", *words], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=stream
        )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        got: list[httpx.Response] = []

        def ask() -> None:
            transport = httpx.HTTPTransport(retries=20)
            with httpx.Client(transport=transport) as client:
                got.append(client.get(f"http://127.0.0.1:{port}/gate", timeout=120))

        asking = threading.Thread(target=ask)
        asking.start()
        until = time.monotonic() + 60
        while "approval pending" not in errors.read_text():
            assert time.monotonic() < until
            time.sleep(0.05)
        line = errors.read_text().splitlines()[0]
        link = re.search(rf" or open (http://127\.0\.0\.1:{port}/approvals/(interact_1-[0-9a-f]+)/([0-9a-f]{{64}}))$", line)
        assert link is not None and r'"Ship \"it\"?"' in line
        url, identifier, token = link.groups()
        page = httpx.get(url, timeout=60)
        assert page.status_code == 200 and "desk.lang" in page.text
        assert httpx.get(url + "?d=yes", timeout=60).status_code == 200
        asking.join(60)
        assert got[0].json() is True
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    text = (tmp_path / "audit.jsonl").read_text(encoding="utf-8")
    [record] = [record for record in map(json.loads, text.splitlines()) if record.get("capability") == "human"]
    assert (record["scope"], record["granted"], record["origin"]) == (identifier, True, "link")
    assert record["why"] == "approve, decided by the holder of its token at 127.0.0.1"
    assert token not in text
    verify = [sys.executable, "-m", "language", "audit", "verify", "audit.jsonl"]
    done = subprocess.run(verify, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
