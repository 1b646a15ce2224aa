"""Messages of the Model Context Protocol over standard input and output: one line each, nothing else on either stream."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from language.locks import Lock

#: Bytes of one line. A longer one is skipped and reported as a parse error.
LONGEST_LINE = 8 << 20
_CHUNK = 1 << 16


class MessageStream:
    """The two streams of this process. From now on, anything else that this process writes to standard output goes to standard
    error, and any other reader of standard input gets end of file.
    """

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        self._lock = Lock()

    def messages(self) -> Iterator[Any]:
        """Each message until the client closes the stream; ``None`` for a line that is not JSON. Empty lines are skipped."""
        for line in self._lines():
            if line is None:
                yield None
            elif line.strip():
                yield _decoded(line)

    def _lines(self) -> Iterator[bytes | None]:
        """The lines; ``None`` for one that is too long."""
        rest = bytearray()
        skipping = False
        while piece := os.read(self._in, _CHUNK):
            *whole, last = piece.split(b"\n")
            for end in whole:
                rest += end
                yield None if skipping or len(rest) > LONGEST_LINE else bytes(rest)
                rest.clear()
                skipping = False
            rest += last
            if len(rest) > LONGEST_LINE:
                skipping = True
                rest.clear()
        if rest or skipping:
            yield None if skipping else bytes(rest)

    def send(self, message: Any) -> None:
        """Writes a message as one line. Thread-safe. Raises ``OSError`` if the client has closed its end."""
        data = json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._out, data) :]


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        return None
