"""A runner over a real Docker daemon: it is killed, containers are, the daemon is started again, packages are wild."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deploying import API, ok, until
from runner_conformance import GOES_ON, Bench, a_deploy_goes_live
from runner_process import RunnerProcess, short_folder
from wild_packages import exits_at_once, plans, wild_packages_harm_nobody_else

from tests import servers
from tests.examples.test_make_run import command, left, missing_steps, shown_until_interrupted, surroundings

#: Counts a line a moment, and goes on after a person has said yes.
COUNTS = """require time
let n be 0
while n < 20
    print(n)
    set n to n + 1
    sleep(0.1)
let yes be approve "On?"
print("answered")
while true
    print(n)
    set n to n + 1
    sleep(0.1)
"""


WORKER = "require time\nlet n be 0\nwhile true\n    print(n)\n    set n to n + 1\n    sleep(0.1)\n"


class Daemon:
    """A daemon, and what is done to it from outside of any runner."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._again: list[subprocess.Popen[bytes]] = []

    def docker(self, *words: str) -> str:
        """What a command of ``docker`` prints."""
        environ = {**os.environ, "DOCKER_HOST": self.host}
        done = subprocess.run(["docker", *words], env=environ, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout.strip()

    def container(self, project: str) -> str:
        """The one container of a project."""
        [found] = self.docker("ps", "-q", "--filter", f"label=lang.project={project}").split()
        return found

    def start_again(self) -> None:
        """Ends the daemon, and the containers with it, and starts it on the same folder."""
        folder = Path(self.host.removeprefix("unix://")).parent
        daemon = int((folder / "pid").read_text(encoding="ascii"))
        words = Path(f"/proc/{daemon}/cmdline").read_bytes().decode().split("\0")[:-1]
        os.kill(daemon, signal.SIGTERM)
        os.waitid(os.P_PID, daemon, os.WEXITED | os.WNOWAIT)
        with open(folder / "log-again", "ab") as log:
            self._again.append(subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL))
        environ = {**os.environ, "DOCKER_HOST": self.host}
        until(lambda: subprocess.run(["docker", "info"], env=environ, capture_output=True).returncode == 0, 120)

    def close(self) -> None:
        """Ends those that this has started."""
        for process in self._again:
            process.terminate()
            process.wait(120)


def lines(bench: Bench, project: str) -> list[str]:
    """All log lines of a project."""
    found: list[str] = []
    after = "0"
    while True:
        told = ok(bench.client.get(f"{API}/projects/{project}/logs/tail", params={"after": after, "limit": 500}))
        if not told["items"]:
            return found
        found += [item["line"] for item in told["items"]]
        after = told["last"]


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    for host in servers.docker():
        made = Daemon(host)
        yield made
        made.close()


@pytest.fixture(scope="module")
def bench(daemon: Daemon) -> Iterator[Bench]:
    def start(url: str, token: str, runner_id: str, folder: Path) -> RunnerProcess:
        return RunnerProcess(url, token, runner_id, folder, {"DOCKER_HOST": daemon.host}, engine="docker")

    with short_folder() as folder, Bench(folder, start, plans=plans(folder)) as made:
        yield made


def test_a_deploy_goes_live(bench: Bench) -> None:
    a_deploy_goes_live(bench)


def test_a_killed_runner_takes_its_programs_up_again(bench: Bench) -> None:
    worker, job = bench.up(COUNTS, "worker"), bench.up(COUNTS, "job")
    run = bench.run(job)

    def gates() -> list[Any]:
        found: list[Any] = ok(bench.client.get(f"{API}/approvals"))["items"]
        return found

    until(lambda: len(gates()) == 2, bench.patience)
    bench.kill()
    for gate in gates():
        ok(bench.client.post(f"{API}/approvals/{gate['id']}", json={"decision": True}))
    bench.start()

    def counted(project: str) -> list[str]:
        return [line for line in lines(bench, project) if line.isdigit() or line == "answered"]

    for project in (worker, job):
        until(lambda: len(counted(project)) > 40, bench.patience)  # noqa: B023
        found = counted(project)
        assert found == [*map(str, range(20)), "answered", *map(str, range(20, len(found) - 1))], "nothing was restarted"
    bench.kill()  # in the middle of what they print
    told = {project: len(counted(project)) for project in (worker, job)}
    bench.start()
    for project in (worker, job):
        until(lambda: len(counted(project)) > told[project] + 20, bench.patience)  # noqa: B023
        numbers = [int(line) for line in counted(project) if line.isdigit()]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "each line is told once, in order"
    ok(bench.client.post(f"{API}/projects/{job}/runs/{run}/cancel"))
    bench.run_becomes(job, run, "cancelled")
    bench.becomes(worker, "running")


@pytest.fixture(scope="module")
def exits(bench: Bench) -> str:
    """A program that is started again and again while the next test goes on, which needs a runner that stays."""
    return exits_at_once(bench)


@pytest.mark.usefixtures("exits")
def test_a_container_that_somebody_kills_or_removes_is_started_again(bench: Bench, daemon: Daemon) -> None:
    killed, removed, kept = bench.up(WORKER, "worker"), bench.up(), bench.up(WORKER, "worker")
    until(lambda: "up" in lines(bench, removed) and "0" in lines(bench, killed) and "0" in lines(bench, kept), bench.patience)
    daemon.docker("kill", daemon.container(killed))
    daemon.docker("rm", "-f", daemon.container(removed))
    until(lambda: lines(bench, killed).count("0") == 2 and lines(bench, removed).count("up") == 2, bench.patience)
    for project in (killed, removed, kept):
        bench.becomes(project, "running")
    assert lines(bench, kept).count("0") == 1


def test_wild_packages_harm_nobody_else(bench: Bench, exits: str) -> None:
    wild_packages_harm_nobody_else(bench, "python3", exits)


def test_make_run_takes_docker_shows_every_step_and_leaves_nothing(daemon: Daemon) -> None:
    def there() -> set[str]:
        """The runners that have a container or a volume, and the networks."""
        label = '{{.Label "lang.runner"}}'
        lists = (("ps", "-a", "--format", label), ("volume", "ls", "--format", label), ("network", "ls", "-q"))
        return {each for words in lists for each in daemon.docker(*words).split()}

    before = there()
    with short_folder() as folder:
        variables = {**surroundings(folder), "DOCKER_HOST": daemon.host}
        shown = shown_until_interrupted(command("auto"), variables, lambda: len(there() - before) == 1)
        assert missing_steps(shown) == [] and "programs in docker" in shown and "Traceback" not in shown, shown
        assert left(folder) == []
    assert there() == before


def test_a_daemon_that_is_started_again_gets_its_programs_back(bench: Bench, daemon: Daemon) -> None:
    worker, web, job = bench.up(WORKER, "worker"), bench.up(), bench.up(GOES_ON, "job")
    run = bench.run(job)
    until(lambda: "0" in lines(bench, worker) and "up" in lines(bench, web) and "begun" in lines(bench, job), bench.patience)
    daemon.start_again()
    record = bench.run_becomes(job, run, "failed")
    assert record["output"].startswith("begun\n")
    until(lambda: lines(bench, worker).count("0") >= 2 and lines(bench, web).count("up") >= 2, bench.patience)
    for project in (worker, web):
        bench.becomes(project, "running")
    numbers = [line for line in lines(bench, worker) if line.isdigit()]
    first = numbers[: numbers.index("0", 1)]
    assert first == [str(number) for number in range(len(first))], "what it printed before is there, once and in order"
    again = bench.run(job)
    bench.run_becomes(job, again, "running")
