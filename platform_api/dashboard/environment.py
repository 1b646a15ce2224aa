"""Variables and secrets of a project. No page shows the value of a secret."""

from __future__ import annotations

from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath, FromQuery

from platform_api.browser import PageRequest
from platform_api.dashboard.forms import field
from platform_api.dashboard.project import project_page
from platform_api.dashboard.rendering import go
from platform_api.environment.values import delete_value, list_items, put_value
from platform_api.refusals import Refusal


async def _page(
    request: PageRequest, project_id: str, refusal: Refusal | None = None, *, name: str = "", kind: str = ""
) -> Response[Any]:
    platform = request.platform
    items = await platform.store.main.read(list_items, platform.keys, request.principal, project_id)
    return await project_page(request, project_id, "environment", refusal, environment=items, name=name, kind=kind)


@get("/projects/{project_id:str}/environment")
async def show_environment(request: PageRequest, project_id: FromPath[str], name: FromQuery[str] = "") -> Response[Any]:
    """The names, the values of variables, and what is missing."""
    return await _page(request, project_id, name=name)


@post("/projects/{project_id:str}/environment", status_code=200)
async def do_set(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Stores a value."""
    platform, name = request.platform, (await field(request, "name")).strip()
    value, kind = await field(request, "value"), await field(request, "kind")
    write = platform.store.main.write
    try:
        await write(put_value, platform.keys, request.principal, project_id, name, value, kind or None)
    except Refusal as refusal:
        return await _page(request, project_id, refusal, name=name, kind=kind)
    return go(f"/projects/{project_id}/environment")


@post("/projects/{project_id:str}/environment/delete", status_code=200)
async def do_unset(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Removes a name."""
    platform = request.platform
    try:
        await platform.store.main.write(
            delete_value, platform.keys, request.principal, project_id, await field(request, "name")
        )
    except Refusal as refusal:
        return await _page(request, project_id, refusal)
    return go(f"/projects/{project_id}/environment")
