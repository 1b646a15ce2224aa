"""The example agent as its page says to run it: a person at a terminal, a payment service, the audit beside the manifest."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.web_server import Received, WebServer, json_reply

REPOSITORY = Path(__file__).parents[2]
SOURCES = REPOSITORY / "examples" / "agent"
COMMAND = [sys.executable, "-m", "language"]
TOKEN = "tok-5bd1f0c2"
REQUIRES = [
    'file.read("inbox")',
    'file.read("inbox/*")',
    'file.read("ledger.jsonl")',
    'file.write("ledger.jsonl")',
    'net("127.0.0.1")',
    'env("PAYMENTS_URL")',
    'secret("PAYMENTS_TOKEN")',
    "time",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(SOURCES, tmp_path / "agent")
    return tmp_path / "agent"


def environment(url: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "PAYMENTS_URL": url, "PAYMENTS_TOKEN": TOKEN}


def at_a_terminal(folder: Path, url: str, answers: str, *flags: str) -> tuple[int, str]:
    """Runs one look with a person who types ``answers``; the exit code and what the person saw."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "run", *flags, "agent.lang", "once"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=folder,
        env=environment(url),
    )
    os.close(follower)
    left = answers.splitlines(keepends=True)
    asked = 0
    seen = b""
    while True:
        try:
            data = os.read(leader, 4096)
        except OSError:
            break
        if not data:
            break
        seen += data
        # A line for each question, once it stands there: what was typed before is thrown away.
        for _ in range(seen.count(b"(y/n): ") - asked):
            asked += 1
            if left:
                os.write(leader, left.pop(0).encode())
    os.close(leader)
    return process.wait(30), seen.decode().replace("\r\n", "\n")


@contextmanager
def payments(folder: Path, printed: list[str]) -> Iterator[str]:
    """The service that comes with the example, on a free port; ``printed`` gets its lines at the end."""
    service = subprocess.Popen(
        [sys.executable, "payments.py", "0"],
        stdout=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "PAYMENTS_TOKEN": TOKEN},
        text=True,
    )
    try:
        assert service.stdout is not None
        yield service.stdout.readline().split()[-1]
    finally:
        service.terminate()
        printed += service.communicate()[0].splitlines()


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def states(folder: Path) -> list[tuple[str, str]]:
    return [(entry["file"], entry["state"]) for entry in lines_of(folder / "ledger.jsonl")]


