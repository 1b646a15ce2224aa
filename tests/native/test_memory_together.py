"""Several processes that make or take over one memory at once, and threads that are cancelled in the middle of a write."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from language.errors import Uncatchable
from language.host.memory import MemoryEntry, Query
from language.native.memory import SqliteMemory
from language.native.memory_inspection import problems
from language.runtime.threads import raise_in
from tests.native.test_memory_file import FIRST_LAYOUT
from tests.native.test_sqlite_file import is_locked

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = 4
_WRITER = """
import sys
from language.host.memory import MemoryEntry
from language.native.memory import SqliteMemory
store = SqliteMemory(sys.argv[1], "m")
sys.stdin.read()
for turn in range(3):
    store.add(MemoryEntry("", "context", sys.argv[2], [], "main"), 9.0)
"""


def entry(content: str) -> MemoryEntry:
    return MemoryEntry("", "context", content, [], "main")


@pytest.mark.parametrize(("script", "before"), [("", 0), (FIRST_LAYOUT, 2)], ids=["a new file", "a file of the first layout"])
def test_processes_that_open_a_memory_for_the_first_time_at_once(script: str, before: int, tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    if script:
        connection = sqlite3.connect(path)
        connection.executescript(script)
        connection.close()
    children = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path), str(number)], cwd=ROOT, stdin=subprocess.PIPE)
        for number in range(PROCESSES)
    ]
    try:
        for child in children:
            assert child.stdin is not None
            child.stdin.close()  # what each of them waits for
        assert [child.wait(60) for child in children] == [0] * PROCESSES
    finally:
        for child in children:
            child.kill()
            child.wait(60)
    found = SqliteMemory(str(tmp_path), "m").search(Query(), 10.0)
    assert len({each.id for each in found}) == len(found) == before + 3 * PROCESSES
    assert problems(str(path)) == []
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("m.db-*")} == {0o600}


class Stopped(Uncatchable):
    """What cancels a thread."""


def test_a_thread_that_is_cancelled_leaves_no_lock_and_no_transaction(tmp_path: Path) -> None:
    chance = random.Random(3)
    store = SqliteMemory(str(tmp_path), "m")
    acknowledged = [store.add(entry("first"), 1.0)]

    def work() -> None:
        try:
            while True:
                acknowledged.append(store.add(entry("x"), 1.0))
        except Stopped:
            return

    end = time.monotonic() + 60
    for _ in range(25):
        wanted = len(acknowledged) + chance.randrange(3)
        thread = Thread(target=work, daemon=True)
        thread.start()
        while len(acknowledged) < wanted:
            assert time.monotonic() < end, "a lock is held by a thread that has ended"
            time.sleep(0.0005)
        while thread.is_alive():
            assert time.monotonic() < end, "the thread cannot be cancelled"
            raise_in([thread.ident or 0], Stopped)
            thread.join(chance.random() * 0.002)
        if chance.random() < 0.2:
            store = SqliteMemory(str(tmp_path), "m")  # cancelled while it is opened, too
    assert not is_locked(str(tmp_path / "m.db"))
    found = {each.id for each in SqliteMemory(str(tmp_path), "m").search(Query(limit=10**6), 2.0)}
    assert set(acknowledged) <= found
    assert problems(str(tmp_path / "m.db")) == []
