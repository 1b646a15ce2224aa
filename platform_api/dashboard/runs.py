"""The runs of a job and its schedule."""

from __future__ import annotations

from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from platform_api.api.paging import Cursor, Page
from platform_api.browser import PageRequest
from platform_api.dashboard.forms import field
from platform_api.dashboard.project import project_page
from platform_api.dashboard.rendering import go, language_of
from platform_api.dashboard.schedules import meaning_in
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal
from platform_api.runs import requests
from platform_api.runs.operations import TAIL, run_of, runs_of, tail

_SHOWN = 30


async def _page(
    request: PageRequest,
    project_id: str,
    refusal: Refusal | None = None,
    *,
    cursor: str | None = None,
    cron: str | None = None,
) -> Response[Any]:
    main, part = request.platform.store.main, Page(_SHOWN, cursor)
    project = await main.read(project_of, request.principal, project_id)
    rows, following = part.cut(await main.read(runs_of, project_id, part.wanted, part.after))
    means, means_in = meaning_in(language_of(request).language, project.schedule, project.next_at)
    return await project_page(
        request,
        project_id,
        "runs",
        refusal,
        runs=rows,
        following=following or None,
        means=means,
        means_in=means_in,
        cron=project.schedule if cron is None else cron,
    )


@get("/projects/{project_id:str}/runs")
async def show_runs(request: PageRequest, project_id: FromPath[str], cursor: Cursor = None) -> Response[Any]:
    """The runs, newest first."""
    return await _page(request, project_id, cursor=cursor)


@post("/projects/{project_id:str}/runs", status_code=200)
async def do_run(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Starts a job now."""
    plan = request.platform.plans[request.principal.plan]
    try:
        run = await request.platform.store.main.write(requests.asked_run, request.principal, project_id, plan)
    except Refusal as refusal:
        return await _page(request, project_id, refusal)
    return go(f"/projects/{project_id}/runs/{run.id}")


@get("/projects/{project_id:str}/runs/{run_id:str}")
async def show_run(request: PageRequest, project_id: FromPath[str], run_id: FromPath[str]) -> Response[Any]:
    """One run, with the end of its output."""
    main = request.platform.store.main
    await main.read(project_of, request.principal, project_id)
    run = await main.read(run_of, project_id, run_id)
    return await project_page(request, project_id, "run", run=run, output=tail(run.output, TAIL))


@post("/projects/{project_id:str}/runs/{run_id:str}/cancel", status_code=200)
async def do_cancel(request: PageRequest, project_id: FromPath[str], run_id: FromPath[str]) -> Response[Any]:
    """Ends a run."""
    try:
        await request.platform.store.main.write(requests.asked_cancel, request.principal, project_id, run_id)
    except Refusal as refusal:
        return await _page(request, project_id, refusal)
    return go(f"/projects/{project_id}/runs/{run_id}")


@post("/projects/{project_id:str}/schedule", status_code=200)
async def do_schedule(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Sets when a job runs by itself."""
    cron = await field(request, "cron")
    try:
        await request.platform.store.main.write(requests.asked_schedule, request.principal, project_id, cron)
    except Refusal as refusal:
        return await _page(request, project_id, refusal, cron=cron)
    return go(f"/projects/{project_id}/runs")