def caps(folder: Path, *flags: str) -> dict[str, Any]:
    done = subprocess.run(
        [*COMMAND, "caps", "--json", *flags, "agent.lang"],
        cwd=folder,
        env=environment(""),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_was_approved_is_paid_and_everything_is_recorded(folder: Path) -> None:
    paid: list[str] = []
    with payments(folder, paid) as url:
        code, seen = at_a_terminal(folder, url, "y\nn\n", "--audit", "audit.jsonl")
        assert code == 0, seen
        assert "[approve] Pay 48.20 EUR to Ana for train to Porto (ana-train.json)? (y/n): " in seen
    assert paid == ['P-1 {"to": "Ana", "for": "train to Porto", "amount": "48.20"}']
    assert states(folder) == [
        ("ana-train.json", "approved"),
        ("ana-train.json", "paid"),
        ("luis-dinner.json", "denied"),
        ("noor-hotel.json", "rejected"),
    ]
    ledger = lines_of(folder / "ledger.jsonl")
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", entry["at"]) for entry in ledger)
    assert [entry["detail"] for entry in ledger] == ["48.20 EUR to Ana", "as P-1", "9120.00 EUR to Luis", "amount must be text"]

    *records, summary = lines_of(folder / "audit.jsonl")
    assert [record["granted"] for record in records if record["capability"] == "human"] == [True, False]
    used = {(record["capability"], record["scope"]) for record in records if record["capability"] != "human"}
    assert used == {
        ("file.read", "inbox"),
        *(("file.read", f"inbox/{name}") for name in ("ana-train.json", "luis-dinner.json", "noor-hotel.json")),
        ("file.read", "ledger.jsonl"),
        ("file.write", "ledger.jsonl"),
        ("net", url.split("/")[2]),
        ("env", "PAYMENTS_URL"),
        ("secret", "PAYMENTS_TOKEN"),
        ("time", None),
    }
    declared = summary["summary"].pop("declared")
    assert all(use["done"] for use in declared), declared
    assert summary == {"summary": {"granted": len(records) - 1, "denied": 1, "exit": 0}}  # the gate that was answered no
    # The yes comes before the payment: what was written down is asked for before the network is.
    order = [record["capability"] for record in records]
    assert "file.write" in order[: order.index("net")]
    for place in ("ledger.jsonl", "audit.jsonl"):
        assert TOKEN not in (folder / place).read_text(encoding="utf-8")
    assert TOKEN not in seen


def test_declared_and_done_agree(folder: Path) -> None:
    with payments(folder, []) as url:
        at_a_terminal(folder, url, "y\nn\n", "--audit", "audit.jsonl")
        at_a_terminal(folder, url, "", "--audit", "second.jsonl")
    manifest = caps(folder, "--audit", "audit.jsonl")
    declared = [
        entry["capability"] + ("" if entry["scope"] is None else f'("{entry["scope"]}")') for entry in manifest["requires"]
    ]
    assert declared == REQUIRES
    assert (manifest["refused"], manifest["unused"]) == ([], [])
    # The second look decides nothing: it needs neither the network nor the secret.
    unused = [entry["require"] for entry in caps(folder, "--audit", "second.jsonl")["unused"]]
    assert 'net("127.0.0.1")' in unused and 'secret("PAYMENTS_TOKEN")' in unused


def test_a_payment_that_failed_is_made_later_without_asking_again(folder: Path) -> None:
    for name in ("luis-dinner.json", "noor-hotel.json"):
        (folder / "inbox" / name).unlink()
    broken = True

    def answer(_: Received) -> bytes:
        return json_reply({"error": "later"}, "503 Service Unavailable") if broken else json_reply({"payment": "P-7"})

    with WebServer(answer) as server:
        url = server.url + "/payments"
        code, seen = at_a_terminal(folder, url, "y\n")
        assert code == 0 and "not paid, will be tried again: ana-train.json: status 503" in seen
        assert states(folder) == [("ana-train.json", "approved")]
        broken = False
        shutil.copy(folder / "inbox" / "ana-train.json", folder / "inbox" / "copy.json")
        code, seen = at_a_terminal(folder, url, "")
        assert code == 0 and "[approve]" not in seen
        assert states(folder) == [("ana-train.json", "approved"), ("ana-train.json", "paid")]
        assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {TOKEN}"] * 2
        keys = {request.headers["idempotency-key"] for request in server.requests}
        assert keys == {lines_of(folder / "ledger.jsonl")[0]["claim"]}


def test_a_claim_that_changed_after_the_yes_asks_again(folder: Path) -> None:
    for name in ("luis-dinner.json", "noor-hotel.json"):
        (folder / "inbox" / name).unlink()
    with WebServer(lambda _: json_reply({}, "503 Service Unavailable")) as server:
        at_a_terminal(folder, server.url + "/payments", "y\n")
        claim = folder / "inbox" / "ana-train.json"
        claim.write_text(claim.read_text(encoding="utf-8").replace("48.20", "4820"), encoding="utf-8")
        _, seen = at_a_terminal(folder, server.url + "/payments", "n\n")
        assert "[approve] Pay 4820.00 EUR to Ana" in seen
        assert len(server.requests) == 1


def test_without_a_person_nothing_is_paid(folder: Path) -> None:
    with WebServer(lambda _: json_reply({"payment": "P-1"})) as server:
        done = subprocess.run(
            [*COMMAND, "run", "agent.lang", "once"],
            cwd=folder,
            env=environment(server.url + "/payments"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0 and "DENIED" in done.stderr
        assert server.requests == []
    assert [state for _, state in states(folder)] == ["denied", "denied", "rejected"]


def test_the_ceiling_of_its_page_keeps_it_from_paying(folder: Path) -> None:
    page = (SOURCES / "README.md").read_text(encoding="utf-8")
    found = re.search(r'`--cap-set "([^"]+)"`', page)
    assert found
    with WebServer(lambda _: json_reply({"payment": "P-1"})) as server:
        code, seen = at_a_terminal(folder, server.url + "/payments", "y\n", "--cap-set", found[1])
        assert code == 1 and 'env("PAYMENTS_URL") — declared but above the host ceiling' in seen
        assert server.requests == []
    assert states(folder) == [("ana-train.json", "approved")]
