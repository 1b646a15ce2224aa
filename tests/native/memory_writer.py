"""A process that remembers numbered texts, and says which of them are kept.

    memory_writer.py FOLDER NAME ACKNOWLEDGED COUNT

Each id is followed by its number on a line of ACKNOWLEDGED, which goes on where it ends.
"""

from __future__ import annotations

import os
import sys
import time

from language.host.memory import MemoryEntry, Query
from language.native import sqlite_file
from language.native.memory import SqliteMemory

sqlite_file.CHECKPOINT_BYTES = 64 * 1024  # the log begins anew many times a second


def main(folder: str, name: str, acknowledged: str, count: str) -> None:
    store = SqliteMemory(folder, "m")
    said = os.open(acknowledged, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    begun = os.read(said, 1 << 30).count(b"\n")
    for number in range(begun + 1, int(count) + 1):
        store.add(MemoryEntry("", "context", f"{name} {number} " + "x" * (number % 7 * 300), [name], "main"), time.time())
        os.write(said, f"{number}\n".encode())
        if number % 200 == 0:
            found = store.search(Query(search=f"{name} {number} "), time.time())
            assert found, f"{name} has remembered {number} and does not find it"


if __name__ == "__main__":
    main(*sys.argv[1:])
