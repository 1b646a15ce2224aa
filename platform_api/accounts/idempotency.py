"""Idempotency keys: the answer to a write is kept for a day under the key of its client, for repeated requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from platform_api.accounts import throttle
from platform_api.moments import DAY, MINUTE, now
from platform_api.refusals import Refusal
from platform_api.store.tables import idempotency

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Row

LIFE = DAY
#: After this long without an answer a request counts as lost with its process, and may be repeated.
LOST = 15 * MINUTE
#: KiB of answers that are kept for an account within a day; each counts for one at least.
MOST_KEPT = 64 * 1024


def begin(connection: Connection, account_id: str, key: str, request: bytes) -> Row[Any] | None:
    """Reserves a key for a request. Returns ``None``, or the row of the answer if the request was answered before.

    Args:
        request: a hash of everything that makes two requests the same.

    Errors: ``conflict`` for another request under the same key, and for one in progress; ``rate_limited`` for a new key where
    ``MOST_KEPT`` is reached.
    """
    moment, place = now(), _place(account_id, key)
    connection.execute(delete(idempotency).where(place, idempotency.c.created_at < moment - LIFE))
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    taken = dialect.insert(idempotency).values(account_id=account_id, key=key, request=request, created_at=moment)
    # The returned row shows whether it is new; not every driver reports the number of inserted rows.
    new = taken.on_conflict_do_nothing(index_elements=["account_id", "key"]).returning(idempotency.c.key)
    if connection.execute(new).one_or_none() is not None:
        throttle.refuse_above(connection, _kept(account_id), MOST_KEPT, LIFE, "Too much is kept for Idempotency-Keys")
        return None
    row = connection.execute(select(idempotency).where(place).with_for_update()).one_or_none()
    if row is not None and row.request != request:
        raise Refusal("conflict", "This Idempotency-Key was used for another request: take a new one.")
    if row is not None and row.status is not None:
        return row
    if row is not None and row.created_at < moment - LOST:
        connection.execute(update(idempotency).where(place).values(created_at=moment))
        return None
    raise Refusal("conflict", "The request with this Idempotency-Key is still being carried out: ask again.", retry_after=1)


def finish(connection: Connection, account_id: str, key: str, status: int, response: bytes) -> None:
    """Stores an answer.

    Args:
        response: its encrypted body.
    """
    connection.execute(update(idempotency).where(_place(account_id, key)).values(status=status, response=response))
    throttle.count(connection, _kept(account_id), LIFE, -(-len(response) // 1024))


def abandon(connection: Connection, account_id: str, key: str) -> None:
    """Releases a key, because the answer to its request must not be repeated."""
    connection.execute(delete(idempotency).where(_place(account_id, key), idempotency.c.status.is_(None)))


def _place(account_id: str, key: str) -> ColumnElement[bool]:
    return (idempotency.c.account_id == account_id) & (idempotency.c.key == key)


def _kept(account_id: str) -> str:
    return f"kept-answers:{account_id}"
