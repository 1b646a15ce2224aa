"""A new project: pasted, uploaded, of a recipe or of a repository."""

from __future__ import annotations

from typing import Any

from litestar import Response, get, post
from litestar.params import FromQuery

from platform_api.browser import PageRequest
from platform_api.dashboard.forms import field, source_or_files
from platform_api.dashboard.rendering import go, page
from platform_api.deploys.request import Asked, deploy_package
from platform_api.projects.create import create_project
from platform_api.projects.names import refuse_bad_name
from platform_api.projects.sources import Wanted, new_project
from platform_api.refusals import Refusal

WAYS = ("paste", "upload", "recipe", "repo")
_FIELDS = ("name", "source", "recipe", "repo", "ref", "entry", "kind")


async def _page(request: PageRequest, way: str, given: dict[str, str], refusal: Refusal | None = None) -> Response[Any]:
    recipes = await request.platform.recipes.listed() if way == "recipe" else []
    return page(
        request,
        "new_project.html",
        200 if refusal is None else refusal.status,
        way=way,
        ways=WAYS,
        given=given,
        recipes=recipes,
        error=None if refusal is None else refusal.message,
        faults=[] if refusal is None else (refusal.details or {}).get("errors", []),
    )


@get("/new")
async def show_new(request: PageRequest, way: FromQuery[str] = "paste", recipe: FromQuery[str] = "") -> Response[Any]:
    """The form of one way."""
    given = {**dict.fromkeys(_FIELDS, ""), "recipe": recipe}
    return await _page(request, way if way in WAYS else "paste", given)


@post("/new", status_code=200)
async def do_new(request: PageRequest) -> Response[Any]:
    """Makes the project; deployed at once where the person asks for it and nothing is missing."""
    principal, platform = request.principal, request.platform
    main, way = platform.store.main, await field(request, "way")
    given = {name: await field(request, name) for name in _FIELDS}
    try:
        name = given["name"].strip()
        refuse_bad_name(name)
        wanted = await _wanted(request, way, name, given)
        new = await new_project(platform, principal.account_id, wanted)
        first_port = platform.settings.first_apps_port
        project_id = await main.write(create_project, platform.plans, first_port, principal.account_id, new)
    except Refusal as refusal:
        return await _page(request, way if way in WAYS else "paste", given, refusal)
    if await field(request, "deploy") and not new.inspection.secrets:
        try:
            asked = Asked.by(principal)
            await main.write(deploy_package, platform.keys, platform.plans, principal, project_id, asked, None)
        except Refusal:
            pass  # the page of the project says what blocks it
    return go(f"/projects/{project_id}")


async def _wanted(request: PageRequest, way: str, name: str, given: dict[str, str]) -> Wanted:
    kind, entry = given["kind"] or None, given["entry"].strip() or None
    if way == "recipe":
        return Wanted(name, recipe=given["recipe"])
    if way == "repo":
        ref = given["ref"].strip() or None
        return Wanted(name, repo=given["repo"].strip(), ref=ref, entry=entry, kind=kind)
    source, files = await source_or_files(request)
    if way == "upload":
        return Wanted(name, files=files or [], entry=entry, kind=kind)
    return Wanted(name, source=source or "", kind=kind)
