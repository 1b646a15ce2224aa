"""How long a memory of 100,000 entries takes to remember and to recall, beside one of 1,000.

python tests/bench/memory_figures.py [--rounds N]

The searches are measured by processor time. Remembering is measured by the clock on the wall, the two stores in turns, and
beside them how long the disk takes to keep as many bytes: most of the time that is what is waited for.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from engines import REPOSITORY
from machine import description
from timing import interleaved, table

if TYPE_CHECKING:
    from language.host.memory import MemoryEntry

sys.path.insert(0, str(REPOSITORY))

ENTRIES = 100_000
FEW = 1_000
#: Milliseconds at most.
SEARCHING_GOAL = 10
NEWEST_GOAL = 2
REMEMBERING_GOAL = 3
#: At most this many times what remembering takes with few entries.
GROWTH_GOAL = 1.2
#: Entries remembered in a round.
REMEMBERED = 40
#: About what the log of one entry takes.
FLUSHED = 24 * 1024


def words() -> list[str]:
    chance = random.Random(5)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(5000)]


class Store:
    """A memory with as many entries of twelve words each, every one beginning with the same word."""

    def __init__(self, folder: str, name: str, entries: int) -> None:
        from language.host.memory import MemoryEntry
        from language.native.memory import SqliteMemory

        self.memory = SqliteMemory(folder, name)
        self._chance = random.Random(6)
        self._words = words()
        self._entry = MemoryEntry
        # In one transaction: one by one they would take minutes.
        rows = [(text, text) for text in (self.text() for _ in range(entries))]

        def fill(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT INTO memory (category, content, folded, source, created_at, updated_at) "
                "VALUES ('context', ?, ?, 'main', 1e9, 1e9)",
                rows,
            )

        self.memory._file.transact(fill, empty_log=True)

    def text(self) -> str:
        return "entry " + " ".join(self._chance.choices(self._words, k=12))

    def remember(self) -> None:
        self.memory.add(self._entry("", "context", self.text(), [], "main"), time.time())


def repeated(act: Callable[[], list[MemoryEntry]]) -> Callable[[], int]:
    """Ten times the act; how many entries it gives."""
    return lambda: [len(act()) for _ in range(10)][-1]


def in_turns(acts: dict[str, Callable[[], object]], times: int) -> dict[str, float]:
    """The median of the milliseconds that each act takes."""
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(times):
        for name, act in acts.items():
            began = time.perf_counter()
            act()
            taken[name].append((time.perf_counter() - began) * 1000)
    return {name: median(values) for name, values in taken.items()}


def measure(rounds: int, entries: int = ENTRIES) -> str:
    """The table: milliseconds of each act, and how many it may take."""
    from language.host.memory import Query
    from language.host.memory_ranking import words_of

    known = words()
    rare, other = known[17], known[18]
    with tempfile.TemporaryDirectory() as folder:
        large, small = Store(folder, "large", entries), Store(folder, "small", min(FEW, entries))
        now = time.time()
        search, ranked = large.memory.search, large.memory.ranked
        acts: dict[str, Callable[[], list[MemoryEntry]]] = {
            "recall, the newest 200": lambda: search(Query(), now),
            "recall, a rare text": lambda: search(Query(search=f"{rare} "), now),
            "recall, a text in every entry": lambda: search(Query(search="entry"), now),
            "recall_ranked, three words": lambda: ranked(words_of(f"{rare} {other} entry"), "", 10, now),
        }
        searches = interleaved({name: repeated(act) for name, act in acts.items()}, rounds)
        with (Path(folder) / "flushed").open("wb", buffering=0) as file:

            def flush() -> None:
                file.write(bytes(FLUSHED))
                os.fsync(file.fileno())

            remembering = in_turns({"large": large.remember, "small": small.remember, "disk": flush}, rounds * REMEMBERED)
    rows = []
    for name, timing in searches.items():
        goal = NEWEST_GOAL if "newest" in name else SEARCHING_GOAL
        rows.append([f"{name} (gives {timing.result})", f"{timing.median / 10 * 1000:.2f}", str(goal)])
    rows.append([f"remember, with {entries:,} entries", f"{remembering['large']:.2f}", str(REMEMBERING_GOAL)])
    rows.append(["writing and flushing as many bytes", f"{remembering['disk']:.2f}", ""])
    growth = remembering["large"] / remembering["small"]
    rows.append([f"remember, times that with {min(FEW, entries):,}", f"{growth:.2f}", str(GROWTH_GOAL)])
    return table([f"{entries:,} entries", "ms", "goal"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    print(description())
    print(measure(parser.parse_args().rounds))
