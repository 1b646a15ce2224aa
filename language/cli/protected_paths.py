"""Files that a program must not access, whatever it was granted (``docs/capabilities.md``, "Limiting").

Otherwise a program with ``file.write("./*")`` could rewrite its audit log, its settings or its compiled code. It could also
rewrite its own source, which declares what it may do at its next start.
"""

from __future__ import annotations

import os

from language.cache import location
from language.capabilities.scopes import FOLDING, is_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from language.cli.arguments import Arguments
    from language.runtime.context import Context

#: What follows the name in the name of a rotated audit file. The chain continues from the newest of them.
_ROTATED = (".", "-")


def protected_paths(
    arguments: Arguments,
    root: str,
    audit: str | None,
    entry: str | None = None,
    modules: Callable[[], Iterable[str]] = tuple,
) -> Callable[[str, bool], str | None]:
    """A function that returns the protected file that a real path touches, if any. It collects them at its first call.

    ``root`` is the folder of the program, ``audit`` the file of its audit stream, ``entry`` the file of the program itself,
    ``modules`` gives the real paths of those that it has loaded.
    """
    found: Callable[[str, bool], str | None] | None = None
    sources: tuple[str, ...] = ()

    def touched(real: str, writing: bool) -> str | None:
        nonlocal found, sources
        if found is None:
            found = touching(_paths(arguments, root, audit), os.environ.get("PLATFORM_AUDIT_FILE") or None)
            sources = () if entry is None else _names(entry)
        return found(real, writing) or (_written_source(real, (*sources, *modules())) if writing else None)

    return touched


def _written_source(real: str, sources: Iterable[str]) -> str | None:
    """The source file that writing to a real path changes, removes or replaces: also by another name of the same file."""
    try:
        there = os.stat(real)
    except OSError:
        there = None
    for source in sources:
        if is_inside(source, real) or (there is not None and there.st_nlink > 1 and _is_same(there, source)):
            return source
    return None


def _is_same(there: os.stat_result, path: str) -> bool:
    try:
        return os.path.samestat(there, os.stat(path))
    except OSError:
        return False


def hide(context: Context, folder: str) -> None:
    """Protects a folder from the program of this context. Call it before the program runs."""
    capabilities = context.capabilities
    before, here = capabilities.protected_path, touching([folder])

    def touched(real: str, writing: bool) -> str | None:
        return here(real, writing) or (None if before is None else before(real, writing))

    capabilities.protected_path = touched


def touching(paths: Iterable[str], rotated: str | None = None) -> Callable[[str, bool], str | None]:
    """A function that returns which of these files and folders a real path touches, if any.

    ``rotated`` is an audit file that others may exchange while the program runs: it and the earlier ones beside it
    (``audit.log.1``, ``audit.log-20260101.gz``) are looked for at every call.
    """
    fixed = tuple(os.path.realpath(path) for path in paths)

    def touched(real: str, writing: bool) -> str | None:
        audits: tuple[str, ...] = () if rotated is None else _names(rotated)
        for path in (*fixed, *audits):
            # A program that may rename a folder above the file could then access the file under another path.
            if is_inside(real, path) or (writing and is_inside(path, real)):
                return path
        for path in audits:
            if _is_beside(real, path):
                return path
        return None

    return touched


def _names(path: str) -> tuple[str, str]:
    """The path of a file and, if that is a link, its current target."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder or "."), name), os.path.realpath(path)


def _is_beside(real: str, audit: str) -> bool:
    """Whether a path has the form of a rotated audit file, existing or not. A program that creates such a file could start a
    new chain.
    """
    folder, name = os.path.split(audit)
    beside, found = os.path.split(real)
    if FOLDING:
        folder, name, beside, found = (part.casefold() for part in (folder, name, beside, found))
    return folder == beside and found.startswith(tuple(name + mark for mark in _ROTATED))


def _paths(arguments: Arguments, root: str, audit: str | None) -> list[str]:
    from language.cli.envfile import chosen_path

    environ = os.environ
    home = os.path.expanduser("~")
    candidates = (
        chosen_path(arguments),
        location(),
        audit,
        environ.get("PLATFORM_AUDIT_DIR"),
        environ.get("PLATFORM_STATE_DIR") or os.path.join(root, ".lang", "state"),
        os.path.join(home, ".lang") if home != "~" else None,
    )
    return [path for path in candidates if path]
