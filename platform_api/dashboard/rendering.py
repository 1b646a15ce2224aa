"""From a template to an answer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from litestar import Response
from litestar.enums import MediaType
from markupsafe import Markup

from platform_api.dashboard.words import LANGUAGES, Words, chosen, words_of
from platform_api.moments import DAY, HOUR, MINUTE, now, rfc3339
from runner.protocol import LANGUAGE_COOKIE

if TYPE_CHECKING:
    from platform_api.browser import PageRequest

_FOLDER = Path(__file__).parent
STATIC = _FOLDER / "static"

#: The tone of each status: the class of its mark.
TONES = {
    "running": "good", "ready": "good", "live": "good", "succeeded": "good", "approved": "good", "answered": "good",
    "ended": "good",
    "failed": "bad", "denied": "bad", "timed_out": "bad",
    "deploying": "wait", "queued": "wait", "starting": "wait", "waking": "wait", "needs_review": "wait", "pending": "wait",
    "stopping": "wait", "deleting": "wait",
}  # fmt: skip


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["asset"] = asset
    environment.filters["memory"] = memory
    environment.globals["tone"] = lambda status: TONES.get(status, "")
    environment.globals["languages"] = LANGUAGES
    return environment


@cache
def asset(name: str) -> str:
    """The address of a file of the dashboard. It changes with the content, so browsers may keep it."""
    return f"/assets/{name}?v={version_of(name)}"


@cache
def version_of(name: str) -> str:
    """What stands for the content of a file of the dashboard."""
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]


def page(request: PageRequest, template: str, status: int = 200, **values: Any) -> Response[bytes]:
    """A page for the person of this request.

    Args:
        template: a file of ``templates/``.
        values: what it shows; texts are escaped.
    """
    words = language_of(request)
    session = request.signed_in
    shown = (
        _environment()
        .get_template(template)
        .render(
            words=words,
            language=words.language,
            session=session,
            principal=None if session is None else session.principal,
            csrf="" if session is None else session.csrf,
            path=request.url.path,
            here=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            ago=_clock(words),
            **values,
        )
    )
    return Response(
        shown.encode(errors="replace"),
        status_code=status,
        media_type=MediaType.HTML,
        headers={"Cache-Control": "no-store", "Vary": "Accept-Language, Cookie"},
    )


def language_of(request: PageRequest) -> Words:
    """The words in the language of the person."""
    return words_of(chosen(request.headers.get("accept-language", ""), request.cookies.get(LANGUAGE_COOKIE)))


def go(path: str, **headers: str) -> Response[None]:
    """Sends the browser to another page after a form."""
    return Response(None, status_code=303, headers={"Location": path, "Cache-Control": "no-store", **headers})


def inside(target: str) -> str:
    """A path of this service to go to; ``/`` for everything else, so that no link can lead a person away."""
    parts = urlsplit(target)
    plain = target.startswith("/") and not target.startswith(("//", "/\\")) and not parts.scheme and not parts.netloc
    return target if plain and all(" " < character < "\x7f" for character in target) else "/"


def _clock(words: Words) -> Callable[[int | None], Markup]:
    """Gives a moment as a person says it, with the exact one behind it."""
    current = now()

    def ago(moment: int | None) -> Markup:
        if moment is None:
            return Markup()
        exact = rfc3339(moment)
        shown = f"{exact[:10]} {exact[11:16]} UTC"
        return Markup('<time datetime="{}" title="{}">{}</time>').format(exact, shown, _said(words, moment, current) or shown)

    return ago


def _said(words: Words, moment: int, current: int) -> str:
    distance, direction = abs(current - moment), "ago" if moment <= current else "ahead"
    if distance < MINUTE:
        return words(f"time.seconds_{direction}")
    for unit, size, limit in (("minutes", MINUTE, HOUR), ("hours", HOUR, 2 * DAY), ("days", DAY, 30 * DAY)):
        if distance < limit:
            return words(f"time.{unit}_{direction}", count=distance // size)
    return ""


def memory(megabytes: int) -> str:
    """An amount of memory or of disk: in GB where it is a whole number of them, else in MB."""
    whole, rest = divmod(megabytes, 1024)
    return f"{whole} GB" if whole and not rest else f"{megabytes} MB"
