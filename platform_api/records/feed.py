"""New log lines for everybody who watches a project: one reader a project and process, however many watch."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from platform_api.event_stream import event_bytes
from platform_api.moments import rfc3339
from platform_api.records.logs import lines_after
from platform_api.store.tables import counters

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from platform_api.changes import Changes
    from platform_api.store.database import Database

#: Lines that are read at a time.
PAGE = 500
#: What may wait for one watcher: lines, and bytes of them.
WAITING_LINES, WAITING_BYTES = 4 * PAGE, 8 * 1024 * 1024
_LOOK_AGAIN = 15.0
logger = logging.getLogger("platform")


@dataclass(frozen=True, slots=True)
class Batch:
    """Lines that follow each other, as events. All watchers share the bytes."""

    numbers: tuple[int, ...]
    events: tuple[bytes, ...]
    data: bytes

    def after(self, number: int) -> bytes:
        """The events of the lines behind a number."""
        if self.numbers[0] > number:
            return self.data
        return b"".join(event for own, event in zip(self.numbers, self.events, strict=True) if own > number)


def batch_of(rows: Sequence[Row[Any]]) -> Batch:
    """Rows of log lines, at least one, as events named ``log``."""
    events = tuple(
        event_bytes("log", {"id": str(row.id), "at": rfc3339(row.at), "line": row.line, "stream": row.stream}, str(row.id))
        for row in rows
    )
    return Batch(tuple(row.id for row in rows), events, b"".join(events))


class Watcher:
    """One who watches.

    Attributes:
        behind: it was too slow: what waited for it is let go, and it has to read the store again.
        over: nothing comes any more.
    """

    def __init__(self) -> None:
        self._waiting: deque[Batch] = deque()
        self._lines = self._bytes = 0
        self._arrived = asyncio.Event()
        self.behind = self.over = False

    def put(self, batch: Batch) -> None:
        """Adds lines. With too much that waits already it lets go of all of it."""
        if self.over:
            return
        self._lines += len(batch.numbers)
        self._bytes += len(batch.data)
        if self._waiting and (self._lines > WAITING_LINES or self._bytes > WAITING_BYTES):
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
        """The next lines; ``None`` after ``timeout`` seconds without any, and when it is over."""
        if not self._waiting:
            self._arrived.clear()
            if self.over:
                return None
            try:
                await asyncio.wait_for(self._arrived.wait(), timeout)
            except TimeoutError:
                return None
        if self.over:
            return None
        batch = self._waiting.popleft()
        self._lines -= len(batch.numbers)
        self._bytes -= len(batch.data)
        return batch


class LogFeeds:
    """The feeds of the projects that are being watched. For the event loop."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes
        self._feeds: dict[str, _Feed] = {}

    @asynccontextmanager
    async def watch(self, project_id: str) -> AsyncIterator[Watcher]:
        """A watcher. Whatever the store does not hold when the block begins comes to it; what it holds must be read there."""
        feed = self._feeds.get(project_id)
        if feed is None or feed.over:
            feed = self._feeds[project_id] = _Feed(project_id, self._database, self._changes)
        watcher = Watcher()
        feed.watchers.add(watcher)
        try:
            await feed.reads.wait()
            yield watcher
        finally:
            feed.watchers.discard(watcher)
            if not feed.watchers:
                feed.stop()
                if self._feeds.get(project_id) is feed:
                    del self._feeds[project_id]


class _Feed:
    """The one reader of a project."""

    def __init__(self, project_id: str, database: Database, changes: Changes) -> None:
        self._project_id = project_id
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
        try:
            with self._changes.subscribe(self._project_id) as changed:
                position = await self._database.read(_position, self._project_id)
                self.reads.set()
                while not self._changes.closed:
                    rows = await self._database.read(lines_after, self._project_id, position, PAGE)
                    if rows:
                        position = rows[-1].id
                        batch = batch_of(rows)
                        for watcher in self.watchers:
                            watcher.put(batch)
                    if len(rows) == PAGE:
                        await asyncio.sleep(0)  # the watchers take what they were given before there is more
                    else:
                        await changed.next(_LOOK_AGAIN)
        except Exception:
            logger.exception("the log of %s cannot be read", self._project_id)
        finally:
            self.over = True
            self.reads.set()
            for watcher in self.watchers:
                watcher.end()


def _position(connection: Connection, project_id: str) -> int:
    return connection.scalar(select(counters.c.log_id).where(counters.c.project_id == project_id)) or 0
