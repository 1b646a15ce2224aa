"""What a runner takes: from a deploy to live, to wake a program, through its ingress, from a line to who reads it, in memory.

python tests/bench/runner_figures.py [--rounds N] [--seconds S] [--engine process|docker]

A service and a runner are processes of their own. Figures stand beside the goals for two cores without other work. The engine
``docker`` needs a daemon that answers, or Docker and the superuser to start one; else its figures are left out.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.request import urlopen

from engines import REPOSITORY
from http_load import resident, rounds_and_seconds
from ingress_load import ingress
from machine import description
from runner_stage import RunnerStage, until
from service_stage import API, watchers
from timing import table

HELLO = 'require serve(8080)\n-- {}\nserve on 8080\n    route "GET /"\n        give ok("hello")\n'
TICKING = "require time\nwhile true\n    print(now())\n    sleep(0.05)\n"
ASKING = 'require serve(8080)\nserve on 8080\n    route "GET /"\n        give ok(approve "Go on?" within 1h)\n'

#: Seconds, for each engine: median and 95th percentile of a deploy; a wake of what was paused, and of what was stopped.
DEPLOY_GOALS = {"docker": "1.0 / 2.0 s", "process": "0.5 s"}
WAKE_GOALS = {"docker": ("0.08 s", "0.8 s"), "process": ("0.08 s", "0.4 s")}
LINE_GOAL = "150 / 500 ms"
DECISION_GOAL = "300 ms"
MEMORY_GOAL, RUNNER_GOAL = "45 MB", "0.5 MB"
TOGETHER_GOAL = "60 s"

Rows = list[list[str]]


def percentile(values: list[float], part: float) -> float:
    """The smallest of the values that this part of them does not exceed."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]


def seconds(*values: float) -> str:
    return " / ".join(f"{value:.2f}" for value in values) + " s"


def milliseconds(*values: float) -> str:
    return " / ".join(f"{1000 * value:.0f}" for value in values) + " ms"


def waking(stage: RunnerStage, count: int) -> Rows:
    """From a request to the answer, for a program that nobody has asked for a while."""
    rows = []
    project = ""
    for name, paused, goal in zip(("paused", "stopped"), ("1000", "0.05"), WAKE_GOALS[stage.engine]):
        with stage.runner(PLATFORM_RUNNER_IDLE_SECONDS="0.2", PLATFORM_RUNNER_PAUSED_SECONDS=paused):
            if not project:
                project, _ = stage.up("Sleeper", HELLO.format("asleep"), sleeps=True)
            url = stage.detail(project)["url"]
            times = []
            for _ in range(count):
                until(lambda: stage.detail(project)["status"] == "sleeping" and (paused == "1000" or not stage.links))  # noqa: B023
                began = time.perf_counter()
                with urlopen(url) as answer:
                    assert answer.read() == b'"hello"'
                times.append(time.perf_counter() - began)
            rows.append(
                [f"wake of a program that was {name}, median / p95", seconds(median(times), percentile(times, 0.95)), goal]
            )
            if name == "stopped":
                stage.stop(project)
    return rows


def deploying(stage: RunnerStage, count: int) -> tuple[Rows, list[str]]:
    """New projects, one after the other, on an engine that has its image; and which ones."""
    first, _ = stage.up("First", HELLO.format("first"))
    stage.stop(first)
    found = [stage.up(f"Deployed {number}", HELLO.format(number)) for number in range(count)]
    times = [took for _, took in found]
    row = ["deploy request to live, median / p95", seconds(median(times), percentile(times, 0.95)), DEPLOY_GOALS[stage.engine]]
    return [row], [project for project, _ in found]


def memory(stage: RunnerStage, runner: int, sources: list[str]) -> Rows:
    """Programs deployed at once, and what each of them takes while nothing is asked of it."""
    from runner.engines.process_tree import memory as held

    stage.stop(*[stage.up_together(sources[:1])[0][0]])
    [alone], _ = stage.up_together([HELLO.format("alone")])
    one = held(stage.processes(runner))
    stage.stop(alone)
    before = resident(runner)
    projects, took = stage.up_together(sources)
    count = len(projects)
    each = held(stage.processes(runner)) / count
    own = (resident(runner) - before) / 1024 / count
    stage.stop(*projects)
    return [
        [f"{count} deploys asked for at once, all live", f"{took:.1f} s", TOGETHER_GOAL],
        ["memory of a running service, alone", f"{one / 2**20:.0f} MB", MEMORY_GOAL],
        [f"memory of a running service, each of {count}", f"{each / 2**20:.0f} MB", MEMORY_GOAL],
        [f"memory of the runner for each of {count}", f"{own:.2f} MB", RUNNER_GOAL],
    ]


