"""The list of projects."""

from __future__ import annotations

from typing import Any

from litestar import Response, get

from platform_api.api.paging import Cursor, Page
from platform_api.api.schemas.projects import project_answer
from platform_api.browser import PageRequest
from platform_api.dashboard.rendering import page
from platform_api.gates.operations import pending_of_account
from platform_api.projects.listing import list_projects

_SHOWN = 60


@get("/")
async def show_projects(request: PageRequest, cursor: Cursor = None) -> Response[Any]:
    """The projects of the account, newest first."""
    platform, part = request.platform, Page(_SHOWN, cursor)
    rows = await platform.store.main.read(list_projects, request.principal, part.wanted, part.after)
    shown, following = part.cut(rows)
    waiting = len(await platform.store.main.read(pending_of_account, request.principal, _SHOWN, None))
    projects = [(row, project_answer(platform.settings, row)) for row in shown]
    return page(request, "projects.html", projects=projects, waiting=waiting, following=following or None)
