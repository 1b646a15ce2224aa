"""The budgets of an account: what is used of them and what would be above them. Checked under the lock of the account's row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import ScalarSelect, exists, func, or_, select

from platform_api.plans.ceilings import effective
from platform_api.refusals import Refusal, not_found
from platform_api.store.tables import ON_THEIR_WAY, accounts, deploys, packages, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.packages.package import Inspection
    from platform_api.plans.plans import Plan

MEBIBYTE = 1024 * 1024


def lock_account(connection: Connection, account_id: str) -> Row[Any]:
    """The account's row, locked: two requests that both fit alone cannot go above a budget together."""
    row = connection.execute(select(accounts).where(accounts.c.id == account_id).with_for_update()).one_or_none()
    if row is None:
        raise not_found("account")
    return row


def memory_held() -> ScalarSelect[int]:
    """What the deploy of a project takes that is up or on its way: what the project is to have holds for its next one alone."""
    held = (deploys.c.project_id == projects.c.id) & (ON_THEIR_WAY | (deploys.c.id == projects.c.current_deploy))
    return select(func.coalesce(func.max(deploys.c.memory_mb), 0)).where(held).correlate(projects).scalar_subquery()


def blocked(
    connection: Connection,
    account_row: Row[Any],
    project_row: Row[Any],
    inspection: Inspection,
    plan: Plan,
    memory_mb: int | None = None,
) -> str:
    """The sentence that a deploy of this program would be refused with; the empty text when it can be deployed.

    Args:
        account_row: the account, locked where something follows from the answer.
        project_row: the project, which is counted once whether it is up already or not.
        inspection: of the package that would be deployed.
        plan: that of the account.
        memory_mb: what the deploy takes; ``None`` is what the project is to have.
    """
    used = services_used(connection, account_row.id, except_project=project_row.id)
    return over_plan(plan, inspection, project_row.kind, memory_mb or project_row.memory_mb, *used)


def over_plan(plan: Plan, inspection: Inspection, kind: str, memory_mb: int, services: int, memory: int) -> str:
    """As ``blocked``, of numbers alone.

    Args:
        services: the other services of the account that are up or on their way.
        memory: what these have, in MiB.
    """
    denied = effective(inspection, plan).denied_by_plan
    if denied:
        return denied[0].reason
    if memory_mb > plan.project_memory_mb:
        return (
            f"The project asks for {memory_mb} MB of memory; the plan {plan.name} allows {plan.project_memory_mb} MB a project."
        )
    if kind == "job":
        return ""
    if services + 1 > plan.services:
        return f"The plan {plan.name} allows {plan.services} services at a time, and {services} others are up: stop one."
    if memory + memory_mb > plan.memory_mb:
        free = max(0, plan.memory_mb - memory)
        return (
            f"The plan {plan.name} allows {plan.memory_mb} MB of memory in all and the other services have {memory} MB: "
            f"{free} MB are left, this project needs {memory_mb} MB."
        )
    return ""


def services_used(connection: Connection, account_id: str, *, except_project: str | None = None) -> tuple[int, int]:
    """How many web and worker projects of an account are up or have a deploy on its way, and their memory in MiB."""
    on_its_way = exists(select(deploys.c.id).where(deploys.c.project_id == projects.c.id, ON_THEIR_WAY))
    query = select(func.count(), func.coalesce(func.sum(memory_held()), 0)).where(
        projects.c.account_id == account_id,
        projects.c.kind.in_(("web", "worker")),
        or_(projects.c.desired == "up", on_its_way),
    )
    if except_project is not None:
        query = query.where(projects.c.id != except_project)
    services, memory = connection.execute(query).one()
    return int(services), int(memory)


def stored_used(connection: Connection, account_id: str) -> tuple[int, int]:
    """How many projects an account has, and the bytes of the packages that they and their deploys refer to."""
    own = select(projects.c.id).where(projects.c.account_id == account_id)
    count = connection.execute(select(func.count()).select_from(own.subquery())).scalar_one()
    current = select(projects.c.package_hash).where(projects.c.account_id == account_id)
    deployed = select(deploys.c.package_hash).where(deploys.c.project_id.in_(own), deploys.c.package_gone.is_(False))
    stored = select(func.coalesce(func.sum(packages.c.stored), 0)).where(packages.c.hash.in_(current.union(deployed)))
    return int(count), int(connection.execute(stored).scalar_one())


def refuse_above_stored(connection: Connection, account_id: str, plan: Plan) -> None:
    """Called after the writes that it looks at, in their transaction.

    Errors: ``plan_limit`` when the account has more projects or more stored packages than its plan allows.
    """
    count, stored = stored_used(connection, account_id)
    if count > plan.projects:
        raise Refusal("plan_limit", f"The plan {plan.name} allows {plan.projects} projects, and all are in use: delete one.")
    if stored > plan.packages_mb * MEBIBYTE:
        raise Refusal(
            "plan_limit",
            f"The plan {plan.name} allows {plan.packages_mb} MB of stored packages, and this makes {-(-stored // MEBIBYTE)}: "
            "delete a project.",
        )
