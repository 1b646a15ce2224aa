"""What a runner reports, taken over once: each stream has a number up to which everything is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite

from language import MOST_GATE_OPTIONS
from platform_api.deploys.lifecycle import reported
from platform_api.deploys.transitions import lifecycle_of, take_step
from platform_api.gates.operations import opened, report_closed
from platform_api.moments import now
from platform_api.projects.delete import remove_project
from platform_api.records.audit import append_audit
from platform_api.records.logs import append_logs
from platform_api.records.witnesses import flag_differences
from platform_api.refusals import Refusal, not_found
from platform_api.rehearsals.following import take_rehearsal
from platform_api.runners.registry import second_instance, storable
from platform_api.runs.following import state_of, store_run
from platform_api.runs.lifecycle import reported as run_reported
from platform_api.runs.operations import TAIL, tail
from platform_api.store.database import announce
from platform_api.store.tables import erasures, projects, record_streams, runner_streams, runners, runs
from platform_api.usage.figures import take_figures
from runner.protocol import (
    RECORDS,
    AuditRecord,
    Batch,
    Figures,
    GateClosed,
    GateOpened,
    LogLine,
    PhaseReport,
    ProtocolError,
    Refused,
    RehearsalReport,
    ReportAnswer,
    ReportRequest,
    RunReport,
    item_from_json,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row, Table

    from platform_api.store.store import Store

#: Items that one transaction takes over.
_MANY = 500
#: Characters of an id, and of every other name in an item.
_LONGEST_NAME = 200
_NAMES = ("project", "run", "rehearsal", "gate", "deploy", "channel", "engine")
#: Moments are shown as dates, which end with the year 9999.
_LAST_MOMENT = 253_402_300_800_000
_MOMENTS = ("at", "last_request_at")
#: The highest number of a stream that can be kept.
_LAST_SEQUENCE = 2**63 - 1
#: Numbers that lie in narrow columns.
_NARROW, _NARROW_NUMBERS = 2**31, ("exit_code", "count", "more")
NOT_YOURS = "the project is not on this runner"


class _Refused(Exception):
    """An item that is never taken."""


def take_report(store: Store, runner_id: str, request: ReportRequest) -> ReportAnswer:
    """Stores what is new in a report. Called in a thread.

    Errors: ``conflict`` for another instance than the one that polls; ``validation`` for a stream of both sorts.
    """
    acknowledged: dict[str, int] = {}
    refused: list[Refused] = []
    with store.main.reading() as connection:
        _refuse_other_instance(connection, runner_id, request.instance)
    for batch in request.batches:
        if not batch.items:
            acknowledged[batch.stream] = _acknowledged(store, runner_id, request.instance, batch.stream)
            continue
        _check(batch)
        numbered = tuple((number, _storable_parts(item)) for number, item in batch.items)
        is_records = any(item.get("type") in RECORDS for _, item in batch.items)
        database = store.records if is_records else store.main
        table = record_streams if is_records else runner_streams
        with store.main.reading() as connection:
            mine = _projects_of(connection, runner_id, request.instance)
        if is_records:
            flag_differences(store, mine, (item for _, item in numbered))
        for start in range(0, len(numbered), _MANY):
            part = numbered[start : start + _MANY]
            for items in [part] if is_records else _by_project(part):
                with database.writing() as connection:
                    stream = _Stream(connection, table, runner_id, request.instance, batch.stream)
                    if not is_records:
                        _refuse_other_instance(connection, runner_id, request.instance)
                    new = [(number, item) for number, item in items if number > stream.acknowledged]
                    take = _take_records(connection, mine, new) if is_records else _take_state(connection, runner_id, new)
                    refused += [Refused(stream=batch.stream, sequence=number, reason=reason) for number, reason in take]
                    stream.acknowledge(new[-1][0] if new else stream.acknowledged)
                    acknowledged[batch.stream] = stream.acknowledged
    return ReportAnswer(acknowledged=acknowledged, refused=tuple(refused))


def _check(batch: Batch) -> None:
    sorts = {item.get("type") in RECORDS for _, item in batch.items}
    if len(sorts) > 1:
        raise Refusal(
            "validation", f"The stream {batch.stream!r} holds log lines or audit records beside others.", field="batches"
        )
    numbers = [number for number, _ in batch.items]
    if any(after <= before for before, after in pairwise(numbers)) or (numbers and numbers[0] < 1):
        raise Refusal("validation", f"The numbers of the stream {batch.stream!r} do not grow from 1.", field="batches")
    if numbers and numbers[-1] > _LAST_SEQUENCE:
        raise Refusal("validation", f"The numbers of the stream {batch.stream!r} are too large.", field="batches")
    if not 1 <= len(batch.stream) <= _LONGEST_NAME or storable(batch.stream) != batch.stream:
        raise Refusal("validation", "The name of a stream has 1 to 200 characters.", field="batches")


def _by_project(
    items: tuple[tuple[int, Mapping[str, Any]], ...],
) -> Iterator[tuple[tuple[int, Mapping[str, Any]], ...]]:
    """Groups adjacent items of one project: a transaction locks the row of one project alone."""
    for _, group in groupby(items, key=lambda numbered: numbered[1].get("project")):
        yield tuple(group)


def _acknowledged(store: Store, runner_id: str, instance: str, name: str) -> int:
    """The last number that is stored of a stream, whichever sort it is of."""
    found = 0
    for database, table in ((store.main, runner_streams), (store.records, record_streams)):
        known = (table.c.runner_id == runner_id, table.c.instance == instance, table.c.stream == name)
        with database.reading() as connection:
            found = max(found, connection.execute(select(table.c.acknowledged).where(*known)).scalar() or 0)
    return found


class _Stream:
    """The place in a stream, locked until the transaction ends: the same report on two replicas is taken once."""

    def __init__(self, connection: Connection, table: Table, runner_id: str, instance: str, name: str) -> None:
        self._connection, self._table = connection, table
        self._key = (table.c.runner_id == runner_id, table.c.instance == instance, table.c.stream == name)
        dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
        values = {"runner_id": runner_id, "instance": instance, "stream": name, "acknowledged": 0}
        # One statement makes the row or locks it: between two, the runner may be forgotten and the row be gone.
        made_or_locked = (
            dialect.insert(table)
            .values(values)
            .on_conflict_do_update(
                index_elements=["runner_id", "instance", "stream"], set_={"acknowledged": table.c.acknowledged}
            )
        )
        self.acknowledged = int(connection.execute(made_or_locked.returning(table.c.acknowledged)).scalar_one())

    def acknowledge(self, number: int) -> None:
        if number > self.acknowledged:
            self._connection.execute(update(self._table).where(*self._key).values(acknowledged=number))
            self.acknowledged = number


def _projects_of(connection: Connection, runner_id: str, instance: str) -> frozenset[str]:
    _refuse_other_instance(connection, runner_id, instance)
    return frozenset(connection.execute(select(projects.c.id).where(projects.c.home_runner == runner_id)).scalars())


def _refuse_other_instance(connection: Connection, runner_id: str, instance: str) -> None:
    row = connection.execute(select(runners.c.id, runners.c.instance).where(runners.c.id == runner_id)).one_or_none()
    if row is None:
        raise not_found("runner")
    if row.instance != instance:
        raise second_instance(runner_id)


Numbered = Iterable[tuple[int, Mapping[str, Any]]]


def _item(given: Mapping[str, Any]) -> Any:
    """An item whose numbers and names can be kept and shown. Its texts can (``_storable_parts``); a program wrote most of it.

    Errors: ``ProtocolError``, and ``_Refused`` for what lies outside of what can be kept.
    """
    item = item_from_json(given)
    for name in _NAMES:
        if len(getattr(item, name, None) or "") > _LONGEST_NAME:
            raise _Refused(f"{name} has more than {_LONGEST_NAME} characters")
    for name in _MOMENTS:
        if not 0 <= (getattr(item, name, None) or 0) < _LAST_MOMENT:
            raise _Refused(f"{name} is no moment between 1970 and 9999")
    if isinstance(item, AuditRecord) and not 0 <= item.ts < _LAST_MOMENT // 1000:
        raise _Refused("ts is no moment between 1970 and 9999")
    if isinstance(item, GateOpened) and not 0 <= item.left_ms < _LAST_MOMENT - now():
        raise _Refused("left_ms ends at no moment until the year 9999")
    if isinstance(item, GateOpened) and len(item.options or ()) > MOST_GATE_OPTIONS:
        raise _Refused(f"a gate has at most {MOST_GATE_OPTIONS} options")
    for name in _NARROW_NUMBERS:
        if not -_NARROW <= (getattr(item, name, None) or 0) < _NARROW:
            raise _Refused(f"{name} is out of range")
    return item


def _storable_parts(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {key: _storable_parts(part) for key, part in value.items()}
    return [_storable_parts(part) for part in value] if isinstance(value, list) else value


def _take_records(connection: Connection, mine: frozenset[str], items: Numbered) -> list[tuple[int, str]]:
    refused: list[tuple[int, str]] = []
    read: list[LogLine | AuditRecord] = []
    for number, item in items:
        try:
            record = _item(item)
            if record.project not in mine:
                raise _Refused(NOT_YOURS)
        except (ProtocolError, _Refused) as error:
            refused.append((number, str(error)))
        else:
            read.append(record)
    # Counters are locked in the order of their projects: two reports never wait for each other.
    read.sort(key=lambda record: record.project)
    for (sort, project_id, deploy_id), group in groupby(
        read, key=lambda record: (type(record), record.project, getattr(record, "deploy", None))
    ):
        if sort is LogLine:
            lines = [(line.at, line.stream, line.line, line.run) for line in group if isinstance(line, LogLine)]
            append_logs(connection, project_id, lines)
        else:
            append_audit(connection, project_id, deploy_id, [_audit(record) for record in group])
    return refused


def _audit(record: Any) -> dict[str, Any]:
    names = ("ts", "capability", "scope", "granted", "origin", "why", "witness", "count")
    return {name: getattr(record, name) for name in names}


def _take_state(connection: Connection, runner_id: str, items: Numbered) -> list[tuple[int, str]]:
    refused: list[tuple[int, str]] = []
    for number, item in items:
        try:
            report = _item(item)
            project = connection.execute(
                select(projects).where(projects.c.id == report.project).with_for_update()
            ).one_or_none()
            if project is None or project.home_runner != runner_id:
                _left_behind(connection, runner_id, report)
            else:
                _take_item(connection, project, report)
        except (ProtocolError, _Refused) as error:
            refused.append((number, str(error)))
    return refused


def _left_behind(connection: Connection, runner_id: str, report: Any) -> None:
    """A report about a project that this runner had: it may say that nothing is left of it."""
    if isinstance(report, PhaseReport) and report.phase == "erased":
        gone = erasures.delete().where(erasures.c.runner_id == runner_id, erasures.c.project_id == report.project)
        if connection.execute(gone).rowcount:
            return
    raise _Refused(NOT_YOURS)


def _take_item(connection: Connection, project: Row[Any], report: Any) -> None:
    if isinstance(report, PhaseReport):
        _take_phase(connection, project, report)
    elif isinstance(report, RunReport):
        _take_run(connection, project, report)
    elif isinstance(report, RehearsalReport):
        if not take_rehearsal(connection, project, report):
            raise _Refused("there is no such rehearsal")
    elif isinstance(report, GateOpened):
        opened(connection, project, report)
    elif isinstance(report, GateClosed):
        if not report_closed(connection, project, report):
            raise _Refused("no gate of this id was opened")
    elif isinstance(report, Figures):
        take_figures(connection, project.id, report)
        if report.last_request_at is not None:
            asked = update(projects).where(projects.c.id == project.id)
            connection.execute(asked.values(last_request_at=report.last_request_at))


def _take_phase(connection: Connection, project: Row[Any], report: PhaseReport) -> None:
    before = lifecycle_of(connection, project)
    step = reported(before, report.generation, report.phase, report.detail)
    if step.erased:
        remove_project(connection, project.id)
        announce(connection, project.id)
        announce(connection, f"account:{project.account_id}")
    else:
        take_step(connection, project, before, step, engine=report.engine)


def _take_run(connection: Connection, project: Row[Any], report: RunReport) -> None:
    row = connection.execute(
        select(runs).where(runs.c.id == report.run, runs.c.project_id == project.id).with_for_update()
    ).one_or_none()
    if row is None:
        raise _Refused("there is no such run")
    after = run_reported(state_of(row), report.attempt, report.status)
    if after is not None:
        store_run(connection, row, after, output=tail(report.output, TAIL), exit_code=report.exit_code)
        announce(connection, project.id)
