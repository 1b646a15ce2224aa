"""The command's own files, which no program may touch whatever it was granted (3.4 of the manual).

With ``file.write("./*")`` a program could else rewrite its audit, its settings or its compiled code.
"""

from __future__ import annotations

import os

from language.cache import location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from language.cli.arguments import Arguments


def own_files(arguments: Arguments, root: str, audit: str | None) -> Callable[[], tuple[str, ...]]:
    """A function that answers their real paths, found when it is first called.

    ``root`` is the folder of the program, ``audit`` the file of its audit stream.
    """
    known: tuple[str, ...] | None = None

    def answer() -> tuple[str, ...]:
        nonlocal known
        if known is None:
            known = tuple(os.path.realpath(path) for path in _paths(arguments, root, audit))
        return known

    return answer


def _paths(arguments: Arguments, root: str, audit: str | None) -> list[str]:
    from language.cli.envfile import chosen_path

    environ = os.environ
    home = os.path.expanduser("~")
    candidates = (
        chosen_path(arguments),
        location(),
        audit,
        environ.get("PLATFORM_AUDIT_FILE"),
        environ.get("PLATFORM_AUDIT_DIR"),
        environ.get("PLATFORM_STATE_DIR") or os.path.join(root, ".lang", "state"),
        os.path.join(home, ".lang") if home != "~" else None,
    )
    return [path for path in candidates if path]
