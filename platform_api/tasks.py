"""What the service does by itself: named loops, started with the application and ended with it.

Every replica runs all of them, so each step has to be safe beside the same step elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

logger = logging.getLogger("platform")


@dataclass(frozen=True, slots=True)
class Task:
    """One loop.

    Attributes:
        step: what is done each time.
        seconds: how long to wait between the end of one step and the next.
    """

    name: str
    step: Callable[[], Awaitable[object]]
    seconds: float


class Tasks:
    """The loops of one process. A step that fails is logged and tried again with the next one."""

    def __init__(self) -> None:
        self._tasks: list[Task] = []
        self._running: list[asyncio.Task[None]] = []

    def add(self, name: str, step: Callable[[], Awaitable[object]], *, seconds: float) -> None:
        """Adds a loop. Call it before ``start``.

        Args:
            name: unique; it stands in the log beside an error.
            step: a coroutine function without arguments.
            seconds: between two steps, give or take a tenth: replicas drift apart.
        """
        assert name not in self.names and not self._running
        self._tasks.append(Task(name, step, seconds))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all loops."""
        return tuple(task.name for task in self._tasks)

    async def start(self) -> None:
        """Starts every loop: the first step of each is done at once."""
        assert not self._running
        self._running = [asyncio.create_task(_loop(task), name=task.name) for task in self._tasks]

    async def stop(self) -> None:
        """Ends every loop and waits for it. What a step has begun in a thread is finished by the store."""
        running, self._running = self._running, []
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _loop(task: Task) -> None:
    while True:
        try:
            await task.step()
        except Exception:
            logger.exception("the task %r failed and is tried again", task.name)
        await asyncio.sleep(task.seconds * random.uniform(0.9, 1.1))
