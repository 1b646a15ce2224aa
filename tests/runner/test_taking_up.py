"""What goes on from a runner before this one, and cannot be taken up at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from project_stage import WEB, until
from runner_process import short_folder

from runner import started
from runner.engines import END_UNKNOWN, EngineAway, Exit, Program, docker_container
from runner.engines.docker_api import DockerApi
from runner.engines.docker_container import Container
from runner.links import LinkState
from runner.main import Runner
from runner.protocol import DeploySpec, Limits, PollAnswer, ProjectSpec, RunSpec, package_hash
from runner.settings import settings_from
from runner.state import KeptStart
from tests.runner.engines.scripted_daemon import Unended, scripted_daemon

SOURCE = WEB.format("hi")
DEPLOY = DeploySpec(
    id="dep_1",
    number=1,
    package_hash=package_hash([("main.lang", "utf8", SOURCE.encode())], "main.lang", "web"),
    entry="main.lang",
    kind="web",
    ceiling="stdout,serve",
)
SPEC = ProjectSpec(
    project="prj_1", generation=1, desired="up", slug="shop", name="Shop", kind="web", limits=Limits(), deploy=DEPLOY
)
#: The state of a link that a program comes back to.
LINK = LinkState("r" * 64, ready=True).to_json()


class Going:
    """A program that an engine has found."""

    paused = False

    def __init__(self, start: str, run: str | None) -> None:
        self.program = Program(
            project="prj_1", deploy="dep_1", start=start, run=run, mode="serve", package=Path(), entry="main.lang",
            ceiling="stdout", link=Path(), cache=None, memory_mb=64, disk_mb=64,
        )  # fmt: skip
        self.removed = False

    async def wait(self) -> Exit:
        await asyncio.sleep(3600)
        raise AssertionError

    async def lines(self, after: Any) -> Any:
        await asyncio.sleep(3600)
        yield None

    async def stop(self, grace: float) -> Exit:
        raise AssertionError("it is to go on")

    async def remove(self) -> None:
        self.removed = True


def runner_with(folder: Path, start: str, run: str | None = None) -> tuple[Runner, Going]:
    """A runner that has found a program."""
    made = Runner(settings_from({"PLATFORM_RUNNER_TOKEN": "lr_x"}, engine="process", data=folder))
    going = Going(start, run)
    kept = KeptStart(
        project="prj_1", deploy="dep_1", generation=1, kind="web", ceiling="stdout", link=dict(LINK), run=run, attempt=1
    )
    kept.end_in(600)
    made.state.starts[start] = kept
    made._found[start] = going, kept  # type: ignore[assignment]
    (folder / "links" / start).mkdir()
    return made, going


async def ended(runner: Runner) -> None:
    for project in runner.projects.values():
        await project.close(leave=True)
    await runner._entrances.close()
    runner.spool.close()
    await runner.engine.close()
    await runner.service.close()


@pytest.mark.parametrize("run", [None, "run_1"], ids=["a service", "a run of a job"])
def test_a_program_that_cannot_be_taken_up_now_goes_on_and_is_taken_up_later(run: str | None) -> None:
    """Its link cannot be opened: something else is at its place."""

    async def story(folder: Path) -> None:
        runner, going = runner_with(folder, "s1", run)
        (folder / "links" / "s1" / "host.sock").mkdir()
        spec = SPEC if run is None else replace(SPEC, kind="job", deploy=replace(DEPLOY, kind="job"))
        runs = () if run is None else (RunSpec(id=run, project="prj_1", deploy="dep_1", attempt=1, timeout_minutes=15),)
        if run is not None:
            runner.state.began(run, 1)
        await runner._take(PollAnswer(projects=(spec,), runs=runs, decisions=(), cursor="1"), first=True)
        project = runner.projects["prj_1"]
        assert not going.removed and project.up is None and not project.runs.is_busy
        assert runner.context.packages is not None and "s1" in runner.state.starts
        (folder / "links" / "s1" / "host.sock").rmdir()
        await until(lambda: project.up is not None or project.runs.is_busy)
        assert not going.removed and (project.up is None) == (run is not None)
        told = [dict(item) for stream in runner.spool.streams.values() for _, item in stream.pending(100, 10**6)]
        assert [item for item in told if item["type"] == "run" and item["status"] != "running"] == []
        await ended(runner)

    with short_folder() as folder:
        asyncio.run(asyncio.wait_for(story(folder), 60))


def frame(second: int) -> bytes:
    text = b"1970-01-01T00:00:%02d.000000000Z line %d\n" % (second, second)
    return bytes((1, 0, 0, 0)) + len(text).to_bytes(4, "big") + text


@pytest.mark.parametrize("fault", ["", "it never ends", "it lacks the newest line", "it is gone"])
def test_a_log_that_the_daemon_does_not_give_to_its_end_says_so(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last lines were missing without a word."""
    monkeypatch.setattr(started, "LAST_LINES_SECONDS", 0.5 if fault == "it never ends" else 30.0)
    monkeypatch.setattr(docker_container, "AGAIN_SECONDS", 0.01)

    def logs(_: bytes) -> Any:
        if "tail=1" in daemon_of["c"].query:
            return frame(3 if fault == "it lacks the newest line" else 2)
        told = frame(1) + frame(2)
        if fault == "it is gone":
            return frame(1) if daemon_of["c"].count("GET", "/containers/c/logs") == 1 else 404
        return Unended(told) if fault == "it never ends" else told

    daemon_of: dict[str, Any] = {}

    async def story(folder: Path) -> None:
        async with scripted_daemon(folder / "daemon") as daemon:
            daemon_of["c"] = daemon
            daemon.answers["POST", "/containers/c/wait"] = {}
            daemon.answers["GET", "/containers/c/json"] = {"State": {"Status": "exited", "ExitCode": 0, "OOMKilled": False}}
            daemon.answers["GET", "/containers/c/logs"] = logs
            daemon.answers["DELETE", "/containers/c"] = {}
            api = DockerApi(daemon.host, "/v1.47")
            runner, going = runner_with(folder, "s1", "run_1")
            container = Container(api, going.program, "c", None, lambda: None, paused=False)
            runner._found["s1"] = container, runner._found["s1"][1]
            spec = replace(SPEC, kind="job", deploy=replace(DEPLOY, kind="job"))
            run = RunSpec(id="run_1", project="prj_1", deploy="dep_1", attempt=1, timeout_minutes=15)
            runner.state.began("run_1", 1)
            await runner._take(PollAnswer(projects=(spec,), runs=(run,), decisions=(), cursor="1"), first=True)

            def told(kind: str) -> list[dict[str, Any]]:
                items = [item for stream in runner.spool.streams.values() for _, item in stream.pending(100, 10**6)]
                return [dict(item) for item in items if item["type"] == kind]

            await until(lambda: [each for each in told("run") if each["status"] != "running"])
            report = told("run")[-1]
            expected = ["line 1", *(["line 2"] if fault != "it is gone" else []), *([END_UNKNOWN] if fault else [])]
            assert [each["line"] for each in told("log")] == expected
            assert [each["line"] for each in told("log") if each["stream"] == "system"] == expected[-1:] * bool(fault)
            assert report["status"] == "succeeded" and report["output"].splitlines() == expected
            await ended(runner)
            await api.close()

    with short_folder() as folder:
        asyncio.run(asyncio.wait_for(story(folder), 60))


def test_a_program_goes_on_while_the_network_of_its_link_cannot_be_had() -> None:
    async def story(folder: Path) -> None:
        runner, going = runner_with(folder, "s1")
        silences = [EngineAway("the daemon does not answer")] * 2

        async def network(project: str) -> None:
            if silences:
                raise silences.pop()

        runner.engine.network = network  # type: ignore[method-assign]
        await runner._take(PollAnswer(projects=(SPEC,), runs=(), decisions=(), cursor="1"), first=True)
        project = runner.projects["prj_1"]
        assert not going.removed
        await until(lambda: project.up is not None)
        assert not going.removed and not silences
        await ended(runner)

    with short_folder() as folder:
        asyncio.run(asyncio.wait_for(story(folder), 60))


def test_a_program_whose_folder_of_its_link_is_gone_is_ended() -> None:
    async def story(folder: Path) -> None:
        runner, going = runner_with(folder, "s1")
        (folder / "links" / "s1").rmdir()
        await runner._take(PollAnswer(projects=(SPEC,), runs=(), decisions=(), cursor="1"), first=True)
        assert going.removed and "s1" not in runner.state.starts
        await ended(runner)

    with short_folder() as folder:
        asyncio.run(asyncio.wait_for(story(folder), 60))
