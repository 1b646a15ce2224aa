"""How long is kept what happened, and what is thrown away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Table, delete, func, select

from platform_api.gates.pruning import prune_gates
from platform_api.moments import DAY, now
from platform_api.projects.reserved_addresses import prune_reserved_addresses
from platform_api.store.tables import account_events, audit_records, counters, history, log_lines, projects
from platform_api.usage.figures import prune_figures

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.store.store import Store

LOG_LINES, LOG_AGE, AUDIT_AGE, EVENT_AGE = 10_000, 7 * DAY, 30 * DAY, 7 * DAY
#: Of one project, in whatever time: a program may be refused thousands of things a second.
AUDIT_RECORDS = HISTORY_LINES = 1_000_000
#: Rows that one transaction deletes: writers wait no longer than for those.
_AT_A_TIME = 5_000


def prune(store: Store, moment: int | None = None) -> None:
    """Throws away what is older than it is kept or more than is kept of a project, and everything of projects that are gone.

    The history of a project loses its oldest lines together: an export begins with a checkpoint that stands for them.

    Args:
        moment: what counts as now, in milliseconds since 1970.
    """
    moment = now() if moment is None else moment
    # In this order: a project that has a counter was there before it.
    with store.records.reading() as connection:
        known = connection.execute(select(counters).order_by(counters.c.project_id)).all()
    with store.main.reading() as connection:
        there = set(connection.scalars(select(projects.c.id)))
    for row in known:
        if not row.project_id.startswith("prj_"):
            continue
        if row.project_id not in there:
            _forget(store, row.project_id)
            continue
        own = log_lines.c.project_id == row.project_id
        _delete(store, log_lines, own, log_lines.c.id <= row.log_id - LOG_LINES)
        with store.records.reading() as connection:
            kept_from = max(_kept_from(connection, row.project_id, moment - AUDIT_AGE), row.history_seq - HISTORY_LINES + 1)
        _delete(store, history, history.c.project_id == row.project_id, history.c.seq < kept_from)
        own = audit_records.c.project_id == row.project_id
        _delete(store, audit_records, own, audit_records.c.id <= row.audit_id - AUDIT_RECORDS)
    _delete(store, log_lines, log_lines.c.at < moment - LOG_AGE)
    _delete(store, audit_records, audit_records.c.ts < moment - AUDIT_AGE)
    _delete(store, account_events, account_events.c.at < moment - EVENT_AGE)
    with store.main.writing() as connection:
        prune_figures(connection, moment)
    with store.main.writing() as connection:
        prune_reserved_addresses(connection, moment)
    prune_gates(store.main, moment)


def _kept_from(connection: Connection, project_id: str, oldest: int) -> int:
    """The number of the first line of a history that is kept."""
    young = select(history.c.seq).where(history.c.project_id == project_id, history.c.at >= oldest)
    first = connection.scalar(young.order_by(history.c.seq).limit(1))
    if first is not None:
        return int(first)
    last = connection.scalar(select(func.max(history.c.seq)).where(history.c.project_id == project_id))
    return 0 if last is None else int(last) + 1


def _forget(store: Store, project_id: str) -> None:
    for table in (log_lines, audit_records, history, account_events):
        _delete(store, table, table.c.project_id == project_id)
    with store.records.writing() as connection:
        connection.execute(delete(counters).where(counters.c.project_id == project_id))


def _delete(store: Store, table: Table, *which: ColumnElement[bool]) -> None:
    key = list(table.primary_key.columns)
    while True:
        with store.records.reading() as connection:
            rows = connection.execute(select(*key).where(*which).order_by(*key).limit(_AT_A_TIME)).all()
        if not rows:
            return
        owner, number = key
        with store.records.writing() as connection:
            # In one order: two replicas that prune never wait for each other.
            for name in sorted({row[0] for row in rows}):
                numbers = [row[1] for row in rows if row[0] == name]
                connection.execute(delete(table).where(owner == name, number.between(numbers[0], numbers[-1]), *which))
        if len(rows) < _AT_A_TIME:
            return
