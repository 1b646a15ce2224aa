"""The one way to a project of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from platform_api.refusals import Refusal, not_found
from platform_api.store.tables import projects

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.accounts.principal import Principal


_of_account = select(projects).where(projects.c.id == bindparam("project"), projects.c.account_id == bindparam("account"))
_locked = _of_account.with_for_update()


def project_of(
    connection: Connection, principal: Principal, project_id: str, *, lock: bool = False, deleting: bool = False
) -> Row[Any]:
    """The project of that id, where the caller may reach it.

    Args:
        lock: takes the lock of its row, for a change. A project that is being deleted is then a ``conflict``.
        deleting: lets such a project be locked all the same.

    Errors: ``not_found`` for what is not there, for a project of another account, for a token of another project; ``conflict``.
    """
    if principal.project_id not in (None, project_id):
        raise not_found("project")
    values = {"project": project_id, "account": principal.account_id}
    row = connection.execute(_locked if lock else _of_account, values).one_or_none()
    if row is None:
        raise not_found("project")
    if lock and not deleting and row.desired == "erased":
        raise Refusal("conflict", f"The project {row.name!r} is being deleted.")
    return row
