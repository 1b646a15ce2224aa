"""Paging of long lists: the page that a request asks for, and the reply with it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USUAL_LIMIT = 100
MOST_LIMIT = 1000
# Larger than any list or table, and within the 64 bits of a database.
_FARTHEST = 10**15


class Page:
    """One page from a database: its items, the number of all items, the offset of the next page (``None`` at the end).

    It is not a value that programs can hold; it exists only between the route that gives it and the reply.
    """

    __slots__ = ("cursor", "items", "total")

    def __init__(self, items: list[Any], total: int, cursor: int | None) -> None:
        self.items = items
        self.total = total
        self.cursor = cursor

    def envelope(self) -> dict[str, Any]:
        """The map that the client gets."""
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
    """The cursor of the next page; ``None`` after the last one."""
    return offset + limit if offset + limit < total else None


def page_of(items: list[Any], query_text: str) -> Page:
    """The page of a list that the query of a request asks for."""
    limit, offset = window(query_text)
    total = len(items)
    return Page(items[offset : offset + limit], total, next_cursor(limit, offset, total))


def _number(text: str | None) -> int:
    # Absent, negative and invalid values are read as zero, which means the default.
    if text is None or not (text.isascii() and text.isdigit()):
        return 0
    return int(text) if len(text) <= 15 else _FARTHEST
