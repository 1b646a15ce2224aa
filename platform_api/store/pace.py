"""At most ten notifications a second of one topic: the rest of them are held back and told as one."""

from __future__ import annotations

import threading
import time

#: Seconds between two notifications of one topic.
INTERVAL = 0.1
_MANY = 1_000


class Pace:
    """What was told when. Safe for several threads at once.

    Every notification is a lock that all commits of PostgreSQL share, and a project can write thousands of log lines a second.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: dict[str, float] = {}
        self._held_back: set[str] = set()

    def due(self, topics: set[str]) -> set[str]:
        """Those of the topics that are to be told now. The others are held back."""
        if not topics:
            return topics
        now = time.monotonic()
        with self._lock:
            if len(self._told) > _MANY:
                self._told = {topic: told for topic, told in self._told.items() if now - told < INTERVAL}
            due = {topic for topic in topics if now - self._told.get(topic, -INTERVAL) >= INTERVAL}
            self._told.update(dict.fromkeys(due, now))
            self._held_back |= topics - due
            return due

    def held_back(self) -> set[str]:
        """Takes the topics that were held back and are to be told now."""
        if not self._held_back:
            return set()
        now = time.monotonic()
        with self._lock:
            due = {topic for topic in self._held_back if now - self._told.get(topic, -INTERVAL) >= INTERVAL}
            self._told.update(dict.fromkeys(due, now))
            self._held_back -= due
            return due
