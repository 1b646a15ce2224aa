"""The snapshot of the environment for a deploy: all names and values of one moment, encrypted."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy import select

from platform_api.store.tables import environment

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.environment.keys import Keys


@dataclass(frozen=True, slots=True)
class Environment:
    """Names and values."""

    variables: dict[str, str]
    secrets: dict[str, str] = field(repr=False)


def environment_of(connection: Connection, keys: Keys, project_id: str) -> Environment:
    """What is stored for a project now."""
    found = Environment({}, {})
    rows = connection.execute(
        select(environment.c.name, environment.c.kind, environment.c.ciphertext)
        .where(environment.c.project_id == project_id)
        .order_by(environment.c.name)
    )
    for name, kind, blob in rows:
        values = found.secrets if kind == "secret" else found.variables
        values[name] = keys.open(blob, project_id, kind, name).decode()
    return found


def environment_number(keys: Keys, found: Environment) -> int:
    """A number that identifies the content: equal for equal environments, 0 for an empty one."""
    if not found.variables and not found.secrets:
        return 0
    return keys.number(_text(found))


def snapshot(connection: Connection, keys: Keys, project_id: str) -> tuple[bytes, int]:
    """The environment of a project as it is now, encrypted, and the number of its content.

    The row of the project must be locked.
    """
    found = environment_of(connection, keys, project_id)
    return seal_snapshot(keys, project_id, found), environment_number(keys, found)


def seal_snapshot(keys: Keys, project_id: str, found: Environment) -> bytes:
    """An environment, encrypted for this project."""
    return keys.seal(_text(found), project_id, "snapshot of the environment")


def open_snapshot(keys: Keys, project_id: str, blob: bytes) -> Environment:
    """The environment that ``snapshot`` encrypted.

    Errors: ``KeyMissing``.
    """
    record = json.loads(keys.open(blob, project_id, "snapshot of the environment"))
    return Environment(record["variables"], record["secrets"])


def _text(found: Environment) -> bytes:
    return json.dumps({"variables": found.variables, "secrets": found.secrets}, sort_keys=True).encode()
