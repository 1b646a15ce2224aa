"""The lines that a program writes, from its pipes to whoever reads them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Literal

from runner.engines import LONGEST_LINE, Line, Position

#: Lines, and bytes in them, that wait for a reader. Then the program waits at its pipe: nothing is lost, nothing grows.
MOST_LINES, MOST_BYTES = 20_000, 4 * 1024 * 1024
MILLISECOND = 1_000_000


class Output:
    """Output in the order in which it arrived."""

    def __init__(self, pipes: int) -> None:
        self._waiting: deque[tuple[Position, Line, int]] = deque()
        self._bytes = 0
        self._last = Position(0, 0)
        self._open = pipes
        self._filled, self._emptied = asyncio.Event(), asyncio.Event()

    async def follow(self, pipe: asyncio.StreamReader, stream: Literal["out", "err"]) -> None:
        """Reads one of the pipes to its end."""
        rest = b""
        try:
            while piece := await pipe.read(LONGEST_LINE):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    self._put(stream, line)
                while len(rest) >= LONGEST_LINE:
                    self._put(stream, rest[:LONGEST_LINE])
                    rest = rest[LONGEST_LINE:]
                while len(self._waiting) >= MOST_LINES or self._bytes >= MOST_BYTES:
                    self._emptied.clear()
                    await self._emptied.wait()
            if rest:
                self._put(stream, rest)
        finally:
            self._open -= 1
            self._filled.set()

    def _put(self, stream: Literal["out", "err"], data: bytes) -> None:
        for start in range(0, max(len(data), 1), LONGEST_LINE):
            part = data[start : start + LONGEST_LINE]
            now = max(time.time_ns(), self._last.at)  # a clock that is set back does not change the order
            self._last = Position(now, self._last.count + 1 if now == self._last.at else 1)
            line = Line(now // MILLISECOND, stream, part.decode("utf-8", "replace"))
            self._waiting.append((self._last, line, len(part)))
            self._bytes += len(part)
        self._filled.set()

    async def lines(self, after: Position | None) -> AsyncIterator[tuple[Position, Line]]:
        """What arrived behind a position, until the pipes are at their end. What was given out is not kept."""
        while True:
            while not self._waiting:
                if not self._open:
                    return
                self._filled.clear()
                await self._filled.wait()
            position, line, size = self._waiting.popleft()
            self._bytes -= size
            self._emptied.set()
            if after is None or (position.at, position.count) > (after.at, after.count):
                yield position, line
