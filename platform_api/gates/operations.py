"""Gates in the store: opened, decided, handed over, closed, listed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from platform_api.gates.lifecycle import GateState, closed, decided, expired, fits
from platform_api.history.outbox import note
from platform_api.identifiers import new_id
from platform_api.moments import DAY, MINUTE, now
from platform_api.refusals import Refusal, not_found
from platform_api.runners.registry import next_change
from platform_api.store.database import announce
from platform_api.store.tables import OPEN_GATES, gates, projects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

    from platform_api.accounts.principal import Principal
    from runner.protocol import GateClosed, GateOpened

#: Gates that were closed within this time are shown beside the pending ones, the newest of them.
RECENT, MOST_RECENT = 7 * DAY, 50
#: A runner may say a little late what it handed over in time.
GRACE = MINUTE // 6
#: Bytes of a message, of an option and of an answer.
MESSAGE_LIMIT = 16 * 1024


def opened(connection: Connection, project: Row[Any], report: GateOpened) -> None:
    """Notes a gate, unless it is known. A decision of it that the runner has not confirmed is told again.

    When it expires is counted from now by the clock of this service, which decides then.

    Args:
        project: its row, locked.
    """
    known = _find(connection, project.id, report.gate)
    if known is not None:
        if state_of(known).is_on_its_way:
            change = next_change(connection, project.home_runner)
            connection.execute(update(gates).where(gates.c.id == known.id).values(change=change))
        return
    approval_id, moment = new_id("apr"), now()
    connection.execute(
        insert(gates).values(
            id=approval_id,
            project_id=project.id,
            deploy_id=report.deploy,
            run_id=report.run,
            gate_id=report.gate,
            type=report.kind,
            message=storable(report.message),
            options=None if report.options is None else json.dumps([storable(option) for option in report.options]),
            status="pending",
            expires_at=moment + report.left_ms,
            received_at=moment,
        )
    )
    event = {"event": "gate_opened", "approval": approval_id, "gate": report.gate, "type": report.kind}
    note(connection, project.id, event | {"message": storable(report.message), "deploy": report.deploy})
    _tell(connection, project)


def decide(
    connection: Connection, principal: Principal, approval_id: str, *, decision: bool | None, value: str | None
) -> Row[Any]:
    """Decides a gate and gives its row. Of several who decide at once, one does.

    Errors: ``not_found``; ``conflict`` for a project that is being deleted; ``validation`` for a form that does not fit the
    gate's type; ``gate_closed``.
    """
    gate, project = gate_of(connection, principal, approval_id, lock=True)
    if project.desired == "erased":
        raise Refusal("conflict", f"The project {project.name!r} is being deleted.")
    if not fits(gate.type, decision, value):
        field, form = ("value", '{"value": "text"}') if gate.type == "ask" else ("decision", '{"decision": true}')
        raise Refusal("validation", f"This gate is of the type {gate.type}: it takes {form}.", field=field)
    if value is not None and storable(value) != value:
        raise Refusal("validation", f"An answer has at most {MESSAGE_LIMIT:,} bytes, and no NUL.", field="value")
    before, moment = state_of(gate), now()
    after = decided(before, moment, decision, value)
    if after is None:
        how = "expired" if gate.expired or before.is_pending else gate.status
        raise Refusal("gate_closed", f"This gate is closed: it is {how}.", details={"status": how})
    change = next_change(connection, project.home_runner)
    _store(connection, gate, after, decided_at=moment, decided_by=principal.account_id, channel=principal.via, change=change)
    event = {"event": "gate_decided", "approval": gate.id, "gate": gate.gate_id, "status": after.status}
    note(connection, project.id, event | {"by": principal.account_id, "channel": principal.via})
    _tell(connection, project)
    return connection.execute(select(gates).where(gates.c.id == gate.id)).one()


def gate_of(connection: Connection, principal: Principal, approval_id: str, *, lock: bool = False) -> tuple[Row[Any], Row[Any]]:
    """A gate and its project, where the caller may reach them.

    Args:
        lock: takes the locks of both rows, the project's first.

    Errors: ``not_found``.
    """
    project_id = connection.execute(select(gates.c.project_id).where(gates.c.id == approval_id)).scalar_one_or_none()
    mine = select(projects).where(projects.c.id == project_id, projects.c.account_id == principal.account_id)
    if project_id is None or principal.project_id not in (None, project_id):
        raise not_found("approval")
    project = connection.execute(mine.with_for_update() if lock else mine).one_or_none()
    query = select(gates).where(gates.c.id == approval_id)
    gate = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if project is None or gate is None:
        raise not_found("approval")
    return gate, project


def report_closed(connection: Connection, project: Row[Any], report: GateClosed) -> bool:
    """Notes how a gate ended, and says whether it is known.

    Args:
        project: its row, locked.
    """
    gate = _find(connection, project.id, report.gate)
    if gate is None:
        return False
    before = state_of(gate)
    value = None if report.value is None else storable(report.value)
    after = closed(before, report.outcome, delivered=report.delivered, channel=report.channel, value=value)
    if after == before:
        return True
    moment = now()
    values: dict[str, Any] = {"delivered_at": moment} if after.delivered and not before.delivered else {}
    if gate.decided_at is None:
        values |= {"decided_at": moment, "channel": report.channel}
    _store(connection, gate, after, **values)
    event = "gate_expired" if after.expired else "gate_delivered" if before.is_on_its_way else "gate_decided"
    note(
        connection,
        project.id,
        {
            "event": event,
            "approval": gate.id,
            "gate": gate.gate_id,
            "status": after.status,
            "channel": gate.channel or report.channel,
            "undelivered": after.undelivered,
        },
    )
    _tell(connection, project)
    return True


def overdue_gates(connection: Connection, moment: int) -> list[tuple[str, str]]:
    """Gates whose time is up and that are not closed, each behind its project."""
    rows = connection.execute(
        select(gates.c.project_id, gates.c.id).where(OPEN_GATES, gates.c.expires_at < moment - GRACE).limit(500)
    )
    return [(row.project_id, row.id) for row in rows]


def expire(connection: Connection, project_id: str, approval_id: str, moment: int) -> None:
    """Closes a gate of ``overdue_gates`` that is still open."""
    project = connection.execute(select(projects).where(projects.c.id == project_id).with_for_update()).one_or_none()
    gate = connection.execute(select(gates).where(gates.c.id == approval_id).with_for_update()).one_or_none()
    if project is not None and gate is not None and gate.expires_at < moment - GRACE:
        close_expired(connection, project, gate)


def close_expired(connection: Connection, project: Row[Any], gate: Row[Any]) -> None:
    """Closes a gate that nobody can decide or hand over any more.

    Args:
        project: its row, locked, as the gate's.
    """
    before = state_of(gate)
    after = expired(before)
    if after == before:
        return
    values = {} if gate.decided_at is not None else {"decided_at": now(), "channel": "deadline"}
    _store(connection, gate, after, **values)
    event = {"event": "gate_expired", "approval": gate.id, "gate": gate.gate_id, "status": after.status}
    note(connection, project.id, event | {"undelivered": after.undelivered})
    _tell(connection, project)


def open_gates_of(connection: Connection, project_id: str) -> Sequence[Row[Any]]:
    """The gates of a project that are pending or whose decision is on its way."""
    rows = connection.execute(select(gates).where(gates.c.project_id == project_id, OPEN_GATES).with_for_update())
    return rows.all()


def pending_of_account(connection: Connection, principal: Principal, limit: int, before: str | None) -> Sequence[Row[Any]]:
    """The pending gates of an account's programs, newest first, each with ``project_name``."""
    query = _with_project(principal).where(OPEN_GATES, gates.c.status == "pending", gates.c.expires_at > now())
    query = query if before is None else query.where(gates.c.id < before)
    return connection.execute(query.order_by(gates.c.id.desc()).limit(limit)).all()


