"""Which runner a project belongs to: a pure choice, and writing it down. A project stays where its volume lies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select, update

from platform_api.moments import now
from platform_api.plans.budgets import memory_held
from platform_api.runners.registry import is_here, list_runners, next_change, status_record
from platform_api.store.tables import accounts, erasures, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row


@dataclass(frozen=True, slots=True)
class Candidate:
    """A runner that is here.

    Attributes:
        promised_mb: the memory of the projects that it has and that are to be up.
        isolates: whether it keeps programs apart from the machine.
    """

    id: str
    capacity_mb: int
    promised_mb: int
    isolates: bool


def choose(candidates: Iterable[Candidate], memory_mb: int, *, administrator: bool) -> str | None:
    """The runner with the most room, of those with enough; by id where several have as much. ``None`` when there is none.

    Args:
        administrator: whether the project is an administrator's: only those run where nothing keeps programs apart.
    """
    fitting = [
        candidate
        for candidate in candidates
        if (candidate.isolates or administrator) and candidate.capacity_mb - candidate.promised_mb >= memory_mb
    ]
    best = min(fitting, key=lambda candidate: (candidate.promised_mb - candidate.capacity_mb, candidate.id), default=None)
    return None if best is None else best.id


def candidates_of(connection: Connection) -> list[Candidate]:
    """The runners that are here, locked: what is promised stays as it is until this transaction has promised more."""
    moment = now()
    held = list_runners(connection, lock=True)
    promised = {
        row.home_runner: int(row.promised)
        for row in connection.execute(
            select(projects.c.home_runner, func.sum(memory_held()).label("promised"))
            .where(projects.c.desired == "up", projects.c.home_runner.is_not(None))
            .group_by(projects.c.home_runner)
        )
    }
    found = []
    for row in held:
        if is_here(row, moment):
            status = status_record(row)
            isolates = bool(status.get("isolation", {}).get("sandbox", True))
            found.append(Candidate(row.id, int(status.get("capacity_mb", 0)), promised.get(row.id, 0), isolates))
    return found


def place(connection: Connection, project: Row[Any], *, administrator: bool) -> str | None:
    """The runner of a project: the one it has, or one that is chosen now; ``None`` while there is none with room.

    Args:
        project: the project's row, locked.
    """
    if project.home_runner is not None:
        return str(project.home_runner)
    waits = connection.scalar(select(memory_held()).where(projects.c.id == project.id))
    runner_id = choose(candidates_of(connection), waits or project.memory_mb, administrator=administrator)
    if runner_id is not None:
        connection.execute(update(projects).where(projects.c.id == project.id).values(home_runner=runner_id))
        # The runner may still have data of this project from before. It must not be erased any more.
        here_again = erasures.c.runner_id == runner_id, erasures.c.project_id == project.id
        connection.execute(delete(erasures).where(*here_again))
    return runner_id


def waits_for_runner(connection: Connection) -> bool:
    """Whether a project waits for a runner while one is here."""
    waiting = select(projects.c.id).where(projects.c.desired == "up", projects.c.home_runner.is_(None)).limit(1)
    if connection.execute(waiting).one_or_none() is None:
        return False
    return any(is_here(row, now()) for row in list_runners(connection))


def place_waiting(connection: Connection) -> int:
    """Gives every project that waits for a runner one, where there is room by now, and says how many have found theirs."""
    waiting = (
        select(projects.c.id)
        .where(projects.c.desired == "up", projects.c.home_runner.is_(None))
        .order_by(projects.c.updated_at, projects.c.id)
        .limit(200)
    )
    ids = connection.execute(waiting).scalars().all()
    placed = 0
    for project_id in ids:
        project = connection.execute(
            select(projects)
            .where(projects.c.id == project_id, projects.c.desired == "up", projects.c.home_runner.is_(None))
            .with_for_update(skip_locked=True)
        ).one_or_none()
        if project is None:
            continue
        admin = connection.execute(select(accounts.c.admin).where(accounts.c.id == project.account_id)).scalar_one()
        runner_id = place(connection, project, administrator=bool(admin))
        if runner_id is not None:
            change = next_change(connection, runner_id)
            connection.execute(update(projects).where(projects.c.id == project_id).values(change=change))
            placed += 1
    return placed
