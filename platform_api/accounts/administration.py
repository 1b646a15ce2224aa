"""What people do with their own account, and what an operator does with those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, update

from platform_api.accounts import throttle
from platform_api.accounts.passwords import hash_password, verify_password
from platform_api.accounts.records import set_password
from platform_api.accounts.sessions import end_sessions
from platform_api.accounts.sign_in import FAILURES_OF_AN_ACCOUNT, WINDOW
from platform_api.accounts.tokens import revoke_sign_ins
from platform_api.moments import now
from platform_api.refusals import Refusal, not_found
from platform_api.store.tables import accounts, sign_in_links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select

    from platform_api.store.database import Database

_SHOWN = ("id", "email", "name", "plan", "admin", "disabled", "created_at")


def list_accounts(connection: Connection, *, limit: int = 100, before: str | None = None) -> Sequence[Row[Any]]:
    """Accounts, newest first, without their credentials; ``second_factor`` says whether one is on.

    Args:
        before: the id of the last one of the page before.
    """
    columns: list[ColumnElement[Any]] = [accounts.c[name] for name in _SHOWN]
    found: Select[Any] = select(*columns, accounts.c.totp_secret.is_not(None).label("second_factor"))
    if before is not None:
        found = found.where(accounts.c.id < before)
    return connection.execute(found.order_by(accounts.c.id.desc()).limit(limit)).all()


def change_password(database: Database, account_id: str, current: str, new: str, *, session: bytes | None = None) -> None:
    """Sets another password. All other browsers are signed out, and tokens obtained with the old password are revoked.

    It calculates two password hashes, so call it in a thread.

    Args:
        session: the digest of the session that is kept.

    Errors: ``validation`` for a wrong current password and for a new one that is not valid, ``rate_limited`` after too many
    wrong ones.
    """
    key = f"password:{account_id}"
    with database.writing() as connection:
        throttle.refuse_above(connection, key, FAILURES_OF_AN_ACCOUNT, WINDOW, "Too many wrong passwords")
        throttle.count(connection, key, WINDOW)
        stored = connection.execute(select(accounts.c.password_hash).where(accounts.c.id == account_id)).scalar_one()
    if not verify_password(stored, current):
        raise Refusal("validation", "This is not the current password.", field="current")
    fresh = hash_password(new)
    with database.writing() as connection:
        throttle.forget(connection, key)
        _set(connection, account_id, fresh, session)


def reset_password(connection: Connection, account_id: str, password_hash: str) -> None:
    """Sets the password of somebody else and signs every browser of that account out."""
    _set(connection, account_id, password_hash, None)


def set_disabled(connection: Connection, account_id: str, disabled: bool) -> None:
    """Disables an account, or enables it again. Tokens of a disabled one are refused at once; its browsers are signed out.

    Errors: ``not_found``, ``conflict`` for the last administrator.
    """
    _found(connection, account_id)
    if disabled:
        _leaves_an_administrator(connection, account_id)
        end_sessions(connection, account_id)
        connection.execute(delete(sign_in_links).where(sign_in_links.c.account_id == account_id))
    _update(connection, account_id, disabled=disabled)


def set_admin(connection: Connection, account_id: str, admin: bool) -> None:
    """Makes an account an administrator, or takes that right away.

    Errors: ``not_found``, ``conflict`` for the last administrator.
    """
    _found(connection, account_id)
    if not admin:
        _leaves_an_administrator(connection, account_id)
    _update(connection, account_id, admin=admin)


def set_plan(connection: Connection, account_id: str, plan: str) -> None:
    """Moves an account to another plan, whose name the caller has checked. Running programs are not affected.

    Errors: ``not_found``.
    """
    _found(connection, account_id)
    _update(connection, account_id, plan=plan)


def _set(connection: Connection, account_id: str, password_hash: str, session: bytes | None) -> None:
    set_password(connection, account_id, password_hash)
    end_sessions(connection, account_id, but=session)
    revoke_sign_ins(connection, account_id)
    connection.execute(delete(sign_in_links).where(sign_in_links.c.account_id == account_id))


def _found(connection: Connection, account_id: str) -> Row[Any]:
    row = connection.execute(select(accounts).where(accounts.c.id == account_id)).one_or_none()
    if row is None:
        raise not_found("account")
    return row


def _leaves_an_administrator(connection: Connection, account_id: str) -> None:
    # Locked together: if two administrators disable each other at the same time, one of them fails.
    active = accounts.c.admin.is_(True) & accounts.c.disabled.is_(False)
    rows = connection.execute(select(accounts.c.id).where(active).order_by(accounts.c.id).with_for_update()).scalars().all()
    if list(rows) == [account_id]:
        raise Refusal("conflict", "This is the last administrator.")


def _update(connection: Connection, account_id: str, **values: Any) -> None:
    connection.execute(update(accounts).where(accounts.c.id == account_id).values(**values, updated_at=now()))
