"""Runners from the command line."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from platform_api.moments import now, rfc3339
from platform_api.runners.forgetting import forget_runner
from platform_api.runners.registry import is_here, list_runners, make_runner_token
from platform_api.store.store import open_store

if TYPE_CHECKING:
    from platform_api.settings import Settings


def token(settings: Settings, runner_id: str) -> str:
    """A new token for a runner. An unknown runner is registered.

    Errors: ``Refusal`` for an invalid id.
    """
    with closing(open_store(settings)) as store, store.main.writing() as connection:
        return make_runner_token(connection, runner_id)


def forget(settings: Settings, runner_id: str) -> int:
    """Revokes the token of a runner, and returns the number of its projects, which are placed on other runners.

    Errors: ``Refusal`` for an unknown id.
    """
    with closing(open_store(settings)) as store:
        return forget_runner(store, runner_id)


def listed(settings: Settings) -> list[str]:
    """A line for each runner: its id, whether it is connected, the time of its last contact."""
    moment = now()
    with closing(open_store(settings)) as store, store.main.reading() as connection:
        lines = []
        for row in list_runners(connection):
            seen = "never seen" if row.seen_at is None else rfc3339(row.seen_at)
            lines.append(f"{row.id}  {'here' if is_here(row, moment) else 'away'}  {seen}")
        return lines
