"""Runs of jobs, their schedule, and when a web project sleeps."""

from __future__ import annotations

import math

from litestar import Router, get, post, put
from litestar.params import FromPath, JSONBody

from platform_api.api.paging import Cursor, Limit, Page
from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.runs import (
    RunAnswer,
    Runs,
    RunShown,
    Schedule,
    Scheduled,
    Sleep,
    SleepSet,
    listed_run,
    run_answer,
    shown_run,
)
from platform_api.kept_answers import FROM_THE_STORE
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal
from platform_api.runs import requests
from platform_api.runs.operations import run_of, runs_of
from platform_api.runs.schedule import meaning_of


@post("/projects/{project_id:str}/run", status_code=200)
async def run(request: ApiRequest, project_id: FromPath[str]) -> RunAnswer:
    """Starts a job: its runner takes the run up at its next poll."""
    principal, platform = request.principal, request.platform
    principal.needs("deploy")
    plan = platform.plans[principal.plan]
    return RunAnswer(run=run_answer(await platform.store.main.write(requests.asked_run, principal, project_id, plan)))


@get("/projects/{project_id:str}/runs", opt=FROM_THE_STORE)
async def runs(request: ApiRequest, project_id: FromPath[str], limit: Limit = None, cursor: Cursor = None) -> Runs:
    """The runs of a job, newest first, and its schedule."""
    request.principal.needs("read")
    main = request.platform.store.main
    page = Page(limit, cursor)
    project = await main.read(project_of, request.principal, project_id)
    shown, following = page.cut(await main.read(runs_of, project_id, page.wanted, page.after))
    return Runs(
        items=[listed_run(row) for row in shown],
        schedule=project.schedule,
        means=meaning_of(project.schedule, project.next_at),
        next_cursor=following,
    )


@get("/projects/{project_id:str}/runs/{run_id:str}", opt=FROM_THE_STORE)
async def one(request: ApiRequest, project_id: FromPath[str], run_id: FromPath[str]) -> RunShown:
    """A run with the end of its output."""
    request.principal.needs("read")
    main = request.platform.store.main
    await main.read(project_of, request.principal, project_id)
    return shown_run(await main.read(run_of, project_id, run_id))


@post("/projects/{project_id:str}/runs/{run_id:str}/cancel", status_code=200)
async def cancel(request: ApiRequest, project_id: FromPath[str], run_id: FromPath[str]) -> RunAnswer:
    """Ends a run: at once while it waits, else as soon as its runner has ended it."""
    principal = request.principal
    principal.needs("deploy")
    return RunAnswer(
        run=run_answer(await request.platform.store.main.write(requests.asked_cancel, principal, project_id, run_id))
    )


@put("/projects/{project_id:str}/schedule", status_code=200)
async def schedule(request: ApiRequest, project_id: FromPath[str], data: JSONBody[Schedule]) -> Scheduled:
    """Sets when a job runs by itself; an empty text leaves it to those who ask."""
    principal = request.principal
    principal.needs("deploy")
    text, means = await request.platform.store.main.write(requests.asked_schedule, principal, project_id, data.cron or "")
    return Scheduled(schedule=text, means=means)


@put("/projects/{project_id:str}/sleep", status_code=200)
async def sleep(request: ApiRequest, project_id: FromPath[str], data: JSONBody[Sleep]) -> SleepSet:
    """Sets after how many idle minutes a web project sleeps."""
    principal, platform = request.principal, request.platform
    principal.needs("deploy")
    if isinstance(data.after_minutes, float) and not math.isfinite(data.after_minutes):
        raise Refusal("validation", "after_minutes is a number.", field="after_minutes")
    plan = platform.plans[principal.plan]
    minutes = await platform.store.main.write(requests.asked_sleep, principal, project_id, plan, data.after_minutes)
    return SleepSet(sleep_after=minutes, note="applies on the next deploy")


router = Router(path="/", route_handlers=[run, runs, one, cancel, schedule, sleep], tags=["runs"])
