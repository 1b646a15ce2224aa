"""What the service has not acknowledged yet: files that only grow, one sequence of numbers a stream.

An item is in the hands of the system before ``append`` returns, so it outlives a runner that is killed; ``sync`` brings it
onto the disk. After a start the numbers leave a gap: those behind the last ``sync`` may have been given, and acknowledged, and
be on no disk after a loss of power.

Where the disk is full, programs go on: the oldest log lines are given up first, and how many they were is told as one line when
there is room and the service listens again. What is no log line then waits in memory.

A report of what has a time left is kept with its end: what is left is counted when it is read.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runner import moments
from runner.protocol import GateOpened, Item, LogLine, item_from_json, to_json

StreamName = Literal["state", "audit", "logs"]
STREAMS: tuple[StreamName, ...] = ("state", "audit", "logs")
#: Bytes after which a segment is followed by a new one.
SEGMENT = 1024 * 1024
#: Bytes of log lines that wait at most, on the disk.
MOST_LOGS = 512 * 1024 * 1024
#: The most bytes of states that wait. Beyond them states are dropped that a later report repeats.
MANY_STATES = 32 * 1024 * 1024
#: Items that wait in memory at most, for each stream, while the disk is full.
MOST_HELD: Mapping[StreamName, int] = {"state": 100_000, "audit": 100_000, "logs": 2_000}
#: Numbers left out after a start.
GAP = 1_000_000

#: The line that reports dropped lines.
_LOST = re.compile(r"([0-9]{1,15}) (?:lines?|[a-z ]+) (?:was|were) lost here: ")

Numbered = tuple[int, Mapping[str, Any]]

#: Where an item is from: the id of a start, and the place in its output behind which the next one begins, as two numbers.
Origin = tuple[str, int, int]


@dataclass(slots=True)
class _Segment:
    """A file of items in order. ``first`` is the lowest number that it may hold; the next segment's is above its last."""

    path: Path
    first: int
    size: int


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the item behind a number begins: in the segment with this first number, or in memory."""

    segment: int
    offset: int


class Stream:
    """One stream.

    Args:
        folder: where its segments lie.
        name: a part of their names.
    """

    def __init__(self, folder: Path, name: StreamName) -> None:
        self._folder, self.name = folder, name
        self._segments: deque[_Segment] = deque()
        self._held: deque[tuple[int, bytes]] = deque()
        self._descriptor: int | None = None
        self._read: list[tuple[int, _Place]] = []
        self._next = 1
        self._place = _Place(0, 0)
        #: the last number of the report that is under way, 0 where none is
        self._sent = 0
        #: what was given up while a report with it was under way: it may have arrived
        self._unsure: list[Numbered] = []
        self._given_up: list[Mapping[str, Any]] = []
        self.dirty = False
        #: whether a new segment is to be begun
        self._turns = False
        #: by the start: how far its output had got with the items that were there when the runner was started
        self.origins: dict[str, tuple[int, int]] = {}
        #: is called before items are removed that had an origin
        self.before_removal: Callable[[], None] = lambda: None
        self._open()

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return sum(segment.size for segment in self._segments)

    @property
    def waiting(self) -> bool:
        """Whether anything is not acknowledged."""
        return bool(self._held) or any(segment.size and not self._is_read(segment) for segment in self._segments)

    def append(self, items: Iterable[Item], origin: Origin | None = None) -> int:
        """Gives items their numbers and keeps them; says how many had to be held in memory.

        Items for which there is no room in memory either are lost: the oldest, which the caller asks ``overflowing`` for.
        """
        lines = [(number, _line(number, item, origin)) for number, item in enumerate(items, self._next)]
        if not lines:
            return 0
        self._next = lines[-1][0] + 1
        self._held.extend(lines)
        self.flush()
        return len(self._held)

    def flush(self) -> bool:
        """Tries to bring what is held in memory into a file, and says whether nothing is held any more."""
        while self._held:
            part: list[bytes] = []
            size = 0
            for _, line in self._held:
                part.append(line)
                size += len(line)
                if size >= SEGMENT:
                    break
            try:
                self._write(b"".join(part), self._held[0][0])
            except OSError:
                return False
            for _ in part:
                self._held.popleft()
        return True

    def drop_overflow(self) -> None:
        """Gives up the oldest items in memory above what is held at most."""
        while len(self._held) > MOST_HELD[self.name]:
            number, line = self._held.popleft()
            self._give_up(number, _item(json.loads(line)))

    def drop_oldest(self) -> bool:
        """Gives up the oldest segment, as far as it was not acknowledged; whether there was one on the disk."""
        if not self._segments or (len(self._segments) == 1 and not self._segments[0].size):
            return False
        self.before_removal()
        oldest = self._segments[0]
        begin = self._place.offset if self._place.segment == oldest.first else 0
        for number, _, item in _items(oldest, begin):
            self._give_up(number, item)
        if len(self._segments) == 1:
            if self._descriptor is not None:
                os.ftruncate(self._descriptor, 0)
            oldest.size = 0
            self._place = _Place(oldest.first, 0)
        else:
            self._segments.popleft()
            oldest.path.unlink(missing_ok=True)
            self._place = _Place(self._segments[0].first, 0)
        self._read = []
        return True

    def take_given_up(self) -> list[Mapping[str, Any]]:
        """What was given up since the last time, and has not arrived as far as anybody knows."""
        found, self._given_up = self._given_up, []
        return found

    def _give_up(self, number: int, item: Mapping[str, Any]) -> None:
        if number <= self._sent:
            self._unsure.append((number, item))
        else:
            self._given_up.append(item)

    def pending(self, items: int, size: int) -> list[Numbered]:
        """The oldest items that are not acknowledged.

        Args:
            items: how many at most.
            size: bytes at most, but one item at least.
        """
        if self._unsure:
            return []
        found = self._pending(items, size)
        self._sent = found[-1][0] if found else 0
        return found

    @property
    def is_unsure(self) -> bool:
        """Whether items were given up of which nobody knows if they have arrived. A batch without items asks the service for
        the last number that it has; before its answer nothing is ``pending``.
        """
        return bool(self._unsure)

    def _pending(self, items: int, size: int) -> list[Numbered]:
        found: list[Numbered] = []
        self._read = []
        for segment in list(self._segments):
            if segment.first < self._place.segment:
                continue
            begin = self._place.offset if segment.first == self._place.segment else 0
            for number, end, item in _items(segment, begin):
                size -= end - begin
                if len(found) >= items or (size < 0 and found):
                    return found
                begin = end
                found.append((number, item))
                self._read.append((number, _Place(segment.first, end)))
        for number, line in self._held:
            size -= len(line)
            if len(found) >= items or (size < 0 and found):
                break
            found.append((number, _item(json.loads(line))))
        return found

    def acknowledge(self, number: int) -> None:
        """Forgets the items up to a number."""
        self._given_up.extend(item for known, item in self._unsure if known > number)
        self._unsure = []
        self._sent = 0
        for known, place in self._read:
            if known <= number:
                self._place = place
        self._read = [(known, place) for known, place in self._read if known > number]
        while self._held and self._held[0][0] <= number:
            self._held.popleft()
        last = self._segments[-1] if self._segments else None
        if self._turns or (last is not None and last.size > SEGMENT // 16 and self._is_read(last)):
            self.turn()
        self._remove_read()

    def turn(self) -> None:
        """Goes on in a new segment, however small the last one is: that one goes when all of it is acknowledged."""
        self._turns = True
        if self._segments and self._segments[-1].size:
            try:
                self._begin_segment(self._held[0][0] if self._held else self._next)
            except OSError:
                return  # at the next acknowledgement
        self._turns = False
        self._remove_read()

    def _remove_read(self) -> None:
        while len(self._segments) > 1 and self._is_read(self._segments[0]):
            self.before_removal()
            self._segments.popleft().path.unlink(missing_ok=True)

    def sync(self) -> None:
        """Brings what was appended onto the disk. May be called in a thread."""
        descriptor = self._descriptor
        if self.dirty and descriptor is not None:
            self.dirty = False
            copy = os.dup(descriptor)
            try:
                os.fdatasync(copy)
            finally:
                os.close(copy)

    def close(self) -> None:
        """Closes the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _is_read(self, segment: _Segment) -> bool:
        place = self._place
        return place.segment > segment.first or (place.segment == segment.first and place.offset >= segment.size)

    def _open(self) -> None:
        paths = sorted(self._folder.glob(f"{self.name}-*.jsonl"))
        for path in paths:
            first = int(path.stem.rpartition("-")[2])
            self._segments.append(_Segment(path, first, path.stat().st_size))
        for segment in self._segments:
            end, last = 0, segment.first - 1
            for line_end, record in _records(segment, 0):
                end, last = line_end, record["n"]
                if record["o"] is not None:
                    start, at, count = record["o"]
                    self.origins[start] = at, count
            if end < segment.size:  # the line that was being written when the runner was killed
                os.truncate(segment.path, end)
                segment.size = end
            self._next = last + 1
        if self._segments:
            self._next += GAP
            self._place = _Place(self._segments[0].first, 0)
            self._descriptor = os.open(self._segments[-1].path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def _begin_segment(self, first: int) -> None:
        path = self._folder / f"{self.name}-{first:020}.jsonl"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.sync()
        self.close()
        self._descriptor = descriptor
        self._segments.append(_Segment(path, first, 0))
        if len(self._segments) == 1:
            self._place = _Place(first, 0)

    def _write(self, content: bytes, first: int) -> None:
        if not self._segments or self._segments[-1].size >= SEGMENT:
            self._begin_segment(first)
        assert self._descriptor is not None
        segment = self._segments[-1]
        written = 0
        try:
            while written < len(content):
                written += os.write(self._descriptor, content[written:])
        except OSError:
            os.ftruncate(self._descriptor, segment.size)  # no half of a line stays
            raise
        segment.size += len(content)
        self.dirty = True


class Spool:
    """The three streams of a runner.

    Args:
        folder: of this runner alone; it is made.

    Attributes:
        on_change: what is called after something was appended.
        lost: the log lines of each project that were given up and not yet told of.
        is_full: whether something waits in memory because the disk is full.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self.streams: Mapping[StreamName, Stream] = {name: Stream(folder, name) for name in STREAMS}
        self.lost: Counter[str] = Counter()
        self.on_change: list[Callable[[], None]] = []
        self.is_full = False

    def append(self, *items: Item, origin: Origin | None = None) -> None:
        """Keeps items, each in its stream, and with them where they are from, for a runner that comes after this one."""
        for name in STREAMS:
            part = [item for item in items if stream_of(item) == name]
            if part:
                self._append(self.streams[name], part, origin)
        for told in self.on_change:
            told()

    def _append(self, stream: Stream, items: list[Item], origin: Origin | None) -> None:
        held = stream.append(items, origin)
        while held and self._drop_logs():
            held = 0 if stream.flush() else 1
        self.is_full = bool(held)
        if held:
            stream.drop_overflow()
        if stream.name == "logs" and stream.size > MOST_LOGS:
            self._drop_logs()
        self._count()

    def _drop_logs(self) -> bool:
        return self.streams["logs"].drop_oldest()

    def _count(self) -> None:
        for stream in self.streams.values():
            for item in stream.take_given_up():
                if stream.name == "logs":
                    self.lost[str(item["project"])] += _lines_of(item)

    def append_plain(self, item: Mapping[str, Any]) -> None:
        """As ``append``, for an item in the form of a report."""
        self.append(item_from_json(item))

    def acknowledge(self, name: str, number: int) -> None:
        """Forgets what the service has stored, and says what was lost meanwhile."""
        stream = self.streams.get(name)  # type: ignore[call-overload]
        if stream is None:
            return
        stream.acknowledge(number)
        for other in self.streams.values():
            other.flush()
        self._count()
        if self.lost and name == "logs":
            lost, self.lost = self.lost, Counter()
            for project, count in sorted(lost.items()):
                text = f"{count} {'line was' if count == 1 else 'lines were'} lost here: the disk of the runner was full."
                self.append(LogLine(project=project, at=moments.unix_milliseconds(), line=text, stream="system"))

    def turn(self) -> None:
        """Has everything that was kept so far removed from the disk as soon as it is acknowledged. A project was erased."""
        for stream in self.streams.values():
            stream.turn()

    @property
    def is_behind(self) -> bool:
        """Whether so many states wait that one which a later one makes needless is not worth keeping."""
        return self.streams["state"].size > MANY_STATES

    @property
    def waiting(self) -> bool:
        """Whether anything is not acknowledged."""
        return any(stream.waiting for stream in self.streams.values())

    def sync(self) -> None:
        """Brings everything onto the disk. May be called in a thread."""
        for stream in self.streams.values():
            stream.sync()

    def close(self) -> None:
        """Closes the files."""
        for stream in self.streams.values():
            stream.close()


def stream_of(item: Item) -> StreamName:
    """The stream that an item belongs to."""
    if item.type == "log":
        return "logs"
    return "audit" if item.type == "audit" else "state"


def is_loss(item: Mapping[str, Any]) -> bool:
    """Whether an item is a line that reports dropped lines."""
    return item.get("stream") == "system" and _LOST.match(str(item.get("line"))) is not None


def _lines_of(item: Mapping[str, Any]) -> int:
    """How many lines are lost with a line: itself, or those that it reports. Programs write no lines of the system."""
    told = _LOST.match(str(item.get("line"))) if item.get("stream") == "system" else None
    return 1 if told is None else int(told[1])


def _line(number: int, item: Item, origin: Origin | None) -> bytes:
    record: dict[str, Any] = {"n": number, "i": to_json(item)}
    if origin is not None:
        record["o"] = origin
    if isinstance(item, GateOpened):
        record["d"] = moments.Deadline.after(item.left_ms).to_json()
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _item(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The item of a record. The time that it has left is less by the time that it was kept."""
    item: Mapping[str, Any] = record["i"]
    if "d" not in record:
        return item
    return {**item, "left_ms": max(0, moments.Deadline.from_json(record["d"]).left())}


def _origin(value: Any) -> Origin | None:
    if value is None:
        return None
    start, at, count = value
    return str(start), int(at), int(count)


def _items(segment: _Segment, begin: int) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """Number, end of the line, and item of each whole line from an offset on."""
    for end, record in _records(segment, begin):
        yield record["n"], end, record["i"]


def _records(segment: _Segment, begin: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """End of the line and record of each whole line from an offset on."""
    with open(segment.path, "rb") as file:
        file.seek(begin)
        for line in file:
            begin += len(line)
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
                record = {"n": int(record["n"]), "i": _item(record), "o": _origin(record.get("o"))}
            except (ValueError, KeyError, TypeError):
                return
            yield begin, record
