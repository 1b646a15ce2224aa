"""The program files of the folders that an editor has open, and which of them use which."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from language.lsp.documents import text_on_disk
from language.runtime.modules import extensions

#: A line that imports a module. Read off the text, because every file of the workspace is read and few of them parse while
#: somebody types.
_USE = re.compile(r"""^[ \t]*use[ \t]+(?:"([^"\n]+)"|'([^'\n]+)')[ \t]+as\b""", re.MULTILINE)

#: Folders that hold no programs of the workspace.
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv"})
#: The most files that are looked at. An opened home folder may have more.
MOST_FILES = 5_000
#: The largest file, in bytes, that is looked at before the editor opens it.
LARGEST = 1 << 20
#: A module may be used by many programs; at most this many of them are analysed for it.
MOST_ENTRIES = 4


class ProgramFiles:
    """Files by their real path, each with the files that it uses."""

    def __init__(self) -> None:
        self._uses: dict[str, frozenset[str]] = {}
        self._users: dict[str, set[str]] = {}

    def note(self, path: str, text: str) -> None:
        """Takes in a file or its new text."""
        real = os.path.realpath(path)
        new = frozenset(_used(real, text))
        old = self._uses.get(real, frozenset())
        self._uses[real] = new
        for gone in old - new:
            self._users.get(gone, set()).discard(real)
        for used in new - old:
            self._users.setdefault(used, set()).add(real)

    def forget(self, path: str) -> None:
        """A file that is not there any more."""
        real = os.path.realpath(path)
        for used in self._uses.pop(real, ()):
            self._users.get(used, set()).discard(real)

    def all(self) -> list[str]:
        """Every known file, sorted."""
        return sorted(self._uses)

    def entries_of(self, path: str, most: int = MOST_ENTRIES) -> list[str]:
        """The entry files of the programs that a file is part of, the nearest first; the file itself where none uses it.

        ``most`` is how many are given at most.
        """
        real = os.path.realpath(path)
        found: list[str] = []
        seen = {real}
        level = [real]
        while level:
            found += sorted(file for file in level if not self._users.get(file))
            users = {user for file in level for user in self._users.get(file, ())} - seen
            seen |= users
            level = sorted(users)
        return found[:most] or [real]  # files that use each other in a circle have no entry


def files_below(folder: str, most: int = MOST_FILES, *, deep: bool = True) -> Iterator[tuple[str, str]]:
    """The program files below a folder, or in it alone unless ``deep``, at most ``most``, with their texts.

    Links to folders are not followed, nor links to files that lie elsewhere.
    """
    root = os.path.realpath(folder)
    count = 0
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _PASSED_OVER)
        if not deep:
            folders.clear()
        for name in sorted(names):
            if not name.endswith(extensions()):
                continue
            path = os.path.join(place, name)
            if os.path.realpath(path) != path:
                continue
            count += 1
            if count > most:
                return
            text = text_on_disk(path, LARGEST)
            if text is not None:
                yield path, text


def _used(path: str, text: str) -> Iterator[str]:
    folder = os.path.dirname(path)
    for found in _USE.finditer(text):
        used = found[1] or found[2]
        if not os.path.isabs(used) and used.endswith(extensions()) and "\0" not in used:
            yield os.path.realpath(os.path.join(folder, used))
