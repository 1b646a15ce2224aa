"""``lang memory``: checks and exports the stored memory of an agent."""

from __future__ import annotations

import os

from language.cli.arguments import MEMORY, UsageError, clean, parse
from language.cli.streams import err, out, say_json, say_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_FORMS = ("check", "export")


def command(words: Sequence[str]) -> int:
    arguments = parse("memory", words, MEMORY)
    given = arguments.paths + arguments.rest
    if not given or given[0] not in _FORMS:
        raise UsageError(
            "memory", f"unknown subcommand '{clean(given[0])}'" if given else "no subcommand given: check or export"
        )
    if len(given) != 2:
        many = f"one memory at a time, got '{clean(given[2])}' too" if len(given) > 2 else "no memory given"
        raise UsageError("memory", many)
    if given[0] == "export" and arguments.given("--reindex"):
        raise UsageError("memory", "--reindex is a flag of lang memory check")
    path = _path_of(given[1])
    if not os.path.isfile(path):
        err(f"lang memory: there is no file '{clean(path)}': give the name of a memory of this folder, or the path of its file")
        return 1
    return _check(path, arguments.given("--reindex")) if given[0] == "check" else _export(path)


def _path_of(named: str) -> str:
    """The file of a memory, which the argument gives by name or as a path."""
    from language.native.memory import folder_of

    is_name = named.replace("-", "").replace("_", "").isalnum()
    return os.path.join(folder_of(""), f"{named}.db") if is_name else named


def _check(path: str, reindex: bool) -> int:
    from language.native.memory_inspection import problems

    try:
        found = problems(path, reindex=reindex)
    except OSError as error:
        found = [f"it cannot be read: {error.strerror}"]
    for line in found:
        say_line(f"{clean(path)}: {line}")
    if not found:
        out("OK")
    return 1 if found else 0


def _export(path: str) -> int:
    from language.native.memory_inspection import contents

    unread: list[str] = []
    try:
        for found in contents(path, unread.append):
            say_json(found)
    except OSError as error:
        unread.append(f"it cannot be read: {error.strerror}")
    for line in unread:
        err(f"lang memory: {clean(path)}: {line}")
    return 1 if unread else 0
