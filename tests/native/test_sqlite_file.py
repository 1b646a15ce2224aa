"""Every SQLite file that several processes write to is guarded against the fault in the write-ahead log of old SQLite versions:
one lock is held around each write, and SQLite makes no checkpoint by itself.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from language.errors import RuntimeFault
from language.host.memory import MemoryEntry, Rule
from language.native import shared_sqlite, sqlite_file
from language.native.memory import SqliteMemory
from language.native.sqlite_file import SqliteFile, is_affected, journal_mode
from language.shared.gate_board import GateRecord
from language.shared.store import StoreFailure
from platform_api.store import write_ahead_log

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = [
    *((3, 6, 23), (3, 7, 0), (3, 40, 1), (3, 44, 5), (3, 44, 6), (3, 45, 0), (3, 50, 6), (3, 50, 7), (3, 51, 0), (3, 51, 2)),
    *((3, 51, 3), (3, 52, 0), (4, 0, 0)),
]
AFFECTED = {(3, 7, 0), (3, 40, 1), (3, 44, 5), (3, 45, 0), (3, 50, 6), (3, 51, 0), (3, 51, 2)}


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_which_versions_have_the_fault(version: tuple[int, int, int]) -> None:
    assert is_affected(version) is (version in AFFECTED) is write_ahead_log.is_affected(version)
    # Without file locks, a version with the fault gets no write-ahead log.
    assert journal_mode(version, locks=True) == "WAL"
    assert journal_mode(version, locks=False) == ("DELETE" if version in AFFECTED else "WAL")


class Held:
    """The lock of a file's writers, held by somebody else."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path + "-lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def release(self) -> None:
        os.close(self._descriptor)


