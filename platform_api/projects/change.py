"""Changes what an owner can change of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import update

from platform_api.history.outbox import note
from platform_api.moments import now
from platform_api.packages.lang_toml import LEAST_MEMORY
from platform_api.plans.budgets import lock_account
from platform_api.projects.find import project_of
from platform_api.projects.names import refuse_bad_name
from platform_api.refusals import Refusal
from platform_api.store.database import announce
from platform_api.store.tables import projects

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.accounts.principal import Principal
    from platform_api.plans.plans import Plans


def change_project(
    connection: Connection,
    plans: Plans,
    principal: Principal,
    project_id: str,
    name: str | None,
    memory_mb: int | None,
    review_widening: bool | None = None,
) -> None:
    """Gives a project another name, another memory or another rule of review; ``None`` leaves it as it is. The slug stays.

    Args:
        memory_mb: in MiB, from the next deploy on.
        review_widening: as of ``set_review``.

    Errors: ``validation``; ``plan_limit`` for more memory than the plan allows a project; as of ``set_review``.
    """
    if name is not None:
        refuse_bad_name(name)
    plan = plans[lock_account(connection, principal.account_id).plan]
    project = project_of(connection, principal, project_id, lock=True)
    if memory_mb is not None:
        if memory_mb < LEAST_MEMORY:
            raise Refusal("validation", f"memory_mb is at least {LEAST_MEMORY}.", field="memory_mb")
        if memory_mb > plan.project_memory_mb:
            raise Refusal("plan_limit", f"The plan {plan.name} allows {plan.project_memory_mb} MB of memory a project.")
    values = {"name": name or project.name, "memory_mb": memory_mb or project.memory_mb, "updated_at": now()}
    connection.execute(update(projects).where(projects.c.id == project_id).values(**values))
    announce(connection, project_id)
    if review_widening is not None and review_widening != project.review_widening:
        set_review(connection, principal, project_id, review_widening)


def set_review(connection: Connection, principal: Principal, project_id: str, review_widening: bool) -> None:
    """Asks for a person's word before a deploy that may do more than the live one, or no longer.

    Errors: ``forbidden`` for who does not answer for a person and takes the review away.
    """
    project_of(connection, principal, project_id, lock=True)
    if not review_widening:
        principal.needs("approve")
    values = {"review_widening": review_widening, "updated_at": now()}
    connection.execute(update(projects).where(projects.c.id == project_id).values(**values))
    note(connection, project_id, {"event": "review_widening", "on": review_widening, "by": principal.account_id})
    announce(connection, project_id)
