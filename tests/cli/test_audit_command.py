"""Audit streams as JSON lines, the chain through them and its verification, the files that no program may touch."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ROOT, Lang

HELLO = 'print("hi")\n'
SOME = """\
require env("A")
print(env("A", "x"))
try
    random()
recover e
    print("no")
"""
FIELDS = ["ts", "capability", "scope", "granted", "origin", "why", "context", "source", "file", "line"]


def entries(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def decisions(text: str) -> list[tuple[Any, ...]]:
    return [tuple(e[f] for f in ("capability", "scope", "granted", "source", "line")) for e in entries(text) if "ts" in e]


def test_the_records_and_the_summary_of_the_manual(lang: Lang) -> None:
    result = lang("run", "--audit", "json", "--cap-set", "stdout", "ok.lang", files={"ok.lang": HELLO})
    *records, summary = entries(result.err)
    assert result.lines == ["hi"]
    assert all(list(record) == FIELDS for record in records)
    assert [tuple(list(record.values())[1:]) for record in records] == [
        ("stdout", None, True, "runtime", "auto-granted by the runtime", "program", "ambient", None, None),
        ("time", None, False, "runtime", "above host ceiling (--sandbox/--cap-set)", "program", "ambient", None, None),
        ("llm", None, False, "runtime", "above host ceiling (--sandbox/--cap-set)", "program", "ambient", None, None),
        ("stdout", None, True, "program", "Granted by stdout", "program", "print()", "ok.lang", 1),
    ]
    assert summary == {"summary": {"granted": 2, "denied": 2, "exit": 0}}


def test_without_a_ceiling_only_what_the_program_asks_is_recorded(lang: Lang, tmp_path: Path) -> None:
    lang("run", "--audit", "a.log", "p.lang", files={"p.lang": SOME})
    text = (tmp_path / "a.log").read_text()
    assert decisions(text) == [("env", "A", True, "env()", 2), ("random", None, False, "random()", 4)]


def test_operations_are_named_by_the_builtin_and_the_line_that_calls(lang: Lang) -> None:
    program = """\
use "m.lang" as m
require time
require random
task tool()
    require time
    give now()
