"""Signing in with an address and a password."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from platform_api.accounts import second_factor, throttle
from platform_api.accounts.passwords import hash_password, is_outdated, verify_password
from platform_api.accounts.records import email_key, find_account, set_password
from platform_api.accounts.tokens import digest
from platform_api.addresses import counted_as
from platform_api.moments import MINUTE
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from sqlalchemy import Row

    from platform_api.environment.keys import Keys
    from platform_api.store.database import Database

WINDOW = 15 * MINUTE
FAILURES_OF_AN_ACCOUNT, FAILURES_OF_AN_ADDRESS = 10, 100


@dataclass(frozen=True)
class Attempt:
    """One attempt to sign in, with the two keys under which its failures are counted."""

    email: str
    address: str

    @property
    def account_key(self) -> str:
        """The key for this account from this address, so that nobody can lock out the owner at another address."""
        account = digest(email_key(self.email)).hex()  # the text sent may be long, or a password by mistake
        return f"sign-in:{counted_as(self.address)}:{account}"

    @property
    def address_key(self) -> str:
        """For everything from this address."""
        return f"sign-in:{counted_as(self.address)}"


def sign_in(database: Database, keys: Keys, email: str, password: str, address: str, code: str | None = None) -> Row[Any]:
    """The account, if the password is right. It calculates one password hash, so call it in a thread.

    Args:
        address: where the request came from.
        code: of the authenticator app, for an account with a second factor.

    Errors: ``unauthorized``, with the same text and time for a wrong password and an unknown address; those of
    ``second_factor.check``; ``rate_limited`` after too many failures.
    """
    attempt = Attempt(email, address)
    with database.writing() as connection:
        what = "Too many failed sign-ins"
        throttle.refuse_above(connection, attempt.account_key, FAILURES_OF_AN_ACCOUNT, WINDOW, what)
        throttle.refuse_above(connection, attempt.address_key, FAILURES_OF_AN_ADDRESS, WINDOW, what)
        # Counted before the password is checked, so that simultaneous attempts are all counted.
        throttle.count(connection, attempt.account_key, WINDOW)
        throttle.count(connection, attempt.address_key, WINDOW)
        account = find_account(connection, email)
    known = account is not None and not account.disabled
    right = verify_password(account.password_hash if account is not None and known else None, password)
    if account is None or not right:
        raise Refusal("unauthorized", "The e-mail address or the password is wrong.")
    second_factor.check(database, keys, account.id, code)
    renewed = hash_password(password) if is_outdated(account.password_hash) else None
    with database.writing() as connection:
        throttle.forget(connection, attempt.account_key)
        throttle.take_back(connection, attempt.address_key)  # it was no failure
        if renewed is not None:
            set_password(connection, account.id, renewed)
    return account
