"""The playground: the web build in the browser. What is written there never leaves the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from litestar import Response, get
from litestar.params import FromPath
from litestar.response import File

from platform_api.browser import PageRequest
from platform_api.dashboard.rendering import page
from platform_api.refusals import not_found

_SITE = "/playground/site/"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".lang": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
}
_HEADERS = {
    # Without these a page gets no shared memory, and a program could not wait for what it asks the page.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    # The page shows its preview in a frame of its own.
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


@get("/playground")
async def show_playground(request: PageRequest) -> Response[Any]:
    """Where the playground is, or how an operator gets it."""
    folder = request.platform.settings.playground
    return page(request, "playground.html", there=folder is not None and (folder / "lang-web.wasm").is_file())


@get(f"{_SITE}{{path:path}}", sync_to_thread=True)
def show_file(request: PageRequest, path: FromPath[str]) -> Response[Any]:
    """A file of the playground."""
    folder = request.platform.settings.playground
    if folder is None:
        raise not_found("file")
    root = folder.resolve()
    wanted = (root / path.strip("/")).resolve()
    if not wanted.is_relative_to(root) or wanted.suffix not in _TYPES or not wanted.is_file():
        raise not_found("file")
    headers = {**_HEADERS, "Content-Security-Policy": _policy(request)}
    return File(Path(wanted), media_type=_TYPES[wanted.suffix], headers=headers, content_disposition_type="inline")


def _policy(request: PageRequest) -> str:
    """What holds beside the policy that the page has itself: a program that runs there reaches none of the pages here."""
    scheme = "https" if request.platform.settings.secure else "http"
    own = f"{scheme}://{request.headers['host']}{_SITE}"
    return f"connect-src {own}; frame-src {own}; worker-src {own}; form-action 'none'; frame-ancestors 'self'"
