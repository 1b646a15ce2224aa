"""Where a person is told of what waits for them or went wrong."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath

from platform_api.api.schemas.notices import NewNotice
from platform_api.browser import PageRequest
from platform_api.dashboard.forms import field, fields
from platform_api.dashboard.rendering import go, page
from platform_api.field_faults import refusal_of
from platform_api.notices.operations import add_checked, send_test
from platform_api.notices.settings import delete_notice, every_notice
from platform_api.notices.text import KINDS
from platform_api.projects.listing import list_projects
from platform_api.refusals import Refusal

_MOST = 500


async def _page(request: PageRequest, refusal: Refusal | None = None, *, said: str = "") -> Response[Any]:
    main, principal = request.platform.store.main, request.principal
    return page(
        request,
        "notices.html",
        200 if refusal is None else refusal.status,
        notices=await main.read(every_notice, principal),
        projects=await main.read(list_projects, principal, _MOST, None),
        kinds=KINDS,
        said=said,
        error=None if refusal is None else refusal.message,
    )


@get("/notices")
async def show_notices(request: PageRequest) -> Response[Any]:
    """The page."""
    return await _page(request)


@post("/notices", status_code=200)
async def do_add(request: PageRequest) -> Response[Any]:
    """Sends notices to one more place."""
    given = {"url": (await field(request, "url")).strip(), "name": (await field(request, "name")).strip()}
    try:
        try:
            wanted = msgspec.convert(given, NewNotice)
        except msgspec.ValidationError as error:
            raise refusal_of(error) from None
        kinds, project = await fields(request, "kinds"), await field(request, "project") or None
        await add_checked(request.platform, request.principal, project, url=wanted.url, name=wanted.name, kinds=kinds)
    except Refusal as refusal:
        return await _page(request, refusal)
    return go("/notices")


@post("/notices/{notice_id:str}/test", status_code=200)
async def do_test(request: PageRequest, notice_id: FromPath[str]) -> Response[Any]:
    """Sends a notice there now."""
    try:
        await send_test(request.platform, request.principal, await field(request, "project") or None, notice_id)
    except Refusal as refusal:
        return await _page(request, refusal)
    return await _page(request, said="notices.tried")


@post("/notices/{notice_id:str}/remove", status_code=200)
async def do_remove(request: PageRequest, notice_id: FromPath[str]) -> Response[Any]:
    """Sends no notices there any more."""
    project = await field(request, "project") or None
    try:
        await request.platform.store.main.write(delete_notice, request.principal, project, notice_id)
    except Refusal as refusal:
        return await _page(request, refusal)
    return go("/notices")
