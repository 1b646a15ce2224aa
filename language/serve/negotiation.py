"""Chooses the form of a content tree for a client: by the suffix of the path, else by the ``Accept`` header."""

from __future__ import annotations

FORMATS = {".md": "markdown", ".json": "json", ".html": "html"}


#: The order of preference between equal weights.
_MEDIA_TYPES = {"html": "text/html", "markdown": "text/markdown", "json": "application/json"}


def format_of(suffix: str | None, accept: str | None) -> str:
    """``"html"``, ``"markdown"`` or ``"json"``.

    ``suffix`` is one of ``FORMATS``, from :func:`split_suffix`, and wins; ``accept`` is the value of the header. By RFC 9110
    section 12.5.1 the form with the highest weight is chosen, and the most specific range gives the weight of a form. Between
    equal weights a named form comes before one that a range with ``*`` covers, and HTML before Markdown before JSON. A header
    that accepts none of them gets HTML.
    """
    if suffix is not None:
        return FORMATS[suffix]
    ranges = _ranges(accept or "")
    best, best_rank = "html", (0.0, False)
    for form, media_type in _MEDIA_TYPES.items():
        named = media_type in ranges
        weight = ranges.get(media_type, ranges.get(media_type.partition("/")[0] + "/*", ranges.get("*/*", 0.0)))
        if weight > 0 and (weight, named) > best_rank:
            best, best_rank = form, (weight, named)
    return best


def wants_page(accept: str | None) -> bool:
    """Whether a client names HTML in ``Accept``, as browsers do for pages, and prefers no other form."""
    return bool(accept) and _ranges(accept or "").get("text/html", 0.0) > 0 and format_of(None, accept) == "html"


def _ranges(accept: str) -> dict[str, float]:
    """The weights of the media ranges of an ``Accept`` header; an element with an invalid weight is ignored."""
    from language.serve.compression import weight_of

    found: dict[str, float] = {}
    for element in accept.lower().split(","):
        media_range, *parameters = (part.strip() for part in element.split(";"))
        written = next((part for part in parameters if part.partition("=")[0].strip() == "q"), "")
        weight = weight_of(written)
        if media_range and weight is not None:
            found[media_range] = max(weight, found.get(media_range, 0.0))
    return found


def split_suffix(path: str) -> tuple[str, str | None]:
    """The path without the suffix of its last segment, and the suffix: ``/pens/x.md`` is ``("/pens/x", ".md")``.

    The suffix is ``None``, and the path unchanged, if the last segment does not end in one of ``FORMATS`` or consists only of
    one. Slashes at the end do not count, as in the matching of routes.
    """
    trimmed = path.rstrip("/")
    for suffix in FORMATS:
        if trimmed.endswith(suffix):
            rest = trimmed[: -len(suffix)]
            return (path, None) if not rest or rest.endswith("/") else (rest, suffix)
    return path, None
