"""What every runner does, whatever its engine: each check drives one through the service, with programs that are real.

A runner's tests give ``Bench`` a way to start it and run every function of ``CHECKS``::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_conforms(check, tmp_path):
        with Bench(tmp_path, start) as bench:
            check(bench)

``start(url, token, runner_id, folder)`` starts a runner that keeps its state in ``folder`` and gives something with ``kill()``,
which ends it at once, without a word to anybody.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import httpx
from deploying import API, detail, ok, runner_token, status, until
from platform_service import Service

WEB = 'require serve(8080)\nprint("up")\nserve on 8080\n    route "GET /"\n        give ok("hello")\n'
CRASHES = 'raise "boom"\n'
GOES_ON = 'require time\nprint("begun")\nsleep(1000)\n'
GATED = 'let yes be approve "Ship it?"\nwhen yes\n    print("shipped")\notherwise\n    print("kept")\n'


class Started(Protocol):
    """A runner that was started."""

    def kill(self) -> None: ...


Start = Callable[[str, str, str, Path], Started]


class Bench:
    """A service, an account, and one runner that is started and killed.

    Args:
        patience: seconds that anything may take.
        database: where the service keeps its data, ``None`` for SQLite.
        settings: more settings of the service.
    """

    def __init__(
        self, folder: Path, start: Start, *, patience: float = 120, database: str | None = None, **settings: Any
    ) -> None:
        self._folder, self._start, self.patience = folder, start, patience
        self._service = Service(folder / "service", database=database, **settings)
        self._running: list[Started] = []
        self._token = ""

    def __enter__(self) -> Bench:
        self._service.__enter__()
        self.client: httpx.Client = self._service.signed_in(admin=True)
        self._token = runner_token(self._service, "one")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._service.__exit__()

    def start(self, folder: str = "runner") -> None:
        """Starts the runner, or starts it again."""
        place = self._folder / folder
        place.mkdir(exist_ok=True)
        self._running.append(self._start(self._service.url, self._token, "one", place))

    def kill(self) -> None:
        """Ends every runner at once."""
        while self._running:
            self._running.pop().kill()

    def make(self, source: str, kind: str = "web", **environment: str) -> str:
        """Makes a project and gives its id."""
        body = {"name": "Test", "source": source, "kind": kind}
        project = ok(self.client.post(f"{API}/projects", json=body))["project"]["id"]
        for name, value in environment.items():
            ok(self.client.put(f"{API}/projects/{project}/env/{name}", json={"value": value}))
        return str(project)

    def deploy(self, project: str, source: str | None = None) -> str:
        """Asks for a deploy and gives its id."""
        body = {} if source is None else {"source": source}
        return str(ok(self.client.post(f"{API}/projects/{project}/deploys", json=body))["deploy"]["id"])

    def up(self, source: str = WEB, kind: str = "web", **environment: str) -> str:
        """Makes a project, deploys it and waits until it is up."""
        project = self.make(source, kind, **environment)
        self.deploy(project)
        self.becomes(project, "ready" if kind == "job" else "running")
        return project

    def becomes(self, project: str, wanted: str) -> None:
        """Waits for a status."""
        until(lambda: status(self.client, project) == wanted, self.patience)

    def deploy_becomes(self, project: str, deploy: str, wanted: str) -> Any:
        """Waits for the status of a deploy and gives its record."""

        def record() -> Any:
            return ok(self.client.get(f"{API}/projects/{project}/deploys/{deploy}"))["deploy"]

        until(lambda: record()["status"] == wanted, self.patience)
        return record()

    def run(self, project: str) -> str:
        """Asks for a run and gives its id."""
        return str(ok(self.client.post(f"{API}/projects/{project}/run"))["run"]["id"])

    def run_becomes(self, project: str, run: str, wanted: str) -> Any:
        """Waits for the status of a run and gives its record."""

        def record() -> Any:
            return ok(self.client.get(f"{API}/projects/{project}/runs/{run}"))

        until(lambda: record()["status"] == wanted, self.patience)
        return record()

    def logged(self, project: str) -> list[str]:
        """The log lines of a project."""
        return [item["line"] for item in ok(self.client.get(f"{API}/projects/{project}/logs/tail"))["items"]]

    def stays(self, project: str, wanted: str, seconds: float = 1.0) -> None:
        """Holds that a status does not change any more."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert status(self.client, project) == wanted
            time.sleep(0.05)