let a be apply([1], (x) => random())
let b be call_tool(tool, nothing)
show 1
log "x"
m.clock()
parallel_map((x) => now(), [1])
"""
    module = "export task clock()\n\n    give now()\n"
    files = {"p.lang": program, "m.lang": module}
    result = lang("run", "--audit", "json", "--cap-set", "stdout,time,random", "p.lang", files=files)
    assert result.code == 0, result
    lines = [line for line in result.err.splitlines() if line.startswith("{")]
    found = [entry for entry in entries("\n".join(lines)) if entry.get("source") != "ambient"]
    assert [(e["source"], e["file"], e["line"], e["context"]) for e in found if "ts" in e] == [
        ("random()", "p.lang", 7, "program"),
        ("tool-scope", "p.lang", 8, "program"),
        ("now()", "p.lang", 6, "program"),
        ("show()", "p.lang", 9, "program"),
        ("now()", "m.lang", 3, "program"),
        ("now()", "p.lang", 12, "worker"),
    ]


def test_a_require_above_the_ceiling_has_its_line(lang: Lang) -> None:
    result = lang("run", "--audit", "json", "--cap-set", "stdout", "p.lang", files={"p.lang": 'print(1)\nrequire env("A")\n'})
    assert ("env", "A", False, "ceiling", 2) in decisions(result.err)


def test_a_file_is_emptied_and_private(lang: Lang, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("old\n" * 100)
    log.chmod(0o644)
    lang("run", "--audit", "a.log", "ok.lang", files={"ok.lang": HELLO})
    assert entries(log.read_text()) == [{"summary": {"granted": 0, "denied": 0, "exit": 0}}]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("program", "code"),
    [("exit(3)", 3), ('raise "x"', 1), ("let be be", 1), ("print(1)", 0)],
)
def test_the_summary_has_the_exit_code(lang: Lang, tmp_path: Path, program: str, code: int) -> None:
    result = lang("run", "--audit", "a.log", "p.lang", files={"p.lang": program})
    assert result.code == code
    assert entries((tmp_path / "a.log").read_text())[-1]["summary"]["exit"] == code


@pytest.mark.parametrize("destination", ["no/such/folder/a", "fd:1", "fd:2", "fd:x", "fd:-3", "fd:77", "unix:none.sock", "."])
def test_a_destination_that_cannot_be_opened_stops_everything(lang: Lang, destination: str) -> None:
    result = lang("run", "--audit", destination, "ok.lang", files={"ok.lang": HELLO})
    assert (result.code, result.out) == (2, "")
    assert f"cannot open the audit destination '{destination}'" in result.err


def test_a_descriptor(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "p.lang").write_text(SOME)
    reading, writing = os.pipe()
    done = subprocess.run(
        [sys.executable, "-m", "language", "run", "--audit", f"fd:{writing}", "p.lang"],
        cwd=tmp_path, env=environment, pass_fds=[writing], capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    os.close(writing)
    with open(reading, encoding="utf-8") as stream:
        assert [e[1] for e in decisions(stream.read())] == ["A", None]
    assert done.stderr == b""


def test_a_socket(lang: Lang) -> None:
    # The path of a socket is short: not the test's own folder.
    name = f"/tmp/audit-{os.getpid()}.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(name)
    server.listen()
    received: list[bytes] = []

    def receive() -> None:
        connection, _ = server.accept()
        while data := connection.recv(4096):
            received.append(data)
        connection.close()

    thread = threading.Thread(target=receive)
    thread.start()
    try:
        lang("run", "--audit", f"unix:{name}", "p.lang", files={"p.lang": SOME})
        thread.join(10)
    finally:
        server.close()
        os.unlink(name)
    assert len(decisions(b"".join(received).decode())) == 2


def test_a_stream_that_breaks_is_one_notice(lang: Lang) -> None:
    result = lang("run", "--audit", "/dev/full", "p.lang", files={"p.lang": SOME})
    assert (result.code, result.lines) == (0, ["x", "no"])
    assert result.err == "[lang] notice: the audit stream cannot be written: No space left on device\n"


def test_the_environment_names_destinations_and_the_flag_wins(lang: Lang, tmp_path: Path) -> None:
    files = {"p.lang": SOME}
    lang("p.lang", files=files, env={"PLATFORM_AUDIT": "a.log"})
    lang("run", "--audit", "b.log", "p.lang", env={"PLATFORM_AUDIT": "x.log", "PLATFORM_AUDIT_FILE": "y.log"})
    lang("run", "p.lang", env={"PLATFORM_AUDIT": "x.log", "PLATFORM_AUDIT_FILE": "c.log"})
    lang("run", "p.lang", env={"PLATFORM_AUDIT_FILE": "c.log"})
    lines = {path.name: len(path.read_text().splitlines()) for path in tmp_path.glob("*.log")}
    assert lines == {"a.log": 3, "b.log": 3, "c.log": 6}


def test_tests_are_audited_too(lang: Lang, tmp_path: Path) -> None:
    program = 'test "t"\n    require random\n    assert(random() < 1)\n'
    result = lang("test", "--audit", "a.log", "t.lang", "u.lang", files={"t.lang": program, "u.lang": program})
    assert result.code == 0
    text = (tmp_path / "a.log").read_text()
    assert decisions(text) == [("random", None, True, "random()", 3)] * 2
    declared = [{"capability": "random", "scope": None, "done": 2}]
    assert entries(text)[-1] == {"summary": {"granted": 2, "denied": 0, "exit": 0, "declared": declared}}


def test_a_report_and_a_stream_at_once(lang: Lang, tmp_path: Path) -> None:
    result = lang("run", "--format", "json", "--audit", "a.log", "p.lang", files={"p.lang": SOME})
    records = [entry for entry in entries((tmp_path / "a.log").read_text()) if "ts" in entry]
    streamed = [{field: record[field] for field in FIELDS[:6]} for record in records]
    assert json.loads(result.out)["audit"] == streamed


# ---- the chain ---------------------------------------------------------------------------------------------------------


def chained(lang: Lang, *, runs: int = 1, name: str = "a.log") -> None:
    for _ in range(runs):
        assert lang("run", "--audit-chain", "p.lang", files={"p.lang": SOME}, env={"PLATFORM_AUDIT_FILE": name}).code == 0


def test_each_line_carries_its_number_and_the_hash_of_the_one_before(lang: Lang, tmp_path: Path) -> None:
    chained(lang)
    lines = (tmp_path / "a.log").read_bytes().splitlines()
    previous = "0" * 64
    for number, line in enumerate(lines, 1):
        entry = json.loads(line)
        assert (entry["seq"], entry["prev"]) == (number, previous)
        previous = sha256(line).hexdigest()
    assert len(lines) == 3


def test_a_chain_goes_on_through_runs_and_rotation(lang: Lang, tmp_path: Path) -> None:
    chained(lang, runs=2)
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")
    chained(lang, runs=2)
    result = lang("audit", "verify", "a.log.1", "a.log")
    assert result.code == 0, result
    assert result.out.startswith("OK: 12 lines, seq 1 to 12. SHA-256 of the last line: ")
    last = (tmp_path / "a.log").read_bytes().splitlines()[-1]
    assert sha256(last).hexdigest() in result.out
    assert lang("audit", "verify", "a.log").code == 1
    assert lang("audit", "verify", "a.log", "a.log.1").code == 1


def test_rotation_while_the_program_runs(lang: Lang, tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "p.lang").write_text('require random\nrandom()\nread_line()\nrandom()\nread_line()\nrandom()\nprint("done")\n')
    process = subprocess.Popen(
        [sys.executable, "-m", "language", "run", "--audit-chain", "p.lang"],
        cwd=tmp_path, env={**environment, "PLATFORM_AUDIT_FILE": "a.log"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    log = tmp_path / "a.log"
    for old in ("a.log.2", "a.log.1"):
        wait_for(lambda: log.exists() and log.stat().st_size > 0)
        log.rename(tmp_path / old)
        process.stdin.write(b"\n")
        process.stdin.flush()
    assert process.stdout.read() == b"done\n"
    assert process.wait(60) == 0
    process.stdin.close()
    process.stdout.close()
    assert [len((tmp_path / name).read_text().splitlines()) for name in ("a.log.2", "a.log.1", "a.log")] == [1, 1, 2]
    assert lang("audit", "verify", "a.log.2", "a.log.1", "a.log").code == 0


def wait_for(happened: Any) -> None:
    import time

    end = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_processes_that_append_at_once_share_one_chain(lang: Lang, tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "p.lang").write_text("require random\neach i in range(50)\n    random()\n")
    command = [sys.executable, "-m", "language", "run", "--audit-chain", "p.lang"]
    env = {**environment, "PLATFORM_AUDIT_FILE": "a.log"}
    running = [subprocess.Popen(command, cwd=tmp_path, env=env) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert lang("audit", "verify", "a.log").out.startswith("OK: 153 lines")


CHANGES = {
    "a changed line": (
        lambda lines: [lines[0], lines[1].replace(b"false", b"true"), *lines[2:]],
        "a.log:3: the link is broken",
    ),
    "a line taken out": (lambda lines: [lines[0], *lines[2:]], "a.log:2: the link is broken: seq 3 where 2 follows"),
    "the first taken out": (lambda lines: lines[1:], "a.log:1: the link is broken: seq 2 where 1 follows"),
    "a line put in": (lambda lines: [lines[0], lines[0], *lines[1:]], "a.log:2: the link is broken: seq 1 where 2 follows"),
    "two lines swapped": (lambda lines: [lines[1], lines[0], *lines[2:]], "a.log:1: the link is broken"),
    "a line without link": (lambda lines: [b'{"ts": 1}\n', *lines], "a.log:1: the link is missing"),
    "no JSON": (lambda lines: [lines[0], b"x\n", *lines[1:]], "a.log:2: not a JSON object"),
    "an empty line": (lambda lines: [lines[0], b"\n", *lines[1:]], "a.log:2: not a JSON object"),
    "white space": (lambda lines: [lines[0].replace(b": ", b":", 1), *lines[1:]], "a.log:2: the link is broken"),
    "a seq that is no number": (lambda lines: [lines[0].replace(b'"seq": 1', b'"seq": true')], "a.log:1: the link is broken"),
    "a cut line": (lambda lines: [lines[0], lines[1][:-9]], "a.log:2: the line is cut off"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_found(lang: Lang, tmp_path: Path, change: str) -> None:
    chained(lang)
    log = tmp_path / "a.log"
    alter, message = CHANGES[change]
    log.write_bytes(b"".join(alter(log.read_bytes().splitlines(keepends=True))))
    result = lang("audit", "verify", "a.log")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(message)


def test_a_missing_end_is_a_warning(lang: Lang, tmp_path: Path) -> None:
    chained(lang)
    log = tmp_path / "a.log"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    result = lang("audit", "verify", "a.log")
    assert result.code == 0 and "the last line is no summary" in result.err


@pytest.mark.parametrize(
    "words", [["audit", "verify"], ["audit", "verify", "none.log"], ["audit", "check"], ["audit", "verify", "--x", "a"]]
)
def test_wrong_calls(lang: Lang, words: list[str]) -> None:
    assert lang(*words).code == 2


def test_a_chain_needs_a_destination(lang: Lang) -> None:
    assert lang("run", "--audit-chain", "ok.lang", files={"ok.lang": HELLO}).code == 2


# ---- what a program may not touch --------------------------------------------------------------------------------------

PROBE = """\
import sys
from language.cli.main import main
from language.registry import Family
import stdlib.tools

