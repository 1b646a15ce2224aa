"""New rows for everybody who follows them: one reader a subject and process, however many follow."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from platform_api import event_stream

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.changes import Changes
    from platform_api.store.database import Database

#: Rows that are read at a time.
PAGE = 500
#: What may wait for one watcher: rows, and bytes of them.
WAITING_ROWS, WAITING_BYTES = 4 * PAGE, 8 * 1024 * 1024
_LOOK_AGAIN = 15.0
logger = logging.getLogger("platform")


@dataclass(frozen=True, slots=True)
class Source:
    """Rows that get growing numbers, in the order in which they become visible.

    Attributes:
        topic: what is announced when there are new ones; of two sources with one topic and name, one is read.
        position: the highest number there is.
        rows: those behind a number, at most so many, in their order. A row has a column ``id``.
        event: a row as an event.
    """

    topic: str
    name: str
    position: Callable[[Connection], int]
    rows: Callable[[Connection, int, int], Sequence[Row[Any]]]
    event: Callable[[Row[Any]], bytes]

    def batch(self, rows: Sequence[Row[Any]]) -> Batch:
        """Rows, at least one, as events."""
        events = tuple(self.event(row) for row in rows)
        return Batch(tuple(row.id for row in rows), events, b"".join(events))


@dataclass(frozen=True, slots=True)
class Batch:
    """Events that follow each other. All watchers share the bytes."""

    numbers: tuple[int, ...]
    events: tuple[bytes, ...]
    data: bytes

    def after(self, number: int) -> bytes:
        """The events behind a number."""
        if self.numbers[0] > number:
            return self.data
        return b"".join(event for own, event in zip(self.numbers, self.events, strict=True) if own > number)


class Watcher:
    """One who watches.

    Attributes:
        behind: it was too slow: what waited for it is let go, and it has to read the store again.
        over: nothing comes any more.
    """

    def __init__(self) -> None:
        self._waiting: deque[Batch] = deque()
        self._rows = self._bytes = 0
        self._arrived = asyncio.Event()
        self.behind = self.over = False

    def put(self, batch: Batch) -> None:
        """Adds events. With too much that waits already it lets go of all of it."""
        if self.over:
            return
        self._rows += len(batch.numbers)
        self._bytes += len(batch.data)
        if self._waiting and (self._rows > WAITING_ROWS or self._bytes > WAITING_BYTES):
            self.behind = True
            self.end()
            return
        self._waiting.append(batch)
        self._arrived.set()

    def end(self) -> None:
        """Lets go of everything that waits; nothing comes any more."""
        self.over = True
        self._waiting.clear()
        self._arrived.set()

    async def take(self, timeout: float) -> Batch | None:
        """The next events; ``None`` after ``timeout`` seconds without any, and when it is over."""
        if not self._waiting:
            self._arrived.clear()
            if self.over:
                return None
            try:
                async with asyncio.timeout(timeout):  # `wait_for` of Python 3.11 loses cancellations
                    await self._arrived.wait()
            except TimeoutError:
                return None
        if self.over:
            return None
        batch = self._waiting.popleft()
        self._rows -= len(batch.numbers)
        self._bytes -= len(batch.data)
        return batch


class Feeds:
    """The sources that are being followed. For the event loop."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes
        self._feeds: dict[tuple[str, str], _Feed] = {}

    @asynccontextmanager
    async def watch(self, source: Source) -> AsyncIterator[Watcher]:
        """A watcher. Whatever the store does not hold when the block begins comes to it; what it holds must be read there."""
        key = (source.topic, source.name)
        feed = self._feeds.get(key)
        if feed is None or feed.over:
            feed = self._feeds[key] = _Feed(source, self._database, self._changes)
        watcher = Watcher()
        feed.watchers.add(watcher)
        try:
            await feed.reads.wait()
            yield watcher
        finally:
            feed.watchers.discard(watcher)
            if not feed.watchers:
                feed.stop()
                if self._feeds.get(key) is feed:
                    del self._feeds[key]

    async def follow(self, source: Source, after: int, may_go_on: Callable[[], Awaitable[bool]]) -> AsyncGenerator[bytes, None]:
        """The events behind a number, then every new one as it comes, until nobody reads them any more.

        Args:
            may_go_on: asked once in a heartbeat; the events end when it says no.
        """
        loop = asyncio.get_running_loop()
        while True:
            # The page that is not full is read while watching: everything behind it comes to the watcher. A client that reads
            # more slowly than rows are written falls behind, and reads pages again at its own pace.
            async with self.watch(source) as watcher:
                rows = await self._database.read(source.rows, after, PAGE)
                if rows:
                    after = rows[-1].id
                    yield source.batch(rows).data
                # Streams that were opened together do not all beat together from then on.
                beat = loop.time() + event_stream.HEARTBEAT * random.uniform(0.5, 1)
                while len(rows) < PAGE and not watcher.behind:
                    batch = await watcher.take(max(0.0, beat - loop.time()))
                    if batch is not None:
                        if data := batch.after(after):
                            yield data
                        after = max(after, batch.numbers[-1])
                    elif watcher.over and not watcher.behind:
                        return
                    if loop.time() >= beat:
                        if not await may_go_on():
                            return
                        yield event_stream.COMMENT
                        beat = loop.time() + event_stream.HEARTBEAT


class _Feed:
    """The one reader of a source."""

    def __init__(self, source: Source, database: Database, changes: Changes) -> None:
        self._source = source
        self._database = database
        self._changes = changes
        self.watchers: set[Watcher] = set()
        self.reads = asyncio.Event()
        self.over = False
        self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        self.over = True
        self._task.cancel()

    async def _run(self) -> None:
        source = self._source
        try:
            with self._changes.subscribe(source.topic) as changed:
                position = await self._database.read(source.position)
                self.reads.set()
                while not self._changes.closed:
                    rows = await self._database.read(source.rows, position, PAGE)
                    if rows:
                        position = rows[-1].id
                        batch = source.batch(rows)
                        for watcher in self.watchers:
                            watcher.put(batch)
                    if len(rows) == PAGE:
                        await asyncio.sleep(0)  # the watchers take what they were given before there is more
                    else:
                        await changed.next(_LOOK_AGAIN)
        except Exception:
            logger.exception("%s cannot be followed", source.topic)
        finally:
            self.over = True
            self.reads.set()
            for watcher in self.watchers:
                watcher.end()