def recent_of_account(connection: Connection, principal: Principal) -> Sequence[Row[Any]]:
    """The gates of an account that were closed lately, the newest first, each with ``project_name``."""
    query = _with_project(principal).where(gates.c.status != "pending", gates.c.decided_at > now() - RECENT)
    return connection.execute(query.order_by(gates.c.decided_at.desc(), gates.c.id.desc()).limit(MOST_RECENT)).all()


def gates_of_project(
    connection: Connection, principal: Principal, project_id: str, limit: int, before: str | None
) -> Sequence[Row[Any]]:
    """All gates of a project, newest first, each with ``project_name``."""
    query = _with_project(principal).where(gates.c.project_id == project_id)
    query = query if before is None else query.where(gates.c.id < before)
    return connection.execute(query.order_by(gates.c.id.desc()).limit(limit)).all()


def state_of(row: Row[Any]) -> GateState:
    """The record of a row."""
    return GateState(
        type=row.type,
        expires_at=row.expires_at,
        status=row.status,
        value=row.value,
        expired=bool(row.expired),
        delivered=row.delivered_at is not None,
        undelivered=bool(row.undelivered),
    )


def storable(text: str) -> str:
    """A text as it is kept: bounded, and nothing that a database cannot hold."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace")[:MESSAGE_LIMIT].decode("utf-8", "ignore")


def _with_project(principal: Principal) -> Any:
    query = (
        select(gates, projects.c.name.label("project_name"))
        .join(projects, projects.c.id == gates.c.project_id)
        .where(projects.c.account_id == principal.account_id)
    )
    return query if principal.project_id is None else query.where(gates.c.project_id == principal.project_id)


def _find(connection: Connection, project_id: str, gate_id: str) -> Row[Any] | None:
    return connection.execute(
        select(gates).where(gates.c.project_id == project_id, gates.c.gate_id == gate_id).with_for_update()
    ).one_or_none()


def _store(connection: Connection, gate: Row[Any], after: GateState, **values: object) -> None:
    values |= {"status": after.status, "value": after.value, "expired": after.expired, "undelivered": after.undelivered}
    connection.execute(update(gates).where(gates.c.id == gate.id).values(**values))


def _tell(connection: Connection, project: Row[Any]) -> None:
    announce(connection, project.id)
    announce(connection, f"account:{project.account_id}")
