"""What a container wrote, from the daemon's frames to lines with a position that a later runner can go on from."""

from __future__ import annotations

import calendar
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Literal

from runner.engines import LONGEST_LINE, Line, Position

MILLISECOND = 1_000_000
SECOND = 1_000_000_000
#: No frame is older than another one before it by this much.
APART = SECOND
#: After so many frames a position begins to count anew.
FRAMES = 1000
_HEADER = 8


def nanoseconds(stamp: str) -> int:
    """``2026-11-22T19:00:00.123456789Z`` in nanoseconds since 1970."""
    moment, _, fraction = stamp.rstrip("Z").partition(".")
    day, _, clock = moment.partition("T")
    year, month, date = map(int, day.split("-"))
    hour, minute, second = map(int, clock.split(":"))
    seconds = calendar.timegm((year, month, date, hour, minute, second))
    return seconds * SECOND + int((fraction + "0" * 9)[:9])


def since(position: Position | None) -> str:
    """What the daemon is asked for, to be told the nanosecond of a position once more."""
    return "0" if position is None else f"{position.at // SECOND}.{position.at % SECOND:09}"


class Reader:
    """Puts one stream of frames together; a line may come in several.

    The daemon reads the two pipes of a program side by side: the nanoseconds of its frames are not quite in the order in
    which it keeps them. So a position is a nanosecond that lies some time back, and how many frames from there on were seen.

    Arguments:
        after: a position that frames are passed over up to. The daemon was asked for what is not older than its nanosecond.
    """

    def __init__(self, after: Position | None) -> None:
        self._skip = 0 if after is None else after.count
        self._from = 0 if after is None else after.at
        self._frames: deque[int] = deque()
        self._data = b""
        self._begun: dict[Literal["out", "err"], bytes] = {"out": b"", "err": b""}

    def feed(self, piece: bytes) -> Iterator[tuple[Position, Line]]:
        """The lines that a piece of the answer completes."""
        self._data += piece
        while len(self._data) >= _HEADER:
            size = int.from_bytes(self._data[4:_HEADER], "big")
            if len(self._data) < _HEADER + size:
                return
            stream: Literal["out", "err"] = "err" if self._data[0] == 2 else "out"
            frame = self._data[_HEADER : _HEADER + size]
            self._data = self._data[_HEADER + size :]
            yield from self._frame(stream, frame)

    def _frame(self, stream: Literal["out", "err"], frame: bytes) -> Iterator[tuple[Position, Line]]:
        stamp, _, text = frame.partition(b" ")
        at = nanoseconds(stamp.decode("ascii"))
        self._frames.append(at)
        if len(self._frames) <= self._skip:
            return
        if len(self._frames) >= FRAMES and at - self._from > 2 * APART:
            self._skip, self._from = 0, at - APART
            self._frames = deque(frame for frame in self._frames if frame >= self._from)
        whole = self._begun[stream] + text
        if not text.endswith(b"\n") and len(whole) < LONGEST_LINE:
            self._begun[stream] = whole
            return
        self._begun[stream] = b""
        yield self._line(stream, whole.removesuffix(b"\n"), at)

    def _line(self, stream: Literal["out", "err"], text: bytes, at: int) -> tuple[Position, Line]:
        return Position(self._from, len(self._frames)), Line(at // MILLISECOND, stream, text.decode("utf-8", "replace"))

    def rest(self) -> Iterator[tuple[Position, Line]]:
        """What has no line end, once the container has ended."""
        for stream, text in self._begun.items():
            if text:
                yield self._line(stream, text, self._frames[-1])
        self._begun = {"out": b"", "err": b""}


async def lines_of(pieces: AsyncIterator[bytes], reader: Reader) -> AsyncIterator[tuple[Position, Line]]:
    async for piece in pieces:
        for found in reader.feed(piece):
            yield found
