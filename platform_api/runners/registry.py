"""Runners and their tokens. A token is bound to one runner id; the store holds its SHA-256 alone."""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from platform_api.accounts.tokens import digest
from platform_api.moments import MINUTE, now
from platform_api.refusals import Refusal, not_found
from platform_api.store.database import announce
from platform_api.store.tables import runners

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from runner.protocol import RunnerState

PREFIX = "lr_"
#: A runner counts as away after so many milliseconds without a message from it.
AWAY_AFTER = MINUTE
_LONGEST_INSTANCE = 200
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def make_runner_token(connection: Connection, runner_id: str) -> str:
    """A token for a runner, which is made if it is not known. The token before holds no longer.

    Args:
        runner_id: lower-case letters, digits and hyphens, at most 63.

    Errors: ``validation`` for another id.
    """
    if not _ID.fullmatch(runner_id):
        raise Refusal("validation", f"A runner's id is lower-case letters, digits and hyphens: {runner_id!r}.", field="id")
    token = PREFIX + secrets.token_urlsafe(32)
    changed = connection.execute(update(runners).where(runners.c.id == runner_id).values(digest=digest(token)))
    if changed.rowcount == 0:
        connection.execute(insert(runners).values(id=runner_id, digest=digest(token), created_at=now()))
    return token


def runner_of(connection: Connection, token: str) -> str:
    """The id of the runner that a token was made for.

    Errors: ``unauthorized``.
    """
    found = connection.execute(select(runners.c.id).where(runners.c.digest == digest(token))).scalar_one_or_none()
    if found is None:
        raise Refusal("unauthorized", "This runner token does not hold. `lang platform runner-token ID` makes another.")
    return str(found)


def row_of(connection: Connection, runner_id: str) -> Row[Any]:
    """The row of a runner.

    Errors: ``not_found``.
    """
    row = connection.execute(select(runners).where(runners.c.id == runner_id)).one_or_none()
    if row is None:
        raise not_found("runner")
    return row


def lock_runner(connection: Connection, runner_id: str) -> Row[Any]:
    """The row of a runner, locked. Locks are taken in this order: account, project, runner.

    Errors: ``not_found``.
    """
    row = connection.execute(select(runners).where(runners.c.id == runner_id).with_for_update()).one_or_none()
    if row is None:
        raise not_found("runner")
    return row


def arrived(connection: Connection, state: RunnerState) -> None:
    """Notes that a runner is here, and how it is.

    Errors: ``conflict`` where another instance with this id is here too: the one that came first goes on; ``validation`` for an
    instance that cannot be kept.
    """
    if not 1 <= len(state.instance) <= _LONGEST_INSTANCE or storable(state.instance) != state.instance:
        raise Refusal("validation", f"An instance is a text of 1 to {_LONGEST_INSTANCE} characters.", field="runner.instance")
    row = lock_runner(connection, state.id)
    moment = now()
    if row.instance not in (None, state.instance) and is_here(row, moment):
        raise second_instance(state.id)
    status = {
        "host": state.host,
        "version": state.version,
        "engines": list(state.engines),
        "isolation": dict(state.isolation),
        "capacity_mb": state.capacity_mb,
        "free_mb": state.free_mb,
    }
    connection.execute(
        update(runners)
        .where(runners.c.id == state.id)
        .values(instance=state.instance, status=json.dumps(status), seen_at=moment)
    )


def storable(text: str) -> str:
    """A text in which what a database cannot hold is replaced: NUL and lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def second_instance(runner_id: str) -> Refusal:
    """Two runners with one id."""
    return Refusal(
        "conflict",
        f"Another runner with the id {runner_id!r} is connected, with a data folder of its own. Stop it and wait a minute, "
        "or give this one a token of its own: `lang platform runner-token ID`.",
    )


def next_change(connection: Connection, runner_id: str | None) -> int:
    """The number of a change that a runner is told of, once this transaction has been committed.

    The runner's row stays locked until then: numbers become visible in their order, and who has seen one has seen those before.
    """
    if runner_id is None:
        return 0
    number = connection.execute(
        update(runners).where(runners.c.id == runner_id).values(change=runners.c.change + 1).returning(runners.c.change)
    ).scalar_one_or_none()
    announce(connection, f"runner:{runner_id}")
    return int(number or 0)


def list_runners(connection: Connection, *, lock: bool = False) -> Sequence[Row[Any]]:
    """Every runner, by its id.

    Args:
        lock: takes the locks of all of them, in their order.
    """
    query = select(runners).order_by(runners.c.id)
    return connection.execute(query.with_for_update() if lock else query).all()


def status_record(row: Row[Any]) -> dict[str, Any]:
    """How a runner said it is, at its last poll."""
    return dict(json.loads(row.status)) if row.status else {}


def is_here(row: Row[Any], moment: int) -> bool:
    """Whether a runner was heard of lately."""
    return row.seen_at is not None and moment - row.seen_at < AWAY_AFTER
