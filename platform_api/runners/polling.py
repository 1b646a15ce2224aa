"""What a runner is told: the projects, runs and decisions of its own that changed since it last asked."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from platform_api.deploys.transitions import lifecycle_of
from platform_api.environment.keys import KeyMissing
from platform_api.environment.snapshots import open_snapshot
from platform_api.moments import now
from platform_api.packages.storage import load_inspection, timeout_minutes_of
from platform_api.plans.plans import IDLE_MINUTES
from platform_api.refusals import Refusal, not_found
from platform_api.rehearsals.following import wanted_rehearsals
from platform_api.runs.lifecycle import ACTIVE
from platform_api.store.tables import ACTIVE_RUNS, OPEN_GATES, accounts, deploys, erasures, gates, projects, runners, runs
from runner.protocol import DecisionSpec, DeploySpec, Limits, PollAnswer, ProjectSpec, RunSpec

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.environment.keys import Keys
    from platform_api.plans.plans import Plan, Plans
    from platform_api.settings import Settings

logger = logging.getLogger("platform")
DEFAULT_TIMEOUT_MINUTES = 15


def position(cursor: str) -> int | None:
    """The change that a cursor stands for; ``None`` for everything.

    Errors: ``validation`` for what no answer gave as a cursor.
    """
    if not cursor:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise Refusal("validation", "The cursor is not one that a poll gave.", field="cursor")
    return int(cursor)


def changes_since(
    connection: Connection, keys: Keys, plans: Plans, settings: Settings, runner_id: str, since: int | None
) -> PollAnswer:
    """Everything of a runner that changed behind a position; with ``None`` everything that is wanted of it."""
    newest = connection.execute(select(runners.c.change).where(runners.c.id == runner_id)).scalar_one_or_none()
    if newest is None:
        raise not_found("runner")
    if since is not None and since > newest:
        since = None  # the store is an older one than the runner has seen: it is told everything
    specs = []
    for row in connection.execute(_projects(runner_id, since)):
        spec = _spec(connection, keys, plans, settings, row)
        if spec is not None:
            specs.append(spec)
    return PollAnswer(
        cursor=str(newest),
        projects=(*specs, *_owed(connection, runner_id, since)),
        runs=_runs(connection, runner_id, since),
        decisions=_decisions(connection, runner_id, since),
        rehearsals=wanted_rehearsals(connection, plans, runner_id, since),
    )


def is_news(answer: PollAnswer) -> bool:
    """Whether there is anything in an answer."""
    return bool(answer.projects or answer.runs or answer.decisions or answer.rehearsals)


def _projects(runner_id: str, since: int | None) -> Any:
    query = (
        select(projects, accounts.c.plan.label("account_plan"))
        .join(accounts, accounts.c.id == projects.c.account_id)
        .where(projects.c.home_runner == runner_id)
        .order_by(projects.c.change)
    )
    return query if since is None else query.where(projects.c.change > since)


def _spec(connection: Connection, keys: Keys, plans: Plans, settings: Settings, row: Row[Any]) -> ProjectSpec | None:
    plan = plans[row.account_plan]
    wanted = lifecycle_of(connection, row).wanted
    deploy = None
    memory_mb, sleep_after = row.memory_mb, row.sleep_after
    if wanted is not None:
        found = connection.execute(select(deploys).where(deploys.c.id == wanted)).one()
        memory_mb, sleep_after = found.memory_mb, found.sleep_after
        try:
            deploy = _deploy(connection, keys, found)
        except KeyMissing:
            logger.exception("the environment of deploy %s cannot be read: its runner is not told of it", wanted)
            return None
    elif row.desired == "up":
        return None
    return ProjectSpec(
        project=row.id,
        generation=row.generation,
        desired={"up": "up", "erased": "erased"}.get(row.desired, "down"),  # type: ignore[arg-type]
        slug=row.slug,
        name=row.name,
        kind=row.kind,
        url=settings.project_url(row.slug, row.port) if row.kind == "web" and row.port is not None else "",
        approvals=f"{settings.base_url}/projects/{row.id}/approvals",
        port=row.port,
        limits=_limits(plan, memory_mb, sleep_after),
        deploy=deploy,
    )


def _limits(plan: Plan, memory_mb: int, sleep_after: int) -> Limits:
    return Limits(
        memory_mb=memory_mb,
        disk_mb=plan.disk_mb,
        sleep_after=sleep_after if plan.sleep else IDLE_MINUTES,
        always_sleeps=not plan.sleep,
        private_addresses="net private" not in plan.above,
    )


def _deploy(connection: Connection, keys: Keys, row: Row[Any]) -> DeploySpec:
    inspection = load_inspection(connection, row.package_hash)
    environment = open_snapshot(keys, row.project_id, row.environment)
    return DeploySpec(
        id=row.id,
        number=row.number,
        package_hash=row.package_hash,
        entry=row.entry,
        kind=row.kind,
        ceiling=json.loads(row.ceiling)["text"],
        engine=row.engine or "",
        variables=inspection.env | environment.variables,
        secrets=environment.secrets,
        timeout_minutes=inspection.timeout_minutes or DEFAULT_TIMEOUT_MINUTES,
        has_cron=inspection.has_cron,
        has_agents=inspection.has_agents,
        writes_data=inspection.writes_data,
    )


def _owed(connection: Connection, runner_id: str, since: int | None) -> tuple[ProjectSpec, ...]:
    """Projects that this runner had, that another one has by now or nobody: what is left of them here is to be erased."""
    query = select(erasures).where(erasures.c.runner_id == runner_id).order_by(erasures.c.project_id)
    if since is not None:
        query = query.where(erasures.c.change > since)
    return tuple(
        ProjectSpec(
            project=row.project_id,
            generation=row.generation,
            desired="erased",
            slug=row.slug,
            name=row.slug,
            kind="worker",
        )
        for row in connection.execute(query)
    )


def _runs(connection: Connection, runner_id: str, since: int | None) -> tuple[RunSpec, ...]:
    query = (
        select(runs, deploys.c.package_hash)
        .join(projects, projects.c.id == runs.c.project_id)
        .join(deploys, deploys.c.id == runs.c.deploy_id)
        .where(projects.c.home_runner == runner_id)
        .order_by(runs.c.id)
    )
    if since is None:
        query = query.where(ACTIVE_RUNS)
    else:
        query = query.where(runs.c.change > since)
    found = []
    for row in connection.execute(query):
        over = row.status not in ACTIVE
        found.append(
            RunSpec(
                id=row.id,
                project=row.project_id,
                deploy=row.deploy_id,
                attempt=row.attempt,
                timeout_minutes=timeout_minutes_of(connection, row.package_hash) or DEFAULT_TIMEOUT_MINUTES,
                cancel=over or bool(row.cancel),
            )
        )
    return tuple(found)


def _decisions(connection: Connection, runner_id: str, since: int | None) -> tuple[DecisionSpec, ...]:
    query = (
        select(gates)
        .join(projects, projects.c.id == gates.c.project_id)
        .where(
            projects.c.home_runner == runner_id,
            gates.c.status != "pending",
            OPEN_GATES,
            gates.c.expires_at > now(),
        )
        .order_by(gates.c.id)
    )
    if since is not None:
        query = query.where(gates.c.change > since)
    return tuple(
        DecisionSpec(
            id=row.id,
            project=row.project_id,
            gate=row.gate_id,
            decision=None if row.type == "ask" else row.status == "approved",
            value=row.value,
        )
        for row in connection.execute(query)
    )
