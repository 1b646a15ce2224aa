"""API tokens: ``lp_`` and 32 random bytes in base64url. Only their SHA-256 is stored."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, func, insert, select, update

from platform_api.accounts.principal import Principal, parse_scopes, scopes_of
from platform_api.identifiers import new_id
from platform_api.moments import DAY, HOUR, now
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal, not_found
from platform_api.store.tables import accounts, tokens

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.store.database import Database

PREFIX = "lp_"
#: The last use of a token is stored at most this often.
USE_IS_NOTED_EVERY = HOUR
#: The most valid tokens of an account that devices have and persons have made, of those of sign-ins, and of those that ended.
MOST = 200
#: Rows that one transaction deletes.
_AT_A_TIME = 1_000
#: The most tokens in the cache.
_KNOWN = 10_000

_principal = (
    select(
        tokens.c.id,
        tokens.c.account_id,
        tokens.c.scopes,
        tokens.c.via,
        tokens.c.project_id,
        tokens.c.last_used_at,
        accounts.c.email,
        accounts.c.name,
        accounts.c.plan,
        accounts.c.admin,
    )
    .join(accounts, accounts.c.id == tokens.c.account_id)
    .where(tokens.c.digest == bindparam("digest"), tokens.c.revoked_at.is_(None), accounts.c.disabled.is_(False))
)


def digest(token: str) -> bytes:
    """The stored hash of a token. A token has 256 random bits, so neither a salt nor a slow hash is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def make_token(
    connection: Connection,
    account_id: str,
    name: str,
    scopes: Sequence[str],
    via: str,
    project_id: str | None = None,
) -> tuple[str, str]:
    """Makes a token and returns its id and the token itself, which is not stored.

    Args:
        via: ``login``, ``device`` or ``token``.

    Errors: ``conflict`` for an account that has ``MOST`` tokens of devices and of persons. A sign-in always gets one: the token
        of the sign-in that was used least recently ends.
    """
    _make_room(connection, account_id, via)
    token = PREFIX + secrets.token_urlsafe(32)
    token_id, made = new_id("tok"), now()
    connection.execute(
        insert(tokens).values(
            id=token_id,
            account_id=account_id,
            name=name,
            digest=digest(token),
            scopes=" ".join(scopes),
            via=via,
            project_id=project_id,
            created_at=made,
            last_used_at=made,
        )
    )
    return token_id, token


def _make_room(connection: Connection, account_id: str, via: str) -> None:
    connection.execute(select(accounts.c.id).where(accounts.c.id == account_id).with_for_update())
    own, valid, sign_in = tokens.c.account_id == account_id, tokens.c.revoked_at.is_(None), tokens.c.via == "login"
    over = select(tokens.c.id).where(own, ~valid).order_by(tokens.c.revoked_at.desc()).offset(MOST)
    _delete(connection, connection.scalars(over.limit(_AT_A_TIME)).all())
    if via == "login":
        over = select(tokens.c.id).where(own, valid, sign_in).order_by(tokens.c.last_used_at.desc(), tokens.c.id.desc())
        _delete(connection, connection.scalars(over.offset(MOST - 1).limit(_AT_A_TIME)).all())
    elif (connection.scalar(select(func.count()).select_from(tokens).where(own, valid, ~sign_in)) or 0) >= MOST:
        raise Refusal("conflict", f"This account has {MOST} tokens: revoke one first.")


def _delete(connection: Connection, ids: Sequence[str]) -> None:
    if ids:
        connection.execute(delete(tokens).where(tokens.c.id.in_(ids)))


class Tokens:
    """Looks up the tokens of requests. For the event loop.

    With SQLite a result is cached until the next commit to the store, so a revoked token is refused from that commit on, on
    every replica.

    Args:
        days: how long a token lives after its last use.

    Attributes:
        version: that of the store for which a token was looked at last; ``None`` with PostgreSQL, which does not tell.
    """

    def __init__(self, main: Database, days: int) -> None:
        self._main = main
        self._days = days
        self.version: tuple[int, int] | None = None
        self._known: dict[bytes, tuple[Principal, int]] = {}

    def known(self, own: bytes) -> tuple[Principal, bool] | None:
        """As ``principal_of``, of what was read since the last commit; ``None`` also where the store has to be asked.

        Args:
            own: the ``digest`` of the token.
        """
        return self._among_known(own) if self._is_unchanged() else None

    def known_in_turn(self, own: bytes) -> tuple[Principal, bool] | None:
        """As ``known``, for a request of which something had arrived when this turn of the event loop began."""
        version = self._main.version_in_turn()
        # Another request of this turn may have found a later version: it is not turned back.
        return self._among_known(own) if version is not None and version == self.version else None

    async def principal(self, token: str) -> tuple[Principal, bool] | None:
        """As ``principal_of``."""
        unchanged = self._is_unchanged()
        if self.version is None:
            return await self._main.read(principal_of, token, self._days)
        own, known = digest(token), self._known
        found = known.get(own) if unchanged else None
        if found is None:
            found = await self._main.read(_stored, own)
            if found is None:
                return None
            known[own] = found
        return _holds(*found, self._days)

    def _among_known(self, own: bytes) -> tuple[Principal, bool] | None:
        found = self._known.get(own)
        return None if found is None else _holds(*found, self._days)

    def _is_unchanged(self) -> bool:
        """Whether nobody has committed since the last call. What was known is forgotten else."""
        version = self._main.version()
        if version is not None and version == self.version and len(self._known) < _KNOWN:
            return True
        # Of the version before the reads: what has changed in between is not used again.
        self.version, self._known = version, {}
        return False


