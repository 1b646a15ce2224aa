"""A program changes neither its own source nor its modules, however it names them: what it may do is read from there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """\
require file("*")
require db("*")
use "lib/m.lang" as m
task refused(act)
    try
        act()
    recover e
        give contains(e, "explicitly denied by") or contains(e, "the path of ATTACH and VACUUM INTO must be plain")
    give false
task attempts(path)
    let parts be split(path, "/")
    let folder be join(["."] + slice(parts, 0, length(parts) - 1), "/")
    when starts_with(path, "/")
        set folder to slice(folder, 2, length(folder))
    let packed be {}
    set packed[parts[-1]] to "x"
    db_open(":memory:")
    give [
        refused(() => write_file(path, "x")),
        refused(() => append_file(path, "x")),
        refused(() => edit_file(path, "require", "x")),
        refused(() => delete_file(path)),
        refused(() => db_open(path)),
        refused(() => zip_extract(zip_create(packed), folder)),
        refused(() => tar_extract(tar_create(packed), folder)),
        refused(() => sql_exec("ATTACH DATABASE '" + path + "' AS other")),
        refused(() => sql_exec("VACUUM INTO '" + path + "'")),
    ]
each path in args()
    print(attempts(path))
print(contains(read_file("app.lang"), "require"))
"""
NAMES = ["app.lang", "./lib/../app.lang", "link.lang", "hard.lang", "linked/app.lang", "lib/m.lang", "hard_m.lang", "link_m"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "lib").mkdir(parents=True)
    (work / "app.lang").write_text(PROGRAM)
    (work / "lib" / "m.lang").write_text("export let required be 1\n")
    (work / "link.lang").symlink_to("app.lang")
    (work / "link_m").symlink_to("lib/m.lang")
    (work / "linked").symlink_to(".")
    os.link(work / "app.lang", work / "hard.lang")
    os.link(work / "lib" / "m.lang", work / "hard_m.lang")
    return work


def run(folder: Path, *words: str, command: str = "run") -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "language", command, *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("started", ["app.lang", "./lib/../app.lang", "link.lang", "linked/link.lang"])
def test_no_name_of_a_source_file_can_be_written(folder: Path, started: str) -> None:
    before = {name: (folder / name).read_text() for name in NAMES}
    done = run(folder, started, *NAMES, str(folder / "app.lang"), str(folder / "link.lang"))
    assert done.stderr == ""
    assert done.stdout.splitlines() == [*[f"[{', '.join(['true'] * 9)}]"] * (len(NAMES) + 2), "true"]
    assert {name: (folder / name).read_text() for name in NAMES} == before


@pytest.mark.parametrize("removed", [".", "../work", "lib", "lib/", "linked", "../work/lib/.."])
def test_no_folder_that_holds_one_can_be_removed(folder: Path, removed: str) -> None:
    source = f'require file("*")\nuse "lib/m.lang" as m\ndelete_dir("{removed}", {{"recursive": true}})\n'
    (folder / "app.lang").write_text(source)
    done = run(folder, "app.lang")
    assert "explicitly denied by" in done.stderr, done
    assert (folder / "app.lang").exists() and (folder / "lib" / "m.lang").exists()


def test_a_link_that_was_started_cannot_be_exchanged(folder: Path) -> None:
    """Its own folder is another one than that of the file it leads to."""
    (folder / "starts").mkdir()
    (folder / "starts" / "app.lang").symlink_to("../real.lang")
    (folder / "real.lang").write_text('require file("*")\ndelete_dir("starts", {"recursive": true})\n')
    done = run(folder, "starts/app.lang")
    assert "explicitly denied by" in done.stderr, done
    assert (folder / "starts" / "app.lang").is_symlink()


TOOL = """\
require file("*")
require db("*")
require secret("KEY")
use "lib/m.lang" as m
task attempt(arguments)
    require file("*")
    require db("*")
    require secret("KEY")
    let path be arguments.path
    when arguments.way == "write"
        write_file(path, "x")
    when arguments.way == "read"
        read_file(path)
    when arguments.way == "remove"
        delete_dir(path, {"recursive": true})
    when arguments.way == "open"
        db_open(path)
    raise "it is " + secret("KEY")