# A file builtin as small as one can be: it asks and does nothing.
@stdlib.tools.family.builtin("probe(name, path)", context=True)
def probe(ctx, name, path):
    ctx.check_path(name, path)

sys.exit(main(sys.argv[1:]))
"""


def test_the_files_of_the_command_are_out_of_reach(tmp_path: Path, environment: dict[str, str]) -> None:
    program = """\
require file
task try_it(name, path)
    try
        probe(name, path)
        print(path + " granted")
    recover e
        print(path + when contains(e, "explicitly denied by") then " denied" otherwise e)
each path in args()
    try_it("file.write", path)
"""
    (tmp_path / "p.lang").write_text(program)
    (tmp_path / "probe.py").write_text(PROBE)
    (tmp_path / ".env").write_text("A=1\n")
    (tmp_path / "link").symlink_to(".env")
    home = environment["HOME"]
    paths = [".env", "link", "a.log", ".lang/state/x", ".lang", "own/x", home]
    paths += ["/proc/self/environ", "/proc/self/fd/3", "/dev/fd/3", "/proc/thread-self/mem", f"/proc/{os.getpid()}/environ"]
    paths += [f"{home}/.cache/lang/x", f"{home}/.lang/audit/reveal.log"]
    done = subprocess.run(
        [sys.executable, "probe.py", "run", "--audit", "a.log", "p.lang", *paths, "b.log", "/proc/meminfo"],
        cwd=tmp_path, env={**environment, "PYTHONPATH": str(ROOT), "PLATFORM_AUDIT_DIR": "own"},
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stderr == b""
    granted = [f"{path} granted" for path in ("b.log", "/proc/meminfo")]
    assert done.stdout.decode().splitlines() == [*(f"{path} denied" for path in paths), *granted]


def test_the_summary_sets_what_is_declared_beside_what_was_done(lang: Lang, tmp_path: Path) -> None:
    program = 'require env("A_*")\nrequire net("api.example")\nrequire exec("./t/*")\nenv("A_B", "")\nenv("A_C", "")\n'
    lang("run", "--audit", "a.log", "--cap-set", "stdout,env", "p.lang", files={"p.lang": program})
    assert entries((tmp_path / "a.log").read_text())[-1]["summary"]["declared"] == [
        {"capability": "env", "scope": "A_*", "done": 2},
        {"capability": "net", "scope": "api.example", "done": 0},
        {"capability": "exec", "scope": "./t/*", "done": 0},
    ]
