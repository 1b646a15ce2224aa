"""The frame that every page of a project has, and its first page: how it is, and the buttons that change that."""

from __future__ import annotations

from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from platform_api.api.schemas.projects import project_answer
from platform_api.browser import PageRequest
from platform_api.dashboard.forms import field
from platform_api.dashboard.rendering import go, page
from platform_api.deploys import operations
from platform_api.deploys.request import Asked, deploy_package
from platform_api.deploys.sources import pulled_package
from platform_api.gates.operations import gates_of_project
from platform_api.projects.find import project_of
from platform_api.projects.listing import detail_of
from platform_api.refusals import Refusal

#: Gates among which those that wait are counted; the newest ones.
_MOST_GATES = 100


async def project_page(
    request: PageRequest, project_id: str, tab: str, refusal: Refusal | None = None, **values: Any
) -> Response[Any]:
    """A page of a project, which is read first: who may not reach it sees nothing of the rest.

    Args:
        tab: which one; its template is ``project_{tab}.html``.
        refusal: why what was asked for on this page was not done.
    """
    platform = request.platform
    found = await platform.store.main.read(detail_of, platform.plans, request.principal, project_id)
    gates = await platform.store.main.read(gates_of_project, request.principal, project_id, _MOST_GATES, None)
    shown = {
        "pending_gates": sum(gate.status == "pending" for gate in gates),
        "tab": tab,
        "found": found,
        "row": found.project,
        "project": project_answer(platform.settings, found.project),
        "error": None if refusal is None else refusal.message,
        "faults": [] if refusal is None else (refusal.details or {}).get("errors", []),
    }
    return page(request, f"project_{tab}.html", 200 if refusal is None else refusal.status, **shown, **values)


@get("/projects/{project_id:str}")
async def show_overview(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """How a project is."""
    return await project_page(request, project_id, "overview")


@post("/projects/{project_id:str}/deploy", status_code=200)
async def do_deploy(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Deploys the current package, the newest of its repository, or the live one with the environment of today."""
    principal, platform = request.principal, request.platform
    main, what = platform.store.main, await field(request, "what")
    try:
        if what == "apply":
            await main.write(operations.apply_environment, platform.keys, platform.plans, principal, project_id)
        else:
            project = await main.read(project_of, principal, project_id)
            taken = await pulled_package(platform, project) if what == "pull" else None
            asked = Asked.by(principal, "pull" if what == "pull" else None)
            await main.write(deploy_package, platform.keys, platform.plans, principal, project_id, asked, taken)
    except Refusal as refusal:
        return await project_page(request, project_id, "overview", refusal)
    return go(f"/projects/{project_id}")


@post("/projects/{project_id:str}/stop", status_code=200)
async def do_stop(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Takes a project down."""
    try:
        await request.platform.store.main.write(operations.stop, request.principal, project_id)
    except Refusal as refusal:
        return await project_page(request, project_id, "overview", refusal)
    return go(f"/projects/{project_id}")
