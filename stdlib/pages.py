"""Rows of a database that a route gives page by page. Gate: ``db``."""

from __future__ import annotations

from language.registry import Family

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context
    from language.serve.paging import Page

family = Family("pages", "Pages of rows")


@family.builtin("paged(query, params?)", capability="db", profile="native", context=True)
def paged(ctx: Context, query: Any, params: Any = None) -> list[Any]:
    """The rows of a query, as `sql` gives them. If a route gives the call directly, as in the example, only the page is read
    that `?limit=` and `?cursor=` of the request select, and the rows are counted; the query must then have no `LIMIT` and no
    `;`.

    `give paged("SELECT * FROM users ORDER BY name")`
    """
    from stdlib.sql import all_rows

    return all_rows(ctx, "paged", query, params)


def paged_reply(ctx: Context, query: Any, params: Any = None) -> Page:
    """``paged`` as the value of a route's ``give``: the client gets the same reply as for the whole list."""
    from language.serve.paging import Page, next_cursor, window
    from stdlib.sql import page

    request = ctx.request
    limit, offset = window("" if request is None else request.query_text)
    rows, total = page(ctx, query, params, limit, offset)
    return Page(rows, total, next_cursor(limit, offset, total))


# The core does not import modules of builtins: it finds the second function of this builtin here.
paged.given_by_route = paged_reply  # type: ignore[attr-defined]
