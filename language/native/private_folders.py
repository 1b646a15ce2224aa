"""Temporary folders for one service alone, locked for as long as it lives, so that what a killed one left behind is known."""

from __future__ import annotations

import os
from fcntl import LOCK_EX, LOCK_NB, flock
from tempfile import gettempdir, mkdtemp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: folder → descriptor that holds the lock on it, which forked processes hold too
_locks: dict[str, int] = {}


def make(prefix: str, names: Iterable[str]) -> str:
    """A new folder that only its owner may enter. Raises ``OSError``.

    Those of earlier services with this prefix that nobody has locked any more are removed, with the files of these names.
    """
    for left in os.listdir(gettempdir()):
        if left.startswith(prefix):
            _sweep(os.path.join(gettempdir(), left), names)
    while True:
        folder = mkdtemp(prefix=prefix)
        lock = _lock(folder)
        if lock is not None:  # else another service has just swept it
            _locks[folder] = lock
            return folder


def remove(folder: str, names: Iterable[str]) -> None:
    """Removes a folder and its files of these names."""
    _clear(folder, names)
    lock = _locks.pop(folder, None)
    if lock is not None:
        os.close(lock)


def _sweep(folder: str, names: Iterable[str]) -> None:
    lock = _lock(folder)
    if lock is not None:
        _clear(folder, names)
        os.close(lock)


def _lock(folder: str) -> int | None:
    """The lock on a folder of our own; ``None`` when a living process has it or the folder is gone."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
        found = os.fstat(descriptor)
        if found.st_uid == os.getuid() and found.st_nlink:
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _clear(folder: str, names: Iterable[str]) -> None:
    for name in names:
        try:
            os.unlink(os.path.join(folder, name))
        except FileNotFoundError:
            continue
    try:
        os.rmdir(folder)
    except OSError:
        return  # somebody put something else there
