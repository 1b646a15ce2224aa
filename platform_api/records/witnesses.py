"""The two witnesses of what a program reaches: the program records what it was granted, its runner what it connected.

A connection goes through both, so the runner sees nothing that the program has not recorded with the same outcome. Where it
does, something went around the checks of the interpreter, or came to another end than those: the project is flagged until its
owner has looked at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import select, update

from language import Capability
from platform_api.history.outbox import note
from platform_api.projects.find import project_of
from platform_api.records.logs import storable
from platform_api.store.database import announce
from platform_api.store.tables import audit_records, projects
from runner.protocol import AuditRecord, ProtocolError, item_from_json

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from platform_api.accounts.principal import Principal
    from platform_api.store.store import Store

PROGRAM, RUNNER = "program", "runner"
#: How far back a record of the program is looked for: it is made right before the connection, equal ones are counted as one.
_LOOKED_AT, _AT_A_TIME = 5_000, 500
#: Connections that the history names of one report.
_NAMED = 20


class Record(Protocol):
    """What both sorts of records have in common."""

    @property
    def capability(self) -> str:
        """The name of the capability."""

    @property
    def scope(self) -> str | None:
        """What of it, for example a host."""

    @property
    def granted(self) -> bool:
        """The outcome."""

    @property
    def witness(self) -> str:
        """Who has made it."""


Seen = tuple[str, bool]


def seen_at(record: Record) -> Seen:
    """What two records of one connection have in common: where it leads, and its outcome. A model's provider is any host."""
    if record.capability == "llm":
        return "llm", record.granted
    # A runner tells the host and port of a database too, where its program tells the URL.
    name = "net" if record.capability == "db" and record.witness == RUNNER else record.capability
    return (Capability(name, record.scope).host or record.scope or name).lower(), record.granted


def flag_differences(store: Store, mine: frozenset[str], items: Iterable[Mapping[str, Any]]) -> None:
    """Flags the projects of a report whose runner saw what the program did not record. Called before the report is stored.

    It is done anew when the report comes again: a service that ends between the two loses nothing.

    Args:
        mine: the projects of the runner.
        items: the items of the report, of any sort.
    """
    found = sorted(_audit_records(mine, items), key=lambda record: record.project)
    for project_id, group in groupby(found, key=lambda record: record.project):
        records = list(group)
        said = {seen_at(record) for record in records if record.witness == PROGRAM}
        open_ = {seen_at(record): record for record in records if record.witness == RUNNER and seen_at(record) not in said}
        if not open_:
            continue
        with store.main.reading() as connection:
            flagged = connection.scalar(select(projects.c.flagged).where(projects.c.id == project_id))
        if not flagged:
            with store.records.reading() as connection:
                _take_out_what_was_said(connection, project_id, open_)
        if not flagged and open_:
            with store.main.writing() as connection:
                _flag(connection, project_id, list(open_.values()))


def clear_flag(connection: Connection, principal: Principal, project_id: str) -> None:
    """Notes that an owner has looked at what differs. What differs from then on flags the project again.

    Errors: those of ``project_of``; ``forbidden`` for who does not answer for a person.
    """
    principal.needs("approve")
    project = project_of(connection, principal, project_id, lock=True)
    if project.flagged:
        connection.execute(update(projects).where(projects.c.id == project_id).values(flagged=False))
        note(connection, project_id, {"event": "witnesses_looked_at", "by": principal.account_id, "via": principal.via})
        announce(connection, project_id)


def _audit_records(mine: frozenset[str], items: Iterable[Mapping[str, Any]]) -> Iterable[AuditRecord]:
    for item in items:
        if item.get("type") == AuditRecord.type:
            try:
                record = item_from_json(item)
            except ProtocolError:
                continue
            if record.project in mine:
                yield record


def _take_out_what_was_said(connection: Connection, project_id: str, open_: dict[Seen, AuditRecord]) -> None:
    record = audit_records.c
    columns = (record.id, record.capability, record.scope, record.granted, record.witness)
    newest = select(*columns).where(audit_records.c.project_id == project_id, audit_records.c.witness == PROGRAM)
    newest = newest.order_by(audit_records.c.id.desc()).limit(_AT_A_TIME)
    before: int | None = None
    for _ in range(_LOOKED_AT // _AT_A_TIME):
        rows = connection.execute(newest if before is None else newest.where(audit_records.c.id < before)).all()
        for row in rows:
            open_.pop(seen_at(row), None)
        if not open_ or len(rows) < _AT_A_TIME:
            return
        before = rows[-1].id


def _flag(connection: Connection, project_id: str, records: list[AuditRecord]) -> None:
    changed = connection.execute(
        update(projects).where(projects.c.id == project_id, projects.c.flagged.is_(False)).values(flagged=True)
    )
    if changed.rowcount == 0:
        return
    account = connection.execute(select(projects.c.account_id).where(projects.c.id == project_id)).scalar_one()
    seen = [
        {"capability": storable(record.capability), "scope": storable(record.scope or ""), "granted": record.granted}
        for record in records[:_NAMED]
    ]
    note(connection, project_id, {"event": "witnesses_differ", "seen": seen})
    announce(connection, project_id)
    announce(connection, f"account:{account}")
