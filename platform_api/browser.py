"""The basis of all pages for browsers: the session, and the checks of the requests they send.

Routers of pages are made with ``pages``. The checks are guards of the router, so a single page cannot omit them by mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from litestar import Router

from platform_api.accounts.sessions import SAFE_METHODS, Session, check_csrf
from platform_api.api.requests import PlatformRequest
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from litestar.connection import ASGIConnection
    from litestar.handlers import BaseRouteHandler
    from litestar.types import ControllerRouterHandler

#: The key in ``opt`` of a page that is open without a sign-in.
OPEN = "open"


class PageRequest(PlatformRequest):
    """A request of a page. ``signed_in`` is ``None`` only on pages that are marked ``opt={"open": True}``."""

    @property
    def signed_in(self) -> Session | None:
        """The session of the cookie."""
        found = self.scope["state"].get("session")
        assert found is None or isinstance(found, Session)
        return found


async def checked(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """The guard of every page: requires a session, and the CSRF token for unsafe methods."""
    assert isinstance(connection, PageRequest)
    session = connection.signed_in
    if session is None:
        if not handler.opt.get(OPEN):
            raise Refusal("unauthorized", "Sign in first.")
        return
    if connection.method not in SAFE_METHODS:
        given = connection.headers.get("x-csrf-token") or (await connection.form()).get("csrf")
        check_csrf(session, given if isinstance(given, str) else None)


def pages(handlers: Sequence[ControllerRouterHandler], path: str = "/", **options: Any) -> Router:
    """A router of pages.

    A page requires a sign-in unless it is marked ``opt={"open": True}``. A request with an unsafe method must carry the CSRF
    token of its session, in the field ``csrf`` or the header ``X-CSRF-Token``. The gateway has already checked the ``Origin``.

    Args:
        options: more arguments of Litestar's ``Router``.
    """
    return Router(
        path=path,
        route_handlers=handlers,
        request_class=PageRequest,
        guards=[checked],
        include_in_schema=False,
        **options,
    )
