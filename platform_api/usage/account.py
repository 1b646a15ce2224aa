"""What an account uses of its plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from platform_api.moments import DAY, MINUTE, now
from platform_api.plans.budgets import MEBIBYTE, services_used, stored_used
from platform_api.store.tables import figures, projects, runs

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: A sample that is older says nothing of now.
_FRESH = 10 * MINUTE


@dataclass(frozen=True, slots=True)
class Usage:
    """What is in use.

    Attributes:
        services: web and worker projects that are up or on their way, and ``memory_mb`` what is set aside for them.
        memory_taken_mb: what programs take now, as their runners see it, and ``disk_mb`` what lies in their volumes.
        runs: of the last 30 days.
    """

    services: int
    memory_mb: int
    projects: int
    packages_mb: int
    memory_taken_mb: int
    disk_mb: int
    runs: int


def usage_of(connection: Connection, account_id: str) -> Usage:
    """What an account uses now."""
    moment = now()
    services, memory = services_used(connection, account_id)
    count, stored = stored_used(connection, account_id)
    own = select(projects.c.id).where(projects.c.account_id == account_id)
    newest = (
        select(figures.c.project_id, func.max(figures.c.minute).label("newest"))
        .where(figures.c.project_id.in_(own))
        .group_by(figures.c.project_id)
        .subquery()
    )
    samples = connection.execute(
        select(figures).join(newest, (figures.c.project_id == newest.c.project_id) & (figures.c.minute == newest.c.newest))
    ).all()
    started = select(func.count()).select_from(runs).where(runs.c.project_id.in_(own), runs.c.created_at >= moment - 30 * DAY)
    return Usage(
        services=services,
        memory_mb=memory,
        projects=count,
        packages_mb=-(-stored // MEBIBYTE),
        memory_taken_mb=sum(row.memory_mb for row in samples if row.minute >= moment - _FRESH),
        disk_mb=sum(row.disk_mb for row in samples),
        runs=connection.scalar(started) or 0,
    )
