"""Pages of lists: ``limit`` and an opaque ``cursor``."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Any

from litestar.params import QueryParameter
from msgspec import UNSET, UnsetType

from platform_api.identifiers import is_id
from platform_api.refusals import Refusal

DEFAULT, MOST = 100, 500
#: The query parameters of a list.
Limit = Annotated[int | None, QueryParameter(ge=1, le=MOST)]
Cursor = Annotated[str | None, QueryParameter(max_length=200)]


class Page:
    """One page.

    Args:
        limit: how many items were asked for, ``None`` for the default.
        cursor: the ``next_cursor`` of the page before.

    Attributes:
        wanted: how many rows to read: one more than are shown, which tells whether others follow.
        after: the id of the last item before this page.

    Errors: ``validation`` for what no list gave as a cursor.
    """

    def __init__(self, limit: int | None, cursor: str | None) -> None:
        self._shown = limit or DEFAULT
        self._asked = limit is not None or cursor is not None
        self.wanted = self._shown + 1
        self.after = None if cursor is None else _opened(cursor)

    def cut(self, rows: Sequence[Any]) -> tuple[Sequence[Any], str | UnsetType | None]:
        """The rows to show, and ``next_cursor``: left out where nobody asked for pages and nothing follows."""
        if len(rows) > self._shown:
            shown = rows[: self._shown]
            return shown, base64.urlsafe_b64encode(str(shown[-1].id).encode()).decode().rstrip("=")
        return rows, None if self._asked else UNSET


def _opened(cursor: str) -> str:
    try:
        opened = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        opened = ""
    if not is_id(opened):
        raise Refusal("validation", "The cursor is not one that a list gave.", field="cursor")
    return opened
