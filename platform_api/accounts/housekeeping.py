"""Rows that nobody will ask for again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, or_, update

from platform_api.accounts import idempotency as answers
from platform_api.accounts.sessions import IDLE
from platform_api.moments import DAY, now
from platform_api.store.tables import counts, devices, idempotency, sessions, sign_in_links, tokens

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Longer than every window of the rate limits.
_COUNTED = DAY
#: Expired device codes are kept for a while, so that the answer can be "expired".
_DEVICES = DAY
#: Revoked and expired tokens are kept for a while, to know later who did what.
_TOKENS = 30 * DAY


def prune_accounts(connection: Connection, token_days: int) -> None:
    """Deletes ended sessions, links, devices, counters, stored answers, and tokens that ended a month ago.

    Args:
        token_days: how long a token lives after its last use.
    """
    moment = now()
    # No list shows an expired token, so that nobody could revoke it: it takes up no place among the valid ones.
    expired = (tokens.c.revoked_at.is_(None), tokens.c.last_used_at < moment - token_days * DAY)
    connection.execute(update(tokens).where(*expired).values(revoked_at=moment))
    for table, over in (
        (sessions, or_(sessions.c.expires_at < moment, sessions.c.last_used_at < moment - IDLE)),
        (sign_in_links, sign_in_links.c.expires_at < moment),
        (devices, devices.c.expires_at < moment - _DEVICES),
        (counts, counts.c.since < moment - _COUNTED),
        (idempotency, idempotency.c.created_at < moment - answers.LIFE),
        (
            tokens,
            or_(tokens.c.revoked_at < moment - _TOKENS, tokens.c.last_used_at < moment - token_days * DAY - _TOKENS),
        ),
    ):
        connection.execute(delete(table).where(over))
