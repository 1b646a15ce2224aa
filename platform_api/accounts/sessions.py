"""Browser sessions: a random cookie, whose SHA-256 is stored, and a CSRF token in every form."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, select, update

from platform_api.accounts.principal import ALL_SCOPES, Principal
from platform_api.accounts.tokens import digest
from platform_api.moments import DAY, HOUR, SECOND, now
from platform_api.refusals import Refusal
from platform_api.store.tables import accounts, sessions
from runner.protocol import SESSION_COOKIES

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.settings import Settings

#: A session ends after ``IDLE`` without use, and at the latest ``LIFE`` after the sign-in.
IDLE, LIFE = 7 * DAY, 30 * DAY
#: Rows that one transaction deletes.
_AT_A_TIME = 1_000
#: The most sessions of an account.
MOST = 100
USE_IS_NOTED_EVERY = HOUR
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_session = (
    select(
        sessions.c.digest,
        sessions.c.csrf,
        sessions.c.last_used_at,
        accounts.c.id,
        accounts.c.email,
        accounts.c.name,
        accounts.c.plan,
        accounts.c.admin,
    )
    .join(accounts, accounts.c.id == sessions.c.account_id)
    .where(
        sessions.c.digest == bindparam("digest"),
        sessions.c.expires_at > bindparam("moment"),
        sessions.c.last_used_at > bindparam("idle"),
        accounts.c.disabled.is_(False),
    )
)


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in browser.

    Attributes:
        digest: the key of the session in the store.
        csrf: the token that each of its forms carries in the field ``csrf``.
        use_is_news: whether the time of this use must be stored.
    """

    digest: bytes = field(repr=False)
    principal: Principal
    csrf: str = field(repr=False)
    use_is_news: bool = False


def start_session(connection: Connection, account_id: str, address: str) -> str:
    """Starts a session and returns the value of its cookie, which is not stored.

    Of an account that has ``MOST``, the one that was used least recently ends.
    """
    own = select(sessions.c.digest).where(sessions.c.account_id == account_id)
    over = connection.scalars(own.order_by(sessions.c.last_used_at.desc()).offset(MOST - 1).limit(_AT_A_TIME)).all()
    if over:
        connection.execute(delete(sessions).where(sessions.c.digest.in_(over)))
    value, made = secrets.token_urlsafe(32), now()
    connection.execute(
        insert(sessions).values(
            digest=digest(value),
            account_id=account_id,
            csrf=secrets.token_urlsafe(32),
            address=address,
            created_at=made,
            last_used_at=made,
            expires_at=made + LIFE,
        )
    )
    return value


def session_of(connection: Connection, value: str) -> Session | None:
    """The session of a cookie, ``None`` for one that has ended or whose account is disabled."""
    moment = now()
    values = {"digest": digest(value), "moment": moment, "idle": moment - IDLE}
    row = connection.execute(_session, values).one_or_none()
    if row is None:
        return None
    principal = Principal(
        account_id=row.id,
        email=row.email,
        name=row.name,
        plan=row.plan,
        admin=row.admin,
        via="session",
        scopes=ALL_SCOPES,
        session=row.digest,
    )
    return Session(row.digest, principal, row.csrf, moment - row.last_used_at > USE_IS_NOTED_EVERY)


def note_session_use(connection: Connection, session_digest: bytes) -> None:
    """Writes that a session has been used now."""
    connection.execute(update(sessions).where(sessions.c.digest == session_digest).values(last_used_at=now()))


def end_session(connection: Connection, session_digest: bytes) -> None:
    """Signs a browser out."""
    connection.execute(delete(sessions).where(sessions.c.digest == session_digest))


def end_sessions(connection: Connection, account_id: str, *, but: bytes | None = None) -> None:
    """Signs every browser of an account out.

    Args:
        but: the digest of the one session that is kept.
    """
    statement = delete(sessions).where(sessions.c.account_id == account_id)
    connection.execute(statement if but is None else statement.where(sessions.c.digest != but))


def cookie_name(settings: Settings) -> str:
    """The name of the cookie. With TLS its prefix ``__Host-`` prevents that other hosts of the domain set it."""
    return SESSION_COOKIES[0 if settings.secure else 1]


def set_cookie(settings: Settings, value: str) -> str:
    """The ``Set-Cookie`` header that begins a session; with ``""`` the one that ends it."""
    life = LIFE // SECOND if value else 0
    secure = "; Secure" if settings.secure else ""
    return f"{cookie_name(settings)}={value}; Path=/; Max-Age={life}; HttpOnly; SameSite=Lax{secure}"


def cookie_of(settings: Settings, header: str) -> str | None:
    """The value of the session cookie in a ``Cookie`` header; ``None`` without one, and if there are two that differ.

    Cookies are not bound to a port, so a program on the same host may set a cookie of this name too.
    """
    name = cookie_name(settings)
    pairs = (part.partition("=") for part in header.split(";"))
    values = {value.strip() for given, equals, value in pairs if equals and given.strip() == name}
    return values.pop() if len(values) == 1 else None


def check_origin(settings: Settings, method: str, host: str, origin: str | None, site: str | None) -> None:
    """Refuses a write that a page of another site made a browser send.

    Args:
        host: the ``Host`` header, which is one of the service's own.
        origin: the ``Origin`` header. Browsers send it with every request that is not safe.
        site: the ``Sec-Fetch-Site`` header, which decides if there is no ``Origin``.

    Errors: ``forbidden``.
    """
    if method in SAFE_METHODS:
        return
    scheme = "https" if settings.secure else "http"
    if site == "same-origin" if origin in (None, "null") else origin == f"{scheme}://{host.lower()}":
        return
    raise Refusal("forbidden", f"This form was not sent by a page of {settings.base_url}.")


def check_csrf(session: Session, given: str | None) -> None:
    """Errors: ``forbidden`` if a form does not contain the CSRF token of its session."""
    if given is None or not hmac.compare_digest(given.encode(), session.csrf.encode()):
        raise Refusal("forbidden", "This form is of another session: load the page again.")
