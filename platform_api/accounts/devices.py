"""The device flow (RFC 8628): a terminal asks for a token, a person approves it in a browser, the terminal fetches it once."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from platform_api.accounts import throttle
from platform_api.accounts.principal import DEVICE_SCOPES, parse_scopes
from platform_api.accounts.tokens import digest, make_token
from platform_api.moments import MINUTE, now
from platform_api.refusals import Refusal, not_found
from platform_api.store.tables import accounts, devices

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.accounts.principal import Principal
    from platform_api.store.database import Database

#: The characters of codes: no vowels, which could make words, and none that look alike (RFC 8628, 6.1).
ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
LIFE = 15 * MINUTE
#: Seconds between two polls.
INTERVAL = 5
POLLS_A_MINUTE = 60
#: Wrong codes that an account may enter within ``LIFE``.
WRONG_CODES = 10


@dataclass(frozen=True)
class Asked:
    """The answer to a terminal: the code that it keeps and the code that it shows."""

    device_code: str = field(repr=False)
    user_code: str


@dataclass(frozen=True)
class DevicePage:
    """The request that a person decides on.

    Attributes:
        asked_from: the address that the terminal asked from.
        scopes: the scopes that it asked for.
        expires_at: milliseconds since 1970.
    """

    user_code: str
    name: str
    asked_from: str
    scopes: tuple[str, ...]
    expires_at: int


def ask(connection: Connection, name: str, scopes: Iterable[str], address: str) -> Asked:
    """Stores the request of a device for a token.

    Args:
        scopes: what it asks for; none stands for ``DEVICE_SCOPES``.
        address: the address of the terminal; ``""`` if unknown.

    Errors: ``validation`` for a name that is no scope.
    """
    wanted = parse_scopes(scopes) or DEVICE_SCOPES
    device_code, made = secrets.token_urlsafe(32), now()
    letters = "".join(secrets.choice(ALPHABET) for _ in range(8))
    user_code = f"{letters[:4]}-{letters[4:]}"
    connection.execute(
        insert(devices).values(
            digest=digest(device_code),
            user_code=user_code,
            name=name,
            scopes=" ".join(wanted),
            address=address,
            status="pending",
            created_at=made,
            expires_at=made + LIFE,
        )
    )
    return Asked(device_code, user_code)


def fetch(database: Database, device_code: str) -> tuple[Row[Any], str] | None:
    """The account and the token of an approved device, once; ``None`` while nobody has decided.

    Errors: ``not_found`` for an unknown code and for one whose token was fetched, ``gone`` for one that expired,
    ``forbidden`` for one that was denied, ``rate_limited`` for more than ``POLLS_A_MINUTE``.
    """
    key = digest(device_code)
    with database.writing() as connection:
        if connection.execute(select(devices.c.digest).where(devices.c.digest == key)).one_or_none() is None:
            raise not_found("device code")
        polls = f"device:{key.hex()}"
        throttle.refuse_above(connection, polls, POLLS_A_MINUTE, MINUTE, "Too many polls of this device code")
        throttle.count(connection, polls, MINUTE)
    with database.writing() as connection:
        device = connection.execute(select(devices).where(devices.c.digest == key).with_for_update()).one()
        if device.status == "used":
            raise not_found("device code")
        if device.status == "denied":
            raise Refusal("forbidden", "This device was denied in the browser.")
        if device.expires_at <= now():
            raise Refusal("gone", "This device code has expired: ask for another.")
        if device.status == "pending":
            return None
        account = connection.execute(
            select(accounts).where(accounts.c.id == device.account_id, accounts.c.disabled.is_(False))
        ).one_or_none()
        if account is None:
            raise Refusal("forbidden", "The account that allowed this device is disabled.")
        connection.execute(update(devices).where(devices.c.digest == key).values(status="used"))
        _, token = make_token(connection, account.id, device.name, device.granted.split(), "device")
        return account, token


def prefilled(connection: Connection, user_code: str, address: str) -> str:
    """The code in the link that a person followed if the browser and the device have the same address, else ``""``.

    Otherwise the person must type the code that the terminal shows, so that a link of an attacker fills in nothing.
    """
    device = _pending(connection, user_code)
    return device.user_code if device is not None and address and device.address == address else ""


def device_page(database: Database, principal: Principal, user_code: str) -> DevicePage:
    """The request for a code that a person has typed.

    Errors: ``not_found`` for a code without a request, ``rate_limited`` after too many of those, ``forbidden`` outside of
    a browser session.
    """
    device = _typed(database, principal, user_code)
    return DevicePage(device.user_code, device.name, device.address, tuple(device.scopes.split()), device.expires_at)


def decide(database: Database, principal: Principal, user_code: str, granted: Iterable[str] | None) -> None:
    """Approves or denies a device.

    Args:
        principal: the person, in a browser session.
        granted: some of the requested scopes, and ``approve`` if the person has ticked it; ``None`` denies.

    Errors: as of ``device_page``; ``validation`` for no scope at all or one that was not asked for.
    """
    device = _typed(database, principal, user_code)
    scopes: tuple[str, ...] = ()
    if granted is not None:
        scopes = parse_scopes(granted)
        if beyond := sorted(set(scopes) - set(device.scopes.split()) - {"approve"}):
            raise Refusal("validation", f"The device did not ask for {', '.join(beyond)}.", field="scopes")
        if not scopes:
            raise Refusal("validation", "Allow at least one scope, or deny the device.", field="scopes")
    with database.writing() as connection:
        changed = connection.execute(
            update(devices)
            .where(devices.c.digest == device.digest, devices.c.status == "pending", devices.c.expires_at > now())
            .values(
                status="denied" if granted is None else "approved",
                account_id=principal.account_id,
                granted=" ".join(scopes),
            )
        )
        if changed.rowcount == 0:
            raise not_found("device code")


def _typed(database: Database, principal: Principal, user_code: str) -> Row[Any]:
    if principal.via != "session":
        raise Refusal("forbidden", "A device is allowed by a person who is signed in with a browser.")
    key = f"device-codes:{principal.account_id}"
    with database.writing() as connection:
        throttle.refuse_above(connection, key, WRONG_CODES, LIFE, "Too many wrong device codes")
        device = _pending(connection, user_code)
        if device is None:
            throttle.count(connection, key, LIFE)
    if device is None:
        raise not_found("device code")
    return device


def _pending(connection: Connection, user_code: str) -> Row[Any] | None:
    letters = "".join(character for character in user_code.upper() if character in ALPHABET)
    return connection.execute(
        select(devices).where(
            devices.c.user_code == f"{letters[:4]}-{letters[4:]}",
            devices.c.status == "pending",
            devices.c.expires_at > now(),
        )
    ).one_or_none()
