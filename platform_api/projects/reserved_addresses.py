"""The addresses of deleted web projects: for a month no other account is given one of them.

Host name and port make the origin of a page. Browsers that visited the old program keep its cookies and service workers, links
and redirects of sign-ins still lead there: none of that may reach the program of a stranger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, and_, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from platform_api.moments import DAY, now
from platform_api.store.tables import projects, reserved_addresses

if TYPE_CHECKING:
    from sqlalchemy import Connection

RESERVED = 30 * DAY
#: Of one account, the newest: who makes and deletes projects without end does not fill the store. No plan has more projects.
MOST = 2_000


def reserve_address(connection: Connection, project_id: str) -> None:
    """Reserves host name and port of a web project for its account. Called in the transaction that deletes the project."""
    columns = (projects.c.slug, projects.c.port, projects.c.account_id)
    row = connection.execute(select(*columns).where(projects.c.id == project_id, projects.c.kind == "web")).one_or_none()
    if row is None:
        return
    values = {"slug": row.slug, "port": row.port, "account_id": row.account_id, "until": now() + RESERVED}
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(reserved_addresses).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=["slug", "port"], set_=values))


def reserved_for_others(account_id: str) -> ColumnElement[bool]:
    """The condition of the addresses that this account is not given."""
    return and_(reserved_addresses.c.account_id != account_id, reserved_addresses.c.until > now())


def longest_reserved_port(connection: Connection, first: int, last: int) -> int | None:
    """Of the reserved ports that no project has, the one whose project was deleted first; ``None`` where there is none.

    Args:
        first: the lowest port that may be given, and ``last`` the highest.
    """
    port = reserved_addresses.c.port
    used = select(projects.c.port).where(projects.c.port.is_not(None))
    unused = select(port).where(port.between(first, last), port.not_in(used)).group_by(port)
    oldest = unused.order_by(func.max(reserved_addresses.c.until), port).limit(1)
    found: int | None = connection.execute(oldest).scalar_one_or_none()
    return found


def prune_reserved_addresses(connection: Connection, moment: int) -> None:
    """Deletes the reservations that are over at a moment, and all but the newest ``MOST`` of each account."""
    owner, until = reserved_addresses.c.account_id, reserved_addresses.c.until
    connection.execute(delete(reserved_addresses).where(until <= moment))
    many = select(owner).group_by(owner).having(func.count() > MOST).order_by(owner)
    for account_id in connection.scalars(many).all():
        newest = select(until).where(owner == account_id).order_by(until.desc())
        dropped = connection.scalar(newest.offset(MOST).limit(1))
        connection.execute(delete(reserved_addresses).where(owner == account_id, until <= dropped))
