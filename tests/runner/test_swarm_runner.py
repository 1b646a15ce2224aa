"""A runner over a swarm of two real machines: what every runner does, and what becomes of projects whose machine is lost.

One test, as for the engine: each worker of the tests would start its own machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import runner_conformance as conformance
from deploying import API, detail, ok, status, until
from runner_conformance import Bench
from runner_process import RunnerProcess, short_folder

from tests.runner.engines.two_machines import TwoMachines, two_machines
from tests.servers import free_port

#: Far more than anything here takes.
SECONDS = 150
DOMAIN = "programs.example.net"
WEB = 'require serve(8080)\nserve on 8080\n    route "GET /"\n        give "hello"\n'
KEEPS = """require file
require time
when file_exists("data")
    print("found " + read_file("data"))
otherwise
    write_file("data", "what it wrote before")
    print("wrote")
while true
    sleep(1)
"""
#: What a runner does on every engine is held elsewhere; here what goes through a network, or over a restart of the runner.
CONFORMANCE = (
    conformance.a_gate_is_decided,
    conformance.a_killed_runner_comes_back,
)


@dataclass
class Stage:
    bench: Bench
    machines: TwoMachines
    runners: list[RunnerProcess]
    port: int

    def has(self, machine: int, project: str) -> bool:
        """Whether a program of the project is on a machine."""
        labels = ["--filter", f"label=lang.project={project}", "--filter", "label=lang.start"]
        return bool(self.machines.docker(machine, "ps", "-q", *labels))

    def machine_of(self, project: str) -> int:
        """The machine that a project's program is on."""
        found = [machine for machine in (0, 1) if self.has(machine, project)]
        assert len(found) == 1, found
        return found[0]

    def answers(self, project: str) -> str:
        host = f"{detail(self.bench.client, project)['project']['slug']}.{DOMAIN}"
        return httpx.get(f"http://127.0.0.1:{self.port}/", headers={"Host": host}, timeout=SECONDS).text

    def delete(self, *projects: str) -> None:
        for project in projects:
            self.bench.client.delete(f"{API}/projects/{project}")
        for project in projects:
            until(lambda: self.bench.client.get(f"{API}/projects/{project}").status_code == 404, SECONDS)  # noqa: B023


def every_start_says_what_holds(stage: Stage) -> None:
    until(lambda: "networks are not encrypted" in stage.runners[0].said, SECONDS)
    said = stage.runners[0].said
    assert "engine swarm" in said and "not enforced: user, encryption" in said and "descriptors do not cross machines" in said


def a_web_program_answers_over_its_network_and_is_exchanged_under_requests(stage: Stage) -> None:
    project = stage.bench.up(WEB)
    assert "hello" in stage.answers(project)
    deploy = stage.bench.deploy(project, WEB.replace("hello", "again"))
    found = []
    while not found or found[-3:] != ["again"] * 3:
        answer = stage.answers(project)
        assert "hello" in answer or "again" in answer, answer
        found.append("again" if "again" in answer else "hello")
        assert len(found) < 100_000
    stage.bench.deploy_becomes(project, deploy, "live")
    stage.delete(project)


def a_lost_machine(stage: Stage) -> None:
    """Programs that cannot write come up on the other machine; one with data waits for its own, says so, and finds its data."""
    bench = stage.bench
    webs: list[str] = []
    while not webs or {stage.machine_of(project) for project in webs} != {0, 1}:
        webs.append(bench.up(WEB))
        assert len(webs) < 6, "all programs go to one machine"
    keepers: list[str] = []
    while not keepers or {stage.machine_of(project) for project in keepers} != {0, 1}:
        keepers.append(bench.up(KEEPS, "worker"))
        until(lambda: "wrote" in bench.logged(keepers[-1]), SECONDS)
        assert len(keepers) < 4, "all data goes to one machine"
    (keeper,) = [project for project in keepers if stage.machine_of(project) == 1]
    lost = [project for project in webs if stage.machine_of(project) == 1]
    stage.machines.cut()
    try:
        for project in lost:
            until(lambda: [line for line in bench.logged(project) if "machine that is gone" in line], SECONDS)  # noqa: B023
        for project in webs:
            bench.becomes(project, "running")
            # The machine that nothing reaches goes on with what it has, and nobody can tell it to stop.
            assert stage.has(0, project) and "hello" in stage.answers(project)
        until(lambda: [line for line in bench.logged(keeper) if "data lies on the machine" in line], SECONDS)
        assert status(bench.client, keeper) != "failed"
    finally:
        stage.machines.mend()
    until(lambda: "found what it wrote before" in bench.logged(keeper), SECONDS)
    bench.becomes(keeper, "running")
    assert stage.machine_of(keeper) == 1
    for project in lost:
        until(lambda: not stage.has(1, project), SECONDS)  # noqa: B023
    stage.delete(*webs, *keepers)
    for machine in (0, 1):
        assert stage.machines.docker(machine, "ps", "-aq", "--filter", "label=lang.start") == ""


CHECKS: tuple[Callable[[Stage], None], ...] = (
    every_start_says_what_holds,
    a_web_program_answers_over_its_network_and_is_exchanged_under_requests,
    a_lost_machine,
)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    runners: list[RunnerProcess] = []
    port = free_port()
    for machines in two_machines(equipped=True):
        here, other = machines.hosts
        surroundings = {
            "DOCKER_HOST": here,
            "PLATFORM_SWARM_NODES": other,
            "PLATFORM_SWARM_ENCRYPTION": "off",
            "PLATFORM_APPS_DOMAIN": DOMAIN,
            "PLATFORM_INGRESS": f"127.0.0.1:{port}",
        }

        def start(
            url: str, token: str, runner_id: str, folder: Any, surroundings: dict[str, str] = surroundings
        ) -> RunnerProcess:
            runners.append(RunnerProcess(url, token, runner_id, folder, surroundings, engine="swarm"))
            return runners[-1]

        with short_folder() as folder, Bench(folder, start) as bench:
            yield Stage(bench, machines, runners, port)


def test_a_runner_of_two_machines(stage: Stage) -> None:
    failed = []
    for check in (*CHECKS, *CONFORMANCE):
        try:
            if check in CHECKS:
                check(stage)  # type: ignore[arg-type]
            else:
                check(stage.bench)  # type: ignore[arg-type]
                stage.delete(*(project["id"] for project in ok(stage.bench.client.get(f"{API}/projects"))["items"]))
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"in {check.__name__}; the runner said: {stage.runners[-1].said[-2000:]}")
            failed.append(error)
    if failed:
        raise ExceptionGroup("checks that failed", failed)
