"""Long lists go out page by page: which page a request asks for, and the envelope that holds it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USUAL_LIMIT = 100
MOST_LIMIT = 1000
# Beyond every list and every table; a database counts with 64 bits.
_FARTHEST = 10**15


class Page:
    """One page that was read as such: its items, how many there are in all, where the next page begins (``None`` at the end).

    It never becomes a value of a program: it exists between the route that gives it and the reply.
    """

    __slots__ = ("cursor", "items", "total")

    def __init__(self, items: list[Any], total: int, cursor: int | None) -> None:
        self.items = items
        self.total = total
        self.cursor = cursor

    def envelope(self) -> dict[str, Any]:
        """What the client gets."""
        return {"items": self.items, "count": len(self.items), "total": self.total, "cursor": self.cursor}


def window(query_text: str) -> tuple[int, int]:
    """The limit and the offset that the query of a request asks for: ``limit``, and ``cursor`` or else ``offset``."""
    if not query_text:
        return USUAL_LIMIT, 0
    from language.serve.bodies import query_map

    query = query_map(query_text)
    limit = _number(query.get("limit")) or USUAL_LIMIT
    return min(limit, MOST_LIMIT), _number(query.get("cursor", query.get("offset")))


def next_cursor(limit: int, offset: int, total: int) -> int | None:
    """Where the page after this one begins; ``None`` when there is nothing any more."""
    return offset + limit if offset + limit < total else None


def page_of(items: list[Any], query_text: str) -> Page:
    """The page of a list that the query of a request asks for."""
    limit, offset = window(query_text)
    total = len(items)
    return Page(items[offset : offset + limit], total, next_cursor(limit, offset, total))


def _number(text: str | None) -> int:
    # Zero stands for what is absent, negative or no number: all of them mean the default.
    if text is None or not (text.isascii() and text.isdigit()):
        return 0
    return int(text) if len(text) <= 15 else _FARTHEST