def is_locked(path: str) -> bool:
    descriptor = os.open(path + "-lock", os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@pytest.fixture
def shared() -> Iterator[str]:
    path = shared_sqlite.create()
    yield path
    shared_sqlite.remove(path)


def gate() -> GateRecord:
    return GateRecord("approve", "go on?", None, b"digest", 1, 1e12)


SHARED_WRITES: dict[str, Callable[[Any], object]] = {
    "state_set": lambda store: store.state.__setitem__("a", 1),
    "state_delete": lambda store: store.state.pop("a"),
    "state_incr": lambda store: store.state.change("a", lambda value: 1),
    "a limit": lambda store: store.buckets("b", 2.0, 1.0).take("k"),
    "a gate is opened": lambda store: store.gates.open(gate()),
    "a gate is taken": lambda store: store.gates.take("interact_1-x"),
    "a gate is decided": lambda store: store.gates.decide("interact_1-x", b"", True, None, lambda: 0.0),
}


def test_each_write_to_the_store_of_a_service_waits_for_the_lock(shared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_sqlite, "_BUSY_SECONDS", 0.0)
    store = shared_sqlite.SqliteStore(shared)
    assert store.state.get("a") is None  # opened
    for name, write in SHARED_WRITES.items():
        other = Held(shared)
        try:
            with pytest.raises((StoreFailure, RuntimeFault), match="locked"):
                write(store)
                pytest.fail(f"{name}: written beside another writer")
            assert store.state.get("a") in (None, 1)  # reading waits for nobody
        finally:
            other.release()
        write(store)
        assert not is_locked(shared)
    store.close()


MEMORY_WRITES: dict[str, Callable[[SqliteMemory], object]] = {
    "remember": lambda memory: memory.add(MemoryEntry("", "context", "a", [], "main"), 1.0),
    "forget": lambda memory: memory.forget(["mem_1"], False, 1.0),
    "erase": lambda memory: memory.forget(["mem_1"], True, 1.0),
    "add_rule": lambda memory: memory.add_rule(Rule("a", "must", "b", "")),
    "create_progress": lambda memory: memory.create_progress("t", ["s"], "main", 1.0),
    "start_step": lambda memory: memory.change_step("t", "s", lambda step: step.start(1.0)),
}


def test_each_write_to_a_memory_waits_for_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("language.native.memory_file._BUSY_SECONDS", 0.0)
    memory = SqliteMemory(str(tmp_path), "m")
    path = str(tmp_path / "m.db")
    assert memory.count(1.0) == 0  # opened
    for name, write in MEMORY_WRITES.items():
        other = Held(path)
        try:
            with pytest.raises(RuntimeFault, match="locked"):
                write(memory)
                pytest.fail(f"{name}: written beside another writer")
            memory.count(1.0)  # reading waits for nobody
        finally:
            other.release()
        write(memory)
        assert not is_locked(path)


def made(folder: Path) -> Path:
    connection = sqlite3.connect(folder / "a.db")
    connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE rows (text TEXT);")
    connection.close()
    return folder / "a.db"


def test_a_write_holds_the_lock_and_makes_no_checkpoint_by_itself(tmp_path: Path) -> None:
    path = str(made(tmp_path))
    file = SqliteFile(path, 1.0)

    def act(connection: sqlite3.Connection) -> tuple[bool, int]:
        connection.execute("INSERT INTO rows VALUES ('x')")
        return is_locked(path), connection.execute("PRAGMA wal_autocheckpoint").fetchone()[0]

    assert file.transact(act) == (True, 0)

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO rows VALUES ('lost')")
        raise KeyError

    with pytest.raises(KeyError):
        file.transact(fail)
    assert not is_locked(path) and file.query("SELECT count(*) FROM rows") == [(1,)]
    file.close()
    assert not Path(path + "-wal").exists()


def test_a_long_log_is_moved_into_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "CHECKPOINT_BYTES", 64 * 1024)
    path = made(tmp_path)
    file = SqliteFile(str(path), 1.0)
    longest = 0
    for _ in range(60):
        file.transact(lambda connection: connection.execute("INSERT INTO rows VALUES (?)", ("x" * 10_000,)))
        longest = max(longest, Path(f"{path}-wal").stat().st_size)
    assert longest < 256 * 1024 < path.stat().st_size
    # A reader that keeps the log in use keeps nobody from writing.
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM rows").fetchall()
    for _ in range(20):
        file.transact(lambda connection: connection.execute("INSERT INTO rows VALUES (?)", ("x" * 10_000,)))
    reader.close()
    assert file.query("SELECT count(*) FROM rows") == [(80,)]
    file.close()


def test_a_file_that_was_moved_or_replaced_is_not_written_to(tmp_path: Path) -> None:
    memory = SqliteMemory(str(tmp_path), "m")
    memory.add(MemoryEntry("", "context", "kept", [], "main"), 1.0)
    (tmp_path / "m.db").rename(tmp_path / "other.db")
    with pytest.raises(RuntimeFault, match=r'memory "m": cannot write .*m\.db: No such file'):
        memory.add(MemoryEntry("", "context", "lost", [], "main"), 2.0)
    (tmp_path / "m.db").write_bytes((tmp_path / "other.db").read_bytes())
    with pytest.raises(RuntimeFault, match="moved or replaced while it was in use: start the program again"):
        memory.add(MemoryEntry("", "context", "lost", [], "main"), 2.0)


_FORKING = """
import os, sys
from language.host.memory import MemoryEntry
from language.native import sqlite_file
from language.native.memory import SqliteMemory
memory = SqliteMemory(sys.argv[1], "m")
def add(text):
    memory.add(MemoryEntry("", "context", text, [], "main"), 1.0)
before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
add("parent")
child = os.fork()
if not child:
    code = 1
    try:
        add("child")
        sqlite_file.close_all()
        code = 0
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
add("parent")
assert memory.count(1.0) == 3
del memory
if before:
    assert len(os.listdir("/proc/self/fd")) == before, "the files of a memory that nobody uses stay open"
"""


def test_a_forked_process_has_a_connection_of_its_own(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _FORKING, str(tmp_path)], cwd=ROOT, timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "m.db-wal").exists()
