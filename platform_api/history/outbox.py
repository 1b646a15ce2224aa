"""The outbox: events of projects, stored in the transaction that causes them; the mover adds them to the history."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from platform_api.moments import now
from platform_api.store.database import announce
from platform_api.store.tables import history_outbox, projects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

#: The topic that wakes the mover.
OUTBOX = "outbox"


def note(connection: Connection, project_id: str, event: Mapping[str, Any], *, chained: bool = True) -> None:
    """Stores an event of a project. Soon after the commit it is in the history and sent to the watchers of the account.

    Args:
        connection: a transaction on the main database.
        event: fields that JSON can represent. ``event`` names what happened, such as ``deploy_live``; the other fields are
            details. A secret appears only as its fingerprint.
        chained: ``False`` for an event that only watchers get, such as a change of status, and that is not in the history.
    """
    account = select(projects.c.account_id).where(projects.c.id == project_id).scalar_subquery()
    connection.execute(
        insert(history_outbox).values(
            project_id=project_id,
            account_id=account,
            chained=chained,
            at=now(),
            event=json.dumps(event, ensure_ascii=False, allow_nan=False),
        )
    )
    announce(connection, OUTBOX)
