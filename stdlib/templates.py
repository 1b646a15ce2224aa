"""Pages: template files rendered with data."""

from __future__ import annotations

from language.registry import Family

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("templates", "Templates")


@family.builtin("render(path, data?)", context=True, reply="html")
def render(ctx: Context, path: Any, data: Any = None) -> Any:
    """Renders a page as a response: the template file at `path`, with the keys of the map `data` as names in its holes.

    Status 200, `text/html; charset=utf-8`; `body of render(...)` is the text. `path` is relative to the folder of the program's
    entry file. A file whose path is a literal in the source is part of the program and needs no capability. A computed path
    needs none for files in that folder that end in `.html`, `.htm`, `.xml`, `.svg`, `.txt`, `.md`, `.css` or `.js`. Anything
    else needs `require file.read("the/path")`. The page on templates describes what a file may contain.

    `body of render("page.html", {"title": "Pens & ink"})` is `<h1>Pens &amp; ink</h1>` for the file `<h1>{ title }</h1>`.
    """
    from language.templates.rendering import instance_of, response

    return response(instance_of(ctx), path, data, literal=False)
