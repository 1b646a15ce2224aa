"""What the tool itself says: UTF-8 with LF on the standard descriptors, whatever the locale; each call is written at once."""

from __future__ import annotations

import os


class OutputClosed(Exception):
    """The reader of standard output has gone away: the command stops quietly with exit code 141."""


def out(text: str) -> None:
    """Writes one line (or several, joined by line ends) to standard output.

    Raises ``OutputClosed`` when its reader is gone and ``OSError`` when it cannot be written (a full disk).
    """
    write_bytes(encode(text))


def write_bytes(data: bytes) -> None:
    """Writes bytes to standard output as they are; raises what ``out`` raises."""
    try:
        write_all(1, data)
    except BrokenPipeError:
        raise OutputClosed from None


def err(text: str) -> None:
    """Writes one line to standard error. Nobody can be told when that fails: such a failure is let go."""
    try:
        write_all(2, encode(text))
    except OSError:
        return


def warn(text: str) -> None:
    err("lang: warning: " + text)


def encode(text: str) -> bytes:
    try:
        return (text + "\n").encode()
    except UnicodeEncodeError:
        # A file name that is not UTF-8 arrives with surrogates: its wrong bytes are shown as U+FFFD.
        return (text + "\n").encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def keep_standard_descriptors_open() -> None:
    """Opens the null device in the place of a closed standard stream.

    Else the first file opened by the program would become its standard output and receive what it prints.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is the closed one: those below it are open by now.
            os.open(os.devnull, os.O_RDWR)
