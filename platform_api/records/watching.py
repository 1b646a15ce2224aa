"""Whether one who watches may go on watching."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from platform_api.accounts.sessions import IDLE
from platform_api.moments import DAY, now
from platform_api.store.tables import accounts, projects, sessions, tokens

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.accounts.principal import Principal


def may_watch(connection: Connection, principal: Principal, days: int, project_id: str | None = None) -> bool:
    """Whether the account, its token or its browser session, and the project are still there and hold.

    Args:
        days: how long a token lives after its last use.
        project_id: what is being watched; ``None`` for the account.
    """
    account = select(accounts.c.id).where(accounts.c.id == principal.account_id, accounts.c.disabled.is_(False))
    if connection.execute(account).one_or_none() is None:
        return False
    if principal.token_id is not None:
        token = select(tokens.c.last_used_at).where(tokens.c.id == principal.token_id, tokens.c.revoked_at.is_(None))
        used = connection.scalar(token)
        if used is None or now() - used > days * DAY:
            return False
    if principal.session is not None:
        session = select(sessions.c.digest).where(
            sessions.c.digest == principal.session, sessions.c.expires_at > now(), sessions.c.last_used_at > now() - IDLE
        )
        if connection.execute(session).one_or_none() is None:
            return False
    if project_id is None:
        return True
    project = select(projects.c.id).where(projects.c.id == project_id, projects.c.account_id == principal.account_id)
    return connection.execute(project).one_or_none() is not None
