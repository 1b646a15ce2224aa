"""Where an account, or one of its projects, wants to be told of what waits for it or went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import Router, delete, get, post
from litestar.params import FromPath, JSONBody

from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.notices import NewNotice, Notice, NoticeMade, Notices
from platform_api.api.schemas.shared import Done
from platform_api.moments import rfc3339, rfc3339_or_none
from platform_api.notices.operations import add_checked, send_test
from platform_api.notices.settings import delete_notice, list_notices

if TYPE_CHECKING:
    from sqlalchemy import Row


@get("/notices")
async def of_account(request: ApiRequest) -> Notices:
    """Where notices of all projects of the account go."""
    return await _list(request, None)


@post("/notices", status_code=200)
async def add_to_account(request: ApiRequest, data: JSONBody[NewNotice]) -> NoticeMade:
    """Sends notices of all projects of the account to one more place."""
    return await _add(request, None, data)


@post("/notices/{notice_id:str}/test", status_code=200)
async def try_of_account(request: ApiRequest, notice_id: FromPath[str]) -> Done:
    """Sends a notice there now."""
    return await _try(request, None, notice_id)


@delete("/notices/{notice_id:str}", status_code=200)
async def delete_of_account(request: ApiRequest, notice_id: FromPath[str]) -> Done:
    """Sends no notices there any more."""
    await request.platform.store.main.write(delete_notice, request.principal, None, notice_id)
    return Done()


@get("/projects/{project_id:str}/notices")
async def of_project(request: ApiRequest, project_id: FromPath[str]) -> Notices:
    """Where notices of this project go, beside those of the account."""
    return await _list(request, project_id)


@post("/projects/{project_id:str}/notices", status_code=200)
async def add_to_project(request: ApiRequest, project_id: FromPath[str], data: JSONBody[NewNotice]) -> NoticeMade:
    """Sends notices of this project to one more place."""
    return await _add(request, project_id, data)


@post("/projects/{project_id:str}/notices/{notice_id:str}/test", status_code=200)
async def try_of_project(request: ApiRequest, project_id: FromPath[str], notice_id: FromPath[str]) -> Done:
    """Sends a notice there now."""
    return await _try(request, project_id, notice_id)


@delete("/projects/{project_id:str}/notices/{notice_id:str}", status_code=200)
async def delete_of_project(request: ApiRequest, project_id: FromPath[str], notice_id: FromPath[str]) -> Done:
    """Sends no notices there any more."""
    await request.platform.store.main.write(delete_notice, request.principal, project_id, notice_id)
    return Done()


async def _list(request: ApiRequest, project_id: str | None) -> Notices:
    rows = await request.platform.store.main.read(list_notices, request.principal, project_id)
    return Notices(items=[_shown(row) for row in rows])


async def _add(request: ApiRequest, project_id: str | None, data: NewNotice) -> NoticeMade:
    made = await add_checked(request.platform, request.principal, project_id, url=data.url, name=data.name, kinds=data.kinds)
    return NoticeMade(id=made)


async def _try(request: ApiRequest, project_id: str | None, notice_id: str) -> Done:
    await send_test(request.platform, request.principal, project_id, notice_id)
    return Done()


def _shown(row: Row[Any]) -> Notice:
    return Notice(
        id=row.id,
        project_id=row.project_id,
        name=row.name,
        service=row.service,
        kinds=row.kinds.split(),
        created_at=rfc3339(row.created_at),
        sent_at=rfc3339_or_none(row.sent_at),
        failed_at=rfc3339_or_none(row.failed_at),
        error=row.error,
    )


router = Router(
    path="/",
    route_handlers=[
        of_account,
        add_to_account,
        try_of_account,
        delete_of_account,
        of_project,
        add_to_project,
        try_of_project,
        delete_of_project,
    ],
    tags=["notices"],
)
