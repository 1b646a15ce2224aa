"""What an account is told of its projects as it happens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from platform_api.event_stream import event_bytes
from platform_api.moments import rfc3339
from platform_api.records.feed import Source
from platform_api.records.logs import last_number
from platform_api.store.tables import account_events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row


def event_source(account_id: str, project_id: str | None = None) -> Source:
    """The events of an account, named ``change``.

    Args:
        project_id: only those of one project.
    """

    def rows(connection: Connection, after: int, limit: int) -> Sequence[Row[Any]]:
        query = select(account_events).where(account_events.c.account_id == account_id, account_events.c.id > after)
        if project_id is not None:
            query = query.where(account_events.c.project_id == project_id)
        return connection.execute(query.order_by(account_events.c.id).limit(limit)).all()

    topic = f"account:{account_id}"
    return Source(topic, project_id or "", lambda connection: last_number(connection, account_id), rows, _event)


def _event(row: Row[Any]) -> bytes:
    number = str(row.id)
    data = {"id": number, "at": rfc3339(row.at), "project_id": row.project_id, **json.loads(row.event)}
    return event_bytes("change", data, number)
