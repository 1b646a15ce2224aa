"""Accounts in the store."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from sqlalchemy import insert, select, update

from platform_api.identifiers import new_id
from platform_api.moments import now
from platform_api.refusals import Refusal
from platform_api.store.tables import accounts

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row


#: The most characters of an address that are normalised. Valid addresses are shorter, and some long texts take long to
#: normalise.
_LOOKED_AT = 1_000


def email_key(email: str) -> str:
    """The normal form of an address, equal for all its spellings, without NUL, which PostgreSQL cannot store."""
    return unicodedata.normalize("NFC", email[:_LOOKED_AT].strip()).casefold().replace("\0", "\ufffd")


def make_account(
    connection: Connection,
    email: str,
    *,
    name: str = "",
    plan: str = "free",
    admin: bool = False,
    password_hash: str | None = None,
) -> str:
    """Makes an account and gives its id.

    Errors: ``validation`` for a text that is not an address, ``conflict`` for an address with an account.
    """
    email = email.strip()
    local, at, domain = email.rpartition("@")
    if not at or not local or not domain or " " in email or not email.isprintable() or len(email) > 254:
        raise Refusal("validation", f"{email!r} is no e-mail address.", field="email")
    if find_account(connection, email) is not None:
        raise Refusal("conflict", f"There is an account for {email} already.", field="email")
    made = now()
    account_id = new_id("usr")
    connection.execute(
        insert(accounts).values(
            id=account_id,
            email=email,
            email_key=email_key(email),
            name=name or local,
            plan=plan,
            admin=admin,
            password_hash=password_hash,
            created_at=made,
            updated_at=made,
        )
    )
    return account_id


def find_account(connection: Connection, email: str) -> Row[tuple[object, ...]] | None:
    """The account of an address, or ``None``."""
    return connection.execute(select(accounts).where(accounts.c.email_key == email_key(email))).one_or_none()


def set_password(connection: Connection, account_id: str, password_hash: str) -> None:
    """Stores a new hash."""
    connection.execute(
        update(accounts).where(accounts.c.id == account_id).values(password_hash=password_hash, updated_at=now())
    )
