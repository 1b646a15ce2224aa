"""Publish/subscribe by topic: an event goes to the queue of each subscription whose topics match it.

This module has the board for one process. Those for several processes are ``language.native.shared_sqlite_events`` and
``language.native.shared_redis_events``.
"""

from __future__ import annotations

from collections import deque

from language.capabilities import glob
from language.locks import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class EventBoard(Protocol):
        """The subscriptions of a program. Values are those of the language without secrets and tasks."""

        #: whether other processes may publish; their events do not wake the threads of this process
        shared: bool

        def subscribe(self, topics: list[str], bounds: QueueBounds) -> str:
            """Begins a subscription and returns its id. Raises :class:`TooMany`."""

        def publish(self, topic: str, value: Any, size: int) -> int:
            """Queues a value for each subscription with a matching topic. Returns the number of those subscriptions. ``size``
            is the approximate size of the value in bytes.
            """

        def take(self, identifier: str) -> Event | None:
            """Removes and returns the oldest event of a subscription; ``None`` if there is none. Raises :class:`Overflowed`."""

        def has_event(self, identifier: str) -> bool:
            """Whether :meth:`take` would return an event or raise."""

        def unsubscribe(self, identifier: str) -> None:
            """Ends a subscription. Idempotent."""

        def topics(self) -> list[str]:
            """All topics that are subscribed to, each once, sorted."""


#: The most subscriptions of a program.
MOST_SUBSCRIPTIONS = 1000


class TooMany(Exception):
    """The program has the most subscriptions that it may have."""


class Overflowed(Exception):
    """The subscription has ended, because its queue was full."""


class QueueBounds:
    """The limits of the queue of a subscription. If they are exceeded, the oldest events are removed with ``drops``; otherwise
    the subscription ends.
    """

    __slots__ = ("drops", "most_bytes", "most_events")

    def __init__(self, most_events: int, most_bytes: int, drops: bool) -> None:
        self.most_events = most_events
        self.most_bytes = most_bytes
        self.drops = drops


class Event:
    """A published event. ``dropped`` is the number of events of the subscription that were removed before it."""

    __slots__ = ("dropped", "topic", "value")

    def __init__(self, topic: str, value: Any, dropped: int) -> None:
        self.topic = topic
        self.value = value
        self.dropped = dropped


def fits(topic: str, wanted: list[str]) -> bool:
    """Whether a topic matches one of the wanted topics, which may contain the wildcards ``*`` and ``?``."""
    return any(one == topic or glob(topic, one) for one in wanted)


class _Queue:
    __slots__ = ("bells", "bounds", "bytes", "dropped", "events", "overflowed", "topics")

    def __init__(self, topics: list[str], bounds: QueueBounds) -> None:
        self.topics = topics
        self.bounds = bounds
        self.events: deque[tuple[str, Any, int]] = deque()
        self.bytes = self.dropped = 0
        self.overflowed = False
        self.bells: set[Callable[[], None]] = set()

    def add(self, topic: str, value: Any, size: int) -> None:
        self.events.append((topic, value, size))
        self.bytes += size
        while len(self.events) > self.bounds.most_events or self.bytes > self.bounds.most_bytes:
            if not self.bounds.drops:
                self.overflowed = True
                self.events.clear()
                self.bytes = 0
                return
            self.bytes -= self.events.popleft()[2]
            self.dropped += 1


class MemoryEvents:
    """The :class:`EventBoard` of a program with one process."""

    shared = False

    def __init__(self) -> None:
        self._lock = Lock()
        self._queues: dict[str, _Queue] = {}
        self._count = 0

    def subscribe(self, topics: list[str], bounds: QueueBounds) -> str:
        with self._lock:
            if len(self._queues) >= MOST_SUBSCRIPTIONS:
                raise TooMany
            self._count += 1
            identifier = str(self._count)
            self._queues[identifier] = _Queue(topics, bounds)
        return identifier

    def publish(self, topic: str, value: Any, size: int) -> int:
        bells: list[Callable[[], None]] = []
        count = 0
        with self._lock:
            for queue in self._queues.values():
                if not queue.overflowed and fits(topic, queue.topics):
                    queue.add(topic, value, size)
                    count += 1
                    bells += queue.bells
        for ring in bells:
            ring()
        return count

    def take(self, identifier: str) -> Event | None:
        with self._lock:
            queue = self._queues.get(identifier)
            if queue is None:
                return None
            if queue.overflowed:
                raise Overflowed
            if not queue.events:
                return None
            topic, value, size = queue.events.popleft()
            queue.bytes -= size
            dropped, queue.dropped = queue.dropped, 0
            return Event(topic, value, dropped)

    def has_event(self, identifier: str) -> bool:
        queue = self._queues.get(identifier)
        return queue is not None and (queue.overflowed or bool(queue.events))

    def unsubscribe(self, identifier: str) -> None:
        with self._lock:
            self._queues.pop(identifier, None)

    def topics(self) -> list[str]:
        with self._lock:
            return sorted({topic for queue in self._queues.values() if not queue.overflowed for topic in queue.topics})

    def bells(self, identifier: str) -> set[Callable[[], None]]:
        """The callbacks for when an event arrives for a subscription; waiting threads add and discard their own."""
        queue = self._queues.get(identifier)
        return set() if queue is None else queue.bells