def a_deploy_goes_live(bench: Bench) -> None:
    project = bench.make(WEB)
    record = bench.deploy_becomes(project, bench.deploy(project), "live")
    assert record["engine"] and record["started_at"] <= record["finished_at"]
    bench.becomes(project, "running")
    until(lambda: "up" in bench.logged(project), bench.patience)


def a_deploy_that_crashes_leaves_the_one_before(bench: Bench) -> None:
    project = bench.up()
    live = detail(bench.client, project)["project"]["current_deploy"]
    failed = bench.deploy_becomes(project, bench.deploy(project, CRASHES + WEB), "failed")
    assert "boom" in failed["error"]
    bench.becomes(project, "running")
    bench.stays(project, "running")
    assert detail(bench.client, project)["project"]["current_deploy"] == live
    bench.deploy_becomes(project, bench.deploy(project, WEB), "live")


def a_first_deploy_that_crashes_says_why(bench: Bench) -> None:
    project = bench.make(CRASHES + WEB)
    bench.deploy(project)
    bench.becomes(project, "failed")
    assert "boom" in detail(bench.client, project)["project"]["status_reason"]
    bench.stays(project, "failed")
    bench.deploy(project, WEB)
    bench.becomes(project, "running")


def of_several_deploys_the_newest_is_live(bench: Bench) -> None:
    project = bench.make(WEB)
    deploys = [bench.deploy(project) for _ in range(4)]
    bench.deploy_becomes(project, deploys[-1], "live")
    bench.stays(project, "running")
    shown = detail(bench.client, project)["deploys"]
    assert [deploy["status"] for deploy in shown] == ["live", "superseded", "superseded", "superseded"]


def a_stop_holds(bench: Bench) -> None:
    project = bench.make(WEB)
    bench.deploy(project)
    ok(bench.client.post(f"{API}/projects/{project}/stop"))
    bench.becomes(project, "stopped")
    bench.stays(project, "stopped")
    bench.deploy(project)
    bench.becomes(project, "running")
    ok(bench.client.post(f"{API}/projects/{project}/stop"))
    bench.becomes(project, "stopped")


def a_deleted_project_is_erased(bench: Bench) -> None:
    project = bench.up()
    assert ok(bench.client.delete(f"{API}/projects/{project}"))["status"] == "deleting"
    until(lambda: bench.client.get(f"{API}/projects/{project}").status_code == 404, bench.patience)


def a_worker_that_ends_is_not_started_again(bench: Bench) -> None:
    project = bench.make('print("worked")\n', "worker")
    bench.deploy(project)
    bench.becomes(project, "stopped")
    bench.stays(project, "stopped")
    assert bench.logged(project).count("worked") == 1


def a_job_runs_when_it_is_asked_to(bench: Bench) -> None:
    project = bench.up('print("counted")\n', "job")
    assert "counted" not in bench.logged(project), "it ran without being asked"
    for _ in range(2):
        record = bench.run_becomes(project, bench.run(project), "succeeded")
        assert (record["exit_code"], record["output"]) == (0, "counted\n")
    until(lambda: bench.logged(project).count("counted") == 2, bench.patience)


def a_job_tells_its_exit_code(bench: Bench) -> None:
    project = bench.up('print("before")\nexit(3)\n', "job")
    record = bench.run_becomes(project, bench.run(project), "failed")
    assert (record["exit_code"], record["output"]) == (3, "before\n")
    bench.deploy_becomes(project, bench.deploy(project, CRASHES), "live")
    assert bench.run_becomes(project, bench.run(project), "failed")["exit_code"] == 1


def a_run_is_cancelled(bench: Bench) -> None:
    project = bench.up(GOES_ON, "job")
    run = bench.run(project)
    bench.run_becomes(project, run, "running")
    until(lambda: "begun" in bench.logged(project), bench.patience)
    ok(bench.client.post(f"{API}/projects/{project}/runs/{run}/cancel"))
    assert bench.run_becomes(project, run, "cancelled")["exit_code"] is None
    bench.stays(project, "ready")


