"""Standard output as a text stream, for commands that write with ``print``: a failed write raises ``OutputLost``."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from language.cli.streams import OutputLost, write_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _StandardDescriptor(io.RawIOBase):
    """Descriptor 1. After a failed write, whose error was raised, further output is discarded."""

    _is_lost = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def isatty(self) -> bool:
        return os.isatty(1)

    def write(self, data: ReadableBuffer, /) -> int:
        content = bytes(data)
        if not self._is_lost:
            try:
                write_bytes(content)
            except OutputLost:
                self._is_lost = True
                raise
        return len(content)


@contextmanager
def standard_output() -> Iterator[None]:
    """Replaces ``sys.stdout`` by a stream that raises ``OutputLost`` on failure. It encodes UTF-8 and writes line by line."""
    before = sys.stdout
    stream = io.TextIOWrapper(
        io.BufferedWriter(_StandardDescriptor()), encoding="utf-8", errors="replace", newline="\n", line_buffering=True
    )
    sys.stdout = stream
    try:
        yield
        stream.flush()
    finally:
        sys.stdout = before
