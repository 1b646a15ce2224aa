"""A project on the process engine: exchanged without a lost request, put to sleep and woken, brought back, erased."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from project_stage import WEB, Stage, ask, stage, until
from runner_process import short_folder

from runner import held_requests, projects, wanted
from runner.backends import StartFailed, Unavailable
from runner.engines import EngineAway
from runner.engines import process_tree as tree
from runner.protocol import Limits
from runner.service import ServiceAway
from tests.folders import paths_below


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


SLOW = """require serve(8080)
require time
serve on 8080
    route "GET /"
        sleep(600)
        give ok("slow")
"""


@pytest.mark.parametrize("beside", [True, False], ids=["beside each other", "one after the other"])
def test_what_a_program_could_not_finish_before_it_was_ended_is_in_the_log(
    beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time for it ran out without a word."""
    monkeypatch.setattr(projects, "HAND_OVER_SECONDS", 0.25)
    monkeypatch.setattr(projects, "ANSWER_SECONDS", 0.25)
    monkeypatch.setattr(held_requests, "ANSWER_SECONDS", 0.25)

    async def story(stage: Stage) -> None:
        project = stage.project(stage.deploy(SLOW, writes_data=not beside))
        await until(lambda: stage.phases() == ["starting", "running"])
        before = project.up
        assert before is not None and before.running is not None
        visitor = asyncio.create_task(visit(project))
        await until(lambda: project.requests == 1)
        await asyncio.sleep(0.2)
        stage.want(project, deploy=stage.deploy(WEB.format("new"), writes_data=not beside))
        said = "The version before did not finish what was under way within 0.25 seconds, and is ended."
        if not beside:
            said = "The program is ended with requests that it did not answer within 0.25 seconds."
        await until(lambda: said in [line["line"] for line in stage.reports("log")])
        await before.running.remove()
        await until(lambda: project.up is not None and project.up.deploy.number == 2)
        await asyncio.gather(visitor, return_exceptions=True)

    run(story)


def test_a_program_that_does_not_end_when_it_is_asked_to_is_ended_and_its_log_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects, "LAST_GRACE", 0.5)

    async def story(stage: Stage) -> None:
        willing, stuck = (stage.project(stage.deploy(WEB.format(name))) for name in ("willing", "stuck"))
        assert [await visit(each) for each in (willing, stuck)] == ["willing", "stuck"]
        assert stuck.up is not None
        running: Any = stuck.up.running
        spawned = running._spawned  # its own process stands still: it cannot answer to a signal
        os.kill(tree.second_of_namespace(spawned.first) if spawned.first else spawned.process.pid, signal.SIGSTOP)
        await asyncio.gather(willing.close(leave=False), stuck.close(leave=False))
        said = [line["project"] for line in stage.reports("log") if "did not end within 0.5 seconds" in line["line"]]
        assert said == [stuck.id]

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


def test_a_version_waits_for_an_engine_that_is_away_and_has_not_failed() -> None:
    async def story(stage: Stage) -> None:
        away = [True]
        prepare = stage.engine.prepare

        async def prepared(*given: Any) -> None:
            if away:
                away.clear()
                raise EngineAway("the daemon does not answer")
            await prepare(*given)

        stage.engine.prepare = prepared  # type: ignore[method-assign]
        job = stage.project(stage.deploy('print("ran")\n', kind="job"))
        await until(lambda: job._prepared is not None or "failed" in stage.phases())
        assert "failed" not in stage.phases()
        assert "The program is not started now: the daemon does not answer." in [each["line"] for each in stage.reports("log")]

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


def test_a_program_of_the_runner_before_stays_reachable_while_a_newer_one_fails() -> None:
    """Its listening socket is not in this process's hands: nothing but the path leads there."""

    async def story(stage: Stage) -> None:
        project = stage.project(stage.deploy(WEB.format("old")))
        assert await visit(project) == "old"
        assert project._listening is not None
        project._listening.close()
        project._listening = None
        stage.want(project, deploy=stage.deploy('raise "boom"\n' + WEB.format("broken")))
        await until(lambda: "failed" in stage.phases(2))
        assert await visit(project) == "old"
        stage.want(project, deploy=stage.deploy(WEB.format("new")))
        await until(lambda: "running" in stage.phases(3))
        assert await visit(project) == "new"
        assert len(list((stage.settings.data / "sockets").iterdir())) == 1

    run(story)


def test_a_fault_of_any_kind_is_not_the_end_of_a_project() -> None:
    async def story(stage: Stage) -> None:
        project = stage.project(stage.deploy(WEB.format("hi")))
        assert await visit(project) == "hi"
        erase, faults = stage.engine.erase, [RuntimeError("boom"), KeyError("State")]

        async def faulty(name: str) -> None:
            if faults:
                raise faults.pop()
            await erase(name)

        stage.engine.erase = faulty  # type: ignore[method-assign]
        stage.want(project, desired="erased", deploy=None)
        await until(lambda: stage.gone == [project.id])
        assert stage.phases(2) == ["erased"] and not faults

    run(story)


def test_nothing_is_left_of_what_is_erased() -> None:
    async def story(stage: Stage) -> None:
        source = (
            'require serve(8080)\nrequire file.write("kept")\nwrite_file("kept", "x")\n' + WEB.format("hi").partition("\n")[2]
        )
        project = stage.project(stage.deploy(source, writes_data=True))
        assert await visit(project) == "hi"
        assert "kept" in [path.name for path in paths_below(stage.settings.data)], "the program has a volume"
        stage.want(project, desired="erased", deploy=None)
        await until(lambda: stage.gone == [project.id])
        assert stage.phases(2) == ["erased"]
        left = [path for path in paths_below(stage.settings.data) if path.name == "kept" or project.id in path.name]
        assert left == [] and stage.state.projects == {} and stage.state.starts == {}
        for stream in stage.spool.streams.values():
            last = stream.pending(10_000, 10**9)[-1][0] if stream.waiting else 0
            stage.spool.acknowledge(stream.name, last)
        spooled = [path.read_text() for path in (stage.settings.data / "spool").iterdir()]
        assert not any(project.id in text for text in spooled), "nor in what was reported"

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


def test_a_version_of_another_engine_than_the_one_that_is_here_is_started_and_its_log_says_so() -> None:
    async def story(stage: Stage) -> None:
        project = stage.project(stage.deploy(WEB.format("old"), engine="0.0.1"))
        assert await visit(project) == "old"
        [told] = [each["line"] for each in stage.reports("log") if each["stream"] == "system"]
        assert "went live with version 0.0.1" in told and f"it is started with {stage.context.version}." in told
        same = stage.project(stage.deploy(WEB.format("same"), engine=stage.context.version))
        assert await visit(same) == "same"
        assert len([each for each in stage.reports("log") if each["stream"] == "system"]) == 1

    run(story)


def test_a_project_whose_package_cannot_be_fetched_rests_between_its_tries_and_can_be_closed_at_any_of_them() -> None:
    async def story(stage: Stage) -> None:
        asked = 0

        async def package(package_hash: str) -> Any:
            nonlocal asked
            asked += 1
            raise ServiceAway("no answer")

        stage.package = package  # type: ignore[method-assign]
        project = stage.project(stage.deploy(WEB.format("hi")))
        await until(lambda: asked)
        for _ in range(2000):  # without rests it asks again every few turns
            await asyncio.sleep(0)
        assert asked < 20
        for turns in range(40):
            project = stage.project(stage.deploy(WEB.format(turns)))
            for _ in range(turns):
                await asyncio.sleep(0)
            async with asyncio.timeout(60):
                await project.close(leave=False)

    run(story)
