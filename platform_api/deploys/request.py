"""Requests a deploy of a stored package with the present environment."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from platform_api.deploys.ceiling import holds_more, narrowed, read_owner_ceiling
from platform_api.deploys.lifecycle import deploy_asked
from platform_api.deploys.transitions import lifecycle_of, take_step, withdraw_review
from platform_api.environment.snapshots import snapshot
from platform_api.history.outbox import note
from platform_api.identifiers import new_id
from platform_api.moments import now
from platform_api.packages.storage import forget_old_packages, load_inspection, store_package
from platform_api.plans.budgets import blocked, lock_account, refuse_above_stored
from platform_api.plans.ceilings import EffectiveCeiling, effective
from platform_api.plans.comparing import both
from platform_api.plans.plans import IDLE_MINUTES
from platform_api.projects.find import project_of
from platform_api.refusals import Refusal
from platform_api.runners.placement import place
from platform_api.store.database import announce
from platform_api.store.tables import deploys, projects

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.accounts.principal import Principal
    from platform_api.environment.keys import Keys
    from platform_api.packages.intake import Taken
    from platform_api.plans.plans import Plans

_ACCEPTED = ("queued", "starting", "live")
#: The status of a deploy that a stop or a newer request ended before it was live.
_ENDED = ("cancelled", "superseded")
#: Ended deploys whose ceilings are looked at. Each deploy of a token keeps what those before it left, so the newest suffice.
_MOST_ENDED = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """Who requests a deploy.

    Attributes:
        account_id: the account, also for a request by the deploy hook.
        via: as of ``Principal``, or ``hook``, ``pull``, ``apply``, ``rollback``, ``shrink``.
        is_person: whether a person agrees to the capabilities of the deploy.
    """

    account_id: str
    via: str
    is_person: bool = False

    @classmethod
    def by(cls, principal: Principal, via: str | None = None) -> Asked:
        """The requester for a principal, with another ``via`` if one is given."""
        return cls(principal.account_id, via or principal.via, principal.is_person)


def lock_for_deploy(connection: Connection, principal: Principal, project_id: str) -> Row[Any]:
    """The project of a request, locked after its account, because budgets are checked under the lock of the account.

    Errors: those of ``project_of``.
    """
    project_of(connection, principal, project_id)
    lock_account(connection, principal.account_id)
    return project_of(connection, principal, project_id, lock=True)


def request_deploy(
    connection: Connection,
    keys: Keys,
    plans: Plans,
    asked: Asked,
    project: Row[Any],
    package_hash: str,
    *,
    ceiling: str | None = None,
) -> Row[Any]:
    """Queues a deploy, or puts it up for review, and gives its row.

    Args:
        project: its row, locked as by ``lock_for_deploy``.
        ceiling: what the owner allows of what the program declares; ``None`` keeps the former ceiling, ``""`` allows all.

    Errors: ``plan_limit``; ``validation`` for an invalid ceiling; ``forbidden`` if no person allows again what an owner had
    removed.
    """
    account = lock_account(connection, project.account_id)
    plan = plans[account.plan]
    inspection = load_inspection(connection, package_hash)
    refusal = blocked(connection, account, project, inspection, plan)
    if refusal:
        raise Refusal("plan_limit", refusal)
    live = _newest(connection, project.id, ("live",))
    shown, owner = given_ceiling(connection, project, effective(inspection, plan), ceiling, asked)
    widens = bool(project.review_widening and live is not None and holds_more(_text_of(live), shown.text))
    sealed, environment_made = snapshot(connection, keys, project.id)
    deploy_id, number = new_id("dep"), project.deploys_made + 1
    withdraw_review(connection, project.id, "superseded")
    event: dict[str, Any] = {
        "event": "deploy_needs_review" if widens else "deploy_asked",
        "deploy": deploy_id,
        "number": number,
        "package": package_hash,
        "ceiling": shown.text,
        "environment": environment_made,
        "via": asked.via,
        "by": asked.account_id,
    }
    values: dict[str, Any] = {
        "id": deploy_id,
        "project_id": project.id,
        "number": number,
        "package_hash": package_hash,
        "entry": inspection.entry,
        "kind": project.kind,
        "ceiling": json.dumps(shown.to_json()),
        "owner_ceiling": owner,
        "memory_mb": project.memory_mb,
        "sleep_after": project.sleep_after if plan.sleep else IDLE_MINUTES,
        "created_via": asked.via,
        "created_by": asked.account_id,
        "environment": sealed,
        "environment_made": environment_made,
        "created_at": now(),
    }
    note(connection, project.id, event)
    connection.execute(update(projects).where(projects.c.id == project.id).values(deploys_made=number))
    if widens:
        connection.execute(insert(deploys).values(**values, status="needs_review"))
        announce(connection, project.id)
        announce(connection, f"account:{project.account_id}")
    else:
        wanted = Wanted(deploy_id, package_hash, inspection.entry, environment_made)
        generation = queue(connection, project, wanted, administrator=bool(account.admin))
        connection.execute(insert(deploys).values(**values, status="queued", generation=generation))
    forget_old_packages(connection, project.id)
    return connection.execute(select(deploys).where(deploys.c.id == deploy_id)).one()


def deploy_package(
    connection: Connection,
    keys: Keys,
    plans: Plans,
    principal: Principal,
    project_id: str,
    asked: Asked,
    taken: Taken | None,
    *,
    ceiling: str | None = None,
) -> Row[Any]:
    """Stores a new package, if there is one, requests a deploy of it and returns the row of the deploy.

    Args:
        taken: the new package; ``None`` deploys the current one.

    Errors: those of ``request_deploy``; ``plan_limit`` for packages above the plan.
    """
    project = lock_for_deploy(connection, principal, project_id)
    return deploy_taken(connection, keys, plans, asked, project, taken, ceiling=ceiling)


def deploy_taken(
    connection: Connection,
    keys: Keys,
    plans: Plans,
    asked: Asked,
    project: Row[Any],
    taken: Taken | None,
    *,
    ceiling: str | None = None,
) -> Row[Any]:
    """As ``deploy_package``, for a project whose row is locked after its account."""
    if taken is None:
        return request_deploy(connection, keys, plans, asked, project, project.package_hash, ceiling=ceiling)
    files, entry, kind, inspection = taken
    package_hash = store_package(connection, files, entry, kind, inspection)
    row = request_deploy(connection, keys, plans, asked, project, package_hash, ceiling=ceiling)
    account = lock_account(connection, project.account_id)
    refuse_above_stored(connection, project.account_id, plans[account.plan])
    return row


@dataclass(frozen=True, slots=True)
class Wanted:
    """A deploy that is about to be queued."""

    id: str
    package_hash: str
    entry: str
    environment_made: int


def queue(connection: Connection, project: Row[Any], deploy: Wanted, *, administrator: bool) -> int:
    """Makes a deploy the desired state of its project and returns its generation.

    The deploy in progress is superseded here; only after that may the row of the new one say ``queued``.

    Args:
        project: its row, locked.
        administrator: whether the account is an administrator's.
    """
    before = lifecycle_of(connection, project)
    step = deploy_asked(before, deploy.id)
    connection.execute(
        update(projects)
        .where(projects.c.id == project.id)
        .values(package_hash=deploy.package_hash, entry=deploy.entry, environment_deployed=deploy.environment_made)
    )
    home = place(connection, project, administrator=administrator)
    take_step(connection, project, before, step, home_runner=home)
    return step.after.generation


def given_ceiling(
    connection: Connection, project: Row[Any], declared: EffectiveCeiling, given: str | None, asked: Asked
) -> tuple[EffectiveCeiling, str | None]:
    """The ceiling of a new deploy, and the part of it that the owner has chosen.

    Args:
        declared: what the plan allows of what the program declares.
        given: as ``ceiling`` of ``request_deploy``.

    Errors: ``validation``, ``forbidden``, as there.
    """
    kept = _kept_ceiling(connection, project.id)
    owner = kept if given is None else given or None
    result = _under(declared, owner)
    if given is not None and kept is not None and not asked.is_person:
        if holds_more(_under(declared, kept).text, result.text):
            raise Refusal(
                "forbidden",
                "This takes back what an owner took away from the program: a token with the scope 'approve' can.",
                details={"scope": "approve"},
            )
        # The next program may declare more than this one: what the owner took away stays taken away.
        owner = kept if owner is None else _common(kept, owner)
        result = _under(declared, owner)
    return result, owner


def _kept_ceiling(connection: Connection, project_id: str) -> str | None:
    """The owner's part of the ceiling of a deploy that is asked for without one.

    It is that of the newest accepted deploy, without what was taken away by later deploys that a stop or a newer request ended
    before they were live. Otherwise a token could undo a narrowing by ending its deploy. Ended deploys add nothing. A failed
    deploy takes nothing away: an owner whose narrowed program does not start can go on with the ceiling from before.
    """
    base = _newest(connection, project_id, _ACCEPTED)
    kept = base.owner_ceiling if base is not None else None
    ended = (
        select(deploys.c.owner_ceiling)
        .where(
            deploys.c.project_id == project_id,
            deploys.c.number > (base.number if base is not None else 0),
            deploys.c.status.in_(_ENDED),
            deploys.c.generation > 0,  # it was queued, and did not only wait for review
            deploys.c.owner_ceiling.is_not(None),
        )
        .order_by(deploys.c.number.desc())
        .limit(_MOST_ENDED)
    )
    for owner in connection.execute(ended).scalars():
        kept = owner if kept is None else _common(kept, owner)
    return kept


def _common(one: str, other: str) -> str:
    return str(both(read_owner_ceiling(one), read_owner_ceiling(other)))


def _under(declared: EffectiveCeiling, owner: str | None) -> EffectiveCeiling:
    return declared if owner is None else narrowed(declared, read_owner_ceiling(owner))


def _newest(connection: Connection, project_id: str, statuses: tuple[str, ...]) -> Row[Any] | None:
    return connection.execute(
        select(deploys)
        .where(deploys.c.project_id == project_id, deploys.c.status.in_(statuses))
        .order_by(deploys.c.number.desc())
        .limit(1)
    ).one_or_none()


def _text_of(deploy: Row[Any]) -> str:
    return str(json.loads(deploy.ceiling)["text"])
