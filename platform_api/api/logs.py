"""Log lines: the last ones, those behind one, and all of them as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Annotated

from litestar import Router, get
from litestar.params import FromPath, FromQuery, QueryParameter

from platform_api import event_stream
from platform_api.api.requests import ApiRequest
from platform_api.api.schemas.logs import LogLine, LogTail
from platform_api.api.streams import EventStream
from platform_api.moments import rfc3339
from platform_api.projects.find import project_of
from platform_api.records.feed import PAGE, batch_of
from platform_api.records.logs import before_last, last_lines, lines_after
from platform_api.records.watching import may_watch
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from platform_api.accounts.principal import Principal
    from platform_api.platform import Platform

_LONGEST_TAIL = 10_000
_LAST_NUMBER = 2**63 - 1


@get("/projects/{project_id:str}/logs/tail")
async def tail(
    request: ApiRequest,
    project_id: FromPath[str],
    after: FromQuery[str | None] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500)] = 100,
) -> LogTail:
    """The lines behind ``after``, oldest first; without it the last ones. ``last`` is always good as the next ``after``."""
    request.principal.needs("read")
    store = request.platform.store
    await store.main.read(project_of, request.principal, project_id)
    if after is None:
        rows = await store.records.read(last_lines, project_id, limit)
    else:
        rows = await store.records.read(lines_after, project_id, _number(after, "after"), limit)
    items = [LogLine(id=str(row.id), at=rfc3339(row.at), line=row.line) for row in rows]
    return LogTail(items=items, last=items[-1].id if items else after or "0")


@get("/projects/{project_id:str}/logs", media_type="text/event-stream")
async def stream(
    request: ApiRequest,
    project_id: FromPath[str],
    lines: Annotated[int, QueryParameter(name="tail", ge=0, le=_LONGEST_TAIL)] = 100,
) -> EventStream:
    """The last lines, then every new one, as events named ``log`` with ``{"id", "at", "line", "stream"}``.

    ``Last-Event-ID`` goes on behind that line. A comment comes every 15 seconds. The stream ends when the token does not hold
    any more, and for a client that accepts nothing for 30 seconds: it goes on with ``Last-Event-ID``.
    """
    principal, platform = request.principal, request.platform
    principal.needs("read")
    await platform.store.main.read(project_of, principal, project_id)
    given = request.headers.get("last-event-id")
    if given:
        after = _number(given, "Last-Event-ID")
    else:
        after = await platform.store.records.read(before_last, project_id, lines)
    return EventStream(platform.open_streams.one(principal.account_id), lambda: _events(platform, principal, project_id, after))


async def _events(platform: Platform, principal: Principal, project_id: str, after: int) -> AsyncGenerator[bytes, None]:
    store, days = platform.store, platform.settings.token_days
    loop = asyncio.get_running_loop()
    while True:
        # The page that is not full is read while watching: everything behind it comes to the watcher. A client that reads more
        # slowly than lines are written falls behind, and reads pages again at its own pace.
        async with platform.log_feeds.watch(project_id) as watcher:
            rows = await store.records.read(lines_after, project_id, after, PAGE)
            if rows:
                after = rows[-1].id
                yield batch_of(rows).data
            beat = loop.time() + event_stream.HEARTBEAT
            while len(rows) < PAGE and not watcher.behind:
                batch = await watcher.take(max(0.0, beat - loop.time()))
                if batch is not None:
                    if data := batch.after(after):
                        yield data
                    after = max(after, batch.numbers[-1])
                elif watcher.over and not watcher.behind:
                    return
                if loop.time() >= beat:
                    if not await store.main.read(may_watch, principal, days, project_id):
                        return
                    yield event_stream.COMMENT
                    beat = loop.time() + event_stream.HEARTBEAT


def _number(text: str, field: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= _LAST_NUMBER):
        raise Refusal("validation", f"{field} is the id of a log line: digits, as `last` of a tail gives them.", field=field)
    return int(text)


router = Router(path="/", route_handlers=[tail, stream], tags=["logs"])
