"""Accounts from the command line."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from platform_api.accounts import second_factor
from platform_api.accounts.administration import list_accounts, reset_password, set_disabled
from platform_api.accounts.passwords import hash_password
from platform_api.accounts.records import find_account, make_account
from platform_api.accounts.sign_in_links import make_sign_in_link
from platform_api.moments import rfc3339
from platform_api.plans.plans import load_plans
from platform_api.refusals import Refusal
from platform_api.store.store import open_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.settings import Settings


def read_password() -> str:
    """A password from standard input: typed without echo at a terminal, else its first line."""
    if sys.stdin.isatty():
        return getpass.getpass("Password: ")
    return sys.stdin.readline().rstrip("\r\n")


@contextmanager
def _writing(settings: Settings) -> Iterator[Connection]:
    store = open_store(settings)
    try:
        with store.main.writing() as connection:
            yield connection
    finally:
        store.close()


def _account(connection: Connection, email: str) -> str:
    found = find_account(connection, email)
    if found is None:
        raise Refusal("not_found", f"There is no account for {email}.")
    return str(found.id)


def first_account(settings: Settings, email: str, password: str | None) -> str | None:
    """Creates the administrator of a new installation. Returns a sign-in link if no password was given.

    Does nothing if there are accounts.
    """
    hashed = None if password is None else hash_password(password)
    with _writing(settings) as connection:
        if list_accounts(connection, limit=1):
            return None
        account_id = make_account(connection, email, plan="team", admin=True, password_hash=hashed)
        return make_sign_in_link(connection, settings, account_id) if hashed is None else None


def add(settings: Settings, email: str, name: str, plan: str, admin: bool, password: str | None) -> str | None:
    """Creates an account. Returns a sign-in link if no password was given.

    Errors: ``Refusal`` for a plan that does not exist, an address that has an account, a password that is too short.
    """
    plans = load_plans(settings.plans)
    if plan not in plans.names:
        raise Refusal("validation", f"There is no plan {plan!r}: there are {', '.join(plans.names)}.", field="plan")
    hashed = None if password is None else hash_password(password)
    with _writing(settings) as connection:
        account_id = make_account(connection, email, name=name, plan=plan, admin=admin, password_hash=hashed)
        return make_sign_in_link(connection, settings, account_id) if hashed is None else None


def sign_in_link(settings: Settings, email: str) -> str:
    """A link that signs an account in once.

    Errors: ``Refusal`` for an address without an account.
    """
    with _writing(settings) as connection:
        return make_sign_in_link(connection, settings, _account(connection, email))


def passwd(settings: Settings, email: str, password: str) -> None:
    """Sets the password of an account.

    Errors: ``Refusal`` for an address without an account, or a password that is too short.
    """
    hashed = hash_password(password)
    with _writing(settings) as connection:
        reset_password(connection, _account(connection, email), hashed)


def disable(settings: Settings, email: str) -> None:
    """Ends every session and token of an account.

    Errors: ``Refusal`` for an address without an account.
    """
    with _writing(settings) as connection:
        set_disabled(connection, _account(connection, email), True)


def enable(settings: Settings, email: str) -> None:
    """Enables a disabled account again. Its tokens are valid again, its sessions are not.

    Errors: ``Refusal`` for an address without an account.
    """
    with _writing(settings) as connection:
        set_disabled(connection, _account(connection, email), False)


def reset_second_factor(settings: Settings, email: str) -> None:
    """Turns the one-time codes of an account off.

    Errors: ``Refusal`` for an address without an account.
    """
    with _writing(settings) as connection:
        second_factor.remove(connection, _account(connection, email))


def listed(settings: Settings) -> list[str]:
    """A line for each account, the oldest first."""
    lines: list[str] = []
    before: str | None = None
    with _writing(settings) as connection:
        while rows := list_accounts(connection, before=before):
            before = rows[-1].id
            for row in rows:
                marks = [mark for mark in ("admin", "disabled") if getattr(row, mark)]
                lines.append("  ".join([row.email, row.plan, rfc3339(row.created_at), *marks]))
    return lines[::-1]
