"""Operations on deploys other than requesting one: read, stop, confirm, roll back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from platform_api.deploys.lifecycle import stop_asked
from platform_api.deploys.request import Asked, Wanted, deploy_taken, lock_for_deploy, queue, request_deploy
from platform_api.deploys.transitions import lifecycle_of, take_step
from platform_api.history.outbox import note
from platform_api.moments import now
from platform_api.packages.storage import KEPT, load_inspection
from platform_api.plans.budgets import blocked, lock_account
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal, not_found
from platform_api.store.database import announce
from platform_api.store.tables import accounts, deploys, projects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from platform_api.accounts.principal import Principal
    from platform_api.environment.keys import Keys
    from platform_api.packages.intake import Taken
    from platform_api.plans.plans import Plans


def deploy_of(connection: Connection, project_id: str, deploy_id: str) -> Row[Any]:
    """One deploy of a project.

    Errors: ``not_found``, also for a deploy of another project.
    """
    row = connection.execute(select(deploys).where(deploys.c.id == deploy_id, deploys.c.project_id == project_id)).one_or_none()
    if row is None:
        raise not_found("deploy")
    return row


def deploys_of(connection: Connection, project_id: str, limit: int, before: int | None = None) -> Sequence[Row[Any]]:
    """Deploys of a project, newest first.

    Args:
        before: only those with a lower number.
    """
    query = select(deploys).where(deploys.c.project_id == project_id).order_by(deploys.c.number.desc()).limit(limit)
    return connection.execute(query if before is None else query.where(deploys.c.number < before)).all()


def stop(connection: Connection, principal: Principal, project_id: str) -> str:
    """Stops a project and returns its status.

    Errors: those of ``project_of``.
    """
    project = project_of(connection, principal, project_id, lock=True)
    before = lifecycle_of(connection, project)
    step = stop_asked(before, placed=project.home_runner is not None)
    if step.after != before:
        note(connection, project_id, {"event": "stop", "by": principal.account_id, "via": principal.via})
        take_step(connection, project, before, step)
    return step.after.status


def confirm(
    connection: Connection, plans: Plans, principal: Principal, project_id: str, deploy_id: str, *, agreed: bool
) -> Row[Any]:
    """Queues a deploy that waits for review, or cancels it, and returns its row. Its environment is that of its request.

    Errors: ``conflict`` for a deploy that does not wait for review, ``plan_limit``.
    """
    project = lock_for_deploy(connection, principal, project_id)
    deploy = deploy_of(connection, project_id, deploy_id)
    if deploy.status != "needs_review":
        raise Refusal("conflict", f"Deploy {deploy.number} does not wait for review: it is {deploy.status}.")
    event = {"event": "deploy_confirmed" if agreed else "deploy_declined", "deploy": deploy_id, "number": deploy.number}
    note(connection, project_id, {**event, "by": principal.account_id, "via": principal.via})
    if not agreed:
        values = {"status": "cancelled", "finished_at": now(), "environment": None}
    else:
        account = lock_account(connection, project.account_id)
        inspection, plan = load_inspection(connection, deploy.package_hash), plans[account.plan]
        refusal = blocked(connection, account, project, inspection, plan, deploy.memory_mb)
        if refusal:
            raise Refusal("plan_limit", refusal)
        wanted = Wanted(deploy_id, deploy.package_hash, deploy.entry, deploy.environment_made)
        generation = queue(connection, project, wanted, administrator=bool(account.admin))
        values = {"status": "queued", "generation": generation}
    connection.execute(update(deploys).where(deploys.c.id == deploy_id).values(values))
    announce(connection, project_id)
    return deploy_of(connection, project_id, deploy_id)


def roll_back(
    connection: Connection, keys: Keys, plans: Plans, principal: Principal, project_id: str, deploy_id: str
) -> Row[Any]:
    """Deploys the package of an earlier deploy, with the present environment and plan, and returns the new row.

    Errors: ``conflict`` for a deploy that never went live; those of ``request_deploy``.
    """
    project = lock_for_deploy(connection, principal, project_id)
    deploy = deploy_of(connection, project_id, deploy_id)
    if deploy.status not in ("live", "superseded"):
        raise Refusal("conflict", f"Deploy {deploy.number} is {deploy.status}: go back to one that was live.")
    if deploy.package_gone:
        raise Refusal(
            "conflict",
            f"The package of deploy {deploy.number} is not kept any more: those of the last {KEPT} that were live are.",
        )
    return request_deploy(connection, keys, plans, Asked.by(principal, "rollback"), project, deploy.package_hash)


def apply_environment(
    connection: Connection, keys: Keys, plans: Plans, principal: Principal, project_id: str, *, ceiling: str | None = None
) -> Row[Any]:
    """Deploys the package that is live, else the current one, with the present environment, and returns the new row.

    Errors: those of ``request_deploy``.
    """
    project = lock_for_deploy(connection, principal, project_id)
    package_hash = live_package(connection, project)
    return request_deploy(connection, keys, plans, Asked.by(principal, "apply"), project, package_hash, ceiling=ceiling)


def live_package(connection: Connection, project: Row[Any]) -> str:
    """The hash of the package that is live, else of the current one."""
    live = connection.execute(select(deploys.c.package_hash).where(deploys.c.id == project.current_deploy)).scalar_one_or_none()
    return str(live or project.package_hash)


def hooked_project(connection: Connection, digest: bytes) -> Row[Any]:
    """The project of a deploy hook.

    Errors: ``not_found``.
    """
    row = connection.execute(
        select(projects)
        .join(accounts, accounts.c.id == projects.c.account_id)
        .where(projects.c.hook_digest == digest, accounts.c.disabled.is_(False))
    ).one_or_none()
    if row is None:
        raise not_found("deploy hook")
    return row


def deploy_by_hook(connection: Connection, keys: Keys, plans: Plans, digest: bytes, taken: Taken | None) -> Row[Any]:
    """Requests a deploy on behalf of the hook of a project, and returns its row.

    Args:
        taken: the package from its repository; ``None`` deploys the current package.

    Errors: ``not_found``, ``conflict``, those of ``request_deploy``.
    """
    found = hooked_project(connection, digest)
    lock_account(connection, found.account_id)
    project = connection.execute(
        select(projects).where(projects.c.id == found.id, projects.c.hook_digest == digest).with_for_update()
    ).one_or_none()
    if project is None:
        raise not_found("deploy hook")
    if project.desired == "erased":
        raise Refusal("conflict", f"The project {project.name!r} is being deleted.")
    return deploy_taken(connection, keys, plans, Asked(project.account_id, "hook"), project, taken)


def set_hook(connection: Connection, principal: Principal, project_id: str, digest: bytes | None) -> None:
    """Sets, replaces or removes the deploy hook of a project.

    Args:
        digest: SHA-256 of the secret in the hook's address.
    """
    project_of(connection, principal, project_id, lock=True)
    connection.execute(update(projects).where(projects.c.id == project_id).values(hook_digest=digest, updated_at=now()))
