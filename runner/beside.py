"""Work beside the task of a project: done while it is wanted, or brought to its end in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from runner.context import tell


async def while_wanted(work: Coroutine[Any, Any, None], changed: asyncio.Event, is_wanted: Callable[[], bool]) -> bool:
    """Does something, to its end or until it is not wanted any more; says whether it came to its end.

    Args:
        changed: set when something else may be wanted; it is set again afterwards where it was.
    """
    task = asyncio.get_running_loop().create_task(work)
    has_changed = False
    try:
        while not task.done():
            change = asyncio.ensure_future(changed.wait())
            try:
                await asyncio.wait({task, change}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                change.cancel()
            if changed.is_set():
                changed.clear()
                has_changed = True
            if not task.done() and not is_wanted():
                return False
        await task
        return True
    finally:
        if has_changed:  # it is looked at again; else who has failed would rest no moment before the next try
            changed.set()
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        elif not task.cancelled():
            task.exception()  # looked at, so that nothing complains of it where this is cancelled


class Endings:
    """The programs of a project that are being ended.

    Args:
        project: its id.
        over: called after each end.
    """

    def __init__(self, project: str, over: Callable[[], None]) -> None:
        self._project, self._changed = project, over
        self._tasks: set[asyncio.Task[None]] = set()

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._tasks)

    def add(self, work: Coroutine[Any, Any, None]) -> None:
        """Begins one."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def cancel(self) -> None:
        """Leaves them as they are."""
        for task in list(self._tasks):
            task.cancel()

    async def wait(self) -> None:
        """Waits for all of them."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._changed()
        if not task.cancelled() and task.exception() is not None:
            tell(f"project {self._project}: an ended program is not removed: {task.exception()}")
