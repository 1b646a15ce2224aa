"""Temporary folders of one service each. A lock on the folder shows that its service is running; folders without a lock are
left over.
"""

from __future__ import annotations

import os
from fcntl import LOCK_EX, LOCK_NB, flock
from tempfile import gettempdir, mkdtemp

#: folder → the file descriptor that holds its lock; forked processes hold it too
_locks: dict[str, int] = {}


def make(prefix: str, files: str) -> str:
    """A new folder with mode 0700 whose name begins with ``prefix``. Raises ``OSError``.

    Folders of that prefix which no running process has locked are removed, with the files in them whose names begin with
    ``files``. Every folder with that prefix must therefore be made by this function.
    """
    for left in os.listdir(gettempdir()):
        if left.startswith(prefix):
            _sweep(os.path.join(gettempdir(), left), files)
    while True:
        folder = mkdtemp(prefix=prefix)
        lock = _lock(folder)
        if lock is not None:  # else another service has just removed it
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
    """The lock on a folder of the same account; ``None`` when a running process holds it or the folder does not exist."""
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
        return  # removed already, or it is not a folder
