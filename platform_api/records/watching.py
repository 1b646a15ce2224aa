"""Whether one who watches may go on watching. It is asked for every open stream again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from platform_api.accounts.sessions import IDLE
from platform_api.moments import DAY, now
from platform_api.store.tables import accounts, projects, sessions, tokens

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.accounts.principal import Principal
    from platform_api.store.database import Database

#: What is remembered of how many at a time.
_MOST = 10_000
_token = (
    select(tokens.c.last_used_at)
    .join(accounts, accounts.c.id == tokens.c.account_id)
    .where(
        tokens.c.id == bindparam("token"),
        tokens.c.revoked_at.is_(None),
        accounts.c.id == bindparam("account"),
        accounts.c.disabled.is_(False),
    )
)
_session = (
    select(sessions.c.expires_at, sessions.c.last_used_at)
    .join(accounts, accounts.c.id == sessions.c.account_id)
    .where(sessions.c.digest == bindparam("session"), accounts.c.id == bindparam("account"), accounts.c.disabled.is_(False))
)
_project = select(projects.c.id).where(projects.c.id == bindparam("project"), projects.c.account_id == bindparam("account"))


class Watching:
    """Those who watch. For the event loop.

    What was read of one is used again as long as nobody has committed anything since, which the store tells (SQLite).

    Args:
        days: how long a token lives after its last use.
    """

    def __init__(self, main: Database, days: int) -> None:
        self._main = main
        self._days = days
        self._version: tuple[int, int] | None = None
        self._until: dict[tuple[str | None, bytes | None, str | None], int] = {}

    async def may_go_on(self, principal: Principal, project_id: str | None = None) -> bool:
        """Whether the account, its token or its browser session, and the project are still there and hold.

        Args:
            project_id: what is being watched; ``None`` for the account.
        """
        version = self._main.version()
        if version is None:
            return now() <= await self._main.read(holds_until, principal, self._days, project_id)
        if version != self._version or len(self._until) >= _MOST:
            self._version, self._until = version, {}
        who, known = (principal.token_id, principal.session, project_id), self._until
        if who not in known:
            known[who] = await self._main.read(holds_until, principal, self._days, project_id)
        return now() <= known[who]


def holds_until(connection: Connection, principal: Principal, days: int, project_id: str | None = None) -> int:
    """The last moment at which one may watch, should nothing change; 0 for one who may not.

    Args:
        days: how long a token lives after its last use.
        project_id: what is being watched; ``None`` for the account.
    """
    values: dict[str, object] = {"account": principal.account_id}
    if principal.session is None:
        used = connection.scalar(_token, values | {"token": principal.token_id})
        until = 0 if used is None else used + days * DAY
    else:
        row = connection.execute(_session, values | {"session": principal.session}).one_or_none()
        until = 0 if row is None else min(row.expires_at, row.last_used_at + IDLE) - 1
    if until and project_id is not None and connection.scalar(_project, values | {"project": project_id}) is None:
        return 0
    return int(until)
