"""The ASGI application: the routes in Litestar, the gateway before them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from litestar import Litestar, Response, Router
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException, ValidationException

from platform_api.api import (
    accounts,
    approvals,
    audit,
    deploys,
    environment,
    events,
    health,
    ingress,
    logs,
    notices,
    openapi,
    projects,
    recipes,
    rehearsals,
    runner_protocol,
    runs,
    tools,
    usage,
)
from platform_api.api.answers import RecordResponse
from platform_api.api.requests import ApiRequest
from platform_api.api.scopes import scoped
from platform_api.dashboard import failures
from platform_api.dashboard.routes import router as dashboard
from platform_api.field_faults import described
from platform_api.gateway import API, LARGEST_BODY, Gateway
from platform_api.packages.files import MOST_FILES
from platform_api.refusals import Refusal, internal

if TYPE_CHECKING:
    from litestar import Request

    from platform_api.platform import Platform

_ROUTERS = (
    accounts.router,
    approvals.router,
    audit.router,
    deploys.router,
    environment.router,
    events.router,
    logs.router,
    notices.router,
    openapi.router,
    projects.router,
    recipes.router,
    rehearsals.router,
    runs.router,
    usage.router,
)
#: The most fields of a form besides the files of a package.
_OTHER_FIELDS = 100
logger = logging.getLogger("platform")


def application(platform: Platform, *more: Router, routes: Litestar | None = None) -> Gateway:
    """The ASGI application for a server.

    Args:
        platform: the service behind the routes. The caller closes it.
        more: routers in addition to those of the service.
        routes: the routes of an application that has ended, to be used again; ``None`` makes new ones.
    """
    routes = _routes(*more) if routes is None else routes
    routes.state.platform = platform
    return Gateway(routes, platform, failures.page_of)


def _routes(*more: Router) -> Litestar:
    return Litestar(
        route_handlers=[
            Router(
                path=API,
                route_handlers=_ROUTERS,
                request_class=ApiRequest,
                response_class=RecordResponse,
                before_request=scoped,
            ),
            deploys.hooks,
            health.router,
            ingress.router,
            dashboard,
            runner_protocol.router,
            tools.router,
            *more,
        ],
        exception_handlers={Exception: _refused},
        openapi_config=openapi.openapi_config(),
        logging_config=None,
        request_max_body_size=LARGEST_BODY,
        multipart_form_part_limit=MOST_FILES + _OTHER_FIELDS,
        on_startup=[_started],
        on_shutdown=[_ended],
    )


async def _started(routes: Litestar) -> None:
    platform: Platform = routes.state.platform
    await platform.tasks.start()


async def _ended(routes: Litestar) -> None:
    platform: Platform = routes.state.platform
    await platform.tasks.stop()
    await platform.open_streams.close()
    await platform.recipes.close()
    await platform.changes.close()


def _refused(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    request_id = request.scope["state"].get("request_id", "")
    refusal = _refusal(error)
    if refusal.status >= 500:
        route = request.scope.get("path_template", "none")  # a path may contain a secret
        logger.error("request %s: %s %s failed", request_id, request.method, route, exc_info=error)
    if failures.shows_pages(request):
        return failures.refused(request, refusal)
    headers = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
    if isinstance(error, MethodNotAllowedException) and error.headers:
        headers |= error.headers
    return Response(refusal.body(request_id), status_code=refusal.status, media_type="application/json", headers=headers)


def _refusal(error: Exception) -> Refusal:
    if isinstance(error, Refusal):
        return error
    if isinstance(error, NotFoundException):
        return Refusal("not_found", "There is nothing at this path.")
    if isinstance(error, MethodNotAllowedException):
        return Refusal("method_not_allowed", "This path does not take this method.")
    if isinstance(error, ValidationException):
        found = error.extra[0] if isinstance(error.extra, list) and error.extra else {}
        message, field = described(found.get("key") or "", found.get("message") or error.detail)
        return Refusal("validation", message, field=field)
    if isinstance(error, HTTPException) and error.status_code < 500:
        code = {401: "unauthorized", 403: "forbidden", 409: "conflict", 413: "payload_too_large", 429: "rate_limited"}
        return Refusal(code.get(error.status_code, "bad_request"), error.detail)
    return internal()
