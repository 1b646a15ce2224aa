"""Wakes waiters when a change is committed, by any process of any replica.

A transaction names its topics with ``store.database.announce``. Within the process they are delivered directly. Changes by
other processes on the same SQLite file are noticed within two seconds, by its version. Replicas on PostgreSQL listen to NOTIFY
on a connection of their own; if one is missed because the connection broke, waiters still read again within two seconds. A
wake-up is only a hint that something may have changed: a waiter reads the store again.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from platform_api.store.database import CHANNEL
from platform_api.store.pace import INTERVAL

if TYPE_CHECKING:
    from platform_api.store.store import Store

#: Seconds after which all waiters read again without a notification.
POLL = 2.0
logger = logging.getLogger("platform")


class Subscription:
    """A waiter for changes of a topic. A change between two calls of ``next`` is not missed."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    async def next(self, timeout: float) -> bool:
        """Waits for a change: ``True`` if there may be one since the last call, ``False`` after ``timeout`` seconds."""
        try:
            async with asyncio.timeout(timeout):  # `wait_for` of Python 3.11 loses cancellations
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        return True

    def wake(self) -> None:
        """Ends the wait of ``next``. Called in the event loop."""
        self._changed.set()


class Changes:
    """The changes of one store, for one event loop. It listens from the first subscription until ``close``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._databases = [store.main] if store.records is store.main else [store.main, store.records]
        self._waiting: dict[str, set[Subscription]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.closed = False
        for database in self._databases:
            database.listen(self._heard)

    @contextmanager
    def subscribe(self, topic: str) -> Iterator[Subscription]:
        """A subscription to a topic: a project id, ``runner:`` and an id, ``account:`` and an id.

        Subscribe first, then read the store, then wait: a change between reading and waiting ends the wait.
        """
        self._listen()
        subscription = Subscription()
        waiting = self._waiting.setdefault(topic, set())
        waiting.add(subscription)
        try:
            yield subscription
        finally:
            waiting.discard(subscription)
            if not waiting and self._waiting.get(topic) is waiting:
                del self._waiting[topic]

    async def wait(self, topic: str, timeout: float) -> bool:
        """Waits up to ``timeout`` seconds for a change of a topic that is committed after this call."""
        with self.subscribe(topic) as subscription:
            return await subscription.next(timeout)

    async def close(self) -> None:
        """Stops listening and wakes all waiters. Streams end when they see ``closed``."""
        self.closed = True
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._wake_all()

    def _heard(self, topics: set[str]) -> None:
        """In the thread of whoever committed."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            try:
                loop.call_soon_threadsafe(self._wake, topics)
            except RuntimeError:  # closed meanwhile: there are no waiters
                return

    def _wake(self, topics: set[str]) -> None:
        for topic in topics:
            for subscription in self._waiting.get(topic, ()):
                subscription.wake()

    def _wake_all(self) -> None:
        for waiting in self._waiting.values():
            for subscription in waiting:
                subscription.wake()

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is loop or self.closed:
            return
        self._loop = loop
        self._waiting = {}
        if self._store.main.is_sqlite:
            self._tasks = [loop.create_task(self._follow_versions())]
        else:
            self._tasks = [loop.create_task(self._follow_notifications()), loop.create_task(self._notify_held_back())]

    async def _follow_versions(self) -> None:
        while True:
            try:
                changed = [database.has_changed() for database in self._databases]
                if any(changed):
                    self._wake_all()
            except Exception:
                logger.exception("the version of the store cannot be read")
            await asyncio.sleep(POLL)

    async def _follow_notifications(self) -> None:
        from psycopg import AsyncConnection, Error, sql

        _, place = self._store.main.engine.dialect.create_connect_args(self._store.main.engine.url)
        place = {**place, "connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
        failures = 0
        while True:
            try:
                async with await AsyncConnection.connect(**place, autocommit=True) as connection:
                    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
                    failures = 0
                    while True:
                        self._wake_all()
                        async for heard in connection.notifies(timeout=POLL):
                            self._wake({heard.payload})
            except (Error, OSError) as error:
                failures += 1
                logger.warning("notifications of PostgreSQL stopped: %s", error)
            self._wake_all()
            await asyncio.sleep(min(POLL, 0.1 * 2**failures) * random.uniform(0.5, 1))

    async def _notify_held_back(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            try:
                await asyncio.to_thread(self._store.main.notify_held_back)
            except Exception:
                logger.exception("replicas could not be notified")
