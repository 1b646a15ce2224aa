"""Log lines: the last ones, those behind one, and all of them as they come."""

from __future__ import annotations

from typing import Annotated

from litestar import Router, get
from litestar.params import FromPath, FromQuery, QueryParameter

from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.logs import LogLine, LogTail
from platform_api.api.streams import EventStream, number, watched
from platform_api.moments import rfc3339
from platform_api.projects.find import project_of
from platform_api.records.logs import before_last, last_lines, lines_after, log_source

_LONGEST_TAIL = 10_000


@get("/projects/{project_id:str}/logs/tail")
async def tail(
    request: ApiRequest,
    project_id: FromPath[str],
    after: FromQuery[str | None] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500)] = 100,
) -> LogTail:
    """The lines behind ``after``, oldest first; without it the last ones. ``last`` is always good as the next ``after``."""
    store = request.platform.store
    await store.main.read(project_of, request.principal, project_id)
    if after is None:
        rows = await store.records.read(last_lines, project_id, limit)
    else:
        rows = await store.records.read(lines_after, project_id, number(after, "after"), limit)
    items = [LogLine(id=str(row.id), at=rfc3339(row.at), line=row.line) for row in rows]
    return LogTail(items=items, last=items[-1].id if items else after or "0")


@get("/projects/{project_id:str}/logs", media_type="text/event-stream")
async def stream(
    request: ApiRequest,
    project_id: FromPath[str],
    tail: Annotated[int, QueryParameter(ge=0, le=_LONGEST_TAIL)] = 100,
) -> EventStream:
    """The last lines, then every new one, as events named ``log`` with ``{"id", "at", "line", "stream"}``.

    ``Last-Event-ID`` goes on behind that line. A comment comes every 15 seconds. The stream ends when the token does not hold
    any more, and for a client that accepts nothing for 30 seconds: it goes on with ``Last-Event-ID``.
    """
    principal, platform = request.principal, request.platform
    await platform.store.main.read(project_of, principal, project_id)
    given = request.headers.get("last-event-id")
    if given:
        after = number(given, "Last-Event-ID")
    else:
        after = await platform.store.records.read(before_last, project_id, tail)
    return watched(platform, principal, log_source(project_id), after, project_id)


router = Router(path="/", route_handlers=[tail, stream], tags=["logs"])
