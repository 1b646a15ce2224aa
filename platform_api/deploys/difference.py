"""What a deploy may do beside another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from language import Ceiling, compare
from platform_api.store.tables import deploys

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

#: Deploys that have run: what a later one is compared with.
WAS_LIVE = ("live", "superseded")


@dataclass(frozen=True, slots=True)
class Difference:
    """Attributes:
    added: require lines of what the newer one may do and the older one may not.
    removed: the other way round.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def difference(older: str, newer: str) -> Difference:
    """What changes between two ceilings, as their texts."""
    changed = compare(_parsed(older), _parsed(newer))
    return Difference(
        added=tuple(item.require_line for item in changed.uncovered),
        removed=tuple(item.require_line for item in changed.removed),
    )


def live_before(connection: Connection, project_id: str, number: int) -> Row[Any] | None:
    """What a deploy of this number replaces: the one that is live, where its number is lower, else the newest that was."""
    return connection.execute(
        select(deploys)
        .where(deploys.c.project_id == project_id, deploys.c.number < number, deploys.c.status.in_(WAS_LIVE))
        .order_by((deploys.c.status == "live").desc(), deploys.c.number.desc())
        .limit(1)
    ).one_or_none()


def _parsed(text: str) -> Ceiling:
    return Ceiling.parse(text) if text else Ceiling(())
