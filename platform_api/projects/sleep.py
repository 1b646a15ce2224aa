"""The sleep setting of a web project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import update

from platform_api.moments import now
from platform_api.plans.plans import IDLE_MINUTES
from platform_api.refusals import Refusal
from platform_api.store.database import announce
from platform_api.store.tables import projects

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.plans.plans import Plan

LONGEST_SLEEP = 1440


def set_sleep(connection: Connection, project: Row[Any], plan: Plan, minutes: float) -> int:
    """Sets after how many idle minutes a web project sleeps, from its next deploy on, and gives the number.

    Args:
        project: its row, locked.
        minutes: a whole number from 0, which is never, to 1440.

    Errors: ``validation``; ``conflict`` for what is no web project; ``plan_limit`` where the plan does not let it be set.
    """
    if minutes != int(minutes) or not 0 <= minutes <= LONGEST_SLEEP:
        raise Refusal(
            "validation", f"after_minutes is a whole number of minutes from 0 to {LONGEST_SLEEP}.", field="after_minutes"
        )
    if project.kind != "web":
        raise Refusal("conflict", f"{project.name!r} is a {project.kind} project: only a web project sleeps.")
    if not plan.sleep:
        raise Refusal(
            "plan_limit", f"On the plan {plan.name} a web project sleeps after {IDLE_MINUTES} minutes: it is not settable."
        )
    connection.execute(update(projects).where(projects.c.id == project.id).values(sleep_after=int(minutes), updated_at=now()))
    announce(connection, project.id)
    return int(minutes)
