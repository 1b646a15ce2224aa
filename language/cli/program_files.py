"""The programs that a list of files, folders and patterns names."""

from __future__ import annotations

import os

from language.cli.arguments import UsageError, clean

EXTENSION = ".lang"


def program_files(paths: list[str], command: str) -> list[str]:
    """The programs, each once, in the order of the list; those of a folder or pattern are sorted by path.

    A folder stands for every ``*.lang`` file below it. A last component with ``*`` or ``?`` stands for the names it matches.
    Raises ``UsageError`` for a folder or a pattern without programs.
    """
    seen = set()
    files = []
    for path in paths:
        for file in _named(path, command):
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                files.append(file)
    return files


def _named(path: str, command: str) -> list[str]:
    if os.path.isdir(path):
        found = sorted(below(path))
    elif os.path.lexists(path) or path == "-" or not _is_pattern(path):
        return [path]  # a missing file is reported where it is read
    else:
        found = sorted(_matches(path))
    if not found:
        raise UsageError(command, f"no .lang files in '{clean(path)}'", usage=False)
    return found


def below(folder: str) -> list[str]:
    """Every regular ``*.lang`` file below a folder, unsorted; links to folders are not followed."""
    named = [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names if name.endswith(EXTENSION)]
    return [path for path in named if _may_be_read(path)]


def _may_be_read(path: str) -> bool:
    """Whether reading a path cannot block, because it is not a pipe or device. A missing file is reported where it is read."""
    return os.path.isfile(path) or not os.path.exists(path)


def _is_pattern(path: str) -> bool:
    last = os.path.basename(path)
    return "*" in last or "?" in last


def _matches(path: str) -> list[str]:
    from language.capabilities import glob

    folder, pattern = os.path.split(path)
    extension = os.path.splitext(pattern)[1]
    any_extension = extension not in ("", EXTENSION) and not _is_pattern(extension)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return []
    found = []
    for name in names:
        if not glob(name, pattern) or (name.startswith(".") and not pattern.startswith(".")):
            continue
        match = os.path.join(folder, name)
        if os.path.isdir(match):
            found.extend(below(match))
        elif (any_extension or name.endswith(EXTENSION)) and _may_be_read(match):
            found.append(match)
    return found
