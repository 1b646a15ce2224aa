"""What changes while a page is looked at."""

from __future__ import annotations

from litestar import get
from litestar.params import FromPath, FromQuery

from platform_api.api import streams
from platform_api.browser import PageRequest
from platform_api.projects.find import project_of
from platform_api.records.events import event_source
from platform_api.records.logs import before_last, last_number, log_source

_LOG_LINES = 300


@get("/live", media_type="text/event-stream")
async def live(request: PageRequest) -> streams.EventStream:
    """The changes of the account, as the stream of the interface has them. Pages take them as a sign to look again."""
    principal, platform = request.principal, request.platform
    given = request.headers.get("last-event-id")
    if given:
        after = streams.number(given, "Last-Event-ID")
    else:
        after = await platform.store.records.read(last_number, principal.account_id)
    return streams.watched(platform, principal, event_source(principal.account_id), after)


@get("/projects/{project_id:str}/log/live", media_type="text/event-stream")
async def live_log(request: PageRequest, project_id: FromPath[str], after: FromQuery[str | None] = None) -> streams.EventStream:
    """The lines behind one, or the last ones, then every new one."""
    principal, platform = request.principal, request.platform
    await platform.store.main.read(project_of, principal, project_id)
    given = request.headers.get("last-event-id") or after
    if given:
        behind = streams.number(given, "after")
    else:
        behind = await platform.store.records.read(before_last, project_id, _LOG_LINES)
    return streams.watched(platform, principal, log_source(project_id), behind, project_id)
