"""Two processes remember in one memory and are killed again and again: nothing that was acknowledged is lost.

``SOAK_REMEMBERED`` says how much each of them remembers, ``SOAK_MEMORY_KILLS`` how often one is killed; `make soak` has 10,000
each and 200 kills.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from language.host.memory import Query
from language.native.memory import SqliteMemory
from language.native.memory_inspection import problems

COUNT = int(os.environ.get("SOAK_REMEMBERED", "60"))
KILLS = int(os.environ.get("SOAK_MEMORY_KILLS", "3"))
WRITER = Path(__file__).with_name("memory_writer.py")
ROOT = Path(__file__).resolve().parents[2]
NAMES = ("ann", "bob")


def acknowledged(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_writers_that_are_killed_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(1)
    end = time.monotonic() + 60 + 2 * KILLS + COUNT

    def start(name: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, str(WRITER), str(tmp_path), name, str(tmp_path / name), str(COUNT)]
        return subprocess.Popen(words, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})

    running = {name: start(name) for name in NAMES}
    # Each is killed in the middle of its writing: so far from one kill to the next.
    step = max(2 * COUNT // (KILLS + 2), 1)
    kills = 0
    try:
        while kills < KILLS:
            assert time.monotonic() < end, "the writers do not get on"
            name = NAMES[kills % 2]
            wanted = min((kills // 2 + 1) * step + chance.randrange(step), COUNT - 1)
            while acknowledged(tmp_path / name) < wanted and running[name].poll() is None:
                assert time.monotonic() < end, "the writers do not get on"
                time.sleep(0.001 + chance.random() * 0.003)
            code = running[name].poll()
            assert code in (None, 0), "a writer had failed before it was killed"
            running[name].kill()
            assert running[name].wait(60) == (-9 if code is None else 0)
            kills += 1
            running[name] = start(name)
        assert [process.wait(max(end - time.monotonic(), 1)) for process in running.values()] == [0, 0]
    finally:
        for process in running.values():
            process.kill()
            process.wait(60)
    assert problems(str(tmp_path / "m.db")) == []
    store = SqliteMemory(str(tmp_path), "m")
    entries = store.search(Query(limit=10**9), time.time())
    assert len({entry.id for entry in entries}) == len(entries)
    for name in NAMES:
        kept = [int(entry.content.split()[1]) for entry in entries if entry.tags == [name]]
        said = acknowledged(tmp_path / name)
        assert said == COUNT
        missing = set(range(1, COUNT + 1)) - set(kept)
        assert not missing, f"{name}: {len(missing)} of {said} acknowledged are lost"
        # A writer that was killed between keeping and saying keeps that one once more.
        assert len(kept) - COUNT <= KILLS
