"""Audit records of a project: what its programs asked for, and whether they got it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from platform_api.history.chain import append_history
from platform_api.records.counters import advance
from platform_api.store.database import announce
from platform_api.store.tables import audit_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

#: Characters of a field; the rest is cut off. Programs choose scopes.
LONGEST = 4_096


def append_audit(connection: Connection, project_id: str, deploy_id: str | None, records: Sequence[Mapping[str, Any]]) -> None:
    """Appends records in their order, to the list that is looked through and to the history.

    Args:
        connection: a transaction on the records database.
        deploy_id: the deploy whose program asked.
        records: maps with ``ts`` in Unix seconds, ``capability``, ``scope``, ``granted``, ``origin`` and ``why``. ``witness``
            is ``program`` (the default) or ``runner``, ``count`` how many equal records this one stands for (1).
    """
    if not records:
        return
    held = advance(connection, project_id, audit_id=len(records))
    first = int(held.audit_id) - len(records) + 1
    rows = [_row(project_id, deploy_id, number, record) for number, record in enumerate(records, first)]
    connection.execute(insert(audit_records), rows)
    append_history(connection, project_id, [(row["ts"], _event(row)) for row in rows], held)
    announce(connection, project_id)


def audit_of(
    connection: Connection, project_id: str, *, granted: bool | None, text: str, before: int | None, limit: int
) -> Sequence[Row[Any]]:
    """Records of a project, newest first.

    Args:
        granted: only those that were granted, or were not; ``None`` gives both.
        text: found in the capability, scope, origin or reason, in any case; empty finds everything.
        before: only those with a lower number.
    """
    query = select(audit_records).where(audit_records.c.project_id == project_id)
    if granted is not None:
        query = query.where(audit_records.c.granted.is_(granted))
    if text:
        query = query.where(audit_records.c.search.contains(searchable(text), autoescape=True))
    if before is not None:
        query = query.where(audit_records.c.id < before)
    return connection.execute(query.order_by(audit_records.c.id.desc()).limit(limit)).all()


def searchable(*fields: str | None) -> str:
    """What a text is looked for in, and what is looked for: without regard to case."""
    return "\n".join(field.casefold() for field in fields if field)


def _row(project_id: str, deploy_id: str | None, number: int, record: Mapping[str, Any]) -> dict[str, Any]:
    capability, scope = _text(record["capability"]), _text(record.get("scope"))
    origin, why = _text(record.get("origin")), _text(record.get("why"))
    return {
        "project_id": project_id,
        "id": number,
        "ts": round(float(record["ts"]) * 1000),
        "capability": capability,
        "scope": scope,
        "granted": bool(record["granted"]),
        "origin": origin,
        "why": why,
        "deploy_id": deploy_id,
        "witness": record.get("witness") or "program",
        "times": int(record.get("count") or 1),
        "search": searchable(capability, scope, origin, why),
    }


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    event = {"event": "audit", "ts": row["ts"] / 1000, "deploy": row["deploy_id"], "witness": row["witness"]}
    event |= {name: row[name] for name in ("capability", "scope", "granted", "origin", "why")}
    return event if row["times"] == 1 else event | {"count": row["times"]}


def _text(value: object) -> str | None:
    if value is None:
        return None
    return str(value).replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:LONGEST]
