"""What a caller asks of a project's runs, schedule and sleep: the project is found and locked first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from platform_api.projects.find import project_of
from platform_api.projects.sleep import set_sleep
from platform_api.runs.operations import cancel_run, request_run
from platform_api.runs.schedule import set_schedule

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.accounts.principal import Principal
    from platform_api.plans.plans import Plan


def asked_run(connection: Connection, principal: Principal, project_id: str, plan: Plan) -> Row[Any]:
    """As ``request_run``, by hand."""
    project = project_of(connection, principal, project_id, lock=True)
    return request_run(connection, project, "manual", keep=plan.runs, by=principal.account_id)


def asked_cancel(connection: Connection, principal: Principal, project_id: str, run_id: str) -> Row[Any]:
    """As ``cancel_run``."""
    return cancel_run(connection, project_of(connection, principal, project_id, lock=True), run_id)


def asked_schedule(connection: Connection, principal: Principal, project_id: str, text: str) -> tuple[str, str]:
    """As ``set_schedule``."""
    return set_schedule(connection, project_of(connection, principal, project_id, lock=True), text)


def asked_sleep(connection: Connection, principal: Principal, project_id: str, plan: Plan, minutes: float) -> int:
    """As ``set_sleep``."""
    return set_sleep(connection, project_of(connection, principal, project_id, lock=True), plan, minutes)
