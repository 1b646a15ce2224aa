"""What a person sees where a request was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from litestar import Response

from platform_api.browser import PageRequest
from platform_api.dashboard.rendering import go, page

if TYPE_CHECKING:
    from litestar import Request

    from platform_api.refusals import Refusal

#: Paths that begin so are for programs, whatever they accept.
DATA = ("/api/", "/runner/", "/hooks/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/mcp", "/.well-known/")
#: Statuses with a title of their own.
_TITLED = (400, 403, 404, 409, 429, 500)


def shows_pages(request: Request[Any, Any, Any]) -> bool:
    """Whether a browser asks for a page, and not a program for data."""
    return "session" in request.scope["state"] and "text/html" in request.headers.get("accept", "")


def page_of(scope: dict[str, Any], refusal: Refusal) -> Response[Any] | None:
    """The page of what is refused before any route; ``None`` for who asks for data."""
    accept = b",".join(value for name, value in scope["headers"] if name == b"accept")
    if b"text/html" not in accept or scope["path"].startswith(DATA):
        return None
    return refused(PageRequest(scope), refusal)  # type: ignore[arg-type]


def refused(request: Request[Any, Any, Any], refusal: Refusal) -> Response[Any]:
    """The page of a refusal; who has to sign in is sent there, and back from there."""
    seen = PageRequest(request.scope)
    is_part = "hx-request" in request.headers
    if refusal.status == 401 and seen.signed_in is None and not is_part:
        return go(f"/sign-in?back={quote(_back(seen), safe='')}")
    title = refusal.status if refusal.status in _TITLED else 500 if refusal.status > 500 else 400
    request_id = request.scope["state"].get("request_id", "") if refusal.status >= 500 else ""
    shown = page(seen, "failure.html", refusal.status, message=refusal.message, title=f"failure.{title}", request_id=request_id)
    if refusal.retry_after is not None:
        shown.headers["Retry-After"] = str(refusal.retry_after)
    return shown


def _back(request: PageRequest) -> str:
    """Where a person wants to be: at a page, so after a form at the start."""
    if request.method != "GET":
        return "/"
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
