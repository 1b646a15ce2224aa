"""What a container wrote, from the daemon's frames to lines with a position that a later runner can go on from."""

from __future__ import annotations

import calendar
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Literal

from runner.engines import LONGEST_LINE, EngineError, Line, Position

MILLISECOND = 1_000_000
SECOND = 1_000_000_000
#: No frame is older than another one before it by this much.
APART = SECOND
#: The first frames of the two pipes may stand in the other order by this much; a file of output lasts longer.
CROSSED = 10 * MILLISECOND
#: After so many frames a position begins to count anew.
FRAMES = 1000
#: A line that is longer than this many bytes comes in several frames of one nanosecond. Only the last one is shorter. Some
#: versions of the driver ``local`` leave its line end out.
PART = 16 * 1024
_HEADER = 8
#: What is said where the daemon has removed the last output that was read, and perhaps newer output with it.
REMOVED = "Lines may be missing here: Docker has removed output of the program before it was read."
#: What the first byte of a frame says. The daemon's own word comes in the stream where it cannot go on, without a nanosecond.
_STREAMS: Mapping[int, Literal["out", "err"]] = {1: "out", 2: "err"}


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


def left_out(lines: int) -> str:
    """What is said of lines that a stream has left out, behind newer ones that it told."""
    what = "1 line is" if lines == 1 else f"{lines:,} lines are"
    return f"At least {what} missing above: the program printed faster than Docker's output could be read."


class StreamBroken(EngineError):
    """The daemon cannot go on with a stream, and says why. What it keeps of the output may be asked for again."""


class Frames:
    """Takes the daemon's frames out of the pieces in which they arrive. Each byte is copied a fixed number of times."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, piece: bytes) -> list[tuple[Literal["out", "err"] | None, bytes]]:
        """The frames that a piece completes, each with its stream: ``None`` is the daemon's own word."""
        data, begin = self._data, 0
        data += piece
        found: list[tuple[Literal["out", "err"] | None, bytes]] = []
        while len(data) - begin >= _HEADER:
            end = begin + _HEADER + int.from_bytes(data[begin + 4 : begin + _HEADER], "big")
            if len(data) < end:
                break
            found.append((_STREAMS.get(data[begin]), bytes(data[begin + _HEADER : end])))
            begin = end
        del data[:begin]
        return found


