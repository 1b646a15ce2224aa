"""The platform service under load: requests a second beside Node's http, latency beside open log streams, how soon a log line
reaches its watchers, how long a project takes to be made, what a hostile program costs others, how long pages take.

python tests/bench/platform_load.py [--rounds N] [--seconds S] [--streams N]

Needs `wrk`. The service is a process of its own, with `PLATFORM_RATE_LIMITS=off` on SQLite. Its clients share the machine with
it: compare the ratios of one run, which are taken in turns.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from http_load import NO_WRK, SERVERS, Load, load, loads_table, processor_seconds, rounds_and_seconds, running
from machine import description
from service_stage import API, ServiceStage, watchers
from timing import table

PROJECTS, FILES = 10, 200
#: For how long streams in which nothing happens are looked at: more than the time between two heartbeats.
IDLE_SECONDS = 20
HOSTILE_BYTES = 512 * 1024
#: Requests a second, alone and as a part of what Node's http answers.
RATE_GOAL, NODE_GOAL = 2_500, 0.25
#: Milliseconds.
P99_GOAL, LINE_GOAL, CREATE_GOAL, PAGE_GOAL = 30, 500, 300, 50


class Service(ServiceStage):
    """A running service: one account with ten projects, the first of which is deployed, and another account with none.

    Attributes:
        headers: what a request of the first account carries.
        owner, other: clients of the two accounts; ``browser`` is one of the first with the cookie of a session.
        runner: one without an engine. It brings projects up and reports what they print.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "owner", "other")
        from fake_runner import FakeRunner

        self.owner, self.other = self.clients
        self.headers = [f"Authorization: Bearer {self.token}"]
        try:
            self.runner = FakeRunner(self.url, self.runner_token, "bench")
            self.runner.poll()
            self.projects = [self.made(f"Project {number}", 'print("hello")\n', "worker") for number in range(PROJECTS)]
            assert self.owner.post(f"{API}/projects/{self.projects[0]}/deploys").status_code == 200
            self.runner.converge()
        except BaseException:
            self.close()
            raise


def throughput(ours: Service, rounds: int, seconds: float, streams: int) -> str:
    """Requests a second of the list of projects beside those of Node's http, in turns, while nothing changes and while another
    account changes something again and again; then with open log streams.
    """
    path, plain, changing = f"{API}/projects", "GET /api/v1/projects", "the same, beside somebody who changes projects"
    taken: dict[str, list[Load]] = {plain: [], changing: [], "Node http": []}
    worked: dict[str, list[float]] = {name: [] for name in taken}
    node = shutil.which("node")
    seconds = seconds if rounds > 1 else 1

    def measured(name: str, process: int, port: int, *asked: Any) -> None:
        load(port, 1, *asked)
        before = processor_seconds(process)
        found = load(port, seconds, *asked)
        taken[name].append(found)
        worked[name].append((processor_seconds(process) - before) / (found.per_second * max(1, round(seconds))) * 1e6)

    renamed = ours.other.post(f"{API}/projects", json={"name": "Changing", "source": "print(1)"}).json()["project"]["id"]
    for _ in range(rounds):
        measured(plain, ours.process.pid, ours.port, path, ours.headers)
        with beside(lambda: ours.other.patch(f"{API}/projects/{renamed}", json={"name": "Changing"})):
            measured(changing, ours.process.pid, ours.port, path, ours.headers)
        if node is not None:
            with running([node, str(SERVERS / "json.js")], None) as (port, pid):
                measured("Node http", pid, port)
    with watchers(ours.port, ours.token, ours.projects[0], streams):
        started, before = time.monotonic(), processor_seconds(ours.process.pid)
        time.sleep(IDLE_SECONDS if rounds > 1 else 1)
        idle = (processor_seconds(ours.process.pid) - before) / (time.monotonic() - started)
        name = f"{plain}, {streams} log streams open"
        taken[name] = [load(ours.port, seconds, path, ours.headers) for _ in range(rounds)]
    rows = [[name, f"{median(times):.0f}", f"{min(times):.0f}"] for name, times in worked.items() if times]
    costs = table(["processor time of a request, microseconds", "median", "least"], rows)
    goal = f"Goal: at least {RATE_GOAL:,} and {NODE_GOAL} of Node; p99 at most {P99_GOAL} ms beside the streams."
    idling = f"{streams} log streams in which nothing happens take {idle * 100:.1f} % of a processor."
    return f"{loads_table('', taken, 'Node http', 'Node')}\n\n{costs}\n\n{idling} {goal}"


