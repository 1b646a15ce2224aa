"""The files that every page is drawn with."""

from __future__ import annotations

from litestar import Response, get
from litestar.params import FromPath, FromQuery

from platform_api.browser import OPEN
from platform_api.dashboard.rendering import STATIC, version_of
from platform_api.refusals import not_found

_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_FILES = {path.name: (path.read_bytes(), _TYPES[path.suffix]) for path in STATIC.iterdir() if path.suffix in _TYPES}
_YEAR_SECONDS = 365 * 24 * 3600


@get("/assets/{name:str}", opt={OPEN: True}, sync_to_thread=False)
def show_asset(name: FromPath[str], v: FromQuery[str] = "") -> Response[bytes]:
    """A file. Asked for with the version that it has, it may be kept for good."""
    if name not in _FILES:
        raise not_found("file")
    content, kind = _FILES[name]
    kept = f"public, max-age={_YEAR_SECONDS}, immutable" if v == version_of(name) else "no-cache"
    return Response(content, media_type=kind, headers={"Cache-Control": kept})
