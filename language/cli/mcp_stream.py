"""Messages of the Model Context Protocol over standard input and output: one line each, nothing else on either stream."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from language.locks import Lock

#: Bytes of one line. A longer one is passed over and answered as what is no JSON.
LONGEST_LINE = 8 << 20
_CHUNK = 1 << 16


class MessageStream:
    """The two streams of this process. What else this process writes to its standard output goes to standard error from now on,
    and what else reads its standard input finds it at its end."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        self._lock = Lock()

    def messages(self) -> Iterator[Any]:
        """Each message until the client closes the stream; ``None`` for a line that is no JSON. Empty lines are passed over."""
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
        """Writes a message as one line, whole from whichever thread. Raises ``OSError`` when nobody reads any more."""
        data = json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._out, data) :]


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        return None
