"""Reads the program of a command: a file, or standard input."""

from __future__ import annotations

import os

from language.cli.arguments import UsageError, clean
from language.host.regular_file import NotRegular, open_given

STDIN = "<stdin>"
#: Bytes of one read: longer than most programs, and short enough that the allocator needs no new memory from the system.
CHUNK = 1 << 16


class Source:
    """The bytes of a program, the name shown in its errors, and the folder of its modules."""

    __slots__ = ("data", "from_stdin", "name", "root")

    def __init__(self, data: bytes, name: str, root: str, *, from_stdin: bool) -> None:
        self.data = data
        self.name = name
        self.root = root
        self.from_stdin = from_stdin


def read_source(path: str, command: str) -> Source:
    """Reads a file, or standard input for ``-``. Raises ``UsageError`` of ``command`` for what cannot be read."""
    if path == "-":
        return Source(_read_all(0, path, command), STDIN, os.getcwd(), from_stdin=True)
    try:
        descriptor = open_given(path)
    except OSError as error:
        raise unreadable(path, error, command) from None
    try:
        data = _read_all(descriptor, path, command)
    finally:
        os.close(descriptor)
    return Source(data, clean(path), os.path.dirname(path) or ".", from_stdin=False)


def unreadable(path: str, error: OSError, command: str) -> UsageError:
    """The error for a file that cannot be read."""
    reason = error.strerror
    if isinstance(error, IsADirectoryError):
        main = os.path.join(path, "main.lang")
        held = command in ("run", "serve") and os.path.isfile(main)
        reason = f"it is a folder: the program in it is `lang {command} {clean(main)}`" if held else "it is a folder"
    if isinstance(error, NotRegular):
        reason = f"{reason}; - reads standard input"
    return UsageError(command, f"cannot read '{clean(path)}': {reason}", usage=False)


def not_utf8(name: str, command: str) -> UsageError:
    """The error for a program that is not UTF-8."""
    return UsageError(command, f"cannot read '{name}': it is not UTF-8", usage=False)


def _read_all(descriptor: int, path: str, command: str) -> bytes:
    pieces = []
    try:
        while piece := os.read(descriptor, CHUNK):
            pieces.append(piece)
    except OSError as error:
        raise unreadable(path, error, command) from None
    return b"".join(pieces)
