"""What a deploy may do beside another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from platform_api.plans.comparing import changes, parsed
from platform_api.store.tables import deploys

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

#: Statuses of deploys that have run, with which a later one is compared.
WAS_LIVE = ("live", "superseded")


@dataclass(frozen=True, slots=True)
class Difference:
    """Attributes:
    added: require lines for what only the newer one may do.
    removed: require lines for what only the older one may do.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def difference(older: str, newer: str) -> Difference:
    """What changes between two ceilings, as their texts."""
    added, removed = changes(parsed(older), parsed(newer))
    return Difference(tuple(item.require_line for item in added), tuple(item.require_line for item in removed))


def live_before(connection: Connection, project_id: str, number: int) -> Row[Any] | None:
    """The deploy that one of this number replaces: the live one if its number is lower, else the newest former live one."""
    return connection.execute(
        select(deploys)
        .where(deploys.c.project_id == project_id, deploys.c.number < number, deploys.c.status.in_(WAS_LIVE))
        .order_by((deploys.c.status == "live").desc(), deploys.c.number.desc())
        .limit(1)
    ).one_or_none()
