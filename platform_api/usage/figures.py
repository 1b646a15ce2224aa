"""What a project takes, as its runner reports it: one sample a minute, kept for a day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite

from platform_api.moments import DAY, MINUTE, now
from platform_api.store.tables import figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from runner.protocol import Figures

KEPT = DAY
_LARGEST, _LARGEST_WIDE = 2**31 - 1, 2**63 - 1


def take_figures(connection: Connection, project_id: str, report: Figures, moment: int | None = None) -> None:
    """Keeps a report as the sample of its minute.

    Args:
        moment: when it came, in milliseconds since 1970; ``None`` is now.
    """
    moment = now() if moment is None else moment
    values = {
        "memory_mb": _within(report.memory_mb, _LARGEST),
        "cpu_ms": _within(report.cpu_seconds * 1000, _LARGEST_WIDE),
        "disk_mb": _within(report.disk_mb, _LARGEST),
        "requests": _within(report.requests, _LARGEST_WIDE),
    }
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(figures).values(project_id=project_id, minute=moment - moment % MINUTE, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["project_id", "minute"], set_=values))


def figures_of(connection: Connection, project_id: str, since: int) -> Sequence[Row[Any]]:
    """The samples of a project since a moment, oldest first."""
    own = (figures.c.project_id == project_id, figures.c.minute >= since)
    return connection.execute(select(figures).where(*own).order_by(figures.c.minute)).all()


def prune_figures(connection: Connection, moment: int) -> None:
    """Throws away samples of more than a day before a moment."""
    connection.execute(delete(figures).where(figures.c.minute < moment - KEPT))


def _within(value: float, largest: int) -> int:
    return 0 if not value > 0 else int(min(value, largest))
