"""Temporary folders for one service alone, locked for as long as it lives, so that what a killed one left behind is known."""

from __future__ import annotations

import os
from fcntl import LOCK_EX, LOCK_NB, flock
from tempfile import gettempdir, mkdtemp

#: folder → descriptor that holds the lock on it, which forked processes hold too
_locks: dict[str, int] = {}


def make(prefix: str, files: str) -> str:
    """A new folder that only its owner may enter, its name beginning with ``prefix``. Raises ``OSError``.

    Folders of that prefix that no living process has locked are removed, with the files in them whose names begin with
    ``files``. Every folder of a prefix is therefore to be made here: one without a lock counts as left behind.
    """
    for left in os.listdir(gettempdir()):
        if left.startswith(prefix):
            _sweep(os.path.join(gettempdir(), left), files)
    while True:
        folder = mkdtemp(prefix=prefix)
        lock = _lock(folder)
        if lock is not None:  # else another service has just swept it
            _locks[folder] = lock
            return folder


def remove(folder: str, files: str) -> None:
    """Removes a folder and the files in it whose names begin with ``files``."""
    _clear(folder, files)
    lock = _locks.pop(folder, None)
    if lock is not None:
        os.close(lock)


def _sweep(folder: str, files: str) -> None:
    lock = _lock(folder)
    if lock is not None:
        _clear(folder, files)
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


def _clear(folder: str, files: str) -> None:
    try:
        for name in os.listdir(folder):
            if name.startswith(files):
                os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:
        return  # gone already, or something else lies there
