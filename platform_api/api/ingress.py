"""What a proxy in front of the platform asks, from this machine."""

from __future__ import annotations

from litestar import Router, get
from litestar.params import FromQuery

from platform_api.api.health import Health
from platform_api.api.requests import PlatformRequest
from platform_api.projects.hosts import is_served
from platform_api.refusals import Refusal


@get("/ingress/ask", include_in_schema=False)
async def ask(request: PlatformRequest, domain: FromQuery[str]) -> Health:
    """Whether Caddy is to get a certificate for a host: 200 for that of a web project, else 404."""
    if not await request.platform.store.main.read(is_served, request.platform.settings.apps_domain, domain):
        raise Refusal("not_found", "No web project has this host.")
    return Health()


router = Router(path="/", route_handlers=[ask], request_class=PlatformRequest, tags=["health"])
