"""What monitoring asks for: whether the process is up, whether it can serve, its figures. Open, under any host name."""

from __future__ import annotations

import asyncio
from typing import Literal

from litestar import MediaType, Response, Router, get
from prometheus_client import CONTENT_TYPE_LATEST

from platform_api.api.requests import PlatformRequest
from platform_api.api.schemas.shared import Answer
from platform_api.metrics import stored_figures
from platform_api.refusals import Refusal
from platform_api.store.migrations.apply import is_current

#: Seconds that the store may take to answer before the service counts as not ready.
PATIENCE = 5


class Health(Answer):
    """``ok``."""

    status: Literal["ok"] = "ok"


@get("/healthz")
async def healthz() -> Health:
    """The process is up."""
    return Health()


@get("/readyz")
async def readyz(request: PlatformRequest) -> Health:
    """The store answers and its schema is the one that this version needs."""
    store = request.platform.store
    for database, which in ((store.main, "main"), (store.records, "records")):
        try:
            current = await asyncio.wait_for(database.read(is_current, which), PATIENCE)
        except Exception as error:
            raise Refusal("unavailable", "The store does not answer.") from error
        if not current:
            raise Refusal("unavailable", "The schema of the store is another version's: run `lang platform migrate`.")
    return Health()


@get("/metrics", media_type=MediaType.TEXT, include_in_schema=False)
async def metrics(request: PlatformRequest) -> Response[bytes]:
    """The figures of this process in Prometheus' text format."""
    stored = await request.platform.store.main.read(stored_figures)
    return Response(request.platform.metrics.text(stored), media_type=CONTENT_TYPE_LATEST)


router = Router(path="/", route_handlers=[healthz, readyz, metrics], request_class=PlatformRequest, tags=["health"])
