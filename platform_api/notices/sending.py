"""Queues notices when an event is moved to the history, and sends them from any replica."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, or_, select, update

from platform_api.environment.keys import KeyMissing
from platform_api.forking.client import ForkServer
from platform_api.moments import MINUTE, now
from platform_api.notices.post import SECONDS
from platform_api.notices.settings import url_of
from platform_api.notices.text import notice_of
from platform_api.store.database import announce
from platform_api.store.tables import notices, notices_due, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.changes import Changes
    from platform_api.environment.keys import Keys
    from platform_api.settings import Settings
    from platform_api.store.store import Store

#: The topic that wakes the senders.
NOTICES = "notices"
#: The most queued notices of one setting, so that a program which asks a thousand times does not send a thousand mails.
_MOST_WAITING = 50
_ATTEMPTS = 3
_AT_A_TIME = 4
_LEASE = 2 * MINUTE
_LOOK_AGAIN = 30.0
#: Sent at the same time, those included that somebody tries.
_threads = ThreadPoolExecutor(2 * _AT_A_TIME, thread_name_prefix="notice")
_POST = ForkServer("platform_api.notices.post", SECONDS)
logger = logging.getLogger("platform")


def put_in_line(connection: Connection, base_url: str, rows: Sequence[Row[Any]]) -> None:
    """Queues the notices of events for all settings that match.

    Args:
        connection: the transaction on the main database that removes the events from the outbox.
        rows: the events, as rows of the outbox.
    """
    for row in rows:
        named = connection.execute(
            select(projects.c.name, projects.c.account_id).where(projects.c.id == row.project_id)
        ).first()
        notice = None if named is None else notice_of(json.loads(row.event), named.name, row.project_id, base_url)
        if named is None or notice is None:
            continue
        about = or_(notices.c.project_id.is_(None), notices.c.project_id == row.project_id)
        for wanted in connection.execute(select(notices).where(notices.c.account_id == named.account_id, about)).all():
            waiting = select(func.count()).select_from(notices_due).where(notices_due.c.notice_id == wanted.id)
            if notice.kind in wanted.kinds.split() and (connection.scalar(waiting) or 0) < _MOST_WAITING:
                values = {"notice_id": wanted.id, "title": notice.title, "body": notice.body, "due_at": now()}
                connection.execute(insert(notices_due).values(**values))
                announce(connection, NOTICES)


async def keep_sending(store: Store, changes: Changes, keys: Keys, settings: Settings) -> None:
    """Sends what is in line until it is cancelled."""
    with changes.subscribe(NOTICES) as due:
        while not changes.closed:
            rows = await store.main.write(_take)
            await asyncio.gather(*(_send(store, keys, settings, row) for row in rows))
            if not rows:
                await due.next(_LOOK_AGAIN)


async def post(url: str, title: str, body: str, settings: Settings, *, send: bool = True) -> str:
    """Sends a notice, in a process of its own, and returns why that failed; empty if it did not.

    Args:
        send: false only checks the URL.
    """
    request = {"url": url, "title": title, "body": body, "send": send, "allowed": list(settings.notice_hosts)}
    return await asyncio.get_running_loop().run_in_executor(_threads, _post, request)


def _post(request: dict[str, Any]) -> str:
    code, answer = _POST.ask(json.dumps(request).encode())
    if code == -signal.SIGALRM:
        return f"it took more than {SECONDS} seconds"
    if code != 0:
        return f"the process that sends it ended with {code}"
    told = json.loads(answer)
    return "" if told["ok"] else str(told["why"])


def _take(connection: Connection) -> Sequence[Row[Any]]:
    """Takes some due notices, which no other replica then takes for two minutes."""
    moment = now()
    ids = select(notices_due.c.id).where(notices_due.c.due_at <= moment).order_by(notices_due.c.id).limit(_AT_A_TIME)
    taken = list(connection.scalars(ids.with_for_update(skip_locked=True)))
    attempts = notices_due.c.attempts + 1
    connection.execute(update(notices_due).where(notices_due.c.id.in_(taken)).values(due_at=moment + _LEASE, attempts=attempts))
    query = (
        select(notices_due.c.id.label("due_id"), notices_due.c.title, notices_due.c.body, notices_due.c.attempts, notices)
        .join(notices, notices.c.id == notices_due.c.notice_id)
        .where(notices_due.c.id.in_(taken))
    )
    return connection.execute(query).all()


async def _send(store: Store, keys: Keys, settings: Settings, row: Row[Any]) -> None:
    try:
        why = await post(url_of(keys, row), row.title, row.body, settings)
    except KeyMissing:
        why = "its URL was encrypted with a master key that is not given any more"
    if why:
        logger.warning("a notice to %s (%s) was not sent: %s", row.id, row.service, why)
    await store.main.write(_settle, row, why)


def _settle(connection: Connection, row: Row[Any], why: str) -> None:
    moment = now()
    if why:
        connection.execute(update(notices).where(notices.c.id == row.id).values(failed_at=moment, error=why))
    else:
        connection.execute(update(notices).where(notices.c.id == row.id).values(sent_at=moment, failed_at=None, error=None))
    if why and row.attempts < _ATTEMPTS:
        due_at = moment + row.attempts**2 * MINUTE
        connection.execute(update(notices_due).where(notices_due.c.id == row.due_id).values(due_at=due_at))
    else:
        connection.execute(delete(notices_due).where(notices_due.c.id == row.due_id))
