"""Log lines of a project. Their numbers grow in the order in which they become visible: who reads on behind one misses none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from platform_api.event_stream import event_bytes
from platform_api.moments import rfc3339
from platform_api.records.counters import advance
from platform_api.records.feed import Source
from platform_api.store.database import announce
from platform_api.store.tables import counters, log_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

#: Bytes of a line in UTF-8; the rest is cut off.
LONGEST = 8 * 1024
STREAMS = ("out", "err", "system")


def append_logs(connection: Connection, project_id: str, lines: Sequence[tuple[int, str, str, str | None]]) -> int:
    """Appends lines in their order and gives the number of the last one.

    Args:
        connection: a transaction on the records database.
        lines: of each the moment in milliseconds since 1970, the stream (``out``, ``err`` or ``system``), the text without its
            line end, and the run that printed it, if one did.
    """
    if not lines:
        return int(advance(connection, project_id).log_id)
    last = int(advance(connection, project_id, log_id=len(lines)).log_id)
    first = last - len(lines) + 1
    connection.execute(
        insert(log_lines),
        [
            {"project_id": project_id, "id": number, "at": at, "stream": stream, "line": storable(line), "run_id": run_id}
            for number, (at, stream, line, run_id) in enumerate(lines, first)
        ],
    )
    announce(connection, project_id)
    return last


def storable(line: str) -> str:
    """A line as it is kept: at most 8 KiB, and nothing that a database cannot hold."""
    line = line.replace("\0", "\ufffd")
    encoded = line.encode("utf-8", "replace")
    return encoded[:LONGEST].decode("utf-8", "ignore")


def lines_after(connection: Connection, project_id: str, after: int, limit: int) -> Sequence[Row[Any]]:
    """The lines behind a number, oldest first."""
    return connection.execute(
        select(log_lines)
        .where(log_lines.c.project_id == project_id, log_lines.c.id > after)
        .order_by(log_lines.c.id)
        .limit(limit)
    ).all()


def last_lines(connection: Connection, project_id: str, limit: int) -> Sequence[Row[Any]]:
    """The last lines, oldest first."""
    rows = connection.execute(
        select(log_lines).where(log_lines.c.project_id == project_id).order_by(log_lines.c.id.desc()).limit(limit)
    ).all()
    return rows[::-1]


def before_last(connection: Connection, project_id: str, count: int) -> int:
    """The number behind which the last ``count`` lines stand."""
    if count == 0:
        return last_number(connection, project_id)
    numbers = select(log_lines.c.id).where(log_lines.c.project_id == project_id).order_by(log_lines.c.id.desc())
    first = connection.scalar(numbers.offset(count - 1).limit(1))
    return 0 if first is None else int(first) - 1


def log_source(project_id: str) -> Source:
    """The log lines of a project, as events named ``log``."""

    def rows(connection: Connection, after: int, limit: int) -> Sequence[Row[Any]]:
        return lines_after(connection, project_id, after, limit)

    return Source(project_id, "log", lambda connection: last_number(connection, project_id), rows, _event)


def last_number(connection: Connection, key: str) -> int:
    """The number of the last log line of a project, or of the last event of an account."""
    return int(connection.scalar(select(counters.c.log_id).where(counters.c.project_id == key)) or 0)


def _event(row: Row[Any]) -> bytes:
    number = str(row.id)
    return event_bytes("log", {"id": number, "at": rfc3339(row.at), "line": row.line, "stream": row.stream}, number)
