"""Which packages a runner may read: those of the deploys of its projects, and those that it is to rehearse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from platform_api.refusals import not_found
from platform_api.store.tables import ACTIVE_REHEARSALS, deploys, projects, rehearsals

if TYPE_CHECKING:
    from sqlalchemy import Connection


def refuse_foreign_package(connection: Connection, runner_id: str, package_hash: str) -> None:
    """Errors: ``not_found`` for a package that no deploy of a project of this runner has, and no rehearsal under way."""
    for table, more in ((deploys, ()), (rehearsals, (ACTIVE_REHEARSALS,))):
        found = connection.execute(
            select(table.c.id)
            .join(projects, projects.c.id == table.c.project_id)
            .where(projects.c.home_runner == runner_id, table.c.package_hash == package_hash, *more)
            .limit(1)
        ).one_or_none()
        if found is not None:
            return
    raise not_found("package")
