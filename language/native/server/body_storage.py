"""The body of a request: in memory while it is small, else in a file of a private folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from language.serve.request import Request

#: The largest body that is kept in memory, in bytes.
MOST_IN_MEMORY = 1024 * 1024
#: The prefix of the names of these files.
BODY_PREFIX = "body-"


class Body:
    """Collects the received bytes of a body, at most ``limit`` of them (``None``: without a limit)."""

    __slots__ = ("_chunks", "_file", "_folder", "_limit", "path", "size")

    def __init__(self, limit: int | None, folder: Callable[[], str]) -> None:
        self._limit = limit
        self._folder = folder
        self._chunks: list[bytes] = []
        self._file: BinaryIO | None = None
        self.path: str | None = None
        self.size = 0

    def add(self, data: bytes) -> bool:
        """Adds the data. Returns ``False`` when it exceeds the limit. Raises ``OSError`` when the file cannot be written."""
        self.size += len(data)
        if self._limit is not None and self.size > self._limit:
            return False
        if self._file is not None:
            self._file.write(data)
            return True
        self._chunks.append(data)
        if self.size > MOST_IN_MEMORY:
            self._spill()
        return True

    def _spill(self) -> None:
        import tempfile  # not needed at start

        descriptor, self.path = tempfile.mkstemp(dir=self._folder(), prefix=BODY_PREFIX)  # mode 0600, not inherited by children
        self._file = os.fdopen(descriptor, "wb")
        self._file.writelines(self._chunks)
        self._chunks = []

    def hand_over(self, request: Request) -> None:
        """Puts the whole body into the request. :meth:`discard` must still be called once the request is answered."""
        if self._file is None:
            request.body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
            self._chunks = []
            return
        self._file.close()
        self._file = None
        request.body_file = self.path

    def discard(self) -> None:
        """Removes the file, if there is one. May be called twice."""
        self._chunks = []
        if self._file is not None:
            self._file.close()
            self._file = None
        if self.path is not None:
            path, self.path = self.path, None
            try:
                os.unlink(path)
            except FileNotFoundError:
                return  # the program knows the path and may have moved the file
