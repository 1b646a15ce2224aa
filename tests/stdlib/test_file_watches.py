"""Watching files, with real files that really change."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import language
from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from stdlib.file_watches import watch, watch_close, watch_next

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    return tmp_path


@pytest.fixture
def ctx(folder: Path):
    context = Context(NativeHost(), collect=True)
    for scope in ("data", "data/*", "single.txt"):
        context.capabilities.require("file.read", scope)
    yield context
    context.lifetime.end()


def changes(ctx: Context, watched, timeout=0) -> dict[str, str]:
    found = watch_next(ctx, watched, timeout)
    assert [entry["path"] for entry in found] == sorted(entry["path"] for entry in found)
    return {entry["path"]: entry["change"] for entry in found}


def error_of(function, *values) -> str:
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


def test_what_happens_below_a_folder(ctx, folder):
    (folder / "data" / "old.txt").write_text("1")
    watched = watch(ctx, "./data")
    assert changes(ctx, watched) == {}
    (folder / "data" / "sub").mkdir()
    (folder / "data" / "sub" / "new.txt").write_text("1")
    assert changes(ctx, watched) == {"data/sub": "created", "data/sub/new.txt": "created"}
    assert changes(ctx, watched) == {}
    (folder / "data" / "old.txt").write_text("22")
    (folder / "data" / "sub" / "new.txt").rename(folder / "data" / "sub" / "moved.txt")
    assert changes(ctx, watched) == {
        "data/old.txt": "modified",
        "data/sub/moved.txt": "created",
        "data/sub/new.txt": "deleted",
    }
    (folder / "data" / "sub" / "moved.txt").unlink()
    (folder / "data" / "sub").rmdir()
    assert changes(ctx, watched) == {"data/sub": "deleted", "data/sub/moved.txt": "deleted"}


def test_the_same_size_at_another_time_and_another_file_of_the_same_name(ctx, folder):
    file = folder / "data" / "a"
    file.write_text("1")
    watched = watch(ctx, "data")
    os.utime(file, ns=(1, 1))
    assert changes(ctx, watched) == {"data/a": "modified"}
    (folder / "b").write_text("1")
    os.utime(folder / "b", ns=(1, 1))
    (folder / "b").replace(file)
    assert changes(ctx, watched) == {"data/a": "modified"}
    file.unlink()
    file.mkdir()
    assert changes(ctx, watched) == {"data/a": "modified"}


def test_a_single_file_that_comes_and_goes(ctx, folder):
    watched = watch(ctx, "single.txt")
    assert changes(ctx, watched) == {}
    (folder / "single.txt").write_text("1")
    assert changes(ctx, watched) == {"single.txt": "created"}
    (folder / "single.txt").unlink()
    assert changes(ctx, watched) == {"single.txt": "deleted"}


def test_it_waits_for_a_change(ctx, folder):
    watched = watch(ctx, "data", {"interval": 0.05})
    timer = threading.Timer(0.3, lambda: (folder / "data" / "late").write_text("1"))
    timer.start()
    start = time.monotonic()
    assert changes(ctx, watched, 20) == {"data/late": "created"}
    assert 0.25 < time.monotonic() - start < 10
    timer.join()
    start = time.monotonic()
    assert changes(ctx, watched, 0.2) == {}
    assert 0.2 <= time.monotonic() - start < 20


def test_names_and_links(ctx, folder):
    (folder / "outside").mkdir()
    watched = watch(ctx, "data", {"glob": "*.csv"})
    (folder / "data" / "link").symlink_to(folder / "outside")
    (folder / "outside" / "a.csv").write_text("1")
    (folder / "data" / "b.txt").write_text("1")
    (folder / "data" / "c.csv").write_text("1")
    assert changes(ctx, watched) == {"data/c.csv": "created"}


def test_the_path_may_not_lead_out(ctx, folder):
    watched = watch(ctx, "data")
    (folder / "data").rmdir()
    (folder / "elsewhere").mkdir()
    (folder / "data").symlink_to("/")
    ctx.capabilities.grants[:] = [grant for grant in ctx.capabilities.grants if grant.scope != "data"]
    assert "Capability not granted: file.read(" in error_of(watch_next, ctx, watched, 0)


def test_denied_files_are_passed_over(folder):
    context = Context(NativeHost())
    context.capabilities.require("file.read", "data")
    context.capabilities.deny("file.read", "data/private*")
    watched = watch(context, "data")
    (folder / "data" / "private.txt").write_text("1")
    (folder / "data" / "public.txt").write_text("1")
    assert changes(context, watched) == {"data/public.txt": "created"}
    context.lifetime.end()


def test_each_use_is_checked_and_recorded(ctx):
    watched = watch(ctx, "data")
    ctx.capabilities.enter(())
    assert 'Capability not granted: file.read("data")' in error_of(watch_next, ctx, watched, 0)
    ctx.capabilities.leave()
    watch_next(ctx, watched, 0)
    used = [(r["capability"], r["scope"], r["granted"]) for r in ctx.capabilities.records]
    assert used == [("file.read", "data", True), ("file.read", "data", False), ("file.read", "data", True)]


def test_wrong_values(ctx):
    assert error_of(watch, ctx, "data", {"every": 1}) == 'watch: unknown option "every" (valid options: glob, interval)'
    for interval in (0, 0.01, 3601, float("nan")):
        assert error_of(watch, ctx, "data", {"interval": interval}) == (
            'watch: option "interval" must be a number of seconds from 0.05 to 3600'
        )
    assert error_of(watch, ctx, "data", {"interval": "1"}) == 'watch: option "interval" must be a number of seconds, got text'
    watched = watch(ctx, "data")
    assert error_of(watch_next, ctx, watched, -1) == "watch_next: timeout must be a number of seconds from 0"
    assert error_of(watch_next, ctx, "data", 1) == "watch_next expects a watch, got text"
    assert error_of(watch_close, ctx, 1) == "watch_close expects a watch, got number"
    assert 'file.read("other")' in error_of(watch, ctx, "other")


def test_closing(ctx):
    watched = watch(ctx, "data")
    assert watch_close(ctx, watched) and watch_close(ctx, watched)
    assert error_of(watch_next, ctx, watched, 0) == "watch_next: the watch is closed"


def test_there_are_so_many_at_once(ctx, monkeypatch):
    monkeypatch.setenv("PLATFORM_WATCH_MAX", "3")
    first = [watch(ctx, "data") for _ in range(3)]
    full = "watch: 3 watches are open, which is as many as there can be: close some"
    assert error_of(watch, ctx, "data") == full
    watch_close(ctx, first[0])
    watch(ctx, "data")
    assert error_of(watch, ctx, "data") == full
    ctx.lifetime.end()
    assert watch(ctx, "data")


def test_more_files_than_are_watched(ctx, folder, monkeypatch):
    monkeypatch.setattr("stdlib.file_watches.MOST_FILES", 2)
    for name in "abc":
        (folder / "data" / name).write_text("1")
    assert error_of(watch, ctx, "data") == "watch: there are more than 2 files and folders below data"


PROGRAM = """
require file.read("data")
require file.read("data/*")
require file.write("data/*")
let w be watch("data", {"interval": 0.05})
print(w, type_of(w))
write_file("data/a", "1")
each change in watch_next(w)
    print(change.path, change.change)