class Reader:
    """Puts one stream of frames together; a line may come in several.

    The daemon reads the two pipes of a program side by side: the nanoseconds of its frames are not quite in the order in
    which it keeps them. So a position is a nanosecond that lies some time back, and how many frames from there on were seen.

    Arguments:
        after: a position that frames are passed over up to. The daemon was asked for what is not older than its nanosecond.
        before: the reader that has read so far, where this is not the first one. Its frames are known by their nanoseconds, for
            counting them would not do: the daemon may have removed some, to keep newer ones. A stream that is followed while
            the daemon begins a new file may leave some out: those are told no more where newer ones of the same stream were,
            and how many they are is said in a line of its own.
    """

    def __init__(self, after: Position | None, before: Reader | None = None) -> None:
        self._skip: int = before._skip if before is not None else 0 if after is None else after.count
        self._from = 0 if after is None else after.at
        self._known: Counter[int] = Counter()
        if before is not None:  # older lines are not given again
            self._known = Counter({at: n for at, n in (before._known + Counter(before._frames)).items() if at >= self._from})
        self._frames: deque[int] = deque()
        #: the nanosecond of the newest frame of each stream, of all readers
        self._newest_of: dict[Literal["out", "err"], int] = {"out": 0, "err": 0} if before is None else before._newest_of
        #: up to where each stream was read before, until it is told up to there once more
        self._again = dict(self._newest_of)
        #: the nanosecond of a frame that was read for certain, the newest such one; a position that is not 0 lies before one
        self._read: int | None = before._read if before is not None else after.at + APART if after and after.at else None
        self._is_first = True
        self._removed = False
        #: lines that a stream before has left out, and that are not told of yet
        self._left_out: int = 0 if before is None else before._left_out
        #: the nanosecond of the newest frame
        self.newest: int = self._from if before is None else before.newest
        self._pieces = Frames()
        #: the parts of a line that has no end yet, and their bytes
        self._begun: dict[Literal["out", "err"], list[bytes]] = {"out": [], "err": []} if before is None else before._begun
        self._begun_size = {stream: sum(map(len, parts)) for stream, parts in self._begun.items()}
        #: the nanosecond of the newest frame where that is a part, and not the last one, of a line
        self._part: dict[Literal["out", "err"], int | None] = {"out": None, "err": None} if before is None else before._part

    def feed(self, piece: bytes) -> Iterator[tuple[Position, Line]]:
        """The lines that a piece of the answer completes. Errors: ``StreamBroken``, behind the lines before it."""
        for stream, frame in self._pieces.feed(piece):
            if stream is None:
                raise StreamBroken(frame.decode("utf-8", "replace").strip())
            yield from self._frame(stream, frame)

    def _frame(self, stream: Literal["out", "err"], frame: bytes) -> Iterator[tuple[Position, Line]]:
        stamp, _, text = frame.partition(b" ")
        at = nanoseconds(stamp.decode("ascii"))
        if self._is_first:
            self._is_first = False
            if self._read is not None and at > self._read + CROSSED:  # the oldest output goes first
                self._removed, self._skip = True, 0
        self._read = at if self._read is None else max(self._read, at)
        self._frames.append(at)
        self.newest = max(self.newest, at)
        self._newest_of[stream] = max(self._newest_of[stream], at)
        if at >= self._again[stream]:
            self._again[stream] = 0
        if self._known[at] > 0:
            self._known[at] -= 1
            return
        if self._skip > 0:
            self._skip -= 1
            self._part[stream] = at if len(text) == PART and not text.endswith(b"\n") else None
            return
        if at < self._again[stream]:
            # The stream before had left it out, and newer lines were told since: those stay the last ones.
            self._left_out += len(text) != PART or text.endswith(b"\n")
            return
        if len(self._frames) >= FRAMES and at - self._from > 2 * APART:
            self._from = at - APART
            self._frames = deque(frame for frame in self._frames if frame >= self._from)
        part = self._part[stream]
        if part not in (None, at) and self._begun_size[stream]:  # the daemon has removed the rest of that line
            yield Position(self._from, len(self._frames) - 1), self._line(stream, self._taken(stream), part or at)[1]
        for said in self._missing():
            yield Position(self._from, len(self._frames) - 1), said
        over = text.endswith(b"\n") or (part == at and len(text) < PART)
        self._part[stream] = at if len(text) == PART and not over else None
        if part == at and text in (b"", b"\n") and not self._begun_size[stream]:
            return  # the end of a line that was cut here
        self._begun[stream].append(text)
        self._begun_size[stream] += len(text)
        if over or self._begun_size[stream] >= LONGEST_LINE:
            yield self._line(stream, self._taken(stream).removesuffix(b"\n"), at)

    def _missing(self) -> Iterator[Line]:
        """What is to be said at this place of lines that are missing."""
        said = [REMOVED] if self._removed else []
        if self._left_out:
            said.append(left_out(self._left_out))
        self._removed, self._left_out = False, 0
        for text in said:
            yield Line(self.newest // MILLISECOND, "system", text)

    def _taken(self, stream: Literal["out", "err"]) -> bytes:
        whole = b"".join(self._begun[stream])
        self._begun[stream], self._begun_size[stream] = [], 0
        return whole

    def _line(self, stream: Literal["out", "err"], text: bytes, at: int) -> tuple[Position, Line]:
        return self.place, Line(at // MILLISECOND, stream, text.decode("utf-8", "replace"))

    @property
    def place(self) -> Position:
        """Behind all that was read."""
        return Position(self._from, len(self._frames))

    def rest(self) -> Iterator[tuple[Position, Line]]:
        """What has no line end, once the container has ended."""
        for stream in self._begun:
            if text := self._taken(stream):
                yield self._line(stream, text, self._frames[-1] if self._frames else self._from)
        for said in self._missing():
            yield self.place, said


async def newest_of(pieces: AsyncIterator[bytes]) -> int:
    """The nanosecond of the newest frame in an answer; 0 where there is none."""
    frames, newest = Frames(), 0
    async for piece in pieces:
        for stream, frame in frames.feed(piece):
            if stream is not None:
                newest = max(newest, nanoseconds(frame.partition(b" ")[0].decode("ascii")))
    return newest


async def lines_of(pieces: AsyncIterator[bytes], reader: Reader) -> AsyncIterator[tuple[Position, Line]]:
    async for piece in pieces:
        for found in reader.feed(piece):
            yield found
