"""Links that sign in once, within 15 minutes: for the first start and for people who have lost their password."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select

from platform_api.accounts.records import set_password
from platform_api.accounts.sessions import end_sessions
from platform_api.accounts.tokens import digest, revoke_sign_ins
from platform_api.moments import MINUTE, now
from platform_api.refusals import not_found
from platform_api.store.tables import accounts, sign_in_links

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.settings import Settings

LIFE = 15 * MINUTE
PATH = "/sign-in/link/"


def make_sign_in_link(connection: Connection, settings: Settings, account_id: str) -> str:
    """A new link of an account. Links made before stop working."""
    value = secrets.token_urlsafe(32)
    connection.execute(delete(sign_in_links).where(sign_in_links.c.account_id == account_id))
    connection.execute(insert(sign_in_links).values(digest=digest(value), account_id=account_id, expires_at=now() + LIFE))
    return f"{settings.base_url}{PATH}{value}"


def account_of_link(connection: Connection, value: str) -> Row[Any]:
    """The account of a link. This does not use the link up, so a program that prefetches links cannot spend one.

    Errors: ``not_found`` for a link that is unknown, used, expired, or of a disabled account.
    """
    row = connection.execute(
        select(accounts)
        .join(sign_in_links, sign_in_links.c.account_id == accounts.c.id)
        .where(
            sign_in_links.c.digest == digest(value),
            sign_in_links.c.expires_at > now(),
            accounts.c.disabled.is_(False),
        )
    ).one_or_none()
    if row is None:
        raise not_found("sign-in link")
    return row


def use_sign_in_link(connection: Connection, value: str, password_hash: str) -> Row[Any]:
    """Uses a link up: sets the password, ends the sessions of the former one, and returns the account.

    Errors: as of ``account_of_link``.
    """
    account = account_of_link(connection, value)
    spent = connection.execute(delete(sign_in_links).where(sign_in_links.c.digest == digest(value)))
    if spent.rowcount == 0:
        raise not_found("sign-in link")
    set_password(connection, account.id, password_hash)
    end_sessions(connection, account.id)
    revoke_sign_ins(connection, account.id)
    return account
