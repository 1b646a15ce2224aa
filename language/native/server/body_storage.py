"""The body of a request: in memory while it is small, in a file of a private folder beyond that."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

    from language.serve.request import Request

#: Bytes up to which a body is kept in memory.
MOST_IN_MEMORY = 1024 * 1024
#: How the files of bodies are named.
BODY_PREFIX = "body-"


class Body:
    """Collects the bytes that really arrive, up to ``limit`` of them (``None``: any number)."""

    __slots__ = ("_chunks", "_file", "_folder", "_limit", "path", "size")

    def __init__(self, limit: int | None, folder: Callable[[], str]) -> None:
        self._limit = limit
        self._folder = folder
        self._chunks: list[bytes] = []
        self._file: BinaryIO | None = None
        self.path: str | None = None
        self.size = 0

    def add(self, data: bytes) -> bool:
        """Whether there was room for the data. Raises ``OSError`` when the file cannot be written."""
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
        import tempfile  # no start needs it

        descriptor, self.path = tempfile.mkstemp(dir=self._folder(), prefix=BODY_PREFIX)  # mode 0600, closed to children
        self._file = os.fdopen(descriptor, "wb")
        self._file.writelines(self._chunks)
        self._chunks = []

    def hand_over(self, request: Request) -> None:
        """Puts the whole body into the request; :meth:`discard` is still to be called once that is answered."""
        if self._file is None:
            request.body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
            self._chunks = []
            return
        self._file.close()
        self._file = None
        request.body_file = self.path

    def discard(self) -> None:
        """Removes the file, if there is one; may be called twice."""
        self._chunks = []
        if self._file is not None:
            self._file.close()
            self._file = None
        if self.path is not None:
            path, self.path = self.path, None
            try:
                os.unlink(path)
            except FileNotFoundError:
                return  # the program may have moved it away: it was told the path