let params be {"path": {"type": "text"}, "way": {"type": "text"}}
let server be {"name": "s", "version": "1", "tools": {"t": {"description": "d", "params": params, "run": attempt}}}
let message be {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
set message.params to {"name": "t", "arguments": {"way": args()[0], "path": args()[1]}}
print(json_encode(mcp_reply(message, server)))
"""


@pytest.mark.parametrize(
    ("way", "path", "denied"),
    [
        ("write", "app.lang", "app.lang"),
        ("write", "linked/link.lang", "app.lang"),
        ("write", "./lib/../lib/m.lang", "lib/m.lang"),
        ("open", "hard.lang", "app.lang"),
        ("read", ".env", ".env"),
        ("read", "env_link", ".env"),
        ("remove", ".", ".env"),
        ("remove", "lib", "lib/m.lang"),
        ("read", "/proc/self/environ", "/proc/self/environ"),
        ("read", "../home/.lang/x", "../home/.lang/x"),
        ("read", "settings/x", "settings/x"),
    ],
)
def test_what_a_refusal_tells_a_client(folder: Path, way: str, path: str, denied: str) -> None:
    """Where on the host it happened stands in the audit alone; a tool server passes the message on."""
    import json

    (folder / "app.lang").write_text(TOOL)
    (folder / ".env").write_text("KEY=hunter2\n")
    (folder / "env_link").symlink_to(".env")
    (folder.parent / "home" / ".lang").mkdir(parents=True)
    (folder / "settings").symlink_to("../home/.lang")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent / "home"), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "language", "run", "--audit", str(folder.parent / "audit.log"), "app.lang", way, path]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert f'explicitly denied by file("{denied}")' in json.loads(done.stdout)["result"]["content"][0]["text"]
    assert str(folder.parent) not in done.stdout
    audited = [json.loads(line) for line in (folder.parent / "audit.log").read_text().splitlines()]
    [refused] = [record["why"] for record in audited if record.get("granted") is False]
    assert refused.startswith('Explicitly denied by file("/')


def test_what_a_failed_tool_tells_holds_no_secret(folder: Path) -> None:
    (folder / "app.lang").write_text(TOOL)
    (folder / ".env").write_text("KEY=hunter2\n")
    done = run(folder, "app.lang", "none", "x")
    assert (done.stdout.count("secret(KEY)"), done.stdout.count("hunter2"), done.stderr) == (1, 0, "")


def test_other_programs_and_new_files_can_be_written(folder: Path) -> None:
    (folder / "other.lang").write_text("print(1)\n")
    os.link(folder / "other.lang", folder / "hard_other.lang")
    source = 'require file("*")\nwrite_file("other.lang", "a")\nwrite_file("hard_other.lang", "b")\n'
    source += 'write_file("new.lang", "c")\ndelete_file("hard_m.lang")\ndelete_file("new.lang")\nprint("done")\n'
    (folder / "app.lang").write_text(source)
    os.unlink(folder / "hard.lang")
    done = run(folder, "app.lang")
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_in_a_test_block_neither(folder: Path) -> None:
    (folder / "app.lang").write_text('require file("*")\ntest "t"\n    write_file("app.lang", "x")\n')
    done = run(folder, "app.lang", command="test")
    assert "explicitly denied by" in done.stdout + done.stderr
    assert (folder / "app.lang").read_text().startswith("require")


def test_a_service_that_is_watched_widens_nothing(folder: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    widened = 'require exec\\nrun(\\"touch\\", [\\"widened\\"])\\n'
    source = f"""\
require serve({port})
require file.write("./*")
task attempt(place)
    try
        write_file("app.lang", "{widened}")
    recover e
        write_file(place + ".txt", e)
task job()
    attempt("job")
cron_after(0, job)
serve on {port}
    route "GET /"
        attempt("route")
        give 1
    route "GET /stream"
        stream
            attempt("stream")
            send 1
attempt("top")
"""
    (folder / "app.lang").write_text(source)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "language", "serve", "--watch", "app.lang"]
    service = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert service.stdout is not None
        assert service.stdout.readline().startswith(b"Serving")
        for path in ("", "stream"):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=60) as answer:
                assert b"1" in answer.read()
        time.sleep(1.5)  # two looks of what watches
        assert (folder / "app.lang").read_text() == source
        for place in ("top", "job", "route", "stream"):
            assert "explicitly denied by" in (folder / f"{place}.txt").read_text()
        assert not (folder / "widened").exists()
    finally:
        service.terminate()
        service.communicate()
