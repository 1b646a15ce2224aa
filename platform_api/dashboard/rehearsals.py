"""Rehearsals of a project: the buttons that ask for one, and its report."""

from __future__ import annotations

from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from platform_api.browser import PageRequest
from platform_api.dashboard.deploys import deploys_page
from platform_api.dashboard.forms import source_or_files
from platform_api.dashboard.project import project_page
from platform_api.dashboard.rendering import go
from platform_api.deploys.sources import new_package
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal
from platform_api.rehearsals.findings import from_json
from platform_api.rehearsals.operations import rehearsal_of, request_rehearsal
from platform_api.runs.operations import TAIL, tail


@post("/projects/{project_id:str}/rehearsals", status_code=200)
async def do_rehearse(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Rehearses what the form holds, else the current package."""
    principal, platform = request.principal, request.platform
    main = platform.store.main
    project = await main.read(project_of, principal, project_id)
    source, files = await source_or_files(request)
    try:
        given = source is not None or files is not None
        taken = await new_package(platform, project, files, source, None) if given else None
        row = await main.write(request_rehearsal, platform.plans, principal, project_id, taken)
    except Refusal as refusal:
        return await deploys_page(request, project_id, refusal, source=source or "")
    return go(f"/projects/{project_id}/rehearsals/{row.id}")


@get("/projects/{project_id:str}/rehearsals/{rehearsal_id:str}")
async def show_rehearsal(request: PageRequest, project_id: FromPath[str], rehearsal_id: FromPath[str]) -> Response[Any]:
    """One rehearsal: what the program tried, beside what it would be allowed to."""
    main = request.platform.store.main
    await main.read(project_of, request.principal, project_id)
    row = await main.read(rehearsal_of, project_id, rehearsal_id)
    return await project_page(
        request, project_id, "rehearsal", rehearsal=row, tried=from_json(row.tried), output=tail(row.output, TAIL)
    )
