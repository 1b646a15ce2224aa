"""The number of open streams of each account, over all replicas.

Each replica has one row with that number for each account with streams on it. A new stream is counted before it begins; ended
streams are subtracted at the next heartbeat. So the rows never show fewer streams than there are. A replica without a heartbeat
counts as gone, and its rows are ignored.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from platform_api.moments import SECOND, now
from platform_api.refusals import Refusal
from platform_api.store.tables import accounts, open_streams

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.store.database import Database

OPEN_AN_ACCOUNT = 100
#: Seconds between two heartbeats.
KEPT_EVERY = 5
#: Milliseconds after the last heartbeat at which a replica counts as gone.
GONE = 20 * SECOND


class OpenStreams:
    """The streams of this process. For the event loop.

    Args:
        main: the database that the replicas share.
        limited: whether there is a limit.

    Attributes:
        open: how many each account has open here, for those that have any.
    """

    def __init__(self, main: Database, *, limited: bool) -> None:
        self._main = main
        self._limited = limited
        self._replica = secrets.token_hex(8)
        self._kept = False  # whether there may be rows of this process
        self.open: dict[str, int] = {}

    @asynccontextmanager
    async def one(self, account_id: str) -> AsyncIterator[None]:
        """Counts one stream while the context is open.

        Errors: ``rate_limited`` if the account has 100 open streams.
        """
        place = self.open[account_id] = self.open.get(account_id, 0) + 1
        try:
            if self._limited:
                if place > OPEN_AN_ACCOUNT:
                    raise _too_many()
                self._kept = True
                await self._main.write(_take, self._replica, account_id, place, self.open)
            yield
        finally:
            self.open[account_id] -= 1
            if not self.open[account_id]:
                del self.open[account_id]

    async def keep(self) -> None:
        """Gives a sign of life."""
        if self._kept:
            self._kept = bool(self.open)
            await self._main.write(_keep, self._replica, self.open)

    async def close(self) -> None:
        """Gives all places back, once the streams have ended."""
        if self._kept:
            self._kept = False
            await self._main.write(_keep, self._replica, {})


def _too_many() -> Refusal:
    return Refusal("rate_limited", f"This account has {OPEN_AN_ACCOUNT} streams open: close one.", retry_after=15)


def _take(connection: Connection, replica: str, account_id: str, place: int, places: Mapping[str, int]) -> None:
    """Counts a stream that is the ``place``-th of its account here. ``places`` is read while the account is locked."""
    connection.execute(select(accounts.c.id).where(accounts.c.id == account_id).with_for_update())
    elsewhere = select(func.coalesce(func.sum(open_streams.c.streams), 0)).where(
        open_streams.c.account_id == account_id, open_streams.c.replica != replica, open_streams.c.seen_at > now() - GONE
    )
    if connection.execute(elsewhere).scalar_one() + place > OPEN_AN_ACCOUNT:
        raise _too_many()
    _write(connection, replica, account_id, places.get(account_id, 0))


def _keep(connection: Connection, replica: str, places: Mapping[str, int]) -> None:
    """Writes the numbers of this replica, and deletes the rows of replicas that are gone."""
    found = select(open_streams.c.account_id).where(open_streams.c.replica == replica)
    mine = {*connection.execute(found).scalars(), *tuple(places)}
    locked = select(accounts.c.id).where(accounts.c.id.in_(sorted(mine))).order_by(accounts.c.id).with_for_update()
    for account_id in connection.execute(locked).scalars().all():
        if number := places.get(account_id, 0):
            _write(connection, replica, account_id, number)
        else:
            own = (open_streams.c.replica == replica, open_streams.c.account_id == account_id)
            connection.execute(delete(open_streams).where(*own))
    connection.execute(delete(open_streams).where(open_streams.c.seen_at < now() - GONE))


def _write(connection: Connection, replica: str, account_id: str, number: int) -> None:
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    values = {"streams": number, "seen_at": now()}
    statement = dialect.insert(open_streams).values(replica=replica, account_id=account_id, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["replica", "account_id"], set_=values))
