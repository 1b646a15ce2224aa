"""Opens files by paths that are not trusted: anything but a regular file is refused, and opening never blocks."""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISFIFO, S_ISREG, S_ISSOCK

# Without O_NONBLOCK, opening a named pipe without a writer would block forever.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_ALWAYS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

#: The paths of inherited file descriptors on different systems.
_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")


class NotRegular(OSError):
    """The path leads to a named pipe, a socket or a device."""

    def __init__(self, path: str, kind: str) -> None:
        from errno import EINVAL

        super().__init__(EINVAL, f"it is {kind}, not a regular file", path)


def open_regular(path: str, *, flags: int = 0, folder: int | None = None) -> int:
    """A file descriptor for reading the regular file at a path, relative to the open ``folder``.

    ``flags`` are further flags of ``os.open``. Raises ``IsADirectoryError`` for a folder, ``NotRegular`` for a pipe, a
    socket or a device, and any other ``OSError`` of opening.
    """
    try:
        descriptor = os.open(path, _READ | _ALWAYS | flags, dir_fd=folder)
    except OSError as error:
        from errno import ENXIO

        if error.errno == ENXIO:
            raise NotRegular(path, "a socket or a missing device") from None
        raise
    try:
        refuse_irregular(os.fstat(descriptor).st_mode, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def refuse_irregular(mode: int, path: str) -> None:
    """Raises ``IsADirectoryError`` or ``NotRegular`` unless ``mode`` (``st_mode``) is that of a regular file.

    A device or a pipe may be endless, and whoever can create a file at a path could create one of these there.
    """
    if S_ISDIR(mode):
        from errno import EISDIR

        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), path)
    if not S_ISREG(mode):
        raise NotRegular(path, "a named pipe" if S_ISFIFO(mode) else "a socket" if S_ISSOCK(mode) else "a device")


def open_given(path: str) -> int:
    """As :func:`open_regular`, for a path of the command line.

    ``/dev/stdin`` and ``/dev/fd/N``, which a shell's ``<(...)`` gives, name an inherited file descriptor. These may be
    pipes: they are open already, so nothing blocks.
    """
    number: int | None = 0
    if path != "/dev/stdin":
        folder, slash, name = path.rpartition("/")
        number = int(name) if folder + slash in _DESCRIPTORS and name.isascii() and name.isdigit() else None
    if number is None:
        return open_regular(path)
    mode = os.fstat(number).st_mode
    if S_ISDIR(mode):
        refuse_irregular(mode, path)
    return os.dup(number)
