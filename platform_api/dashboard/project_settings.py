"""The settings of a project, its deploy hook, and its end."""

from __future__ import annotations

import secrets
from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from platform_api.accounts.tokens import digest
from platform_api.browser import PageRequest
from platform_api.dashboard.forms import field, number_field
from platform_api.dashboard.project import project_page
from platform_api.dashboard.rendering import go
from platform_api.deploys.operations import set_hook
from platform_api.projects.change import change_project, set_review
from platform_api.projects.delete import delete_project
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal
from platform_api.runs.requests import asked_sleep


async def _page(request: PageRequest, project_id: str, refusal: Refusal | None = None, *, hook: str = "") -> Response[Any]:
    plan = request.platform.plans[request.principal.plan]
    return await project_page(request, project_id, "settings", refusal, plan=plan, hook=hook)


@get("/projects/{project_id:str}/settings")
async def show_settings(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """What can be set."""
    return await _page(request, project_id)


@post("/projects/{project_id:str}/settings", status_code=200)
async def do_change(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Changes the name and the memory."""
    platform, name = request.platform, (await field(request, "name")).strip()
    try:
        memory = await number_field(request, "memory_mb")
        write = platform.store.main.write
        await write(change_project, platform.plans, request.principal, project_id, name, memory)
    except Refusal as refusal:
        return await _page(request, project_id, refusal)
    return go(f"/projects/{project_id}/settings")


@post("/projects/{project_id:str}/sleep", status_code=200)
async def do_sleep(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Sets when a web project sleeps."""
    plan = request.platform.plans[request.principal.plan]
    try:
        minutes = await number_field(request, "after_minutes")
        await request.platform.store.main.write(asked_sleep, request.principal, project_id, plan, minutes)
    except Refusal as refusal:
        return await _page(request, project_id, refusal)
    return go(f"/projects/{project_id}/settings")


@post("/projects/{project_id:str}/review", status_code=200)
async def do_review(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Turns the review of deploys that may do more on or off."""
    wanted = bool(await field(request, "review_widening"))
    try:
        await request.platform.store.main.write(set_review, request.principal, project_id, wanted)
    except Refusal as refusal:
        return await _page(request, project_id, refusal)
    return go(f"/projects/{project_id}/settings")


@post("/projects/{project_id:str}/hook", status_code=200)
async def do_hook(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Makes a deploy hook, whose address is shown this once, or takes it away."""
    platform, secret = request.platform, secrets.token_urlsafe(32)
    removed = await field(request, "what") == "remove"
    try:
        await platform.store.main.write(set_hook, request.principal, project_id, None if removed else digest(secret))
    except Refusal as refusal:
        return await _page(request, project_id, refusal)
    if removed:
        return go(f"/projects/{project_id}/settings")
    return await _page(request, project_id, hook=f"{platform.settings.base_url}/hooks/deploy/{secret}")


@post("/projects/{project_id:str}/delete", status_code=200)
async def do_delete(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Deletes a project whose name the person has typed."""
    main = request.platform.store.main
    project = await main.read(project_of, request.principal, project_id)
    try:
        if (await field(request, "name")).strip() != project.name.strip():
            raise Refusal("validation", "This is not the name of the project.", field="name")
        await main.write(delete_project, request.principal, project_id)
    except Refusal as refusal:
        return await _page(request, project_id, refusal)
    return go("/")
