"""The history of a project as one file that ``lang audit verify`` checks without the service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sqlalchemy import select

from language import AuditChain, AuditLink
from platform_api.moments import now, rfc3339
from platform_api.store.tables import counters, history

if TYPE_CHECKING:
    from platform_api.store.database import Database

_AT_A_TIME = 1_000


def exported(database: Database, project_id: str) -> Iterator[bytes]:
    """The chained lines of the history, in batches.

    If older lines are no longer kept, the first line is a checkpoint in their place. The last line is a summary, chained like
    all others; without it the end is missing.
    """
    own = select(history.c.seq, history.c.line).where(history.c.project_id == project_id).order_by(history.c.seq)
    with database.reading() as connection:
        counter = connection.execute(select(counters).where(counters.c.project_id == project_id)).one_or_none()
        last = AuditLink(0, "0" * 64) if counter is None else AuditLink(int(counter.history_seq), str(counter.history_hash))
        rows = connection.execute(own.where(history.c.seq <= last.seq).limit(_AT_A_TIME)).all()
    before = AuditLink(rows[0].seq - 1, str(json.loads(rows[0].line)["prev"])) if rows else last
    if before.seq:
        yield AuditChain(before).checkpoint()
    reached = before.seq
    while rows:
        if rows[0].seq != reached + 1:
            raise RuntimeError(f"the history of {project_id} was pruned while it was exported")
        reached = rows[-1].seq
        yield b"".join(row.line for row in rows)
        with database.reading() as connection:
            rows = connection.execute(own.where(history.c.seq > reached, history.c.seq <= last.seq).limit(_AT_A_TIME)).all()
    summary = {"project": project_id, "exported_at": rfc3339(now()), "lines": last.seq - before.seq}
    yield AuditChain(last).line({"summary": summary})
