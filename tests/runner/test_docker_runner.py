"""A runner over a real Docker daemon, killed while containers are up: it takes them up again, and nothing is restarted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deploying import API, ok, until
from runner_conformance import Bench, a_deploy_goes_live
from runner_process import RunnerProcess, short_folder

from tests import servers

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


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    for host in servers.docker():

        def start(url: str, token: str, runner_id: str, folder: Path, host: str = host) -> RunnerProcess:
            return RunnerProcess(url, token, runner_id, folder, {"DOCKER_HOST": host}, engine="docker")

        with short_folder() as folder, Bench(folder, start) as made:
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

    def lines(project: str) -> list[str]:
        told = ok(bench.client.get(f"{API}/projects/{project}/logs/tail", params={"limit": 500}))
        return [item["line"] for item in told["items"] if item["line"].isdigit() or item["line"] == "answered"]

    for project in (worker, job):
        until(lambda: len(lines(project)) > 40, bench.patience)  # noqa: B023
        found = lines(project)
        assert found == [*map(str, range(20)), "answered", *map(str, range(20, len(found) - 1))], "nothing was restarted"
    ok(bench.client.post(f"{API}/projects/{job}/runs/{run}/cancel"))
    bench.run_becomes(job, run, "cancelled")
    bench.becomes(worker, "running")
