"""Human gates: the inbox of an account, the gates of a project, deciding one."""

from __future__ import annotations

from litestar import Router, get, post
from litestar.params import FromPath, JSONBody

from platform_api.api.paging import Cursor, Limit, Page
from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.approvals import Approvals, Decide, Decided, Inbox, approval_answer
from platform_api.gates.operations import decide, gates_of_project, pending_of_account, recent_of_account
from platform_api.kept_answers import FROM_THE_STORE
from platform_api.projects.find import project_of


@get("/approvals")
async def inbox(request: ApiRequest, limit: Limit = None, cursor: Cursor = None) -> Inbox:
    """The pending gates of all programs of the account, and those that were closed within seven days."""
    principal, main = request.principal, request.platform.store.main
    principal.needs("read")
    page = Page(limit, cursor)
    shown, following = page.cut(await main.read(pending_of_account, principal, page.wanted, page.after))
    recent = await main.read(recent_of_account, principal)
    return Inbox(
        items=[approval_answer(row) for row in shown],
        recent=[approval_answer(row) for row in recent],
        next_cursor=following,
    )


@get("/projects/{project_id:str}/approvals", opt=FROM_THE_STORE)
async def of_project(request: ApiRequest, project_id: FromPath[str], limit: Limit = None, cursor: Cursor = None) -> Approvals:
    """The gates of a project, pending and closed."""
    principal, main = request.principal, request.platform.store.main
    principal.needs("read")
    page = Page(limit, cursor)
    await main.read(project_of, principal, project_id)
    shown, following = page.cut(await main.read(gates_of_project, principal, project_id, page.wanted, page.after))
    return Approvals(items=[approval_answer(row) for row in shown], next_cursor=following)


@post("/approvals/{approval_id:str}", status_code=200)
async def answer(request: ApiRequest, approval_id: FromPath[str], data: JSONBody[Decide]) -> Decided:
    """Decides a gate. Of several who decide at once, one does."""
    principal = request.principal
    principal.needs("approve")
    row = await request.platform.store.main.write(decide, principal, approval_id, decision=data.decision, value=data.value)
    return Decided(status=row.status, delivered=row.delivered_at is not None)


router = Router(path="/", route_handlers=[inbox, of_project, answer], tags=["approvals"])
