"""What an account uses of its plan, and what a project takes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from litestar import Response, get
from litestar.params import FromPath

from platform_api.browser import PageRequest
from platform_api.dashboard.project import project_page
from platform_api.dashboard.rendering import page
from platform_api.moments import HOUR, MINUTE, now
from platform_api.projects.find import project_of
from platform_api.usage.account import usage_of
from platform_api.usage.figures import figures_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row

#: What is shown, and how old a sample may be that says something of now.
_SHOWN, _FRESH = HOUR, 10 * MINUTE


def used_since(rows: Sequence[Row[Any]]) -> tuple[float, int]:
    """Processor seconds and requests between the first sample and the last. Both count anew when a program starts anew."""
    processor = requests = 0
    for before, after in pairwise(rows):
        processor += after.cpu_ms - before.cpu_ms if after.cpu_ms >= before.cpu_ms else after.cpu_ms
        requests += after.requests - before.requests if after.requests >= before.requests else after.requests
    return processor / 1000, requests


@get("/usage")
async def show_usage(request: PageRequest) -> Response[Any]:
    """What is in use of the plan."""
    platform, principal = request.platform, request.principal
    used = await platform.store.main.scan(usage_of, principal.account_id)
    return page(request, "usage.html", used=used, plan=platform.plans[principal.plan])


@get("/projects/{project_id:str}/metrics")
async def show_metrics(request: PageRequest, project_id: FromPath[str]) -> Response[Any]:
    """What a project took in the last hour."""
    main = request.platform.store.main
    project = await main.read(project_of, request.principal, project_id)
    rows = await main.read(figures_of, project_id, now() - _SHOWN)
    processor, requests = used_since(rows)
    return await project_page(
        request,
        project_id,
        "metrics",
        samples=rows[::-1],
        current=rows[-1] if rows and rows[-1].minute > now() - _FRESH else None,
        processor=processor,
        requests=requests,
        disk_limit=request.platform.plans[request.principal.plan].disk_mb,
        most=max([project.memory_mb, *(row.memory_mb for row in rows)]),
    )
