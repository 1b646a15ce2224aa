"""Parallel work on many items: ``parallel_map``."""

from __future__ import annotations

from language.errors import RuntimeFault, Uncatchable
from language.registry import Family
from language.runtime.calls import callback
from language.runtime.isolation import isolate
from language.runtime.threads import run_in_threads
from language.values import is_callable
from language.values.allowance import PLACE, refuse_beyond
from language.values.operators import to_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from language.runtime.context import Context

family = Family("concurrency", "Concurrency")

DEFAULT_WORKERS = 64

_NOT_RUN: Any = object()


@family.builtin("parallel_map(task, list, limit?)", context=True)
def parallel_map(ctx: Context, task: Any, items: Any, limit: Any = None) -> list[Any]:
    """The results of `task(item)` for every item, in order, computed by up to `limit` workers (default 64) at a time.

    Useful for work that waits: requests, processes, model calls. The task gets a copy of its item and of the program's
    variables, so variables that it sets are not changed outside; `state_*`, databases and memory are shared. Secrets are passed
    in both directions without their values: such a secret prints as usual, equals nothing, and is an error where its value is
    needed (a header, a key). Call `secret(...)` inside the task instead. Output of the tasks appears in the order of the items,
    when all have ended. After a failure no further item starts, and the error of the first failed item is raised.
    """
    if not is_callable(task):
        raise RuntimeFault("parallel_map: first argument must be a task", kind="type")
    if items.__class__ is not list:
        raise RuntimeFault("parallel_map: second argument must be a list", kind="type")
    workers = DEFAULT_WORKERS if limit is None else max(1, to_index(limit))
    # A worker that calls parallel_map itself gets a share of the threads. With none left it does the work alone.
    workers = max(1, min(workers, len(items), ctx.workers_left))
    job = _Job(ctx, task, items, workers)
    try:
        if workers > 1:
            run_in_threads(job.work, workers)
        else:
            job.work()
    finally:
        job.stopped = True
        for lines in job.lines:
            for line in lines:
                ctx.write(line)
    for failure in job.failures:
        if failure is not None:
            raise failure
    return job.results


class _Job:
    """The items of one call. Each free worker takes the next one."""

    __slots__ = ("_caller", "_items", "_next", "_plain", "_task", "_workers", "failures", "lines", "results", "stopped")

    def __init__(self, caller: Context, task: Any, items: list[Any], workers: int) -> None:
        from itertools import count

        self._caller = caller
        self._task = task
        self._workers = workers
        self._items = items
        self._next = count()  # advancing it is atomic
        self._plain: dict[int, Any] = {}
        refuse_beyond(3 * PLACE * len(items))
        self.lines: list[Sequence[str]] = [()] * len(items)
        self.failures: list[BaseException | None] = [None] * len(items)
        self.results: list[Any] = [_NOT_RUN] * len(items)
        self.stopped = False

    def work(self) -> None:
        """Processes items until none is left or one has failed."""
        while not self.stopped:
            position = next(self._next)
            if position >= len(self._items):
                return
            child = self._caller.fork(self._workers)
            self.lines[position] = child.collected
            try:
                task, item = isolate([self._task, self._items[position]], child, redacted=True, plain=self._plain)
                self.results[position] = isolate(callback(task, 1)(item), self._caller, redacted=True)
            except (Exception, Uncatchable) as failure:
                # Raised again in the caller's thread, where `recover`, loops and limits handle it.
                self.failures[position] = failure
                self.stopped = True
            finally:
                if not child.collected:
                    self.lines[position] = ()
