"""What effects cost beside Python's own, each behind its capability check.

python tests/bench/effects.py [--rounds N]

Whole programs are no measure here: each competitor repeats its act, so that what is seen is the act and not the start.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engines import REPOSITORY
from machine import description
from timing import WALL, interleaved, ratio, table

sys.path.insert(0, str(REPOSITORY))

TIMES = 200
MEGABYTE = 1 << 20
#: At most this many times Python's own open, read and decode.
READING_GOAL = 1.3

REQUESTS = 1000
#: At most this many times a plain client of httpx.
REQUESTING_GOAL = 1.3

ROWS = 1000
QUERIES = 100
#: At most this many times sqlite3 by hand.
QUERYING_GOAL = 1.5

TEXTS = {
    "ASCII": ("0123456789 abcdefghijklmnopqrstuvwxyz\n" * (MEGABYTE // 38 + 1))[:MEGABYTE],
    "mixed": "línea de texto, 数 и буквы\n" * (MEGABYTE // 38),
}


def program(source: str) -> Callable[[], object]:
    """A program on this machine's host; one call runs it once, its output dropped."""
    from language.compiler.compilation import compile_source
    from language.native.host import NativeHost
    from language.runtime.context import Context
    from language.runtime.instance import Instance

    code = compile_source(source, "effects.lang").named("effects.lang")
    host = NativeHost()

    def run() -> object:
        context = Context(host, collect=True, recorded=False)
        Instance(code, host, context=context).run()
        return context.collected[-1]

    return run


def reading(scope: str, path: str) -> str:
    return f"""
require file.read{scope}
task main()
    let size be 0
    each i in range({TIMES})
        set size to length(read_file("{path}"))
    give size
print(main())
"""


def python_reading(path: str) -> object:
    size = 0
    for _ in range(TIMES):
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            size = len(file.read())
    return str(size)


def reading_rows(rounds: int) -> list[list[str]]:
    """A file of one megabyte, under a grant with a scope and one without."""
    rows = []
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, text in TEXTS.items():
                Path("data").mkdir(exist_ok=True)
                path = f"data/{name}.txt"
                Path(path).write_text(text, encoding="utf-8")
                timings = interleaved(
                    {
                        "python": lambda path=path: python_reading(path),
                        "scoped": program(reading('("./data/*")', path)),
                        "unscoped": program(reading("", path)),
                    },
                    rounds,
                )
                assert len({timing.result for timing in timings.values()}) == 1
                own = timings["python"]
                for scope in ("scoped", "unscoped"):
                    rows.append(
                        [
                            f"read_file, 1 MB {name}, {scope} grant",
                            f"{own.median / TIMES * 1e6:.0f}",
                            f"{timings[scope].median / TIMES * 1e6:.0f}",
                            f"{ratio(timings[scope], own):.2f}",
                            f"{READING_GOAL}",
                        ]
                    )
        finally:
            os.chdir(before)
    return rows


@contextmanager
def http_server() -> Iterator[str]:
    """The URL of a server in a process of its own, so that its work is not counted."""
    command = [sys.executable, str(Path(__file__).with_name("http_server.py"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


def requesting(url: str, requests: int) -> str:
    return f"""
require net("{url}")
task main()
    let sum be 0
    each i in range({requests})
        set sum to sum + http_get("{url}/item?n=" + i)["json"]["id"]
    give sum
print(main())
"""


def python_requesting(url: str, requests: int) -> object:
    import httpx

    with httpx.Client(trust_env=False) as client:
        return str(sum(client.get(f"{url}/item?n={i}").json()["id"] for i in range(requests)))


def requesting_rows(rounds: int, requests: int = REQUESTS) -> list[list[str]]:
    """Requests one after the other over a kept connection, the JSON of each answer read; beside an httpx client."""
    with http_server() as url:
        timings = interleaved(
            {"python": lambda: python_requesting(url, requests), "ours": program(requesting(url, requests))}, rounds, WALL
        )
    own, ours = timings["python"], timings["ours"]
    assert own.result == ours.result == str(requests)
    return [
        [
            f"http_get, the connection kept, {requests} times",
            f"{own.median / requests * 1e6:.0f}",
            f"{ours.median / requests * 1e6:.0f}",
            f"{ratio(ours, own):.2f}",
            f"{REQUESTING_GOAL}",
        ]
    ]


def querying(path: str) -> str:
    return f"""
require db("data/*")
db_open("{path}", "readonly")
task main()
    let sum be 0
    each i in range({QUERIES})
        let rows be sql("SELECT id, name, amount, note FROM items WHERE id > ? ORDER BY id", [0])
        set sum to sum + length(rows) + rows[{ROWS - 1}]["id"]
    give sum
print(main())
db_close()
"""


def python_querying(path: str) -> object:
    total = 0
    connection = sqlite3.connect(path)
    connection.row_factory = lambda cursor, row: {column[0]: value for column, value in zip(cursor.description, row)}
    for _ in range(QUERIES):
        rows = connection.execute("SELECT id, name, amount, note FROM items WHERE id > ? ORDER BY id", [0]).fetchall()
        total += len(rows) + rows[ROWS - 1]["id"]
    connection.close()
    return str(total)


def python_querying_by_hand(path: str) -> object:
    """The names taken once: the fastest way to maps that there is."""
    total = 0
    connection = sqlite3.connect(path)
    for _ in range(QUERIES):
        cursor = connection.execute("SELECT id, name, amount, note FROM items WHERE id > ? ORDER BY id", [0])
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row)) for row in cursor]
        total += len(rows) + rows[ROWS - 1]["id"]
    connection.close()
    return str(total)


def querying_rows(rounds: int) -> list[list[str]]:
    """A thousand rows of four columns as maps; beside sqlite3 with its documented row factory, and by hand."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("data").mkdir()
            path = "data/items.db"
            with sqlite3.connect(path) as connection:
                connection.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, amount REAL, note TEXT)")
                items = [(n, f"item {n}", n / 4, None) for n in range(1, ROWS + 1)]
                connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", items)
            connection.close()
            timings = interleaved(
                {
                    "factory": lambda: python_querying(path),
                    "by hand": lambda: python_querying_by_hand(path),
                    "ours": program(querying(path)),
                },
                rounds,
            )
        finally:
            os.chdir(before)
    assert len({timing.result for timing in timings.values()}) == 1
    return [
        [
            f"sql, {ROWS} rows as maps, against {what}",
            f"{timings[theirs].median / QUERIES * 1e6:.0f}",
            f"{timings['ours'].median / QUERIES * 1e6:.0f}",
            f"{ratio(timings['ours'], timings[theirs]):.2f}",
            f"{QUERYING_GOAL}",
        ]
        for what, theirs in (("sqlite3 by hand", "by hand"), ("its row factory", "factory"))
    ]


#: One function for each kind of effect; each answers rows of the table.
KINDS: tuple[Callable[[int], list[list[str]]], ...] = (reading_rows, requesting_rows, querying_rows)


def measure(rounds: int) -> str:
    """The table: microseconds an act, how many times Python's own ours took, and how many times it may."""
    rows = [row for kind in KINDS for row in kind(rounds)]
    return table(["effect", "Python, µs", "ours, µs", "times", "goal"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    print(description())
    print(measure(parser.parse_args().rounds))
