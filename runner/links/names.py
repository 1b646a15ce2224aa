"""The system's resolver for the names that projects give: no project can block the questions of the others.

A question that the system is busy with cannot be taken back. Whoever runs a name server can leave it without an answer for a
minute, so a question counts until the system is done with it, not until nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

#: Questions that one project has open at a time; its others wait.
MOST_QUESTIONS = 4
#: Threads for questions alone: those that write files and start programs are others.
_threads = ThreadPoolExecutor(64, thread_name_prefix="resolve")


class Names:
    """The questions of one project. To be made and used on one loop.

    Args:
        lookup: in the place of ``socket.getaddrinfo``.
    """

    def __init__(self, lookup: Callable[..., list[Any]] = socket.getaddrinfo) -> None:
        self._lookup = lookup
        self._slots = asyncio.Semaphore(MOST_QUESTIONS)

    async def __call__(self, host: str, port: int) -> list[str]:
        """The addresses of a host, the best first.

        Errors: ``OSError``; ``UnicodeError`` for what cannot be a name.
        """
        await self._slots.acquire()
        loop = asyncio.get_running_loop()
        asked = _threads.submit(self._lookup, host, port, type=socket.SOCK_STREAM)

        def done(_: Future[list[Any]]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._slots.release)

        asked.add_done_callback(done)
        # Who stops waiting leaves the question to its end.
        found = await asyncio.shield(asyncio.wrap_future(asked))
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))
