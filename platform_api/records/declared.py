"""Declared versus done: what a project declares beside what it was seen to do, and the ceiling that would have been enough."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from language import Capability, Ceiling, DeclaredVersusDone, Manifest, Requirement, declared_versus_done
from platform_api.packages.storage import load_inspection
from platform_api.plans.comparing import both, holds_more
from platform_api.records.witnesses import PROGRAM, RUNNER, seen_at
from platform_api.store.tables import audit_records, deploys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from platform_api.packages.package import Inspection
    from platform_api.store.store import Store
    from platform_api.turns import Turns

#: Pairs of a declaration and a record that are compared, and distinct records: a program chooses how many there are.
_MOST_PAIRS, _MOST_COMPARED, _LEAST_COMPARED = 500_000, 10_000, 500


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a project runs with now.

    Attributes:
        deploy_id: its live deploy, ``None`` before there is one.
        ceiling: what that was given; before there is one, what the program declares.
    """

    deploy_id: str | None
    inspection: Inspection
    ceiling: Ceiling


@dataclass(frozen=True, slots=True)
class Seen:
    """Equal audit records. ``times`` is how many they stand for."""

    capability: str
    scope: str | None
    granted: bool
    origin: str
    why: str
    witness: str
    times: int


@dataclass(frozen=True, slots=True)
class Findings:
    """A declaration beside what was seen.

    Attributes:
        shrunk: the ceiling without what was never used; never wider than the one there is.
        narrower: whether the ceiling there is allows anything that ``shrunk`` does not.
        unexplained: connections that the runner made or refused, of which the program recorded nothing with that outcome.
    """

    compared: DeclaredVersusDone
    shrunk: Ceiling
    narrower: bool
    unexplained: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What ``comparison_of`` found, and when the oldest record was made that it stands on."""

    declaration: Declaration
    since: int | None
    findings: Findings


def declaration_of(connection: Connection, project: Row[Any]) -> Declaration:
    """What a project runs with now.

    Args:
        connection: a transaction on the main database.
    """
    live = select(deploys.c.id, deploys.c.package_hash, deploys.c.ceiling).where(deploys.c.id == project.current_deploy)
    deploy = connection.execute(live).one_or_none() if project.current_deploy else None
    if deploy is None:
        inspection = load_inspection(connection, project.package_hash)
        return Declaration(None, inspection, Ceiling.parse(inspection.ceiling))
    inspection = load_inspection(connection, deploy.package_hash)
    return Declaration(deploy.id, inspection, Ceiling.parse(json.loads(deploy.ceiling)["text"]))


async def comparison_of(store: Store, turns: Turns, project: Row[Any], since: int) -> Comparison:
    """A project's declaration beside what it was seen to do since a moment, in milliseconds since 1970."""
    declaration = await store.main.read(declaration_of, project)

    def compare_both() -> Comparison:
        most = max(_LEAST_COMPARED, min(_MOST_COMPARED, _MOST_PAIRS // (len(declaration.inspection.requires) or 1)))
        with store.records.reading() as connection:
            first, seen = seen_since(connection, project.id, since, most + 1)
        return Comparison(declaration, first, findings(declaration, seen[:most], whole=len(seen) <= most))

    return await turns.take(project.account_id, compare_both)


def seen_since(connection: Connection, project_id: str, since: int, most: int) -> tuple[int | None, Sequence[Seen]]:
    """When the oldest record since a moment was made, in milliseconds since 1970, and those since then, equal ones together.

    Args:
        connection: a transaction on the records database.
        most: how many of them are given.
    """
    own = (audit_records.c.project_id == project_id, audit_records.c.ts >= since)
    record = audit_records.c
    fields = (record.capability, record.scope, record.granted, record.origin, record.why, record.witness)
    total = func.sum(record.times).label("total")
    rows = connection.execute(select(*fields, total).where(*own).group_by(*fields).order_by(*fields).limit(most)).all()
    first = connection.scalar(select(func.min(record.ts)).where(*own))
    seen = [
        Seen(row.capability, row.scope, row.granted, row.origin or "", row.why or "", row.witness, int(row.total))
        for row in rows
    ]
    return first, seen


def findings(declaration: Declaration, seen: Sequence[Seen], *, whole: bool = True) -> Findings:
    """Sets a declaration beside what was seen.

    Args:
        whole: whether this is all that was seen; where it is not, nothing counts as never used.
    """
    recorded = [
        {
            "capability": one.capability,
            "scope": one.scope,
            "granted": one.granted,
            "origin": one.origin,
            "why": one.why,
            "count": one.times,
        }
        for one in seen
        if one.witness == PROGRAM
    ]
    compared = declared_versus_done(_manifest(declaration.inspection), recorded)
    shrunk = both(compared.shrunk, declaration.ceiling) if whole else declaration.ceiling
    return Findings(compared, shrunk, holds_more(shrunk, declaration.ceiling), _unexplained(seen))


def _unexplained(seen: Sequence[Seen]) -> tuple[Seen, ...]:
    said = {seen_at(one) for one in seen if one.witness == PROGRAM}
    return tuple(one for one in seen if one.witness == RUNNER and seen_at(one) not in said)


def _manifest(inspection: Inspection) -> Manifest:
    requires = tuple(
        Requirement(
            Capability(line.capability, line.scope), line.file, line.line, line.file != inspection.entry, None, covered=True
        )
        for line in inspection.requires
    )
    return Manifest(
        entry=inspection.entry,
        kind=inspection.kind,
        port=inspection.port,
        errors=(),
        faults=(),
        warnings=(),
        files=(),
        templates=(),
        requires=requires,
        secrets=(),
        env=(),
        routes=(),
        gates=(),
        cron=(),
        agents=(),
    )
