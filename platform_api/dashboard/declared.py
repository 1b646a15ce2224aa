"""Declared versus done, as two pages of a project show it, and the button that narrows its ceiling to what it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from litestar import Response, post
from litestar.params import FromPath

from platform_api.browser import PageRequest
from platform_api.dashboard.forms import field
from platform_api.dashboard.project import project_page
from platform_api.dashboard.rendering import go
from platform_api.deploys.operations import apply_environment
from platform_api.moments import DAY, now
from platform_api.projects.find import project_of
from platform_api.records.declared import Findings, comparison_of
from platform_api.records.witnesses import clear_flag
from platform_api.refusals import Refusal

DAYS = 30


@dataclass(frozen=True, slots=True)
class Found:
    """What a project declares beside what it did.

    Attributes:
        live: whether a deploy of it is live: before that, nothing can be narrowed.
        since: the oldest record that was looked at.
        ceiling: the one there is, ``shrunk`` the one that would have been enough.
    """

    findings: Findings
    live: bool
    since: int | None
    ceiling: str
    shrunk: str


async def found_of(request: PageRequest, project_id: str) -> Found:
    """Looks at the last 30 days."""
    platform = request.platform
    project = await platform.store.main.read(project_of, request.principal, project_id)
    both = await comparison_of(platform.store, platform.comparisons, project, now() - DAYS * DAY)
    live = both.declaration.deploy_id is not None
    return Found(both.findings, live, both.since, str(both.declaration.ceiling), str(both.findings.shrunk))


@post("/projects/{project_id:str}/reviewed", status_code=200)
async def do_review(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Takes the flag of a project away: its owner has seen what differs."""
    await request.platform.store.main.write(clear_flag, request.principal, project_id)
    return go(f"/projects/{project_id}/audit")


@post("/projects/{project_id:str}/shrink", status_code=200)
async def do_shrink(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """Deploys what is live under the ceiling that the page proposed. What has been done meanwhile is not taken away unseen."""
    platform, proposed = request.platform, await field(request, "ceiling")
    try:
        found = await found_of(request, project_id)
        if not found.findings.narrower or proposed != found.shrunk:
            raise Refusal("conflict", "The proposal has changed since this page was made: look at it again.")
        write = platform.store.main.write
        await write(apply_environment, platform.keys, platform.plans, request.principal, project_id, ceiling=proposed)
    except Refusal as refusal:
        return await project_page(request, project_id, "overview", refusal)
    return go(f"/projects/{project_id}/deploys")
