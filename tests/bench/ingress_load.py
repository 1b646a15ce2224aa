"""Requests a second through the ingress of a runner, beside the same program reached directly.

All ways end at the Unix socket where the program listens, and the same client takes them in turns: over the port of the
ingress, over a proxy that only passes bytes on (``bare_proxy.py``), then over that socket.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from http_load import CONNECTIONS, SERVERS
from runner_stage import RunnerStage
from timing import table

#: At least this part of the requests a second that the program answers directly.
INGRESS_GOAL = 0.7
KIBIBYTES_64 = 64 * 1024
#: Name → method, path, bytes of the request's body, and whether a connection is kept for the next request.
REQUESTS = {
    "small JSON, connections kept": ("GET", "/json", 0, "kept"),
    "small JSON, a connection for each": ("GET", "/json", 0, "new"),
    "an answer of 64 KiB, connections kept": ("GET", "/large", 0, "kept"),
    "a request of 64 KiB, connections kept": ("POST", "/length", KIBIBYTES_64, "kept"),
}


class Passed(NamedTuple):
    """One round of one kind of request. ``runner_us``, ``program_us``: microseconds of processor time for a request."""

    through: float
    bare: float
    direct: float
    runner_us: float
    program_us: float
    direct_us: float


def asked(place: str, host: str, kind: tuple[str, str, int, str], seconds: float) -> dict[str, float]:
    """What the client says (``load_client.py``)."""
    script = str(Path(__file__).with_name("load_client.py"))
    words = [sys.executable, script, place, host, *map(str, kind), str(CONNECTIONS), str(seconds)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the client of {host} failed: {done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


@contextmanager
def bare_proxy(socket: str) -> Iterator[str]:
    """The address of a proxy that only passes bytes on."""
    words = [sys.executable, str(Path(__file__).with_name("bare_proxy.py")), socket]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def ingress(stage: RunnerStage, runner: int, rounds: int, seconds: float) -> str:
    """A table with a row for each kind of request."""
    from runner.engines.process_tree import cpu_seconds

    before = set(stage.processes(runner))
    project, _ = stage.up("Passed", (SERVERS / "passed.lang").read_text(encoding="utf-8"))
    program = [process for process in stage.processes(runner) if process not in before]
    address = urlsplit(stage.detail(project)["url"]).netloc
    taken: dict[str, list[Passed]] = {name: [] for name in REQUESTS}
    socket = stage.listening(project)
    with bare_proxy(socket) as bare:
        for _ in range(rounds):
            for name, kind in REQUESTS.items():
                for place in (address, bare, socket):  # all are warm
                    asked(place, address, kind, seconds / 4)
                own, its = cpu_seconds([runner]), cpu_seconds(program)
                through = asked(address, address, kind, seconds)
                own, its = cpu_seconds([runner]) - own, cpu_seconds(program) - its
                passed = asked(bare, address, kind, seconds)["per_second"]
                alone = cpu_seconds(program)
                direct = asked(socket, address, kind, seconds)
                alone = cpu_seconds(program) - alone
                requests, others = through["requests"], direct["requests"]
                figures = (1e6 * own / requests, 1e6 * its / requests, 1e6 * alone / others)
                taken[name].append(Passed(through["per_second"], passed, direct["per_second"], *figures))
    stage.stop(project)
    rows = [[name, *_shown(found)] for name, found in taken.items()]
    header = ["", "through/s", "directly/s", "ratio", "best", "bare proxy", "runner µs", "program µs", "directly µs"]
    goal = (
        f"Goal: a ratio of at least {INGRESS_GOAL}. The bare proxy reads no request, it passes bytes on.\n"
        "The µs are processor time of a request, of the runner and of the program."
    )
    return f"{table(header, rows)}\n\n{goal}"


def _shown(passed: list[Passed]) -> list[str]:
    ratios = [each.through / each.direct for each in passed]
    rates = [f"{median(each.through for each in passed):,.0f}", f"{median(each.direct for each in passed):,.0f}"]
    times = (
        median(each.runner_us for each in passed),
        median(each.program_us for each in passed),
        median(each.direct_us for each in passed),
    )
    bare = median(each.bare / each.direct for each in passed)
    return [*rates, f"{median(ratios):.2f}", f"{max(ratios):.2f}", f"{bare:.2f}", *(f"{each:.0f}" for each in times)]
