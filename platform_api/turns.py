"""Work that takes long and is asked for by anybody: one at a time an account, few at a time in all, in threads of its own.

What everybody depends on, such as the reports of runners, then waits for none of it: the threads of the event loop stay free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from platform_api.refusals import Refusal

R = TypeVar("R")


class Turns:
    """The turns of one sort of work. For the event loop.

    Args:
        name: of the threads.
        at_a_time: how much of it is done at a time, of all accounts together.
        waiting: how much of it one account may have under way and waiting.
        refusal: the sentence for who asks for more.
        retry_after: seconds until there may be room.
    """

    def __init__(self, name: str, at_a_time: int, waiting: int, refusal: str, retry_after: int) -> None:
        self._threads = ThreadPoolExecutor(at_a_time, thread_name_prefix=name)
        self._places = asyncio.Semaphore(at_a_time)
        self._accounts: dict[str, tuple[asyncio.Lock, list[None]]] = {}
        self._waiting = waiting
        self._refusal = refusal
        self._retry_after = retry_after

    async def take(self, account_id: str, work: Callable[[], R]) -> R:
        """What ``work`` gives, when it is its turn.

        Args:
            account_id: whom it is done for.

        Errors: ``rate_limited`` where too much of the account waits.
        """
        lock, waiting = self._accounts.setdefault(account_id, (asyncio.Lock(), []))
        if len(waiting) >= self._waiting:
            raise Refusal("rate_limited", self._refusal, retry_after=self._retry_after)
        waiting.append(None)
        try:
            async with lock, self._places:
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            waiting.pop()
            if not waiting:
                self._accounts.pop(account_id, None)

    def close(self) -> None:
        """Takes no more work. What is under way ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)
