"""Deletes projects: at once where no runner knows of them, else when the runner has erased them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, update

from platform_api.history.outbox import note
from platform_api.moments import now
from platform_api.packages.storage import prune_packages
from platform_api.projects.find import project_of
from platform_api.store.database import announce
from platform_api.store.tables import deploys, projects, runners

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.accounts.principal import Principal


def delete_project(connection: Connection, principal: Principal, project_id: str) -> str:
    """Deletes a project and says what became of it: ``deleted``, or ``deleting`` while its runner erases container and volume.

    Errors: ``not_found``.
    """
    project = project_of(connection, principal, project_id, lock=True, deleting=True)
    if project.home_runner is None:
        remove_project(connection, project_id)
        announce(connection, f"account:{project.account_id}")
        return "deleted"
    if project.desired != "erased":
        _ask_to_erase(connection, project, principal.account_id)
    return "deleting"


def _ask_to_erase(connection: Connection, project: Row[Any], account_id: str) -> None:
    moment = now()
    waiting = deploys.c.status.in_(("needs_review", "queued", "starting"))
    connection.execute(
        update(deploys)
        .where(deploys.c.project_id == project.id, waiting)
        .values(status="cancelled", environment=None, finished_at=moment)
    )
    runner = runners.c.id == project.home_runner
    connection.execute(update(runners).where(runner).values(change=runners.c.change + 1))
    connection.execute(
        update(projects)
        .where(projects.c.id == project.id)
        .values(
            desired="erased",
            generation=project.generation + 1,
            change=select(runners.c.change).where(runner).scalar_subquery(),
            phase_detail="",
            schedule="",
            next_at=None,
            hook_digest=None,
            updated_at=moment,
        )
    )
    note(connection, project.id, {"event": "delete_asked", "by": account_id})
    announce(connection, project.id)
    announce(connection, f"runner:{project.home_runner}")


def remove_project(connection: Connection, project_id: str) -> None:
    """Takes everything of a project out of the store, and the packages that nothing else refers to."""
    used = select(deploys.c.package_hash).where(deploys.c.project_id == project_id)
    own = select(projects.c.package_hash).where(projects.c.id == project_id)
    hashes = set(connection.execute(used.union(own)).scalars())
    connection.execute(delete(projects).where(projects.c.id == project_id))
    prune_packages(connection, hashes)
