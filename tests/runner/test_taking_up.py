"""What goes on from a runner before this one, and cannot be taken up at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from project_stage import WEB, until
from runner_process import short_folder

from runner.engines import EngineAway, Exit, Program
from runner.links import LinkState
from runner.main import Runner
from runner.protocol import DeploySpec, Limits, PollAnswer, ProjectSpec, RunSpec, package_hash
from runner.settings import settings_from
from runner.state import KeptStart

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
