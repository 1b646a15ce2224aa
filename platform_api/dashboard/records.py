"""What a project's programs printed, and what they asked for."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Response, get
from litestar.params import FromPath, FromQuery, QueryParameter

from platform_api.api.large_answers import LargeAnswer, history_file
from platform_api.api.streams import number
from platform_api.browser import PageRequest
from platform_api.dashboard.declared import found_of
from platform_api.dashboard.project import project_page
from platform_api.projects.find import project_of
from platform_api.records.audit import audit_of
from platform_api.records.logs import last_lines

_LINES, _RECORDS = 300, 100


@get("/projects/{project_id:str}/log")
async def show_log(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """The last lines of the log."""
    store = request.platform.store
    await store.main.read(project_of, request.principal, project_id)
    lines = await store.records.read(last_lines, project_id, _LINES)
    return await project_page(request, project_id, "log", lines=lines, after=lines[-1].id if lines else 0)


@get("/projects/{project_id:str}/audit")
async def show_audit(
    request: PageRequest,
    project_id: FromPath[str],
    only: FromQuery[str] = "",
    q: Annotated[str, QueryParameter(max_length=500)] = "",
    cursor: FromQuery[str | None] = None,
) -> Response[Any]:
    """What the programs asked for, newest first."""
    store = request.platform.store
    await store.main.read(project_of, request.principal, project_id)
    rows = await store.records.scan(
        audit_of,
        project_id,
        granted={"granted": True, "denied": False}.get(only),
        text=q,
        before=None if cursor is None else number(cursor, "cursor"),
        limit=_RECORDS + 1,
    )
    return await project_page(
        request,
        project_id,
        "audit",
        items=rows[:_RECORDS],
        older=rows[_RECORDS - 1].id if len(rows) > _RECORDS else None,
        only=only,
        q=q,
        declared=await found_of(request, project_id),
    )


@get("/projects/{project_id:str}/history.jsonl")
async def get_history(request: PageRequest, project_id: FromPath[str]) -> LargeAnswer[Any]:
    """Everything the project went through, as a file that can be verified."""
    await request.platform.store.main.read(project_of, request.principal, project_id)
    return history_file(request.platform, request.principal, project_id)
