"""The platform service under load: requests a second beside Node's http, latency beside open log streams, how soon a log line
reaches its watchers, how long a project takes to be made, what a hostile program costs others, how long pages take.

python tests/bench/platform_load.py [--rounds N] [--seconds S] [--streams N]

Needs `wrk`. The service is a process of its own, with `PLATFORM_RATE_LIMITS=off` on SQLite. Its clients share the machine with
it: compare the ratios of one run, which are taken in turns.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from engines import REPOSITORY
from machine import description
from serve import SERVERS, Load, load, running
from timing import table

API = "/api/v1"
PROJECTS, FILES = 10, 200
HOSTILE_BYTES = 512 * 1024
#: Requests a second, alone and as a part of what Node's http answers.
RATE_GOAL, NODE_GOAL = 2_500, 0.25
#: Milliseconds.
P99_GOAL, LINE_GOAL, CREATE_GOAL, PAGE_GOAL = 30, 500, 300, 50


class Service:
    """A running service: one account with ten projects, the first of which is deployed, and another account with none.

    Attributes:
        headers: what a request of the first account carries.
        owner, other: clients of the two accounts; ``browser`` is one of the first with the cookie of a session.
        runner: brings projects up and reports what they print.
    """

    def __init__(self, folder: Path) -> None:
        # The runner without an engine of the tests. Its libraries are needed here alone.
        sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests" / "platform_api")]
        import httpx
        from fake_runner import FakeRunner

        from platform_api.accounts.principal import SCOPES
        from platform_api.accounts.records import make_account
        from platform_api.accounts.sessions import cookie_name, start_session
        from platform_api.accounts.tokens import make_token
        from platform_api.runners.registry import make_runner_token
        from platform_api.settings import Settings
        from platform_api.store.store import open_store

        listening = socket.create_server(("127.0.0.1", 0), backlog=1024)  # connections wait in it until the service is there
        self.port = listening.getsockname()[1]
        url = f"http://127.0.0.1:{self.port}"
        settings = Settings(data=folder / "data", base_url=url)
        store = open_store(settings)
        with store.main.writing() as connection:
            accounts = [make_account(connection, f"{name}@example.com", plan="team") for name in ("owner", "other")]
            tokens = [make_token(connection, account, "bench", SCOPES, "token")[1] for account in accounts]
            cookie = {cookie_name(settings): start_session(connection, accounts[0], "127.0.0.1")}
            runner = make_runner_token(connection, "bench")
        store.close()
        self.token = tokens[0]
        self.headers = [f"Authorization: Bearer {self.token}"]
        words = [sys.executable, "-m", "language", "platform", "serve", "--data", str(settings.data), "--base-url", url]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PLATFORM_RATE_LIMITS": "off"}
        self._log = folder / "service.log"
        with self._log.open("wb") as log, listening:
            self.process = subprocess.Popen(
                [*words, "--fd", str(listening.fileno())],
                stdout=log,
                stderr=log,
                env=environment,
                pass_fds=[listening.fileno()],
            )
        bearer = [{"Authorization": f"Bearer {token}"} for token in tokens]
        self.owner, self.other = (httpx.Client(base_url=url, headers=each, timeout=120) for each in bearer)
        self.browser = httpx.Client(base_url=url, cookies=cookie, timeout=120)
        try:
            assert self.owner.get("/readyz").status_code == 200, self._log.read_text()
            self.runner = FakeRunner(url, runner, "bench")
            self.runner.poll()
            self.projects = [self.make(f"Project {number}", "main.lang", 'print("hello")\n') for number in range(PROJECTS)]
            assert self.owner.post(f"{API}/projects/{self.projects[0]}/deploys").status_code == 200
            self.runner.converge()
        except BaseException:
            self.close()
            raise

    def make(self, name: str, path: str, source: str) -> str:
        """A new project's id."""
        body = {"name": name, "files": [{"path": path, "content": source}], "kind": "worker"}
        answer = self.owner.post(f"{API}/projects", json=body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["project"]["id"])

    def close(self) -> None:
        for client in (self.owner, self.other, self.browser):
            client.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def service() -> Iterator[Service]:
    with tempfile.TemporaryDirectory() as folder:
        made = Service(Path(folder))
        try:
            yield made
        finally:
            made.close()


@contextmanager
def watchers(ours: Service, count: int) -> Iterator[Iterator[str]]:
    """That many open log streams of the deployed project: what they print when a line has reached all of them."""
    words = [sys.executable, str(Path(__file__).with_name("log_watchers.py")), str(ours.port), ours.token, ours.projects[0]]
    process = subprocess.Popen([*words, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == "open\n", "the log streams could not be opened"
        yield iter(process.stdout)
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


def throughput(ours: Service, rounds: int, seconds: float, streams: int) -> str:
    """Requests a second of the list of projects beside those of Node's http, in turns; then with open log streams."""
    path = f"{API}/projects"
    taken: dict[str, list[Load]] = {"GET /api/v1/projects": [], "Node http": []}
    node = shutil.which("node")
    for _ in range(rounds):
        load(ours.port, 1, path, ours.headers)
        taken["GET /api/v1/projects"].append(load(ours.port, seconds, path, ours.headers))
        if node is not None:
            with running([node, str(SERVERS / "json.js")], None) as (port, _pid):
                load(port, 1)
                taken["Node http"].append(load(port, seconds))
    with watchers(ours, streams):
        name = f"GET /api/v1/projects, {streams} log streams open"
        taken[name] = [load(ours.port, seconds, path, ours.headers) for _ in range(rounds)]
    rows = []
    for name, loads in taken.items():
        pairs = zip(loads, taken["Node http"])
        ratio = f"{median(m.per_second / n.per_second for m, n in pairs):.2f}" if node is not None else "-"
        rates, latencies = [one.per_second for one in loads], [one.p99_ms for one in loads]
        errors = str(sum(one.errors for one in loads))
        rows.append([name, f"{median(rates):,.0f}", f"{max(rates):,.0f}", f"{median(latencies):.1f}", ratio, errors])
    header = ["", "median requests/s", "best", "median p99 ms", "/ Node", "errors"]
    goal = f"Goal: at least {RATE_GOAL:,} and {NODE_GOAL} of Node; p99 at most {P99_GOAL} ms beside the streams."
    return f"{table(header, rows)}\n\n{goal}"


def lines(ours: Service, count: int, streams: int) -> str:
    """From the report of a line until the last of its watchers has it."""
    from runner.protocol import LogLine

    times = []
    with watchers(ours, streams) as arrived:
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
        return "wrk is not installed: nothing measured (Debian: apt-get install wrk)."
    with service() as ours:
        parts = [
            throughput(ours, rounds, seconds, streams),
            lines(ours, 5 * rounds, streams),
            creating(ours, rounds),
            pages(ours, 5 * rounds),
            beside_hostile_programs(ours, 20 * rounds, programs),
        ]
    return "\n\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--streams", type=int, default=500)
    options = parser.parse_args()
    print(f"{description()}\n\n{measure(options.rounds, options.seconds, options.streams)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
