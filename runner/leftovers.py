"""What could not be removed at once: an engine that is away is asked again until nothing is left."""

from __future__ import annotations

import asyncio

from runner.engines import EngineError, Running
from runner.service import BackOff

#: Seconds until a removal is tried again: after the first failure, and at most.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


class Leftovers:
    """The programs of a runner that nobody wants and that are still there."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def remove(self, running: Running) -> EngineError | None:
        """Removes a program. One that cannot be removed now is tried again in the background; the reason is given."""
        try:
            await running.remove()
        except EngineError as error:
            task = asyncio.get_running_loop().create_task(self._again(running))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return error
        return None

    async def close(self) -> None:
        """Ends the attempts. The next process of the runner finds the programs that outlive this one."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _again(self, running: Running) -> None:
        pause = BackOff(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            await asyncio.sleep(pause.next())
            try:
                await running.remove()
                return
            except EngineError:
                continue
