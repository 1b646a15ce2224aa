"""What a runner survives: a service that is away, answers that are lost, its own end, a disk that is full."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from deploying import API, ok, runner_token, status, until
from platform_service import Service
from project_stage import WEB, ask
from runner_process import RunnerProcess, short_folder
from wire import Wire, wire_to

from runner.engines.process_tree import descendants

#: Counts a line a moment, for ever.
COUNTS = "require time\nlet n be 0\nwhile true\n    print(n)\n    set n to n + 1\n    sleep({pause})\n"
#: The same with long lines: a file is soon full, and nowhere near so many are printed that some would be left out for that.
COUNTS_LONG = COUNTS.format(pause=0.01).replace("print(n)", f'print("{"0" * 300}" + n)')
LONG = 'require time\nprint("begun")\nsleep(1000)\n'


@dataclass
class Place:
    """A service, a runner behind a wire, and an account."""

    service: Service
    wire: Wire
    folder: Path
    token: str
    client: Any
    runner: RunnerProcess

    def start(self) -> None:
        """Starts the runner, or starts it again."""
        surroundings = {"PLATFORM_BASE_URL": self.service.url}
        self.runner = RunnerProcess(self.wire.url, self.token, "one", self.folder, surroundings)

    def project(self, source: str, kind: str) -> str:
        """Makes a project and has it deployed."""
        made = ok(self.client.post(f"{API}/projects", json={"name": "Test", "source": source, "kind": kind}))
        project = str(made["project"]["id"])
        ok(self.client.post(f"{API}/projects/{project}/deploys"))
        return project

    def up(self, source: str, kind: str) -> str:
        """The same, and waits until it is up."""
        project = self.project(source, kind)
        until(lambda: status(self.client, project) == ("ready" if kind == "job" else "running"), 120)
        return project

    def lines(self, project: str) -> list[str]:
        """All log lines of a project."""
        found: list[str] = []
        after = "0"
        while True:
            told = ok(self.client.get(f"{API}/projects/{project}/logs/tail", params={"after": after, "limit": 500}))
            if not told["items"]:
                return found
            found += [item["line"] for item in told["items"]]
            after = told["last"]

    def numbers(self, project: str) -> list[int]:
        """The numbers that a program has counted."""
        return [int(line) for line in self.lines(project) if line.isdigit()]

    def delete(self, project: str) -> None:
        """Has it erased."""
        self.client.delete(f"{API}/projects/{project}")


@pytest.fixture(scope="module")
def whole_place() -> Iterator[Place]:
    with short_folder() as folder, Service(folder / "service") as service, wire_to(service.url) as wire:
        (folder / "runner").mkdir()
        token = runner_token(service, "one")
        made = Place(service, wire, folder / "runner", token, service.signed_in(admin=True), None)  # type: ignore[arg-type]
        made.start()
        try:
            yield made
        finally:
            made.runner.kill()


@pytest.fixture
def place(whole_place: Place) -> Iterator[Place]:
    """The one place, whole again."""
    yield whole_place
    whole_place.wire.mend()


def test_while_the_service_is_away_programs_go_on_and_what_they_said_comes_later_once_and_in_order(place: Place) -> None:
    counts, web = place.up(COUNTS.format(pause=0.02), "worker"), place.up(WEB.format("hi"), "web")
    until(lambda: place.numbers(counts), 120)
    place.wire.cut()
    socket_path = str(place.folder / "sockets" / f"{web}.sock")
    spool = place.folder / "spool"
    size = sum(path.stat().st_size for path in spool.iterdir())
    until(lambda: sum(path.stat().st_size for path in spool.iterdir()) > size + 2_000, 120)
    assert asyncio.run(ask(socket_path)) == "hi"
    seen = place.numbers(counts)[-1]
    place.wire.mend()
    until(lambda: place.numbers(counts)[-1] > seen + 20, 120)
    place.wire.loses_answers = True
    until(lambda: place.wire.lost >= 2, 120)
    place.wire.mend()
    after = place.numbers(counts)[-1]
    until(lambda: place.numbers(counts)[-1] > after + 5, 120)
    numbers = place.numbers(counts)
    assert numbers == list(range(numbers[-1] + 1)), "every line, once, in order"
    place.delete(counts)
    place.delete(web)


def test_a_killed_runner_ends_its_run_with_a_reason_and_takes_up_its_workers(place: Place) -> None:
    counts, job = place.up(COUNTS.format(pause=0.2), "worker"), place.up(LONG, "job")
    run = str(ok(place.client.post(f"{API}/projects/{job}/run"))["run"]["id"])
    until(lambda: "begun" in place.lines(job), 120)
    place.runner.kill()
    place.start()

    def record() -> Any:
        return ok(place.client.get(f"{API}/projects/{job}/runs/{run}"))

    until(lambda: record()["status"] == "failed", 120)
    assert "The runner was started again" in record()["output"]
    until(lambda: place.numbers(counts).count(0) == 2, 120)
    again = str(ok(place.client.post(f"{API}/projects/{job}/run"))["run"]["id"])
    until(lambda: place.lines(job).count("begun") == 2, 120)
    ok(place.client.post(f"{API}/projects/{job}/runs/{again}/cancel"))
    until(lambda: ok(place.client.get(f"{API}/projects/{job}/runs/{again}"))["status"] == "cancelled", 120)
    place.delete(counts)
    place.delete(job)


def test_where_the_spool_cannot_grow_programs_go_on_and_the_loss_is_one_line(place: Place) -> None:
    counts = place.up(COUNTS_LONG, "worker")
    until(lambda: place.numbers(counts), 120)
    place.wire.cut()
    process = place.runner.process.pid
    # As of a disk that is full: what is written beyond 16 KiB a file fails. Programs that run already are not concerned.
    resource.prlimit(process, resource.RLIMIT_FSIZE, (16384, resource.RLIM_INFINITY))
    spool = place.folder / "spool"
    sizes: list[int] = []

    def went_round() -> bool:
        """Whether the file of lines was full and was begun again, a few times."""
        sizes.append(sum(path.stat().st_size for path in spool.glob("logs-*")))
        return sum(after < before for before, after in pairwise(sizes)) >= 2

    until(went_round, 240)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    place.wire.mend()
    told = until(lambda: [line for line in place.lines(counts) if "lost here" in line], 120)
    numbers = place.numbers(counts)
    missing = set(range(numbers[-1] + 1)) - set(numbers)
    assert numbers == sorted(set(numbers)) and numbers.count(0) == 1, "it was never started again"
    assert len(told) == 1 and int(told[0].split()[0]) == len(missing) == max(missing) - min(missing) + 1, "the oldest, counted"
    assert status(place.client, counts) == "running" and place.runner.process.poll() is None
    place.delete(counts)


def test_a_runner_that_is_told_to_stop_takes_its_programs_along_and_says_so_to_nobody(place: Place) -> None:
    counts = place.up(COUNTS.format(pause=0.2), "worker")
    started = descendants(place.runner.process.pid)
    assert started
    assert place.runner.stop() == 0
    until(lambda: not any(Path(f"/proc/{process}").exists() for process in started), 120)
    assert status(place.client, counts) == "running", "it is wanted, and comes back with the runner"
    place.start()
    until(lambda: place.numbers(counts).count(0) == 2, 120)
    assert place.runner.process.poll() is None
    place.delete(counts)
