"""The changes of an account as they happen."""

from __future__ import annotations

from litestar import Router, get

from platform_api.api.requests import ApiRequest
from platform_api.api.streams import EventStream, number, watched
from platform_api.records.events import event_source
from platform_api.records.logs import last_number


@get("/events", media_type="text/event-stream")
async def events(request: ApiRequest) -> EventStream:
    """What happens to the projects of the account, from now on, as events named ``change``.

    Their data holds ``id``, ``at``, ``project_id``, ``event`` (what happened) and what belongs to it. ``Last-Event-ID`` goes on
    behind that event; events are kept for 7 days. A token of one project gets those of that project.
    """
    principal, platform = request.principal, request.platform
    given = request.headers.get("last-event-id")
    if given:
        after = number(given, "Last-Event-ID")
    else:
        after = await platform.store.records.read(last_number, principal.account_id)
    return watched(platform, principal, event_source(principal.account_id, principal.project_id), after)


router = Router(path="/", route_handlers=[events], tags=["events"])
