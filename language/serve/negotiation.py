"""Which form of a content tree a client gets: by the suffix of the path, else by the ``Accept`` header."""

from __future__ import annotations

FORMATS = {".md": "markdown", ".json": "json", ".html": "html"}


def format_of(suffix: str | None, accept: str | None) -> str:
    """``"html"``, ``"markdown"`` or ``"json"``.

    ``suffix`` is one of ``FORMATS`` as :func:`split_suffix` answers it, and wins; ``accept`` is the value of the header. That
    is searched as plain text, quality values play no part: a browser lists ``text/html`` and gets HTML whatever else it
    lists, an agent that asks for one form alone gets that one, and what is unclear is HTML.
    """
    if suffix is not None:
        return FORMATS[suffix]
    wanted = (accept or "").lower()
    if "text/html" not in wanted:
        if "text/markdown" in wanted:
            return "markdown"
        if "application/json" in wanted:
            return "json"
    return "html"


def split_suffix(path: str) -> tuple[str, str | None]:
    """The path without the suffix of its last segment, and the suffix: ``/pens/x.md`` is ``("/pens/x", ".md")``.

    ``None`` as the suffix, and the path as it was, when the last segment ends in none of ``FORMATS`` or is nothing but one.
    Slashes at the end do not count, as in the matching of routes.
    """
    trimmed = path.rstrip("/")
    for suffix in FORMATS:
        if trimmed.endswith(suffix):
            rest = trimmed[: -len(suffix)]
            return (path, None) if not rest or rest.endswith("/") else (rest, suffix)
    return path, None
