"""What a runner survives: a service that is away, answers that are lost, its own end, a disk that is full."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
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
from tests import servers

#: Counts a line a moment, for ever.
COUNTS = "require time\nlet n be 0\nwhile true\n    print(n)\n    set n to n + 1\n    sleep({pause})\n"
#: The same with long lines: a file is soon full, and nowhere near so many are printed that some would be left out for that.
COUNTS_LONG = COUNTS.format(pause=0.004).replace("print(n)", f'print("{"0" * 300}" + n)')
#: Has something audited, or asks a person.
ASKS = """require serve(8080)
serve on 8080
    route "GET /audited/:host"
        try
            http_get("http://" + request.params.host + "/")
        recover why
            give "refused"
    route "GET /asked"
        give text(approve "Full?" within 1h)
"""
#: The disk of the spool, and what is left of it when something else has filled it.
DISK_MB, LEFT_KB = 16, 64
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
    read: dict[str, tuple[list[str], str]] = field(default_factory=dict)

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
        """All log lines of a project. What was asked for once is not asked for again: they only grow."""
        found, after = self.read.get(project, ([], "0"))
        while True:
            told = ok(self.client.get(f"{API}/projects/{project}/logs/tail", params={"after": after, "limit": 500}))
            if not told["items"]:
                self.read[project] = found, after
                return found
            found += [item["line"] for item in told["items"]]
            after = told["last"]

    def numbers(self, project: str) -> list[int]:
        """The numbers that a program has counted."""
        return [int(line) for line in self.lines(project) if line.isdigit()]

    def delete(self, project: str) -> None:
        """Has it erased."""
        self.client.delete(f"{API}/projects/{project}")


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A disk of its own for a folder, where the superuser tests. Only as much is taken of the memory as is written."""
    if os.geteuid() != 0:
        yield
        return
    servers.quiet(["mount", "-t", "tmpfs", "-o", f"mode=0700,size={DISK_MB}m", "lang-tests", str(folder)])
    try:
        yield
    finally:
        servers.quiet(["umount", "--lazy", str(folder)])


@pytest.fixture(scope="module")
def whole_place() -> Iterator[Place]:
    with short_folder() as folder, Service(folder / "service") as service, wire_to(service.url) as wire:
        (folder / "runner" / "spool").mkdir(parents=True, mode=0o700)
        token = runner_token(service, "one")
        made = Place(service, wire, folder / "runner", token, service.signed_in(admin=True), None)  # type: ignore[arg-type]
        with small_disk(folder / "runner" / "spool"):
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


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser makes a disk that is small")
def test_where_the_disk_of_the_spool_is_full_lines_go_first_and_their_loss_is_one_line(place: Place) -> None:
    counts, asks = place.up(COUNTS_LONG, "worker"), place.up(ASKS, "web")
    until(lambda: place.numbers(counts), 120)
    place.wire.cut()
    spool = place.folder / "spool"
    ballast = spool / "ballast"
    free = os.statvfs(spool)
    ballast.write_bytes(bytes(free.f_bavail * free.f_bsize - LEFT_KB * 1024))
    sizes: list[int] = []

    def went_round() -> bool:
        """Whether the file of lines has filled the disk and was begun again, a few times."""
        sizes.append(sum(path.stat().st_size for path in spool.glob("logs-*")))
        return sum(after < before for before, after in pairwise(sizes)) >= 2

    until(went_round, 240)
    # While it is full: what is audited, and a person who is asked.
    path = str(place.folder / "sockets" / f"{asks}.sock")
    for number in range(40):
        assert asyncio.run(ask(path, f"/audited/a{number}.example")) == "refused"
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(lambda: asyncio.run(ask(path, "/asked")))
        until(lambda: "Full?" in "".join(each.read_text() for each in spool.glob("state-*")), 120)
        ballast.unlink()
        place.wire.mend()
        [gate] = until(lambda: ok(place.client.get(f"{API}/approvals"))["items"], 120)
        ok(place.client.post(f"{API}/approvals/{gate['id']}", json={"decision": True}))
        assert asked.result() == "true"
    told = until(lambda: [line for line in place.lines(counts) if "lost here" in line], 120)
    numbers = place.numbers(counts)
    missing = set(range(numbers[-1] + 1)) - set(numbers)
    assert numbers == sorted(set(numbers)) and numbers.count(0) == 1, "it was never started again"
    assert len(told) == 1 and int(told[0].split()[0]) == len(missing) == max(missing) - min(missing) + 1, "the oldest, counted"
    history = [json.loads(line) for line in place.client.get(f"{API}/projects/{asks}/history").text.splitlines()]
    audited = [event["scope"] for event in history if event.get("event") == "audit" and event["capability"] == "net"]
    assert audited == [f"a{number}.example" for number in range(40)], "no record is lost, and none is told twice"
    assert status(place.client, counts) == "running" and place.runner.process.poll() is None
    place.delete(counts)
    place.delete(asks)


def test_a_second_runner_with_the_id_of_one_is_refused(place: Place) -> None:
    counts = place.up(COUNTS.format(pause=0.05), "worker")
    with short_folder() as other:
        second = RunnerProcess(place.wire.url, place.token, "one", other, {"PLATFORM_BASE_URL": place.service.url})
        try:
            until(lambda: "Another runner with the id 'one' is connected" in second.said, 120)
        finally:
            second.kill()
        assert not list((other / "volumes").glob("*"))
    seen = place.numbers(counts)[-1]
    until(lambda: place.numbers(counts)[-1] > seen + 5, 120)
    numbers = place.numbers(counts)
    assert numbers == list(range(numbers[-1] + 1))
    place.delete(counts)


def test_what_the_service_does_not_take_for_its_size_is_sent_in_parts_and_what_is_too_large_alone_is_told_of(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = place.up(COUNTS.format(pause=0.02), "worker")
    until(lambda: place.numbers(counts), 120)
    place.wire.cut()
    spool = place.folder / "spool"
    size = sum(path.stat().st_size for path in spool.glob("logs-*"))
    until(lambda: sum(path.stat().st_size for path in spool.glob("logs-*")) > size + 20_000, 120)
    monkeypatch.setattr("platform_api.gateway.LARGEST_BODY", 5_000)
    seen = place.numbers(counts)[-1]
    place.wire.mend()
    # More than a hundred lines waited, of which thirty fit into a report.
    until(lambda: place.numbers(counts)[-1] > seen + 120, 120)
    numbers = place.numbers(counts)
    assert numbers == list(range(numbers[-1] + 1)), "every line, once, in order"
    place.delete(counts)

    wide = place.up(
        'print("begun")\nprint(join(apply(range(6000), (n) => "0"), ""))\nprint("went on")\nsleep(3600)\n', "worker"
    )
    until(lambda: "went on" in place.lines(wide), 120)
    lost = "1 line was lost here: it was larger than the service takes."
    assert place.lines(wide) == ["begun", lost, "went on"], "in its place"
    place.delete(wide)

    job = place.up('print(join(apply(range(6000), (n) => "0"), ""))\n', "job")
    run = ok(place.client.post(f"{API}/projects/{job}/run"))["run"]["id"]
    path = f"{API}/projects/{job}/runs/{run}"
    until(lambda: ok(place.client.get(path))["run"]["finished_at"], 120)
    ended = ok(place.client.get(path))["run"]
    assert (ended["status"], ended["exit_code"], ended["output"]) == ("succeeded", 0, "")
    until(lambda: "1 report of a run was lost here: it was larger than the service takes." in place.lines(job), 120)
    place.delete(job)


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
