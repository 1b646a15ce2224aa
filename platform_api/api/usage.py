"""What projects take, and what an account uses of its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from litestar import Router, get
from litestar.params import FromPath, QueryParameter

from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.usage import AccountUsage, ProjectMetrics, Sample, Used
from platform_api.moments import MINUTE, now, rfc3339
from platform_api.projects.find import project_of
from platform_api.usage.account import usage_of
from platform_api.usage.figures import figures_of

if TYPE_CHECKING:
    from sqlalchemy import Row


@get("/projects/{project_id:str}/metrics")
async def metrics(
    request: ApiRequest, project_id: FromPath[str], minutes: Annotated[int, QueryParameter(ge=1, le=1440)] = 60
) -> ProjectMetrics:
    """What a project took in the last ``minutes``, a sample for each in which its runner reported."""
    main = request.platform.store.main
    await main.read(project_of, request.principal, project_id)
    samples = [_sample(row) for row in await main.read(figures_of, project_id, now() - minutes * MINUTE)]
    return ProjectMetrics(items=samples, current=samples[-1] if samples else None)


@get("/usage")
async def usage(request: ApiRequest) -> AccountUsage:
    """What the account uses of its plan."""
    platform = request.platform
    used, plan = await platform.store.main.scan(usage_of, request.principal.account_id), platform.plans[request.principal.plan]
    return AccountUsage(
        plan=plan.name,
        services=Used(used=used.services, limit=plan.services),
        memory_mb=Used(used=used.memory_mb, limit=plan.memory_mb),
        projects=Used(used=used.projects, limit=plan.projects),
        packages_mb=Used(used=used.packages_mb, limit=plan.packages_mb),
        memory_taken_mb=used.memory_taken_mb,
        disk_mb=used.disk_mb,
        runs=used.runs,
    )


def _sample(row: Row[Any]) -> Sample:
    return Sample(
        at=rfc3339(row.minute),
        memory_mb=row.memory_mb,
        cpu_seconds=row.cpu_ms / 1000,
        disk_mb=row.disk_mb,
        requests=row.requests,
    )


router = Router(path="/", route_handlers=[metrics, usage], tags=["usage"])
