"""One-time codes of an authenticator app (TOTP, RFC 6238) as a second factor. Each code is accepted once."""

from __future__ import annotations

import hmac
import time
from typing import TYPE_CHECKING, Any

import pyotp
from sqlalchemy import select, update

from platform_api.accounts import throttle
from platform_api.moments import MINUTE, now
from platform_api.refusals import Refusal
from platform_api.store.tables import accounts

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.environment.keys import Keys
    from platform_api.store.database import Database

STEP = 30
WINDOW = 15 * MINUTE
WRONG_CODES = 10
ISSUER = "Platform"
PURPOSE = "second factor"


def offer(email: str) -> tuple[str, str]:
    """A new secret and its ``otpauth://`` URI for the app. Nothing is stored until ``enable`` gets a valid code."""
    secret = pyotp.random_base32()
    return secret, pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=ISSUER)


def enable(database: Database, keys: Keys, account_id: str, secret: str, code: str) -> None:
    """Requires a code at every sign-in from now on.

    Args:
        secret: what ``offer`` gave.
        code: what the app shows, as a proof that it has the secret.

    Errors: ``validation`` for a wrong code, ``conflict`` if a second factor is on already.
    """
    step = _step_of(secret, code, after=0) if len(secret) == 32 and secret.isascii() and secret.isalnum() else None
    if step is None:
        raise Refusal("validation", "This is not the code that the app shows now.", field="code")
    with database.writing() as connection:
        changed = connection.execute(
            update(accounts)
            .where(accounts.c.id == account_id, accounts.c.totp_secret.is_(None))
            .values(
                totp_secret=keys.seal(secret.encode(), PURPOSE, account_id),
                totp_counter=step,
                updated_at=now(),
            )
        )
        if changed.rowcount == 0:
            raise Refusal("conflict", "A second factor is on already: turn it off first.")


def disable(database: Database, keys: Keys, account_id: str, code: str) -> None:
    """Turns the second factor off, with a code of it.

    Errors: as of ``check``.
    """
    check(database, keys, account_id, code)
    with database.writing() as connection:
        remove(connection, account_id)


def remove(connection: Connection, account_id: str) -> None:
    """Turns the second factor of an account off, for an operator whose user has lost it."""
    connection.execute(
        update(accounts).where(accounts.c.id == account_id).values(totp_secret=None, totp_counter=0, updated_at=now())
    )


def check(database: Database, keys: Keys, account_id: str, code: str | None) -> None:
    """Checks a code. An account without a second factor needs none.

    Errors: ``unauthorized`` without a code (its ``details`` name the second factor) and for a wrong or used one,
    ``rate_limited`` after ``WRONG_CODES``.
    """
    wrong = f"second-factor:{account_id}"
    with database.writing() as connection:
        account = _locked(connection, account_id)
        if account.totp_secret is None:
            return
        if code is None:
            raise Refusal(
                "unauthorized",
                "The code of the authenticator app is needed too.",
                field="code",
                details={"second_factor": "totp"},
            )
        throttle.refuse_above(connection, wrong, WRONG_CODES, WINDOW, "Too many wrong codes")
        secret = keys.open(account.totp_secret, PURPOSE, account_id).decode()
        step = _step_of(secret, code, after=account.totp_counter)
        if step is None:
            throttle.count(connection, wrong, WINDOW)
        else:
            throttle.forget(connection, wrong)
            connection.execute(update(accounts).where(accounts.c.id == account_id).values(totp_counter=step))
    if step is None:
        raise Refusal("unauthorized", "The code is wrong or was used before.", field="code", details={"second_factor": "totp"})


def _locked(connection: Connection, account_id: str) -> Row[Any]:
    return connection.execute(select(accounts).where(accounts.c.id == account_id).with_for_update()).one()


def _step_of(secret: str, code: str, after: int) -> int | None:
    """The time step of a code: the current one, the one before or the next, and later than the last accepted one; else
    ``None``.
    """
    totp, given = pyotp.TOTP(secret), code.replace(" ", "").encode("utf-8", "replace")
    current = int(time.time()) // STEP
    fitting = [
        step for step in (current - 1, current, current + 1) if hmac.compare_digest(totp.generate_otp(step).encode(), given)
    ]
    return next((step for step in fitting if step > after), None)
