"""The audit of a project, and its history."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Router, get, post
from litestar.params import FromPath, FromQuery, QueryParameter
from msgspec import UNSET

from platform_api.api.large_answers import LargeAnswer, history_file
from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.audit import AuditItem, AuditList, Declared, DeclaredItem, RefusedItem, UnexplainedItem
from platform_api.api.schemas.shared import Done
from platform_api.api.streams import number
from platform_api.moments import DAY, now, rfc3339_or_none
from platform_api.projects.find import project_of
from platform_api.records.audit import audit_of
from platform_api.records.declared import comparison_of
from platform_api.records.witnesses import RUNNER, clear_flag
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
                witness="runner" if row.witness == RUNNER else UNSET,
            )
            for row in rows[:size]
        ],
        next_cursor=more if more or limit is not None or cursor is not None else UNSET,
    )


@get("/projects/{project_id:str}/audit/declared")
async def declared(
    request: ApiRequest, project_id: FromPath[str], days: Annotated[int, QueryParameter(ge=1, le=30)] = 30
) -> Declared:
    """What the live deploy declares beside what was done in the last ``days``, by whatever version.

    ``shrunk`` is the ceiling without what was never used in that time: a deploy with it as its ``ceiling`` narrows the project.
    Where more different things were done than are compared, it is the ceiling as it is.
    """
    platform = request.platform
    project = await platform.store.main.read(project_of, request.principal, project_id)
    both = await comparison_of(platform.store, platform.comparisons, project, now() - days * DAY)
    declaration, found = both.declaration, both.findings
    return Declared(
        deploy=declaration.deploy_id,
        days=days,
        since=rfc3339_or_none(both.since),
        items=[
            DeclaredItem(
                capability=use.requirement.capability.name,
                scope=use.requirement.capability.scope,
                file=use.requirement.file,
                line=use.requirement.line,
                done=use.done,
            )
            for use in found.compared.uses
        ],
        refused=[
            RefusedItem(capability=one.capability.name, scope=one.capability.scope, why=one.why, count=one.count)
            for one in found.compared.refused
        ],
        unexplained=[
            UnexplainedItem(capability=one.capability, scope=one.scope, granted=one.granted, count=one.times)
            for one in found.unexplained
        ],
        ceiling=str(declaration.ceiling),
        shrunk=str(found.shrunk),
        narrower=found.narrower,
        flagged=project.flagged,
    )


@get("/projects/{project_id:str}/history", media_type="application/x-ndjson", response_description="Stream Response")
async def history(request: ApiRequest, project_id: FromPath[str]) -> LargeAnswer[Any]:
    """Everything the project went through, as one file that ``lang audit verify`` checks."""
    await request.platform.store.main.read(project_of, request.principal, project_id)
    return history_file(request.platform, request.principal, project_id)


@post("/projects/{project_id:str}/audit/reviewed", status_code=200)
async def reviewed(request: ApiRequest, project_id: FromPath[str]) -> Done:
    """Takes the flag away that a project has where the runner saw what the program did not record."""
    await request.platform.store.main.write(clear_flag, request.principal, project_id)
    return Done()


router = Router(path="/", route_handlers=[audit, declared, reviewed, history], tags=["audit"])