def a_stop_ends_a_run(bench: Bench) -> None:
    project = bench.up(GOES_ON, "job")
    run = bench.run(project)
    bench.run_becomes(project, run, "running")
    ok(bench.client.post(f"{API}/projects/{project}/stop"))
    bench.run_becomes(project, run, "cancelled")
    bench.becomes(project, "stopped")


def a_gate_is_decided(bench: Bench) -> None:
    project = bench.up(GATED, "job")
    for decision, output in ((True, "shipped\n"), (False, "kept\n")):
        run = bench.run(project)
        [gate] = until(lambda: ok(bench.client.get(f"{API}/approvals"))["items"], bench.patience)
        assert (gate["project_id"], gate["type"], gate["message"]) == (project, "approve", "Ship it?")
        ok(bench.client.post(f"{API}/approvals/{gate['id']}", json={"decision": decision}))
        assert bench.run_becomes(project, run, "succeeded")["output"] == output
        until(lambda: ok(bench.client.get(f"{API}/approvals"))["recent"][0]["delivered"], bench.patience)


def the_gate_of_a_program_that_is_stopped_is_closed(bench: Bench) -> None:
    project = bench.up(GATED, "job")
    bench.run(project)
    until(lambda: ok(bench.client.get(f"{API}/approvals"))["items"], bench.patience)
    ok(bench.client.post(f"{API}/projects/{project}/stop"))
    recent = until(lambda: ok(bench.client.get(f"{API}/approvals"))["recent"], bench.patience)
    assert (recent[0]["status"], recent[0]["expired"]) == ("denied", True)


def a_program_gets_its_environment(bench: Bench) -> None:
    source = 'require env("COLOUR")\nprint(env("COLOUR"))\n'
    project = bench.up(source, "job", COLOUR="red")
    assert bench.run_becomes(project, bench.run(project), "succeeded")["output"] == "red\n"
    ok(bench.client.put(f"{API}/projects/{project}/env/COLOUR", json={"value": "blue"}))
    assert bench.run_becomes(project, bench.run(project), "succeeded")["output"] == "red\n", "not before the next deploy"
    bench.deploy_becomes(project, bench.deploy(project), "live")
    assert bench.run_becomes(project, bench.run(project), "succeeded")["output"] == "blue\n"


def a_killed_runner_comes_back(bench: Bench) -> None:
    up, stopped, deleted = bench.up(), bench.up(), bench.up()
    until(lambda: "up" in bench.logged(up), bench.patience)
    bench.kill()
    ok(bench.client.post(f"{API}/projects/{stopped}/stop"))
    ok(bench.client.delete(f"{API}/projects/{deleted}"))
    bench.start()
    bench.becomes(stopped, "stopped")
    until(lambda: bench.client.get(f"{API}/projects/{deleted}").status_code == 404, bench.patience)
    bench.becomes(up, "running")
    bench.deploy_becomes(up, bench.deploy(up), "live")


def a_deploy_that_failed_is_not_tried_again_after_a_restart(bench: Bench) -> None:
    project = bench.make(CRASHES + WEB)
    bench.deploy(project)
    bench.becomes(project, "failed")
    bench.kill()
    bench.start()
    other = bench.up()
    bench.stays(project, "failed")
    bench.becomes(other, "running")


def a_second_runner_with_its_id_does_not_disturb_it(bench: Bench) -> None:
    project = bench.up()
    bench.start("another folder")
    bench.deploy_becomes(project, bench.deploy(project), "live")
    bench.stays(project, "running")
    assert [deploy["status"] for deploy in detail(bench.client, project)["deploys"]] == ["live", "superseded"]


CHECKS: tuple[Callable[[Bench], None], ...] = (
    a_deploy_goes_live,
    a_deploy_that_crashes_leaves_the_one_before,
    a_first_deploy_that_crashes_says_why,
    of_several_deploys_the_newest_is_live,
    a_stop_holds,
    a_deleted_project_is_erased,
    a_worker_that_ends_is_not_started_again,
    a_job_runs_when_it_is_asked_to,
    a_job_tells_its_exit_code,
    a_run_is_cancelled,
    a_stop_ends_a_run,
    a_gate_is_decided,
    the_gate_of_a_program_that_is_stopped_is_closed,
    a_program_gets_its_environment,
    a_killed_runner_comes_back,
    a_deploy_that_failed_is_not_tried_again_after_a_restart,
    a_second_runner_with_its_id_does_not_disturb_it,
)
