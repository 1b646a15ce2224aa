"""Several processes write to one SQLite file and move its log into it: no commit is lost, not even when a writer is killed.

``SOAK_SECONDS`` says for how long they write at least; `make soak` lets them do it for ten minutes.
"""

from __future__ import annotations

import fcntl
import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from platform_api.store.database import Database
from platform_api.store.write_ahead_log import WriteAheadLog, is_affected

SECONDS = float(os.environ.get("SOAK_SECONDS", "0"))
KILLED = 4
WRITER = Path(__file__).with_name("write_ahead_writer.py")
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ((3, 6, 23), False),
        ((3, 7, 0), True),
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 0), True),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 52, 0), False),
        ((4, 0, 0), False),
    ],
)
def test_which_versions_have_the_fault(version: tuple[int, int, int], affected: bool) -> None:
    assert is_affected(version) is affected


def test_one_lock_is_around_every_write(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    log = WriteAheadLog(path)
    connection = sqlite3.connect(path, isolation_level=None)
    log.prepare(connection)
    assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (0,)
    with log.writing():
        assert _is_locked(path)
        with log.writing():
            assert _is_locked(path)
        assert _is_locked(path)
    assert not _is_locked(path)
    connection.close()
    log.close()


def test_a_transaction_that_writes_holds_the_lock(tmp_path: Path) -> None:
    database = Database(tmp_path / "a.db")
    held = []
    with database.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE rows (n INTEGER)")
        held.append(_is_locked(tmp_path / "a.db"))
    database.close()
    assert held == [True]


def test_where_there_are_no_file_locks_a_library_with_the_fault_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform_api.store.write_ahead_log.fcntl", None)
    with pytest.raises(RuntimeError, match="can lose commits"):
        WriteAheadLog(tmp_path / "a.db", (3, 40, 1))
    WriteAheadLog(tmp_path / "a.db", (3, 51, 3)).close()


def _is_locked(path: Path) -> bool:
    lock = Path(f"{path}-lock")
    if not lock.exists():
        return False
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_long_log_is_moved_into_the_file_beside_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform_api.store.write_ahead_log.CHECKPOINT_BYTES", 256 * 1024)
    path = tmp_path / "a.db"
    database = Database(path)
    with database.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE rows (n INTEGER, text TEXT)")
    longest = 0
    for number in range(200):
        with database.writing() as connection:
            connection.exec_driver_sql("INSERT INTO rows VALUES (?, ?)", (number, "x" * 20_000))
        with database.reading() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM rows").scalar_one() == number + 1
        longest = max(longest, Path(f"{path}-wal").stat().st_size)
    database.close()
    assert longest < 1024 * 1024 < path.stat().st_size


def test_writers_that_are_killed_lose_none_of_their_commits(tmp_path: Path) -> None:
    path, stop = tmp_path / "a.db", tmp_path / "stop"
    database = Database(path)
    with database.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE rows (name TEXT, number INTEGER, text TEXT, PRIMARY KEY (name, number))")
    database.close()
    chance = random.Random(1)
    names: list[str] = []

    def start() -> subprocess.Popen[bytes]:
        names.append(f"writer{len(names)}")
        words = [sys.executable, str(WRITER), str(path), names[-1], str(tmp_path / names[-1]), str(stop)]
        return subprocess.Popen(words, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})

    running = [start() for _ in range(3)]
    began = time.monotonic()
    try:
        while len(names) < len(running) + KILLED or time.monotonic() < began + SECONDS:
            assert time.monotonic() < began + SECONDS + 300, "the writers do not get on"
            time.sleep(0.02 + chance.random() * 0.2)
            if _acknowledged(tmp_path / names[-1]) < 20:  # the youngest of them does not write yet
                continue
            at = chance.randrange(len(running))
            running[at].kill()
            assert running[at].wait() == -9, "a writer had failed before it was killed"
            running[at] = start()
        stop.touch()
        assert [process.wait(120) for process in running] == [0] * len(running)
    finally:
        for process in running:
            process.kill()
            process.wait()
    database = Database(path)
    with database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT name, count(*), max(number) FROM rows GROUP BY name").all()
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
    database.close()
    found = {name: (count, last) for name, count, last in rows}
    committed = {name: _acknowledged(tmp_path / name) for name in names}
    assert sum(committed.values()) >= 20 * KILLED
    for name, acknowledged in committed.items():
        count, last = found.get(name, (0, 0))
        assert count == last >= acknowledged, f"{name}: {acknowledged} commits, {count} rows up to number {last}"
        assert last <= acknowledged + 1  # the one that was committed and not yet said


def _acknowledged(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.exists() else 0
