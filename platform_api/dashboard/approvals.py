"""What programs ask of a person: the inbox of an account, the gates of one project, the decision."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from litestar import Response, get, post
from litestar.params import FromPath

from platform_api.api.paging import Cursor, Page
from platform_api.browser import PageRequest
from platform_api.dashboard.forms import field
from platform_api.dashboard.project import project_page
from platform_api.dashboard.rendering import go, inside, page
from platform_api.gates.operations import decide, gates_of_project, pending_of_account, recent_of_account
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

_SHOWN = 50


def _with_options(rows: Sequence[Row[Any]]) -> list[tuple[Row[Any], list[str]]]:
    return [(row, json.loads(row.options) if row.options else []) for row in rows]


async def _inbox(request: PageRequest, refusal: Refusal | None = None, cursor: str | None = None) -> Response[Any]:
    main, part = request.platform.store.main, Page(_SHOWN, cursor)
    shown, following = part.cut(await main.read(pending_of_account, request.principal, part.wanted, part.after))
    recent = await main.read(recent_of_account, request.principal)
    return page(
        request,
        "approvals.html",
        200 if refusal is None else refusal.status,
        pending=_with_options(shown),
        recent=recent,
        following=following or None,
        error=None if refusal is None else refusal.message,
        back="/approvals",
    )


@get("/approvals")
async def show_inbox(request: PageRequest, cursor: Cursor = None) -> Response[Any]:
    """What waits for a decision, and what was decided lately."""
    return await _inbox(request, cursor=cursor)


@post("/approvals/{approval_id:str}", status_code=200)
async def do_decide(request: PageRequest, approval_id: FromPath[str]) -> Response[Any]:
    """Decides one gate."""
    request.principal.needs("approve")
    given, option = await field(request, "decision"), await field(request, "option")
    decision = {"yes": True, "no": False}.get(given)
    value = None if decision is not None else option or await field(request, "value")
    try:
        await request.platform.store.main.write(decide, request.principal, approval_id, decision=decision, value=value)
    except Refusal as refusal:
        if refusal.status == 404:
            raise
        return await _inbox(request, refusal)
    return go(inside(await field(request, "back")))


@get("/projects/{project_id:str}/approvals")
async def show_gates(request: PageRequest, project_id: FromPath[str], cursor: Cursor = None) -> Response[Any]:
    """The gates of one project."""
    main, part = request.platform.store.main, Page(_SHOWN, cursor)
    await main.read(project_of, request.principal, project_id)
    rows, following = part.cut(await main.read(gates_of_project, request.principal, project_id, part.wanted, part.after))
    return await project_page(
        request,
        project_id,
        "approvals",
        pending=_with_options([row for row in rows if row.status == "pending"]),
        recent=[row for row in rows if row.status != "pending"],
        following=following or None,
        back=f"/projects/{project_id}/approvals",
    )
