"""What a project goes through, noted in the transaction that decides it; the mover carries it into the history."""

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

#: The topic of who carries events on.
OUTBOX = "outbox"


def note(connection: Connection, project_id: str, event: Mapping[str, Any], *, chained: bool = True) -> None:
    """Notes what a project goes through. It reaches its history, and everybody who watches the account, soon after the commit.

    Args:
        connection: a transaction on the main database.
        event: what JSON can write. ``event`` is a word for what happened, such as ``deploy_live``; the other fields say more.
            No value of a secret: a fingerprint.
        chained: ``False`` for what is only told to who watches, such as a change of status, and is not part of the history.
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
