"""The release desk: its report, and the board of several processes that it tells."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx

from tests.examples.running_services import COMMAND, EXAMPLES, REPOSITORY, Service, copied, served

AT_ONCE = 8
RELEASE = {"version": "4.1.0", "files": ["names.txt", "notes.txt", "title.txt"]}


def sockets_of(process: int) -> list[int]:
    """How many sockets a process and each one below it has open."""
    found = 0
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found += os.readlink(descriptor).startswith("socket:")
    tasks = Path(f"/proc/{process}/task").iterdir()
    below = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return [found, *(number for child in below for number in sockets_of(child))]


def next_of(lines: Iterator[str], event: str) -> object:
    """What the next event of that name in a stream says."""
    for line in lines:
        if line == f"event: {event}":
            return json.loads(next(lines).removeprefix("data: "))
    raise AssertionError(f"the stream ended without {event}")


def watching(board: Service, stack: ExitStack, pool: ThreadPoolExecutor) -> list[Iterator[str]]:
    """Streams of the board, opened side by side until both of its processes have some."""

    def opened(answer: object) -> Iterator[str]:
        lines = stack.enter_context(httpx.stream("GET", f"{board.url}/watch", timeout=60)).iter_lines()
        next_of(lines, "watching")
        return lines

    streams: list[Iterator[str]] = []
    while len(streams) < 10 * AT_ONCE:
        streams += pool.map(opened, range(AT_ONCE))
        if sum(number > 1 for number in sockets_of(board.process.pid)) == 2:
            return streams
    raise AssertionError("one process has taken all connections")


def test_everybody_who_watches_in_any_process_is_told_of_a_release(tmp_path: Path) -> None:
    with (
        served(copied("release", tmp_path), "--workers", "2", "board.lang") as board,
        ThreadPoolExecutor(10 * AT_ONCE) as pool,
        ExitStack() as stack,
    ):
        streams = watching(board, stack, pool)
        address = f"ws{board.url.removeprefix('http')}/board"
        desk = subprocess.run(
            [*COMMAND, "run", "release/release.lang"],
            input=(EXAMPLES / "release/release.xml").read_bytes(),
            capture_output=True,
            cwd=EXAMPLES,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "BOARD": address},
            timeout=60,
            check=False,
        )
        assert (desk.returncode, desk.stderr) == (0, b"")
        assert json.loads(desk.stdout.splitlines()[-1].removeprefix(b"board: ")) == {"watching": len(streams)}
        seen = list(pool.map(lambda lines: next_of(lines, "release"), streams))
        assert seen == [RELEASE] * len(streams)