def lines(stage: RunnerStage, count: int) -> Rows:
    """From the moment that a program prints until a client of its log has the line."""
    project, _ = stage.up("Ticking", TICKING, "worker")
    times = []
    with watchers(stage.port, stage.token, project, 1) as arrived:
        ahead = time.time() - time.monotonic()
        for line in arrived:
            printed, moment = map(float, line.split())
            times.append(moment + ahead - printed)
            if len(times) == count:
                break
    stage.stop(project)
    return [["log line to a client of the log, median / p99", milliseconds(median(times), percentile(times, 0.99)), LINE_GOAL]]


def decisions(stage: RunnerStage, count: int) -> Rows:
    """From a decision of a gate over the API until the program has gone on and answered."""
    project, _ = stage.up("Asking", ASKING)
    url = stage.detail(project)["url"]
    times = []
    for _ in range(count):
        answered: list[float] = []

        def ask(answered: list[float] = answered) -> None:
            with urlopen(url) as answer:
                assert answer.read() == b"true"
            answered.append(time.perf_counter())

        asking = threading.Thread(target=ask)
        asking.start()
        [gate] = until(lambda: stage.ok(stage.client.get(f"{API}/approvals"))["items"], 0.02)
        began = time.perf_counter()
        stage.ok(stage.client.post(f"{API}/approvals/{gate['id']}", json={"decision": True}))
        asking.join()
        times.append(answered[0] - began)
        until(lambda: not stage.ok(stage.client.get(f"{API}/approvals"))["items"], 0.02)
    stage.stop(project)
    return [["decision to a program, p95", milliseconds(percentile(times, 0.95)), DECISION_GOAL]]


@contextmanager
def docker() -> Iterator[tuple[str, str]]:
    """``DOCKER_HOST`` of a daemon, or why there is none."""
    sys.path.insert(0, str(REPOSITORY))
    from tests.servers import NotHere, docker_daemon

    host = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    try:
        answers = subprocess.run(["docker", "-H", host, "info"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        answers = False
    if answers:
        yield host, ""
        return
    try:
        with docker_daemon() as own:
            yield own, ""
    except NotHere as absent:
        yield "", str(absent)


def engine_rows(engine: str, rounds: int, daemon: str, *, together: int, load_seconds: float) -> str:
    """The tables of one engine."""
    with tempfile.TemporaryDirectory(prefix="lb") as folder:
        stage = RunnerStage(Path(folder), engine, daemon)
        try:
            rows = waking(stage, 2 * rounds)
            parts = []
            with stage.runner() as runner:
                enforced = stage.enforced
                deployed, projects = deploying(stage, 4 * rounds)
                stage.stop(*projects)
                rows = (
                    deployed + rows + memory(stage, runner, [HELLO.format(f"together {number}") for number in range(together)])
                )
                if engine == "process":
                    rows += lines(stage, 40 * rounds) + decisions(stage, 4 * rounds)
                    parts.append(ingress(stage, runner, rounds, load_seconds))
        finally:
            stage.close()
    loaded = os.getloadavg()[0]
    heading = f"{enforced[:1].upper()}{enforced[1:]}. Load of the machine at the end: {loaded:.1f}."
    return "\n\n".join([heading, table(["", "figure", "goal"], rows), *parts])


def measure(
    rounds: int, load_seconds: float = 3.0, together: int = 50, engines: tuple[str, ...] = ("process", "docker")
) -> str:
    """Every table.

    Args:
        load_seconds: of each measurement through the ingress.
        together: projects that are deployed at once.
        engines: those that are measured; the others are said to be left out.
    """
    parts = []
    if "process" in engines and shutil.which("bwrap") is None:
        return "bubblewrap is not installed: nothing measured (Debian: apt-get install bubblewrap)."
    if "process" in engines:
        parts.append(engine_rows("process", rounds, "", together=together, load_seconds=load_seconds))
    if "docker" not in engines:
        parts.append("Without figures of the engine docker: they were not asked for.")
    else:
        with docker() as (daemon, absent):
            if absent:
                parts.append(f"Without figures of the engine docker: {absent}.")
            else:
                parts.append(engine_rows("docker", rounds, daemon, together=together, load_seconds=load_seconds))
    return "\n\n".join(parts)


def main() -> int:
    parser = rounds_and_seconds(__doc__)
    parser.add_argument("--engine", choices=["process", "docker"], help="one engine alone")
    options = parser.parse_args()
    engines = ("process", "docker") if options.engine is None else (options.engine,)
    print(f"{description()}\n\n{measure(options.rounds, options.seconds, engines=engines)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