try
    parallel_map((n) => watch_next(w, 0), [1])
recover e
    print(e)
print(watch_next(w, 0.1), watch_close(w))
"""


def test_in_a_program(folder):
    (folder / "p.lang").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "language", "run", "p.lang"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PLATFORM_WATCH_MAX": "many"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "watch(data) watch",
        "data/a created",
        "watch_next: a watch does not cross into workers, agents or handlers: begin one there",
        "[] true",
    ]
    assert done.stderr == "lang: warning: PLATFORM_WATCH_MAX must be a whole number, got 'many': using 64\n"


def test_a_program_that_waits_can_be_ended(folder):
    (folder / "p.lang").write_text('require file.read("data")\nprint("waiting")\nwatch_next(watch("data"), 100)')
    process = subprocess.Popen(
        [sys.executable, "-m", "language", "run", "p.lang"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stdout.readline() == b"waiting\n"
    process.send_signal(2)
    assert process.wait(10) == 130
    process.stdout.close()


@pytest.mark.parametrize("call", ['watch("x")', "watch_next(1)"])
@pytest.mark.parametrize("files", [None, {"x": "1"}])
def test_where_there_is_no_system(call, files):
    answer = language.run(call, files=files)
    assert answer["errors"] == [
        f"Runtime error: <embedded>:1:{call.index('(') + 1}: {call.partition('(')[0]}: not available in the wasm profile — "
        "this build has no child processes (run the program with the native `lang` binary)"
    ]
    assert answer["audit"] == []
