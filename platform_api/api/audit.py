"""The audit of a project, and its history."""

from __future__ import annotations

from typing import Annotated

from litestar import Router, get
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Stream
from msgspec import UNSET

from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.audit import AuditItem, AuditList
from platform_api.api.streams import number
from platform_api.history.export import exported
from platform_api.projects.find import project_of
from platform_api.records.audit import audit_of
from platform_api.refusals import Refusal

_LONGEST_SEARCH = 500


@get("/projects/{project_id:str}/audit")
async def audit(
    request: ApiRequest,
    project_id: FromPath[str],
    only: FromQuery[str | None] = None,
    q: FromQuery[str] = "",
    limit: Annotated[int | None, QueryParameter(ge=1, le=500)] = None,
    cursor: FromQuery[str | None] = None,
) -> AuditList:
    """What the programs of a project asked for, newest first. ``q`` is found in any field, in any case."""
    if only not in (None, "granted", "denied"):
        raise Refusal("validation", "only is `granted` or `denied`.", field="only")
    if len(q) > _LONGEST_SEARCH:
        raise Refusal("validation", f"q has at most {_LONGEST_SEARCH} characters.", field="q")
    store, size = request.platform.store, limit or 100
    await store.main.read(project_of, request.principal, project_id)
    rows = await store.records.scan(
        audit_of,
        project_id,
        granted=None if only is None else only == "granted",
        text=q,
        before=None if cursor is None else number(cursor, "cursor"),
        limit=size + 1,
    )
    more = str(rows[size - 1].id) if len(rows) > size else None
    return AuditList(
        items=[
            AuditItem(
                ts=row.ts / 1000,
                capability=row.capability,
                scope=row.scope,
                granted=row.granted,
                origin=row.origin,
                why=row.why,
            )
            for row in rows[:size]
        ],
        next_cursor=more if more or limit is not None or cursor is not None else UNSET,
    )


@get("/projects/{project_id:str}/history", media_type="application/x-ndjson")
async def history(request: ApiRequest, project_id: FromPath[str]) -> Stream:
    """Everything the project went through, as one file that ``lang audit verify`` checks."""
    await request.platform.store.main.read(project_of, request.principal, project_id)
    return Stream(
        exported(request.platform.store.records, project_id),
        media_type="application/x-ndjson",
        headers={"Content-Disposition": f'attachment; filename="{project_id}.history.jsonl"', "Cache-Control": "no-store"},
    )


router = Router(path="/", route_handlers=[audit, history], tags=["audit"])
