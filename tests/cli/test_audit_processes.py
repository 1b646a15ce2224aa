"""One chain through the records of several processes and threads, whatever the destination; records of any size."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from language.audit.chain import verify_audit
from language.audit.records import MOST_CHARACTERS, Audit
from language.cli.audit_stream import TAIL_BYTES
from tests.cli.conftest import Lang

PROCESSES = 4
THREADS = 2
RECORDS = 400
#: Writes from forked processes, which have threads; the parent writes before, meanwhile and at the end. Words: how to open,
#: then the files that the log is renamed to meanwhile.
SCRIPT = f"""
import os, sys, threading
from language.cli.arguments import Arguments
from language.cli.audit_stream import opened

words, renames = sys.argv[1], sys.argv[2:]
arguments = Arguments("run", {{"--audit-chain": ""}} | ({{"--audit": words}} if words else {{}}), [], [])
stream = opened(arguments)
record = {{"ts": 1.0, "capability": "env", "scope": "A", "granted": True, "origin": "program", "why": "x" * 300}}

def some(count):
    for _ in range(count):
        stream.record(record, "program", "env()")

def body():
    some(10)
    busy = threading.Thread(target=some, args=({RECORDS},))
    busy.start()
    children = []
    for number in range({PROCESSES}):
        child = os.fork()
        if not child:
            threads = [threading.Thread(target=some, args=({RECORDS},)) for _ in range({THREADS})]
            for thread in threads:
                thread.start()
            for at, name in enumerate(renames):
                if at % {PROCESSES} == number:
                    some(20)
                    os.rename(os.environ["PLATFORM_AUDIT_FILE"], name)
            for thread in threads:
                thread.join()
            os._exit(0)
        children.append(child)
    busy.join()
    for child in children:
        os.waitpid(child, 0)
    return 0

stream.around(body)
"""
TOTAL = 10 + RECORDS + PROCESSES * THREADS * RECORDS + 1


def run(folder: Path, *words: str, env: dict[str, str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    # Python 3.12 and later warn, on the error stream, where a process with several threads is forked.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", SCRIPT, *words]
    done = subprocess.run(command, cwd=folder, env=env, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done


def verified(*logs: Path) -> int:
    sources = [log.open("rb") for log in logs]
    try:
        found = verify_audit(*sources)
    finally:
        for source in sources:
            source.close()
    assert found.ok, (found.why, found.line)
    assert found.complete
    return found.lines


def test_a_file_that_others_append_to(tmp_path: Path, environment: dict[str, str]) -> None:
    run(tmp_path, "", env={**environment, "PLATFORM_AUDIT_FILE": "a.log"}, stderr=subprocess.PIPE)
    assert verified(tmp_path / "a.log") == TOTAL


def test_two_services_that_append_to_one_file(tmp_path: Path, environment: dict[str, str]) -> None:
    env = {**environment, "PLATFORM_AUDIT_FILE": "a.log"}
    with ThreadPoolExecutor() as pool:
        for _ in pool.map(lambda _: run(tmp_path, "", env=env, stderr=subprocess.PIPE), range(2)):
            pass
    assert verified(tmp_path / "a.log") == 2 * TOTAL


def test_rotation_meanwhile(tmp_path: Path, environment: dict[str, str]) -> None:
    env = {**environment, "PLATFORM_AUDIT_FILE": "a.log"}
    run(tmp_path, "", *(f"old.{number}" for number in range(6)), env=env, stderr=subprocess.PIPE)
    logs = sorted(tmp_path.glob("*o*"), key=lambda path: json.loads(path.open("rb").readline())["seq"])
    assert len(logs) == 7
    assert verified(*logs) == TOTAL + 6 * 20


def test_a_file_of_the_run(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "a.log").write_text("old\n")
    run(tmp_path, "a.log", env=environment, stderr=subprocess.PIPE)
    assert verified(tmp_path / "a.log") == TOTAL


def test_the_error_stream(tmp_path: Path, environment: dict[str, str]) -> None:
    with (tmp_path / "a.log").open("wb") as log:
        run(tmp_path, "json", env=environment, stderr=log)
    assert verified(tmp_path / "a.log") == TOTAL


def test_a_socket(tmp_path: Path, environment: dict[str, str]) -> None:
    heard = tmp_path / "heard"

    def listen(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, heard.open("wb") as file:
            while data := connection.recv(65536):
                file.write(data)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        thread = threading.Thread(target=listen, args=(listener,))
        thread.start()
        run(tmp_path, "unix:s", env=environment, stderr=subprocess.PIPE)
        thread.join()
    assert verified(heard) == TOTAL


SERVICE = """\
require serve({port})
require env("A")
serve on {port}
    route "GET /"
        each i in range(100)
            env("A", "x")
        give "done"
