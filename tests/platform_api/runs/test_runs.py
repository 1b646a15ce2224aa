"""Runs of jobs and their schedules, with a runner that is driven step by step."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import httpx
import pytest
from deploying import API, WEB, deployed, detail, made, ok, refused, runner_of, status, until
from fake_runner import FakeRunner
from hypothesis import given
from hypothesis import strategies as st
from platform_service import Service
from sqlalchemy import select, update

from platform_api.moments import DAY, HOUR, MINUTE, now
from platform_api.runs.lifecycle import ACTIVE, STATUSES, RunState, cancel_asked, given_up, handed_on, reported
from platform_api.runs.schedule import due_projects, rearm, start_due
from platform_api.store.tables import projects, runs
from platform_api.upkeep import Upkeep
from runner.protocol import OUTPUT_LIMIT, RunReport

FIELDS = {"id", "status", "trigger", "exit_code", "output", "created_at", "started_at", "finished_at"}
GOES_ON = 'require time\nprint("begun")\nsleep(1000)\n'


def run_of(client: httpx.Client, project: str, run: str) -> Any:
    return ok(client.get(f"{API}/projects/{project}/runs/{run}"))


def started(client: httpx.Client, project: str) -> str:
    return str(ok(client.post(f"{API}/projects/{project}/run"))["run"]["id"])


def test_a_run_from_request_to_result(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner, "job")
        assert status(client, project) == "ready"
        run = ok(client.post(f"{API}/projects/{project}/run"))["run"]
        assert set(run) == FIELDS and (run["status"], run["trigger"], run["output"]) == ("queued", "manual", "")
        assert refused(client.post(f"{API}/projects/{project}/run")) == (409, "already_running")
        runner.converge()
        shown = run_of(client, project, run["id"])
        assert set(shown) == FIELDS | {"run"} and shown["run"] == {name: shown[name] for name in FIELDS}
        assert (shown["status"], shown["exit_code"], shown["output"]) == ("succeeded", 0, "counting\n")
        assert run["created_at"] <= shown["started_at"] <= shown["finished_at"]
        second = started(client, project)
        listed = ok(client.get(f"{API}/projects/{project}/runs"))
        assert [item["id"] for item in listed["items"]] == [second, run["id"]] and listed["schedule"] == ""
        page = ok(client.get(f"{API}/projects/{project}/runs", params={"limit": 1}))
        rest = ok(client.get(f"{API}/projects/{project}/runs", params={"cursor": page["next_cursor"]}))
        assert [item["id"] for item in (*page["items"], *rest["items"])] == [second, run["id"]]


def test_what_cannot_be_run(service: Service) -> None:
    client = service.signed_in()
    web, job = made(client), made(client, "job")
    assert refused(client.post(f"{API}/projects/{web}/run")) == (409, "conflict")
    assert refused(client.post(f"{API}/projects/{job}/run")) == (409, "not_deployed")
    assert client.get(f"{API}/projects/{job}/runs/run_x").status_code == 404
    with runner_of(service) as runner:
        ok(client.post(f"{API}/projects/{job}/deploys"))
        runner.converge()
        ok(client.post(f"{API}/projects/{job}/stop"))
        assert refused(client.post(f"{API}/projects/{job}/run")) == (409, "not_deployed")


def test_a_run_waits_for_the_first_deploy_and_ends_with_it(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = made(client, "job")
        ok(client.post(f"{API}/projects/{project}/deploys"))
        run = started(client, project)
        assert runner.poll().runs == ()
        runner.converge()
        assert run_of(client, project, run)["status"] == "queued"
        runner.converge()
        assert run_of(client, project, run)["status"] == "succeeded"
        other = made(client, "job")
        ok(client.post(f"{API}/projects/{other}/deploys"))
        run = started(client, other)
        runner.poll()
        runner.phase(other, "failed", detail="no such image")
        shown = run_of(client, other, run)
        assert shown["status"] == "failed" and "no such image" in shown["output"]
        assert refused(client.post(f"{API}/projects/{other}/run")) == (409, "not_deployed")


@pytest.mark.parametrize("end", ["cancel", "stop"])
def test_a_run_is_ended(service: Service, end: str) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner, "job", source=GOES_ON)
        waiting = started(client, project)
        path = f"{API}/projects/{project}/runs/{waiting}/cancel" if end == "cancel" else f"{API}/projects/{project}/stop"
        ok(client.post(path))
        assert run_of(client, project, waiting)["status"] == "cancelled"
        if end == "cancel":
            assert refused(client.post(path)) == (409, "conflict")
        ok(client.post(f"{API}/projects/{project}/deploys"))
        runner.converge()
        running = started(client, project)
        runner.converge()
        assert run_of(client, project, running)["status"] == "running"
        path = path.replace(waiting, running)
        ok(client.post(path))
        ok(client.post(path))
        assert run_of(client, project, running)["status"] == "running"
        runner.converge()
        shown = run_of(client, project, running)
        assert (shown["status"], shown["exit_code"]) == ("cancelled", None) and shown["finished_at"]


def test_two_runs_at_once_are_one(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner, "job")
        clients = [service.client(client.headers["Authorization"].split()[1]) for _ in range(6)]
        answers: list[int] = []
        threads = [
            threading.Thread(target=lambda one=one: answers.append(one.post(f"{API}/projects/{project}/run").status_code))
            for one in clients
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == [200, *[409] * 5]


def test_an_older_attempt_and_a_second_end_change_nothing(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner, "job")
        run = started(client, project)

        def report(attempt: int, status: Any, **more: Any) -> None:
            runner.report(RunReport(project=project, run=run, attempt=attempt, status=status, **more))

        report(0, "failed", exit_code=3)
        report(2, "succeeded", exit_code=0)
        assert run_of(client, project, run)["status"] == "queued"
        report(1, "running", output="half")
        assert (run_of(client, project, run)["status"], run_of(client, project, run)["output"]) == ("running", "half")
        report(1, "failed", exit_code=7, output="é" * OUTPUT_LIMIT)
        report(1, "succeeded", exit_code=0)
        report(1, "running")
        shown = run_of(client, project, run)
        assert (shown["status"], shown["exit_code"]) == ("failed", 7)
        assert shown["output"] == "é" * (OUTPUT_LIMIT // 2)
        [listed] = ok(client.get(f"{API}/projects/{project}/runs"))["items"]
        assert listed["output"] == "é" * 2048
        runner.report(RunReport(project=project, run="run_x", attempt=1, status="running"))
        assert runner.refused == ["there is no such run"]


def test_runs_that_nobody_finishes_are_ended(service: Service) -> None:
    client = service.signed_in()
    main = service.platform.store.main
    with runner_of(service) as runner:
        project = deployed(client, runner, "job")
        run = started(client, project)
        with main.writing() as connection:
            connection.execute(update(runs).values(created_at=now() - 11 * MINUTE))
        assert run_of(client, project, run)["status"] == "queued", "its runner is here"
        with main.writing() as connection:
            connection.exec_driver_sql("UPDATE runners SET seen_at = 0")
        _end_stuck(service)
        shown = run_of(client, project, run)
        assert shown["status"] == "failed" and "No runner was there" in shown["output"]
        runner.converge()
        assert run_of(client, project, run)["status"] == "failed"
        second = started(client, project)
        runner.report(RunReport(project=project, run=second, attempt=1, status="running"))
        with main.writing() as connection:
            connection.execute(update(runs).where(runs.c.id == second).values(started_at=now() - 16 * MINUTE - HOUR))
        _end_stuck(service)
        assert run_of(client, project, second)["status"] == "timed_out"
        runner.report(RunReport(project=project, run=second, attempt=1, status="succeeded"))
        assert run_of(client, project, second)["status"] == "timed_out"


def test_a_clock_that_jumps_ends_no_run_and_takes_no_runner_away(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    client = service.signed_in()
    passed = 0.0
    steps = Upkeep(service.platform, lambda: passed)
    time_ns = time.time_ns
    with runner_of(service) as runner:
        waiting, running = deployed(client, runner, "job"), deployed(client, runner, "job")
        queued, under_way = started(client, waiting), started(client, running)
        runner.report(RunReport(project=running, run=under_way, attempt=1, status="running"))
        for hours in (5, -5, 0):
            monkeypatch.setattr("time.time_ns", lambda hours=hours: time_ns() + hours * 3_600_000_000_000)
            for _ in range(2):
                asyncio.run(steps.end_stuck_runs())
                passed += 15
            assert run_of(client, waiting, queued)["status"] == "queued", hours
            assert run_of(client, running, under_way)["status"] == "running", hours
            runner.poll()
        # What stays stuck is ended, when the time for it has passed on a clock that does not jump.
        with service.platform.store.main.writing() as connection:
            connection.execute(update(runs).where(runs.c.id == under_way).values(started_at=now() - 16 * MINUTE - HOUR))
        asyncio.run(steps.end_stuck_runs())
        assert run_of(client, running, under_way)["status"] == "running"
        passed += 16 * 60 + 3600
        asyncio.run(steps.end_stuck_runs())
        assert run_of(client, running, under_way)["status"] == "timed_out"


def _end_stuck(service: Service) -> None:
    from platform_api.runs.reconciling import end_stuck, stuck_runs

    with service.platform.store.main.writing() as connection:
        for each in stuck_runs(connection, now()):
            end_stuck(connection, *each)


def test_only_so_many_runs_are_kept(service: Service) -> None:
    client = service.signed_in(plan="free")
    with runner_of(service) as runner:
        project = deployed(client, runner, "job")
        old = {"project_id": project, "status": "failed", "trigger": "manual", "created_at": now() - DAY}
        with service.platform.store.main.writing() as connection:
            connection.execute(runs.insert(), [old | {"id": f"run_{number:05}"} for number in range(120)])
        newest = started(client, project)
        with service.platform.store.main.reading() as connection:
            kept = connection.execute(select(runs.c.id).order_by(runs.c.id)).scalars().all()
        assert kept == [*(f"run_{number:05}" for number in range(20, 120)), newest]


@pytest.mark.parametrize(
    ("cron", "means"),
    [
        ("30 6 * * *", "At 06:30 UTC; next "),
        (" @hourly ", "Every hour, on the hour; next "),
        ("*/5 8-18 * * mon-fri", "; next "),
        ("", "runs only when asked"),
        (None, "runs only when asked"),
    ],
)
def test_a_schedule(service: Service, cron: str | None, means: str) -> None:
    client = service.signed_in()
    project = made(client, "job")
    answer = ok(client.put(f"{API}/projects/{project}/schedule", json={"cron": cron}))
    assert set(answer) == {"ok", "schedule", "means"} and answer["schedule"] == (cron or "").strip()
    assert means in answer["means"]
    listed = ok(client.get(f"{API}/projects/{project}/runs"))
    assert listed["schedule"] == detail(client, project)["project"]["schedule"]
    assert listed["means"] == answer["means"]


@pytest.mark.parametrize("cron", ["* * * *", "61 * * * *", "0 0 30 2 *", "@sometimes", "0 0 * * funday", 5])
def test_a_schedule_that_cannot_be(service: Service, cron: object) -> None:
    client = service.signed_in()
    project = made(client, "job")
    answer = client.put(f"{API}/projects/{project}/schedule", json={"cron": cron})
    assert refused(answer) == (400, "validation") and answer.json()["field"] == "cron"
    assert refused(client.put(f"{API}/projects/{project}/schedule", json={})) == (400, "validation")


def test_only_a_job_has_a_schedule_and_only_a_web_project_sleeps(service: Service) -> None:
    client = service.signed_in()
    web, job = made(client), made(client, "job")
    assert refused(client.put(f"{API}/projects/{web}/schedule", json={"cron": "@daily"})) == (409, "conflict")
    assert refused(client.put(f"{API}/projects/{job}/sleep", json={"after_minutes": 5})) == (409, "conflict")
    answer = ok(client.put(f"{API}/projects/{web}/sleep", json={"after_minutes": 0}))
    assert answer == {"ok": True, "sleep_after": 0, "note": "applies on the next deploy"}
    for minutes in (-1, 1441, 2.5, "10", None, True):
        assert refused(client.put(f"{API}/projects/{web}/sleep", json={"after_minutes": minutes})) == (400, "validation")
    free = service.signed_in("free@example.com", plan="free")
    assert refused(free.put(f"{API}/projects/{made(free)}/sleep", json={"after_minutes": 5})) == (409, "plan_limit")


def test_sleep_applies_on_the_next_deploy(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        ok(client.put(f"{API}/projects/{project}/sleep", json={"after_minutes": 45}))
        again = FakeRunner(service.url, runner._client.headers["Authorization"].split()[1], "one")
        again.instance = runner.instance
        again.poll()
        assert again.projects[project].limits.sleep_after == 10
        again.kill()
        ok(client.post(f"{API}/projects/{project}/deploys"))
        runner.poll()
        assert runner.projects[project].limits.sleep_after == 45
        assert runner.projects[project].limits.always_sleeps is False


def test_a_due_schedule_starts_one_run_by_itself(service: Service) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner, "job", source=GOES_ON)
        ok(client.put(f"{API}/projects/{project}/schedule", json={"cron": "@hourly"}))
        _make_due(service, project)
        items = until(lambda: ok(client.get(f"{API}/projects/{project}/runs"))["items"])
        assert [item["trigger"] for item in items] == ["schedule"]
        runner.converge()
        _make_due(service, project)
        skipped = until(
            lambda: [
                line["line"]
                for line in ok(client.get(f"{API}/projects/{project}/logs/tail"))["items"]
                if "skipped" in line["line"]
            ]
        )
        assert len(skipped) == 1 and items[0]["id"] in skipped[0]
        assert len(ok(client.get(f"{API}/projects/{project}/runs"))["items"]) == 1


def _make_due(service: Service, project: str, ago: int = 0) -> None:
    with service.platform.store.main.writing() as connection:
        connection.execute(update(projects).where(projects.c.id == project).values(next_at=now() - ago))


def test_what_was_missed_is_made_up_once(service: Service) -> None:
    client = service.signed_in()
    main, plans = service.platform.store.main, service.platform.plans
    with runner_of(service) as runner:
        project = deployed(client, runner, "job")
        ok(client.put(f"{API}/projects/{project}/schedule", json={"cron": "*/5 * * * *"}))
        _make_due(service, project, ago=DAY)
        [run] = until(lambda: ok(client.get(f"{API}/projects/{project}/runs"))["items"])
        runner.converge()
        with main.writing() as connection:
            row = connection.execute(select(projects).where(projects.c.id == project)).one()
            assert now() < row.next_at <= now() + 5 * MINUTE
            assert due_projects(connection, now()) == []
            assert start_due(connection, plans, project, row.next_at - DAY, now()) is None
            connection.execute(update(projects).values(next_at=None))
            assert rearm(connection, now()) == 1 and rearm(connection, now()) == 0
        assert [item["id"] for item in ok(client.get(f"{API}/projects/{project}/runs"))["items"]] == [run["id"]]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("report"), st.integers(-1, 1), st.sampled_from(STATUSES)),
        st.tuples(st.sampled_from(["cancel", "fail", "hand on"])),
    ),
    max_size=20,
)


@given(STEPS)
def test_a_run_ends_once(steps: list[tuple[Any, ...]]) -> None:
    state = RunState()
    for step in steps:
        before = state
        if step[0] == "report":
            after = reported(state, state.attempt + step[1], step[2])
            assert after is None or step[1] == 0, "an attempt that is not the newest was taken"
            state = after or state
        else:
            state = {"cancel": cancel_asked, "fail": lambda held: given_up(held, "failed"), "hand on": handed_on}[step[0]](
                state
            )
        assert state.attempt >= before.attempt and state.status in STATUSES
        if before.status not in ACTIVE:
            assert (state.status, state.attempt) == (before.status, before.attempt)


def test_figures_of_a_web_project(service: Service) -> None:
    from runner.protocol import Figures

    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner, source=WEB)
        runner.report(Figures(project=project, requests=3, last_request_at=1_700_000_000_123))
        assert detail(client, project)["project"]["last_request_at"] == "2023-11-14T22:13:20.123Z"
