"""Asking for a rehearsal, and looking at rehearsals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select

from platform_api.deploys.request import Asked, given_ceiling, lock_for_deploy
from platform_api.history.outbox import note
from platform_api.identifiers import new_id
from platform_api.moments import now
from platform_api.packages.storage import load_inspection, store_package
from platform_api.plans.budgets import lock_account
from platform_api.plans.ceilings import effective
from platform_api.refusals import Refusal, not_found
from platform_api.runners.placement import place
from platform_api.runners.registry import next_change
from platform_api.store.database import announce
from platform_api.store.tables import ACTIVE_REHEARSALS, deploys, projects, rehearsals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from platform_api.accounts.principal import Principal
    from platform_api.packages.intake import Taken
    from platform_api.plans.plans import Plans

#: Rehearsals of a project that are kept.
KEPT = 20
ACTIVE = ("queued", "running")


def request_rehearsal(
    connection: Connection, plans: Plans, principal: Principal, project_id: str, taken: Taken | None
) -> Row[Any]:
    """Queues a rehearsal and gives its row. What runs of the project is not touched.

    Args:
        taken: the version; ``None`` rehearses the current package.

    Errors: those of ``project_of``; ``conflict`` while another rehearsal of the account is under way, and where no runner is
    there for it.
    """
    project = lock_for_deploy(connection, principal, project_id)
    account = lock_account(connection, project.account_id)
    _refuse_second(connection, project.account_id)
    if taken is None:
        package_hash, entry = project.package_hash, project.entry
        inspection = load_inspection(connection, package_hash)
    else:
        files, entry, kind, inspection = taken
        package_hash = store_package(connection, files, entry, kind, inspection)
    declared = effective(inspection, plans[account.plan])
    shown, _ = given_ceiling(connection, project, declared, None, Asked.by(principal))
    runner_id = place(connection, project, administrator=bool(account.admin))
    if runner_id is None:
        raise Refusal("conflict", "No runner with room for this project is connected: try again when one is.")
    rehearsal_id = new_id("reh")
    connection.execute(
        insert(rehearsals).values(
            id=rehearsal_id,
            project_id=project.id,
            package_hash=package_hash,
            entry=entry,
            ceiling=shown.text,
            live_ceiling=_live_ceiling(connection, project),
            status="queued",
            created_by=principal.account_id,
            change=next_change(connection, runner_id),
            created_at=now(),
        )
    )
    event = {"event": "rehearsal_asked", "rehearsal": rehearsal_id, "package": package_hash}
    note(connection, project.id, {**event, "by": principal.account_id, "via": principal.via})
    _prune(connection, project.id)
    announce(connection, project.id)
    return rehearsal_of(connection, project.id, rehearsal_id)


def rehearsal_of(connection: Connection, project_id: str, rehearsal_id: str) -> Row[Any]:
    """One rehearsal of a project.

    Errors: ``not_found``, also for one of another project.
    """
    row = connection.execute(
        select(rehearsals).where(rehearsals.c.id == rehearsal_id, rehearsals.c.project_id == project_id)
    ).one_or_none()
    if row is None:
        raise not_found("rehearsal")
    return row


def rehearsals_of(connection: Connection, project_id: str, limit: int, before: str | None = None) -> Sequence[Row[Any]]:
    """Rehearsals of a project, newest first.

    Args:
        before: only those with a lower id.
    """
    query = select(rehearsals).where(rehearsals.c.project_id == project_id).order_by(rehearsals.c.id.desc()).limit(limit)
    return connection.execute(query if before is None else query.where(rehearsals.c.id < before)).all()


def _refuse_second(connection: Connection, account_id: str) -> None:
    under_way = connection.execute(
        select(projects.c.name, rehearsals.c.id)
        .join(projects, projects.c.id == rehearsals.c.project_id)
        .where(projects.c.account_id == account_id, ACTIVE_REHEARSALS)
        .limit(1)
    ).one_or_none()
    if under_way is not None:
        raise Refusal(
            "conflict",
            f"A rehearsal of {under_way.name!r} is under way: wait for its end.",
            details={"rehearsal": under_way.id},
        )


def _live_ceiling(connection: Connection, project: Row[Any]) -> str | None:
    found = connection.execute(
        select(deploys.c.ceiling).where(deploys.c.id == project.current_deploy, deploys.c.status == "live")
    ).scalar_one_or_none()
    return None if found is None else str(json.loads(found)["text"])


def _prune(connection: Connection, project_id: str) -> None:
    """Removes the oldest rehearsals above those that are kept."""
    own = rehearsals.c.project_id == project_id
    newest = select(rehearsals.c.id).where(own).order_by(rehearsals.c.id.desc())
    oldest = connection.execute(newest.offset(KEPT).limit(1)).scalar_one_or_none()
    if oldest is not None:
        connection.execute(delete(rehearsals).where(own, rehearsals.c.id <= oldest, rehearsals.c.status.not_in(ACTIVE)))