"""


@pytest.mark.parametrize("destination", ["appended", "file", "json"])
def test_a_service_of_two_processes(tmp_path: Path, environment: dict[str, str], destination: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    (tmp_path / "app.lang").write_text(SERVICE.format(port=port))
    env = {**environment, "PLATFORM_SERVE_PROCESSES": "2"}
    words = ["--audit", "a.log"] if destination == "file" else ["--audit", "json"] if destination == "json" else []
    if destination == "appended":
        env["PLATFORM_AUDIT_FILE"] = "a.log"
    command = [sys.executable, "-m", "language", "serve", "app.lang", "--audit-chain", *words]
    with (tmp_path / "stderr").open("wb") as errors:
        service = subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=errors)
    assert service.stdout is not None
    try:
        assert service.stdout.readline().startswith(b"Serving"), (tmp_path / "stderr").read_text()

        def get(_: int) -> bytes:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
                body: bytes = answer.read()
                return body

        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(get, range(40))) == {b'"done"'}
        service.terminate()
        assert service.wait(60) == 0
    finally:
        service.kill()
        service.stdout.close()
    log = tmp_path / ("stderr" if destination == "json" else "a.log")
    lines = [line for line in log.read_bytes().splitlines(keepends=True) if line.startswith(b"{")]
    found = verify_audit(lines)
    assert found.ok, (found.why, found.line)
    assert sum(b'"capability": "env"' in line for line in lines) == 40 * 100


# ---- records of any size ------------------------------------------------------------------------------------------------


def test_a_record_keeps_the_beginning_of_a_long_text() -> None:
    heard: list[dict[str, Any]] = []
    audit = Audit(lambda: 0.0, listener=lambda record, *_: heard.append(record))
    audit.add("env", "x" * (MOST_CHARACTERS + 7), False, "program", "y" * 33_000_000, "program", None)
    audit.add("env", "x" * MOST_CHARACTERS, True, "program", "y", "program", None)
    assert heard == audit.records
    assert heard[0]["scope"] == "x" * MOST_CHARACTERS + "… (7 more characters)"
    assert len(heard[0]["why"]) < MOST_CHARACTERS + 40
    assert heard[1]["scope"] == "x" * MOST_CHARACTERS


def test_a_name_of_many_megabytes_breaks_no_chain(lang: Lang, tmp_path: Path) -> None:
    program = 'let name be "𝔞"\neach i in range(25)\n    set name to name + name\n'
    program += 'try\n    env(name)\nrecover e\n    print("refused")\n'
    for _ in range(2):
        done = lang("run", "--audit-chain", "p.lang", files={"p.lang": program}, env={"PLATFORM_AUDIT_FILE": "a.log"})
        assert (done.lines, done.code) == (["refused"], 0), done
    assert verified(tmp_path / "a.log") == 4
    assert (tmp_path / "a.log").stat().st_size < 2 * 2**20
    assert lang("audit", "verify", "a.log").out.startswith("OK: 4 lines")


@pytest.mark.parametrize("size", [TAIL_BYTES - 200, TAIL_BYTES, 5 * TAIL_BYTES, 40 * 2**20])
def test_a_chain_goes_on_behind_a_line_of_any_length(lang: Lang, tmp_path: Path, size: int) -> None:
    log = tmp_path / "a.log"
    files = {"p.lang": 'env("A")\n'}
    lang("run", "--audit-chain", "p.lang", files=files, env={"PLATFORM_AUDIT_FILE": "a.log"})
    first, *_ = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(first.replace(b'"scope": "A"', b'"scope": "' + b"A" * size + b'"'))
    lang("run", "--audit-chain", "p.lang", env={"PLATFORM_AUDIT_FILE": "a.log"})
    assert verified(log) == 3
    assert lang("audit", "verify", "a.log").code == 0
