"""The chain of a project: each line carries its number and the hash of the line before (``language.AuditChain``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, update

from language import AuditChain, AuditLink
from platform_api.moments import rfc3339
from platform_api.records.counters import advance
from platform_api.store.tables import counters, history

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Row


def append_history(
    connection: Connection, project_id: str, events: Sequence[tuple[int, Mapping[str, Any]]], held: Row[Any] | None = None
) -> None:
    """Appends events to the chain of a project.

    Args:
        connection: a transaction on the records database.
        events: for each its moment in milliseconds since 1970 and its fields.
        held: the counters of the project, if this transaction has locked them.
    """
    if not events:
        return
    held = advance(connection, project_id) if held is None else held
    chain = AuditChain(AuditLink(held.history_seq, held.history_hash))
    lines = []
    for at, event in events:
        line = chain.line({"at": rfc3339(at), **event})
        lines.append({"project_id": project_id, "seq": chain.link.seq, "at": at, "line": line})
    connection.execute(insert(history), lines)
    connection.execute(
        update(counters)
        .where(counters.c.project_id == project_id)
        .values(history_seq=chain.link.seq, history_hash=chain.link.sha256)
    )
