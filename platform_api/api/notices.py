"""Where an account, or one of its projects, wants to be told of what waits for it or went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import Router, delete, get, post
from litestar.params import FromPath, JSONBody

from platform_api.accounts import throttle
from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.notices import NewNotice, Notice, NoticeMade, Notices
from platform_api.api.schemas.shared import Done
from platform_api.moments import MINUTE, rfc3339, rfc3339_or_none
from platform_api.notices import sending
from platform_api.notices.settings import add_notice, delete_notice, find_notice, list_notices, parse_kinds, url_of
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

_LIMIT, _WINDOW = 20, 15 * MINUTE


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
    platform, kinds = request.platform, parse_kinds(data.kinds)
    if project_id is not None:
        await platform.store.main.read(project_of, request.principal, project_id)
    await platform.store.main.write(_count, request.principal.account_id)
    why = await sending.post(data.url, "", "", platform.settings, send=False)
    if why:
        raise Refusal("validation", f"url: {why}.", field="url")
    made = await platform.store.main.write(
        add_notice, platform.keys, request.principal, project_id, name=data.name, url=data.url, kinds=kinds
    )
    return NoticeMade(id=made)


async def _try(request: ApiRequest, project_id: str | None, notice_id: str) -> Done:
    platform = request.platform
    row = await platform.store.main.read(find_notice, request.principal, project_id, notice_id)
    await platform.store.main.write(_count, request.principal.account_id)
    body = f"Notices of {platform.settings.base_url} come here."
    why = await sending.post(url_of(platform.keys, row), "A test", body, platform.settings)
    if why:
        raise Refusal("upstream_failed", f"The notice was not sent: {why}.")
    return Done()


def _count(connection: Connection, account_id: str) -> None:
    key = f"notice:{account_id}"
    throttle.refuse_above(connection, key, _LIMIT, _WINDOW, "Too many notices were tried")
    throttle.count(connection, key, _WINDOW)


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
