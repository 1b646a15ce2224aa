"""A project on the process engine: exchanged without a lost request, put to sleep and woken, brought back, erased."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from project_stage import WEB, Stage, ask, stage, until
from runner_process import short_folder

from runner import wanted
from runner.backends import StartFailed, Unavailable
from runner.protocol import Limits


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    with short_folder() as folder:
        async with stage(folder) as made:
            yield made


def run(story: Callable[[Stage], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with staged() as made:
            await story(made)

    asyncio.run(whole())


async def visit(project: object) -> str:
    path = await project.enter()  # type: ignore[attr-defined]
    try:
        return await ask(path)
    finally:
        project.leave()  # type: ignore[attr-defined]


def test_a_redeploy_loses_no_request_and_one_that_fails_leaves_the_one_before() -> None:
    async def story(stage: Stage) -> None:
        old, new = stage.deploy(WEB.format("old")), stage.deploy(WEB.format("new"))
        project = stage.project(old)
        assert await visit(project) == "old"
        answers: list[str] = []
        going = True

        async def visitor() -> None:
            while going:
                answers.append(await visit(project))

        visitors = [asyncio.create_task(visitor()) for _ in range(3)]
        stage.want(project, deploy=new)
        await until(lambda: "running" in stage.phases(2))
        await until(lambda: answers[-3:] == ["new"] * 3)
        broken = stage.deploy('raise "boom"\n' + WEB.format("broken"))
        stage.want(project, deploy=broken)
        await until(lambda: "failed" in stage.phases(3))
        count = len(answers)
        await until(lambda: len(answers) > count + 20)
        going = False
        await asyncio.gather(*visitors)
        # For a moment both took requests from one queue; by now it is the newer one alone.
        assert set(answers) == {"old", "new"} and set(answers[count:]) == {"new"}
        [failed] = [each for each in stage.reports("phase") if each["phase"] == "failed"]
        assert "boom" in failed["detail"]
        stage.want(project, deploy=new)
        await until(lambda: stage.phases(4) == ["running"])

    run(story)


def test_programs_that_must_not_run_beside_each_other_do_not_and_the_one_before_comes_back() -> None:
    async def story(stage: Stage) -> None:
        alone = stage.deploy(WEB.format("one"), writes_data=True)
        project = stage.project(alone)
        assert await visit(project) == "one"
        broken = stage.deploy('raise "boom"\n' + WEB.format("two"), writes_data=True)
        first = project.up
        stage.want(project, deploy=broken)
        await until(lambda: "failed" in stage.phases(2))
        assert first is not None and first.ended.done(), "it was stopped before the other was started"
        assert await visit(project) == "one", "it was started again, without being asked for by the service"
        assert stage.phases(2)[-1] == "failed", "nothing more is told of a generation that has failed"

    run(story)


def test_sleep_and_wake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted, "MINUTE", 0.2)
    monkeypatch.setattr(wanted, "PAUSED_SECONDS", 0.5)

    async def story(stage: Stage) -> None:
        project = stage.project(stage.deploy(WEB.format("hi")), limits=Limits(sleep_after=1))
        assert await visit(project) == "hi"
        first = project.up
        await until(lambda: project.up is not None and project.up.paused_since is not None)
        assert project.enter_at_once() is None
        assert await visit(project) == "hi" and project.up is first, "it was only paused"
        await until(lambda: "sleeping" in stage.phases())
        assert project.up is None
        assert await visit(project) == "hi" and project.up is not first
        phases = stage.phases()
        assert phases[:3] == ["starting", "running", "paused"] and phases.count("sleeping") >= 1
        assert phases[phases.index("sleeping") :][:3] == ["sleeping", "waking", "running"]
        path = await project.enter()  # a request that goes on keeps it awake
        up = project.up
        await asyncio.sleep(1.0)
        assert project.up is up and up is not None and up.paused_since is None
        assert await ask(path) == "hi"
        project.leave()

    run(story)


def test_a_program_that_is_killed_is_started_again() -> None:
    async def story(stage: Stage) -> None:
        project = stage.project(stage.deploy(WEB.format("hi")))
        assert await visit(project) == "hi"
        first = project.up
        assert first is not None and first.running is not None
        await first.running.remove()
        await until(lambda: project.up is not None and project.up is not first)
        assert await visit(project) == "hi"
        assert stage.phases() == ["starting", "running", "starting", "running"]
        assert any("started again" in line["line"] for line in stage.reports("log"))

    run(story)


def test_a_request_to_what_cannot_start_is_told_why_and_one_to_what_is_down_as_well() -> None:
    async def story(stage: Stage) -> None:
        project = stage.project(stage.deploy('raise "boom"\n' + WEB.format("hi")))
        with pytest.raises(StartFailed, match="boom"):
            await visit(project)
        await until(lambda: stage.phases() == ["starting", "failed"])
        with pytest.raises(StartFailed):
            await visit(project)
        stage.want(project, desired="down", deploy=None)
        with pytest.raises(Unavailable):
            await visit(project)

    run(story)


def test_an_older_wish_changes_nothing_and_a_stop_during_a_start_holds() -> None:
    async def story(stage: Stage) -> None:
        deploy = stage.deploy(WEB.format("hi"))
        project = stage.project(deploy, generation=5)
        await until(lambda: stage.phases() == ["starting"])
        stage.want(project, desired="down", deploy=None)
        project.update(replace(project.spec, generation=5, desired="up", deploy=deploy))
        await until(lambda: stage.phases(6)[-1:] == ["stopped"])
        assert "running" not in stage.phases() and project.up is None
        assert list((stage.settings.data / "links").iterdir()) == []

    run(story)


def test_nothing_is_left_of_what_is_erased() -> None:
    async def story(stage: Stage) -> None:
        source = (
            'require serve(8080)\nrequire file.write("kept")\nwrite_file("kept", "x")\n' + WEB.format("hi").partition("\n")[2]
        )
        project = stage.project(stage.deploy(source, writes_data=True))
        assert await visit(project) == "hi"
        assert list(stage.settings.data.rglob("kept")), "the program has a volume"
        stage.want(project, desired="erased", deploy=None)
        await until(lambda: stage.gone == [project.id])
        assert stage.phases(2) == ["erased"]
        left = [path for path in stage.settings.data.rglob("*") if path.name == "kept" or project.id in path.name]
        assert left == [] and stage.state.projects == {} and stage.state.starts == {}

    run(story)


def test_a_program_reads_what_is_packed_with_it_and_writes_to_its_volume() -> None:
    async def story(stage: Stage) -> None:
        source = (
            'require serve(8080)\nrequire file("notes")\nrequire file.read("main.lang")\n'
            'write_file("notes", "kept")\n'
            'serve on 8080\n    route "GET /"\n'
            '        give ok(read_file("notes") + " " + slice(read_file("main.lang"), 0, 7))\n'
        )
        project = stage.project(stage.deploy(source, writes_data=True))
        assert await visit(project) == "kept require"

    run(story)
