"""Where an account wants its notices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, delete, func, insert, select

from platform_api.identifiers import new_id
from platform_api.moments import now
from platform_api.notices.text import KINDS
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal, not_found
from platform_api.store.tables import accounts, notices, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.accounts.principal import Principal
    from platform_api.environment.keys import Keys

MOST = 20
LONGEST_URL = 2_000


def parse_kinds(names: Sequence[str] | None) -> tuple[str, ...]:
    """The kinds in their fixed order, each once; all of them for ``None``.

    Errors: ``validation`` for a name that is none, and for no name.
    """
    if names is None:
        return KINDS
    for name in names:
        if name not in KINDS:
            raise Refusal("validation", f"{name[:40]!r} is nothing to be told of: there are {', '.join(KINDS)}.", field="kinds")
    if not names:
        raise Refusal("validation", f"kinds names at least one of {', '.join(KINDS)}.", field="kinds")
    return tuple(kind for kind in KINDS if kind in names)


def add_notice(
    connection: Connection,
    keys: Keys,
    principal: Principal,
    project_id: str | None,
    *,
    name: str,
    url: str,
    kinds: Sequence[str],
) -> str:
    """Stores a URL and returns the id of the setting.

    Args:
        project_id: the project that it is about; ``None`` for all of the account.

    Errors: ``not_found`` for the project, ``conflict`` when there are 20 of it or of the account.
    """
    if project_id is not None:
        project_of(connection, principal, project_id, lock=True)
    connection.execute(select(accounts.c.id).where(accounts.c.id == principal.account_id).with_for_update())
    own = _own(principal, project_id)
    if (connection.scalar(select(func.count()).select_from(notices).where(*own)) or 0) >= MOST:
        raise Refusal("conflict", f"There are {MOST} of them already: take one away first.")
    notice_id = new_id("ntc")
    connection.execute(
        insert(notices).values(
            id=notice_id,
            account_id=principal.account_id,
            project_id=project_id,
            name=name,
            service=url.partition(":")[0].lower(),
            kinds=" ".join(kinds),
            ciphertext=seal_url(keys, notice_id, url),
            created_at=now(),
        )
    )
    return notice_id


def list_notices(connection: Connection, principal: Principal, project_id: str | None) -> Sequence[Row[Any]]:
    """The settings of an account, or of one of its projects, newest first."""
    if project_id is not None:
        project_of(connection, principal, project_id)
    return connection.execute(select(notices).where(*_own(principal, project_id)).order_by(notices.c.id.desc())).all()


def every_notice(connection: Connection, principal: Principal) -> Sequence[Row[Any]]:
    """The settings of an account and of all its projects, newest first, each with ``project_name``."""
    query = (
        select(notices, projects.c.name.label("project_name"))
        .outerjoin(projects, projects.c.id == notices.c.project_id)
        .where(notices.c.account_id == principal.account_id)
    )
    return connection.execute(query.order_by(notices.c.id.desc())).all()


def find_notice(connection: Connection, principal: Principal, project_id: str | None, notice_id: str) -> Row[Any]:
    """One setting.

    Errors: ``not_found``.
    """
    if project_id is not None:
        project_of(connection, principal, project_id)
    row = connection.execute(select(notices).where(*_own(principal, project_id), notices.c.id == notice_id)).one_or_none()
    if row is None:
        raise not_found("notice")
    return row


def delete_notice(connection: Connection, principal: Principal, project_id: str | None, notice_id: str) -> None:
    """Deletes a setting and its queued notices.

    Errors: ``not_found``.
    """
    find_notice(connection, principal, project_id, notice_id)
    connection.execute(delete(notices).where(notices.c.id == notice_id))


def seal_url(keys: Keys, notice_id: str, url: str) -> bytes:
    """A URL as it is stored."""
    return keys.seal(url.encode(), "notice", notice_id)


def url_of(keys: Keys, row: Row[Any]) -> str:
    """The URL of a setting. It contains tokens and passwords and must be passed only to the sender."""
    return keys.open(row.ciphertext, "notice", row.id).decode()


def _own(principal: Principal, project_id: str | None) -> tuple[ColumnElement[bool], ...]:
    return (notices.c.account_id == principal.account_id, notices.c.project_id.is_not_distinct_from(project_id))
