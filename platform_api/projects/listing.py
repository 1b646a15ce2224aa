"""Projects as answers show them."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, or_, select

from platform_api.deploys.status import ON_THEIR_WAY
from platform_api.environment.values import missing_secrets
from platform_api.packages.package import Listing
from platform_api.packages.storage import load_listing
from platform_api.plans.budgets import blocked
from platform_api.plans.ceilings import EffectiveCeiling, effective
from platform_api.projects.find import project_of
from platform_api.store.tables import accounts, deploys, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row, Select

    from platform_api.accounts.principal import Principal
    from platform_api.plans.plans import Plans

DEPLOYS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Detail:
    """Everything that is told of one project.

    Attributes:
        project: its row, with ``newest_deploy`` and ``engine``.
        ceiling: what a deploy of the current package would be started with now.
        deploys: the newest ones first.
    """

    project: Any
    package: Listing
    ceiling: EffectiveCeiling
    missing_secrets: list[str]
    blocked: str
    deploys: Sequence[Row[Any]]


def list_projects(connection: Connection, principal: Principal, limit: int, before: str | None) -> Sequence[Any]:
    """The projects of an account, newest first; for a token of one project that one alone.

    Args:
        before: the id of the project behind which the list goes on.
    """
    values = {"account": principal.account_id, "limit": limit}
    if before is not None:
        values["before"] = before
    if principal.project_id is not None:
        values["project"] = principal.project_id
    rows = connection.execute(_page("before" in values, "project" in values), values).all()
    return [_Shown._make(row) for row in rows]


def detail_of(connection: Connection, plans: Plans, principal: Principal, project_id: str) -> Detail:
    """Everything that is told of one project.

    Errors: ``not_found``.
    """
    project_of(connection, principal, project_id)
    row = shown_project(connection, project_id)
    account = connection.execute(select(accounts).where(accounts.c.id == row.account_id)).one()
    plan = plans[account.plan]
    package = load_listing(connection, row.package_hash)
    newest = select(deploys).where(deploys.c.project_id == project_id).order_by(deploys.c.number.desc()).limit(DEPLOYS_SHOWN)
    return Detail(
        project=row,
        package=package,
        ceiling=effective(package.inspection, plan),
        missing_secrets=missing_secrets(connection, project_id, package.inspection),
        blocked=blocked(connection, account, row, package.inspection, plan),
        deploys=connection.execute(newest).all(),
    )


def shown_project(connection: Connection, project_id: str) -> Any:
    """The row of a project with ``newest_deploy`` and the ``engine`` of the current deploy.

    ``newest_deploy`` is the status of the deploy that is on its way, else of the newest one.
    """
    return _Shown._make(connection.execute(_one(), {"project": project_id}).one())


# Statements are made once: to make one takes longer than to run it.


@cache
def _page(further: bool, bound: bool) -> Select[Any]:
    query = _shown().where(projects.c.account_id == bindparam("account"))
    if further:
        query = query.where(projects.c.id < bindparam("before"))
    if bound:
        query = query.where(projects.c.id == bindparam("project"))
    return query.order_by(projects.c.id.desc()).limit(bindparam("limit"))


@cache
def _one() -> Select[Any]:
    return _shown().where(projects.c.id == bindparam("project"))


def _shown() -> Select[Any]:
    newest = (
        select(deploys.c.status)
        .where(deploys.c.project_id == projects.c.id, deploys.c.status != "needs_review")
        .order_by(or_(*(deploys.c.status == each for each in sorted(ON_THEIR_WAY))).desc(), deploys.c.number.desc())
        .limit(1)
        .scalar_subquery()
    )
    engine = select(deploys.c.engine).where(deploys.c.id == projects.c.current_deploy).scalar_subquery()
    return select(projects, newest.label("newest_deploy"), engine.label("engine"))


#: A row as an answer reads it, field by field: a field of a named tuple costs a tenth of a field of a ``Row``.
_FIELDS = [str(column.key) for column in _shown().selected_columns]
_Shown: Any = namedtuple("_Shown", _FIELDS)  # type: ignore[misc]  # its fields are known when it is made
