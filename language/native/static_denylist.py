"""Files that a static mount never serves: the command's own files, the program, its databases.

``static "/" from "."`` serves a folder in which all of them often lie.
"""

from __future__ import annotations

import os

from language.capabilities.scopes import FOLDING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from language.runtime.instance import Instance

#: SQLite's own files beside a database, which hold parts of its content.
_BESIDE = ("", "-wal", "-shm", "-journal")


class StaticDenylist:
    """Asked about each file that a mount is about to serve.

    The program's files are those read so far. Its databases are those that are open and those that it names in ``require
    db``.
    """

    def __init__(self, instance: Instance) -> None:
        self._context = instance.context
        self._modules = instance.modules
        self._entry = _folded(os.path.realpath(instance.file))

    def __call__(self, path: str, status: os.stat_result) -> bool:
        if self._context.capabilities.withholds(path):
            return True
        folded = _folded(path)
        if folded == self._entry or path in self._modules:
            return True
        if FOLDING and any(folded == _folded(module) for module in self._modules):
            return True
        return any(_is_same(name, status) for name in self._databases())

    def _databases(self) -> Iterator[str]:
        databases = self._context.host.databases
        named = [
            grant.scope
            for grant in self._context.capabilities.grants
            if grant.name == "db" and grant.scope is not None and "://" not in grant.scope
        ]
        for path in {*(databases.files if databases is not None else ()), *named}:
            for end in _BESIDE:
                yield path + end


def _is_same(path: str, status: os.stat_result) -> bool:
    # Compares the files and not the names: a link, or another spelling of the path, leads to the same file.
    try:
        return os.path.samestat(os.stat(path), status)
    except (OSError, ValueError):
        return False


def _folded(path: str) -> str:
    return path.casefold() if FOLDING else path
