"""The stored variables and secrets of a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select, update

from platform_api.environment.names import name_problem
from platform_api.environment.snapshots import environment_number, environment_of
from platform_api.history.outbox import note
from platform_api.moments import now
from platform_api.packages.storage import load_inspection
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal, not_found
from platform_api.store.database import announce
from platform_api.store.tables import environment, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.accounts.principal import Principal
    from platform_api.environment.keys import Keys
    from platform_api.packages.package import Inspection

KINDS = ("secret", "variable")
LONGEST_VALUE = 64 * 1024
MOST_NAMES = 500
MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Item:
    """One name. ``value`` is that of a variable, ``fingerprint`` that of a secret."""

    name: str
    kind: str
    value: str | None
    fingerprint: str | None
    created_at: int


@dataclass(frozen=True, slots=True)
class Items:
    """The environment of a project as answers show it."""

    items: list[Item]
    missing: list[str]
    needs_redeploy: bool


def list_items(connection: Connection, keys: Keys, principal: Principal, project_id: str, kind: str | None = None) -> Items:
    """The names of a project, sorted, with the values of its variables.

    Args:
        kind: only those of this kind.
    """
    project = project_of(connection, principal, project_id)
    query = select(environment).where(environment.c.project_id == project_id).order_by(environment.c.name)
    if kind is not None:
        query = query.where(environment.c.kind == kind)
    items = []
    for row in connection.execute(query):
        variable = row.kind == "variable"
        value = keys.open(row.ciphertext, project_id, row.kind, row.name).decode() if variable else None
        items.append(Item(row.name, row.kind, value, None if variable else row.fingerprint, row.created_at))
    inspection = load_inspection(connection, project.package_hash)
    missing = missing_secrets(connection, project_id, inspection)
    return Items(items, missing, project.environment_made != project.environment_deployed)


def missing_secrets(connection: Connection, project_id: str, inspection: Inspection) -> list[str]:
    """The names of the secrets that a program needs and that have no value, sorted."""
    stored = set(connection.execute(select(environment.c.name).where(environment.c.project_id == project_id)).scalars())
    return sorted(set(inspection.secrets) - stored)


def put_value(
    connection: Connection, keys: Keys, principal: Principal, project_id: str, name: str, value: str, kind: str | None = None
) -> str:
    """Stores a value and gives its kind.

    Args:
        kind: ``secret`` or ``variable``. Without it, a name that the program declares as a secret, or that is stored as one,
            is a secret, and every other one a variable.

    Errors: ``validation`` for a name or a value that cannot be.
    """
    project = project_of(connection, principal, project_id, lock=True)
    here = (environment.c.project_id == project_id, environment.c.name == name)
    stored = connection.execute(select(environment).where(*here)).one_or_none()
    if kind is None:
        was_secret = stored is not None and stored.kind == "secret"
        declared = was_secret or load_inspection(connection, project.package_hash).declares_secret(name)
        kind = "secret" if declared else "variable"
    if kind not in KINDS:
        raise Refusal("validation", f"kind must be {' or '.join(KINDS)}.", field="kind")
    if why := name_problem(name, kind):
        raise Refusal("validation", why, field="name")
    if why := value_problem(value):
        raise Refusal("validation", why, field="value")
    if stored is not None and stored.kind == kind and keys.open(stored.ciphertext, project_id, kind, name) == value.encode():
        return kind
    connection.execute(delete(environment).where(*here))
    sealed, fingerprint = keys.seal(value.encode(), project_id, kind, name), keys.fingerprint(value)
    connection.execute(
        insert(environment).values(
            project_id=project_id,
            name=name,
            kind=kind,
            ciphertext=sealed,
            key_id=keys.key_id(sealed),
            fingerprint=fingerprint,
            created_at=now(),
        )
    )
    _refuse_too_much(connection, project_id)
    _changed(connection, keys, project_id)
    event = {"event": "environment_set", "name": name, "kind": kind, "fingerprint": fingerprint, "by": principal.account_id}
    note(connection, project_id, event)
    return kind


def delete_value(connection: Connection, keys: Keys, principal: Principal, project_id: str, name: str) -> None:
    """Removes a name.

    Errors: ``not_found`` for one without a value.
    """
    project_of(connection, principal, project_id, lock=True)
    gone = connection.execute(delete(environment).where(environment.c.project_id == project_id, environment.c.name == name))
    if gone.rowcount == 0:
        raise not_found("name in the environment of this project")
    _changed(connection, keys, project_id)
    note(connection, project_id, {"event": "environment_deleted", "name": name, "by": principal.account_id})


def value_problem(value: str) -> str:
    """Why a text cannot be a value, as a sentence; the empty text where it can."""
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "The value is not valid UTF-8."
    if size > LONGEST_VALUE:
        return f"The value has {size:,} bytes; at most {LONGEST_VALUE:,} are allowed."
    if "\0" in value:
        return "The value has a NUL in it, which no environment can hold."
    return ""


def _refuse_too_much(connection: Connection, project_id: str) -> None:
    query = select(func.count(), func.sum(func.length(environment.c.ciphertext)))
    names, size = connection.execute(query.where(environment.c.project_id == project_id)).one()
    if names > MOST_NAMES:
        raise Refusal("validation", f"A project has at most {MOST_NAMES} variables and secrets.", field="name")
    if size > MOST_BYTES:
        raise Refusal("validation", f"The values of a project have at most {MOST_BYTES:,} bytes in all.", field="value")


def _changed(connection: Connection, keys: Keys, project_id: str) -> None:
    number = environment_number(keys, environment_of(connection, keys, project_id))
    connection.execute(update(projects).where(projects.c.id == project_id).values(environment_made=number, updated_at=now()))
    announce(connection, project_id)


def fingerprints_of(connection: Connection, project_id: str) -> Sequence[tuple[str, str, str]]:
    """Name, kind and fingerprint of everything that is stored for a project, by name."""
    query = select(environment.c.name, environment.c.kind, environment.c.fingerprint)
    rows = connection.execute(query.where(environment.c.project_id == project_id).order_by(environment.c.name))
    return [(name, kind, fingerprint) for name, kind, fingerprint in rows]
