"""The requests of a web project: how many its program has, and those that are held until it is up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from runner.backends import StartTimeout
from runner.moments import unix_milliseconds

#: Seconds that the requests which a program was given have to be answered before it is told to stop: one that it has not read
#: by then would be refused.
ANSWER_SECONDS = 5.0
#: Seconds that a request waits for a program.
HELD_SECONDS = 30.0


class HeldRequests:
    """The requests of one project.

    Args:
        clock: its seconds.

    Attributes:
        count: those since the program was started.
        last_at: when the last one came, in Unix milliseconds; ``None`` before the first.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._waiting: set[asyncio.Future[None]] = set()
        self._in_use = 0
        self._unused = asyncio.Event()
        self._unused.set()
        self._idle_since = clock()
        self.count = 0
        self.last_at: int | None = None

    @property
    def is_asked(self) -> bool:
        """Whether a request is held."""
        return bool(self._waiting)

    @property
    def idle_since(self) -> float | None:
        """Since when there is none; ``None`` while there is."""
        return None if self._in_use or self._waiting else self._idle_since

    def begun(self) -> None:
        """A program was started: its requests are counted from here on."""
        self.count = 0
        self.resumed()

    def resumed(self) -> None:
        """A program goes on: it was not idle until now."""
        self._idle_since = self._clock()

    def used(self) -> None:
        """A program is given a request."""
        self._in_use += 1
        self._unused.clear()
        self.count += 1
        self.last_at = unix_milliseconds()

    def leave(self) -> None:
        """A request has ended."""
        self._in_use -= 1
        if not self._in_use:
            self._unused.set()
        self._idle_since = self._clock()

    async def held(self, enter: Callable[[], str | None], ask: Callable[[], None]) -> str:
        """What ``enter`` gives, after waiting until it gives something.

        Args:
            ask: called with each beginning of a wait.

        Errors: ``StartTimeout``, and what was given to ``fail``.
        """
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        ask()
        end = self._clock() + HELD_SECONDS
        try:
            while True:
                done, _ = await asyncio.wait({waiting}, timeout=max(0.0, end - self._clock()))
                if not done:
                    raise StartTimeout(f"the program was not ready within {HELD_SECONDS:.0f} seconds")
                waiting.result()
                path = enter()
                if path is not None:
                    return path
                self._waiting.discard(waiting)
                waiting = asyncio.get_running_loop().create_future()  # it has ended again in the same moment
                self._waiting.add(waiting)
                ask()
        finally:
            self._waiting.discard(waiting)
            if not waiting.done():
                waiting.cancel()

    def let_in(self) -> None:
        """The program is up."""
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    def fail(self, error: Exception) -> None:
        """The program does not come up: who waits gets this error."""
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(error)

    async def answered(self, ended: asyncio.Future[Any]) -> bool:
        """Waits until a program that gets no more requests has answered those that it was given or has ended, for a while.

        ``False``: its time is up.
        """
        unused = asyncio.ensure_future(self._unused.wait())
        either: set[asyncio.Future[Any]] = {unused, ended}
        try:
            done, _ = await asyncio.wait(either, timeout=ANSWER_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            return bool(done)
        finally:
            unused.cancel()
