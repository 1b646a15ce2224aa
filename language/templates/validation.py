"""Checks pages without running anything: a page, its includes and its layouts are all found and parsed."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.templates.page_store import locate, template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.host.files import Files
    from language.runtime.context import Context


def validate(context: Context, path: str) -> frozenset[str]:
    """Checks a page that a running program names by a literal; see :func:`check_page`."""
    assert context.instance is not None
    return check_page(context.host.files, context.instance.folder, path)


def check_page(files: Files | None, folder: str | None, path: str) -> frozenset[str]:
    """Parses a page with all its includes and layouts. Returns the paths.

    ``folder`` is that of the entry file, ``None`` if the program does not come from a file. Raises ``RuntimeFault`` for the
    first error: ``template validation failed for render("x.html"): ...``.
    """
    known: set[str] = set()
    pending = [path]
    try:
        while pending:
            name = pending.pop()
            if name in known:
                continue
            known.add(name)
            located = locate(files, folder, name)
            assert files is not None
            tree = template(files, located, name)
            pending.extend(reversed([*tree.includes, *([] if tree.layout is None else [tree.layout])]))
    except RuntimeFault as fault:
        message = f'template validation failed for render("{path}"): {fault.message}'
    else:
        return frozenset(known)
    raise RuntimeFault(message)
