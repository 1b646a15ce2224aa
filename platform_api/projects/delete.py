"""Deletes projects: at once where no runner knows of them, else when the runner has erased them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select, update

from platform_api.deploys.lifecycle import erase_asked
from platform_api.deploys.transitions import lifecycle_of, take_step, withdraw_review
from platform_api.history.outbox import note
from platform_api.packages.storage import prune_packages
from platform_api.projects.find import project_of
from platform_api.projects.reserved_addresses import reserve_address
from platform_api.store.database import announce
from platform_api.store.tables import deploys, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.accounts.principal import Principal


def delete_project(connection: Connection, principal: Principal, project_id: str) -> str:
    """Deletes a project and says what became of it: ``deleted``, or ``deleting`` while its runner erases container and volume.

    Errors: ``not_found``.
    """
    project = project_of(connection, principal, project_id, lock=True, deleting=True)
    before = lifecycle_of(connection, project)
    step = erase_asked(before, placed=project.home_runner is not None)
    if step.erased:
        remove_project(connection, project_id)
        announce(connection, project_id)
        announce(connection, f"account:{project.account_id}")
        return "deleted"
    if step.after != before:
        note(connection, project_id, {"event": "delete_asked", "by": principal.account_id, "via": principal.via})
        withdraw_review(connection, project_id, "cancelled")
        take_step(connection, project, before, step)
        # Nothing starts it any more: no schedule, no hook.
        stopped = {"schedule": "", "next_at": None, "hook_digest": None}
        connection.execute(update(projects).where(projects.c.id == project_id).values(stopped))
    return "deleting"


def remove_project(connection: Connection, project_id: str) -> None:
    """Takes everything of a project out of the store, and the packages that nothing else refers to.

    The address of a web project stays reserved for its account.
    """
    used = select(deploys.c.package_hash).where(deploys.c.project_id == project_id)
    own = select(projects.c.package_hash).where(projects.c.id == project_id)
    hashes = set(connection.execute(used.union(own)).scalars())
    reserve_address(connection, project_id)
    connection.execute(delete(projects).where(projects.c.id == project_id))
    prune_packages(connection, hashes)