@contextmanager
def beside(act: Callable[[], object]) -> Iterator[None]:
    """Something that is done again and again while the block runs, 50 times a second at most."""
    over = threading.Event()

    def again() -> None:
        while not over.wait(0.02):
            act()

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def lines(ours: Service, count: int, streams: int) -> str:
    """From the report of a line until the last of its watchers has it."""
    from runner.protocol import LogLine

    times = []
    with watchers(ours.port, ours.token, ours.projects[0], streams) as arrived:
        for number in range(count):
            started = time.monotonic()
            ours.runner.report(LogLine(project=ours.projects[0], at=time.time_ns() // 1_000_000, line=str(number)))
            shown, moment = next(arrived).split()
            assert shown == str(number)
            times.append((float(moment) - started) * 1000)
    row = [f"a log line to {streams} watchers", f"{median(times):.0f}", f"{max(times):.0f}"]
    return table(["", "median ms", "most"], [row]) + f"\n\nGoal: at most {LINE_GOAL} ms."


def creating(ours: Service, count: int) -> str:
    """``POST /projects`` with a package of 200 files that was not stored before."""
    times = []
    for turn in range(count):
        files = [{"path": f"data/{number}.txt", "content": f"{turn} {number} " * 200} for number in range(FILES - 1)]
        files.append({"path": "main.lang", "content": f'print("{turn}")\n'})
        body = {"name": f"Large {turn}", "files": files}
        times.append(timed(partial(ours.other.post, f"{API}/projects", json=body))[0])
    row = [f"a project of {FILES} files", f"{median(times):.0f}", f"{max(times):.0f}"]
    return table(["", "median ms", "most"], [row]) + f"\n\nGoal: at most {CREATE_GOAL} ms."


def timed(ask: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds until the answer, which must be a success, and the answer."""
    started = time.perf_counter()
    answer = ask()
    took = (time.perf_counter() - started) * 1000
    assert answer.status_code == 200, answer.text
    return took, answer


def hostile_programs() -> dict[str, str]:
    """Programs of 512 KiB that cost a reader more than others."""
    return {
        "nested lists": "x = " + "[" * (HOSTILE_BYTES // 2) + "]" * (HOSTILE_BYTES // 2),
        "nested parentheses": "x = " + "(" * (HOSTILE_BYTES // 2) + "1" + ")" * (HOSTILE_BYTES // 2),
        "nested blocks": "".join(f"{'    ' * depth}if true\n" for depth in range(500)) + "    " * 500 + "print(1)\n",
        "one long sum": "x = 1" + " + 1" * (HOSTILE_BYTES // 4),
        "one long text": 'x = "' + "a" * HOSTILE_BYTES + '"',
        "an open text of braces": 'x = "' + "{" * HOSTILE_BYTES,
        "many short lines": "x = 1\n" * (HOSTILE_BYTES // 6),
        "many functions": "".join(f"task f{number}(a)\n    give a\n" for number in range(HOSTILE_BYTES // 30)),
    }


def beside_hostile_programs(ours: Service, count: int, programs: Sequence[tuple[str, str]]) -> str:
    """What one account waits for its list of projects while another one sends hostile programs, two at a time."""
    import httpx

    def ask() -> float:
        return timed(partial(ours.owner.get, f"{API}/projects"))[0]

    alone = [ask() for _ in range(count)]
    beside: list[float] = []
    answered: list[tuple[str, int, float]] = []
    places = iter(programs)
    lock = threading.Lock()

    def send() -> None:
        with httpx.Client(base_url=ours.other.base_url, headers=ours.other.headers, timeout=120) as client:
            while True:
                with lock:
                    name, source = next(places, (None, ""))
                if name is None:
                    return
                started = time.perf_counter()
                answer = client.post(f"{API}/projects", json={"name": "Hostile", "source": source[:HOSTILE_BYTES]})
                answered.append((name, answer.status_code, time.perf_counter() - started))

    senders = [threading.Thread(target=send) for _ in range(2)]
    for sender in senders:
        sender.start()
    while any(sender.is_alive() for sender in senders):
        beside.append(ask())
        time.sleep(0.005)
    for sender in senders:
        sender.join()
    rows = [
        [name, str(len(times)), f"{median(times):.1f}", f"{sorted(times)[len(times) * 99 // 100]:.1f}", f"{max(times):.1f}"]
        for name, times in (("alone", alone), ("beside hostile programs", beside))
    ]
    shown = ", ".join(f"{name} {status} after {seconds:.1f} s" for name, status, seconds in answered)
    return table(["another account's GET", "requests", "median ms", "p99", "most"], rows) + f"\n\nAnswered: {shown}."


def pages(ours: Service, count: int) -> str:
    """Pages of the dashboard."""
    rows = []
    for name, path in (("the list of projects", "/"), ("a project", f"/projects/{ours.projects[0]}")):
        times = [timed(partial(ours.browser.get, path))[0] for _ in range(count + 1)][1:]
        rows.append([name, f"{median(times):.1f}", f"{max(times):.1f}"])
    return table(["page", "median ms", "most"], rows) + f"\n\nGoal: at most {PAGE_GOAL} ms."


def measure(rounds: int, seconds: float = 3.0, streams: int = 500, *, hostile: int | None = None) -> str:
    """Every table.

    Args:
        hostile: how many of the hostile programs are sent; ``None`` is all of them.
    """
    programs = list(hostile_programs().items())[:hostile]
    if shutil.which("wrk") is None:
        return NO_WRK
    with Service.in_new_folder() as ours:
        parts = [
            throughput(ours, rounds, seconds, streams),
            lines(ours, 5 * rounds, streams),
            creating(ours, rounds),
            pages(ours, 5 * rounds),
            beside_hostile_programs(ours, 20 * rounds, programs),
        ]
    return "\n\n".join(parts)


def main() -> int:
    parser = rounds_and_seconds(__doc__)
    parser.add_argument("--streams", type=int, default=500)
    options = parser.parse_args()
    print(f"{description()}\n\n{measure(options.rounds, options.seconds, options.streams)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