def principal_of(connection: Connection, token: str, days: int) -> tuple[Principal, bool] | None:
    """The principal of a token, and whether its use must be stored; ``None`` for a token that is not valid.

    Args:
        days: how long a token lives after its last use.
    """
    found = _stored(connection, digest(token))
    return None if found is None else _holds(*found, days)


def _holds(principal: Principal, last_used_at: int, days: int) -> tuple[Principal, bool] | None:
    age = now() - last_used_at
    return None if age > days * DAY else (principal, age > USE_IS_NOTED_EVERY)


def _stored(connection: Connection, own: bytes) -> tuple[Principal, int] | None:
    row = connection.execute(_principal, {"digest": own}).one_or_none()
    if row is None:
        return None
    principal = Principal(
        account_id=row.account_id,
        email=row.email,
        name=row.name,
        plan=row.plan,
        admin=row.admin,
        via=row.via,
        scopes=scopes_of(row.scopes),
        token_id=row.id,
        project_id=row.project_id,
    )
    return principal, row.last_used_at


def note_use(connection: Connection, token_id: str) -> None:
    """Writes that a token has been used now."""
    connection.execute(update(tokens).where(tokens.c.id == token_id).values(last_used_at=now()))


def make_personal_token(
    connection: Connection, principal: Principal, name: str, scopes: Iterable[str], project_id: str | None = None
) -> tuple[str, str]:
    """Makes a token for the person of a browser session and returns its id and the token itself.

    Args:
        project_id: the one project that it is limited to.

    Errors: ``forbidden`` outside of a browser session, because tokens cannot make tokens. ``validation`` for an unknown
    scope, for no scope, or for a name that is empty or too long; ``not_found`` for a project of another account.
    """
    if principal.via != "session":
        raise Refusal("forbidden", "Tokens are made by a person who is signed in with a browser.")
    chosen = parse_scopes(scopes)
    if not chosen:
        raise Refusal("validation", "Choose at least one scope.", field="scopes")
    name = name.strip()
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise Refusal("validation", "A name has 1 to 100 printable characters.", field="name")
    if project_id is not None:
        project_of(connection, principal, project_id)
    return make_token(connection, principal.account_id, name, chosen, "token", project_id)


def list_tokens(
    connection: Connection, account_id: str, days: int, limit: int, before: str | None = None
) -> Sequence[Row[tuple[object, ...]]]:
    """The valid tokens of an account, newest first.

    Args:
        days: how long a token lives after its last use.
        before: the id of the last one of the page before.
    """
    found = select(tokens).where(
        tokens.c.account_id == account_id, tokens.c.revoked_at.is_(None), tokens.c.last_used_at >= now() - days * DAY
    )
    if before is not None:
        found = found.where(tokens.c.id < before)
    return connection.execute(found.order_by(tokens.c.id.desc()).limit(limit)).all()


def revoke_token(connection: Connection, account_id: str, token_id: str) -> None:
    """Revokes a token: from the commit on, every replica refuses it.

    Errors: ``not_found``, also for one that is revoked already or belongs to another account.
    """
    changed = connection.execute(
        update(tokens)
        .where(tokens.c.id == token_id, tokens.c.account_id == account_id, tokens.c.revoked_at.is_(None))
        .values(revoked_at=now())
    )
    if changed.rowcount == 0:
        raise not_found("token")


def revoke_sign_ins(connection: Connection, account_id: str) -> None:
    """Revokes the tokens that were obtained with the password, not those of devices and those made on the account page."""
    connection.execute(
        update(tokens)
        .where(tokens.c.account_id == account_id, tokens.c.via == "login", tokens.c.revoked_at.is_(None))
        .values(revoked_at=now())
    )
