"""Finds the file of a mounted folder for the path of a request, and never one outside of the folder.

Every step opens the next folder relative to the former one (``openat``) and follows no symbolic link. If there is a link, the
path is resolved; if the result is inside of the mounted folder, it is walked in the same way. A program that replaces a folder
by a link meanwhile can make the walk fail or start again, but cannot make it leave the mounted folder.
"""

from __future__ import annotations

import os
from errno import EACCES, EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, ENXIO, EPERM
from stat import S_ISDIR, S_ISLNK, S_ISREG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    Answer = TypeVar("Answer")
    #: Called with the descriptor of the folder (``None`` with a whole path as the name), the name in it, the status of the
    #: file and its real path.
    Act = Callable[[int | None, str, os.stat_result, str], Answer]

INDEX = "index.html"

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
#: Flags to open a folder on the way, if possible without the permission to list it.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
# Without O_NONBLOCK, opening a pipe that replaced the file would block forever.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | _NO_FOLLOW

#: Systems without ``openat`` open the resolved path as one text, with a race between check and use.
_WALKS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")

_MISSES = frozenset({ENOENT, EACCES, EPERM, ENAMETOOLONG, EINVAL, ENXIO})
_LINK_ERRORS = frozenset({ELOOP, ENOTDIR})
_ATTEMPTS = 8


def segments_of(path: str) -> list[str]:
    """The segments of a path that is not decoded; empty ones are dropped (docs/serve.md)."""
    return [segment for segment in path.split("/") if segment]


def names_of(segments: Sequence[str]) -> list[str] | None:
    """The names that the segments of a request stand for, percent-decoded once; ``None`` if one cannot name a file.

    Such a segment is not UTF-8, contains a slash, a backslash or NUL, or starts with a dot. Exceptions, if they are not
    percent-encoded, are ``.well-known``, and ``..`` after at least one other segment.
    """
    names: list[str] = []
    for segment in segments:
        name = segment
        if "%" in segment or not segment.isascii():
            from urllib.parse import unquote_to_bytes

            try:
                name = unquote_to_bytes(segment.encode("latin-1")).decode()
            except UnicodeError:
                return None
            if "/" in name:
                return None
        if "\\" in name or "\0" in name:
            return None
        if name.startswith("."):
            if segment == "..":
                if not names:
                    return None
                names.pop()
                continue
            if segment != ".well-known":
                return None
        names.append(name)
    return names


def at_file(root: str, names: Sequence[str], act: Act[Answer]) -> Answer | None:
    """The result of ``act`` for the regular file that the names lead to from a folder, given by its real path; for a folder its
    ``index.html``. ``None`` if there is no such file below the folder or it cannot be read.

    ``act`` must open the file with :func:`open_again`, whose errors make the search start again.
    """
    walk = _walk if _WALKS else _look_up
    for _ in range(_ATTEMPTS):
        try:
            return walk(root, names, act)
        except OSError as error:
            if error.errno in _MISSES:
                return None
            if error.errno not in _LINK_ERRORS:
                raise
            resolved = _resolved(root, error.names if isinstance(error, _LinkMet) else names)
        except UnicodeEncodeError:
            return None  # a name that the file system cannot have
        if resolved is None or resolved == list(names):
            return None
        names = resolved
    return None


def open_again(folder: int | None, name: str) -> tuple[int, os.stat_result]:
    """A descriptor for reading and the status of a file that was found before, without following links. The caller closes it.

    Raises an ``OSError`` that :func:`at_file` handles.
    """
    descriptor = os.open(name, _READ, dir_fd=folder)
    status = os.fstat(descriptor)
    if not S_ISREG(status.st_mode):
        os.close(descriptor)
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
    return descriptor, status


class _LinkMet(OSError):
    """There is a symbolic link at the end of those names."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(ELOOP, os.strerror(ELOOP))
        self.names = names


def _walk(root: str, names: Sequence[str], act: Act[Answer]) -> Answer | None:
    folder = os.open(root, _PASS)
    try:
        for name in names[:-1]:
            folder = _step(folder, name)
        name = names[-1] if names else INDEX
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if S_ISDIR(status.st_mode) and names:
            folder = _step(folder, name)
            names = [*names, INDEX]
            name = INDEX
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if S_ISLNK(status.st_mode):
            raise _LinkMet(names or (INDEX,))
        if not S_ISREG(status.st_mode):
            return None
        return act(folder, name, status, "/".join((root, *names)) if names else f"{root}/{INDEX}")
    finally:
        os.close(folder)


def _step(folder: int, name: str) -> int:
    below = os.open(name, _PASS, dir_fd=folder)
    os.close(folder)
    return below


def _resolved(root: str, names: Sequence[str]) -> list[str] | None:
    """The names with links resolved; ``None`` if they lead outside of the folder or to a file that does not exist."""
    try:
        real = os.path.realpath("/".join((root, *names)), strict=True)
    except OSError:
        return None
    if real == root:
        return []
    below = root if root.endswith(os.sep) else root + os.sep
    return real[len(below) :].split(os.sep) if real.startswith(below) else None


def _look_up(root: str, names: Sequence[str], act: Act[Answer]) -> Answer | None:
    for wanted in (names, [*names, INDEX]):
        resolved = _resolved(root, wanted) if wanted else None
        if resolved is None:
            continue
        path = os.path.join(root, *resolved)
        status = os.stat(path, follow_symlinks=False)
        if S_ISREG(status.st_mode):
            return act(None, path, status, path)
    return None
