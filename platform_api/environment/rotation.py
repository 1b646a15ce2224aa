"""Re-encrypts everything that was encrypted with an older master key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select, update

from platform_api import replays
from platform_api.accounts import second_factor
from platform_api.environment.snapshots import environment_number, environment_of, open_snapshot, seal_snapshot
from platform_api.notices.settings import seal_url, url_of
from platform_api.store.tables import accounts, deploys, environment, idempotency, notices, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.environment.keys import Keys
    from platform_api.store.database import Database


@dataclass(frozen=True, slots=True)
class Rotated:
    """How much was encrypted anew."""

    projects: int
    accounts: int


def rotate(database: Database, keys: Keys) -> Rotated:
    """Re-encrypts all values, snapshots, second factors and URLs of notices with the current key, each in a transaction.

    A process that does not know the current key yet still encrypts with the older one. Keep that until every process was
    restarted and this was called again.

    Errors: ``KeyMissing`` for a value that no key decrypts.
    """
    with database.reading() as connection:
        project_ids = connection.execute(select(projects.c.id).order_by(projects.c.id)).scalars().all()
        account_ids = connection.execute(select(accounts.c.id).where(accounts.c.totp_secret.is_not(None))).scalars().all()
    done = [0, 0]
    for place, ids, step in ((0, project_ids, _rotate_project), (1, account_ids, _rotate_account)):
        for each in ids:
            with database.writing() as connection:
                done[place] += step(connection, keys, each)
    with database.writing() as connection:
        _rotate_answers(connection, keys)
    with database.writing() as connection:
        _rotate_notices(connection, keys)
    return Rotated(*done)


def _rotate_project(connection: Connection, keys: Keys, project_id: str) -> bool:
    project = connection.execute(select(projects).where(projects.c.id == project_id).with_for_update()).one_or_none()
    stored = connection.execute(select(environment).where(environment.c.project_id == project_id)).all()
    taken = connection.execute(
        select(deploys.c.id, deploys.c.environment).where(
            deploys.c.project_id == project_id, deploys.c.environment.is_not(None)
        )
    ).all()
    outdated = [row for row in stored if keys.is_outdated(row.ciphertext)]
    snapshots = [row for row in taken if keys.is_outdated(row.environment)]
    if project is None or not (outdated or snapshots):
        return False
    for row in outdated:
        value = keys.open(row.ciphertext, project_id, row.kind, row.name)
        sealed = keys.seal(value, project_id, row.kind, row.name)
        connection.execute(
            update(environment)
            .where(environment.c.project_id == project_id, environment.c.name == row.name)
            .values(ciphertext=sealed, key_id=keys.key_id(sealed), fingerprint=keys.fingerprint(value.decode()))
        )
    for row in snapshots:
        blob = seal_snapshot(keys, project_id, open_snapshot(keys, project_id, row.environment))
        connection.execute(update(deploys).where(deploys.c.id == row.id).values(environment=blob))
    # The number depends on the key, so it changes with the key; the last deploy gets the new number too.
    number = environment_number(keys, environment_of(connection, keys, project_id))
    same = project.environment_made == project.environment_deployed
    values = {"environment_made": number} | ({"environment_deployed": number} if same else {})
    connection.execute(update(projects).where(projects.c.id == project_id).values(**values))
    return True


def _rotate_account(connection: Connection, keys: Keys, account_id: str) -> bool:
    blob = connection.execute(
        select(accounts.c.totp_secret).where(accounts.c.id == account_id).with_for_update()
    ).scalar_one_or_none()
    if blob is None or not keys.is_outdated(blob):
        return False
    secret = keys.open(blob, second_factor.PURPOSE, account_id)
    sealed = keys.seal(secret, second_factor.PURPOSE, account_id)
    connection.execute(update(accounts).where(accounts.c.id == account_id).values(totp_secret=sealed))
    return True


def _rotate_answers(connection: Connection, keys: Keys) -> None:
    rows = connection.execute(select(idempotency).where(idempotency.c.response.is_not(None))).all()
    for row in rows:
        if keys.is_outdated(row.response):
            context = (replays.PURPOSE, row.account_id, row.key)
            sealed = keys.seal(keys.open(row.response, *context), *context)
            connection.execute(
                update(idempotency)
                .where(idempotency.c.account_id == row.account_id, idempotency.c.key == row.key)
                .values(response=sealed)
            )


def _rotate_notices(connection: Connection, keys: Keys) -> None:
    for row in connection.execute(select(notices).with_for_update()).all():
        if keys.is_outdated(row.ciphertext):
            sealed = seal_url(keys, row.id, url_of(keys, row))
            connection.execute(update(notices).where(notices.c.id == row.id).values(ciphertext=sealed))
