"""Which packages a runner may read: those of the deploys of its projects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from platform_api.refusals import not_found
from platform_api.store.tables import deploys, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection


def refuse_foreign_package(connection: Connection, runner_id: str, package_hash: str) -> None:
    """Errors: ``not_found`` for a package that no deploy of a project of this runner has."""
    found = connection.execute(
        select(deploys.c.id)
        .join(projects, projects.c.id == deploys.c.project_id)
        .where(projects.c.home_runner == runner_id, deploys.c.package_hash == package_hash)
        .limit(1)
    ).one_or_none()
    if found is None:
        raise not_found("package")
