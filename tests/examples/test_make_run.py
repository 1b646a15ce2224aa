"""What ``make run`` starts: the steps it shows, and that nothing of it is left, with a terminal and without one."""

from __future__ import annotations

import os
import pty
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.servers import missing

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 400
STEPS = [
    "Two projects are deployed",
    "200, text/html; the same page for an agent begins with '# Refunds'",
    '"Refund 40 to Ana?"  approved with POST /api/v1/approvals/',
    'The request goes on: 201 {"customer": "Ana", "amount": 40}',
    'The program itself: Capability not granted: net("collector.example")',
    "A command it starts: urllib.error.URLError: <urlopen error Tunnel connection failed: 403 Refused>",
    "Audit, witness program: refused net collector.example",
    "Audit, witness runner:  refused net collector.example:443",
    "A job: At 06:00 UTC",
    "written to reports/2026-09-14.html",
    "Signs in once, within 15 minutes:",
    "/sign-in/link/",
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for temporary ones, with a path that is short enough for sockets."""
    if shutil.which("bwrap") is None:
        missing("bubblewrap", "bubblewrap")
    made = Path(tempfile.mkdtemp(prefix="mr"))
    try:
        yield made
        until_nothing_is_left(made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def until_nothing_is_left(folder: Path) -> None:
    """Waits for the end of what a demonstration has started that broke off: what goes on would take the next one's ports."""
    end = time.monotonic() + SECONDS
    while [words for words in left(folder) if not words.startswith(str(folder))]:
        assert time.monotonic() < end, left(folder)
        time.sleep(0.1)


def command(engine: str = "process") -> list[str]:
    # Below the ports that the system gives to others, and away from those that other tests of web projects take.
    first = random.randrange(20_000, 30_000)
    ports = ["--port", str(first), "--apps-port", str(first + 300)]
    return [sys.executable, str(ROOT / "examples" / "platform" / "run.py"), "--engine", engine, *ports]


def surroundings(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "DATA" and not name.startswith("PLATFORM_")}
    return {**kept, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}


def left(folder: Path) -> list[str]:
    """The command lines of processes that name the folder, and what lies in it."""
    found = [str(path) for path in folder.iterdir()]
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            words = (process / "cmdline").read_bytes()
            if os.fsencode(folder) in words:
                found.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return found


def missing_steps(shown: str) -> list[str]:
    return [step for step in STEPS if step not in shown]


def test_without_a_terminal_it_shows_every_step_and_ends(folder: Path) -> None:
    done = subprocess.run(
        command(), stdin=subprocess.DEVNULL, capture_output=True, text=True, env=surroundings(folder), timeout=SECONDS
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert missing_steps(done.stdout) == []
    assert left(folder) == []


def shown_until_interrupted(words: list[str], variables: dict[str, str], stands: Callable[[], bool]) -> str:
    """What it shows at a terminal, where it stays until it is interrupted, and ends in order.

    Args:
        stands: whether there is what there is to be while it stays.
    """
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=variables, start_new_session=True) as process:
        os.close(theirs)
        shown = ""
        try:
            while "Ctrl-C ends it." not in shown:
                shown += read(ours, shown)
            assert process.poll() is None
            assert stands()
            process.send_signal(signal.SIGINT)
            with suppress(OSError):  # nobody has the terminal open any more
                while more := read(ours, shown):
                    shown += more
            assert process.wait(SECONDS) == 0, shown
        finally:
            process.kill()  # its platform ends with it
            os.close(ours)
    return shown


def read(terminal: int, before: str) -> str:
    """What comes next at a terminal."""
    assert select.select([terminal], [], [], SECONDS)[0], before
    return os.read(terminal, 65536).decode()


def test_at_a_terminal_it_stays_until_it_is_interrupted(folder: Path) -> None:
    shown = shown_until_interrupted(command(), surroundings(folder), lambda: left(folder) != [])
    assert missing_steps(shown) == []
    assert "Traceback" not in shown
    assert left(folder) == []


def test_nothing_is_left_of_one_that_is_killed(folder: Path) -> None:
    """Its platform has nobody to tell it to end."""
    log = folder / "shown"
    with (
        log.open("wb") as shown,
        subprocess.Popen(command(), stdin=subprocess.DEVNULL, stdout=shown, stderr=shown, env=surroundings(folder)) as process,
    ):
        try:
            end = time.monotonic() + SECONDS
            while not [words for words in left(folder) if " platform runner " in words]:
                assert process.poll() is None and time.monotonic() < end, log.read_text()
                time.sleep(0.1)
        finally:
            process.kill()
    until_nothing_is_left(folder)
