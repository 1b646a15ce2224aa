"""The same work over many items at once: ``parallel_map``."""

from __future__ import annotations

from language.calls import callback
from language.display import display
from language.errors import RuntimeFault, Uncatchable
from language.isolation import isolate
from language.operators import to_index
from language.registry import Family
from language.values import Secret, is_callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.context import Context

family = Family("concurrency", "Concurrency")

DEFAULT_WORKERS = 64

# A worker runs whole programs' tasks: its stack must carry as deep a recursion as the main thread's.
_STACK_BYTES = 16 * 1024 * 1024

# The waiting caller must notice a cancellation: nothing reaches a thread that is blocked in a lock.
_POLL_SECONDS = 0.05

_NOT_RUN: Any = object()


@family.builtin("parallel_map(task, list, limit?)", context=True)
def parallel_map(ctx: Context, task: Any, items: Any, limit: Any = None) -> list[Any]:
    """The results of `task(item)` for every item, in order, computed by up to `limit` workers (default 64) at a time.

    Worth it for work that waits: requests, processes, model calls. Every item runs on its own copy of itself and of the
    program's variables, so what a task sets is not seen outside; `state_*`, databases and memory are shared. Secrets become
    their redacted text when they cross: call `secret(...)` inside the task. What the tasks print appears in the order of the
    items when all have ended. After a failure no further item starts, and the error of the first failed item is raised.
    """
    if not is_callable(task):
        raise RuntimeFault("parallel_map: first argument must be a task")
    if items.__class__ is not list:
        raise RuntimeFault("parallel_map: second argument must be a list")
    workers = DEFAULT_WORKERS if limit is None else max(1, to_index(limit))
    job = _Job(ctx, task, items)
    try:
        _run(job, min(workers, len(items)))
    finally:
        job.stopped = True
        for child in job.contexts:
            for line in child.collected if child is not None else ():
                ctx.write(line)
    for failure in job.failures:
        if failure is not None:
            raise failure
    return job.results


class _Job:
    """The items of one call, handed out one by one to whichever worker is free."""

    __slots__ = ("_caller", "_items", "_next", "_task", "contexts", "failures", "results", "stopped")

    def __init__(self, caller: Context, task: Any, items: list[Any]) -> None:
        from itertools import count

        self._caller = caller
        self._task = task
        self._items = items
        self._next = count()  # advancing it is one indivisible step
        self.contexts: list[Context | None] = [None] * len(items)
        self.failures: list[BaseException | None] = [None] * len(items)
        self.results: list[Any] = [_NOT_RUN] * len(items)
        self.stopped = False

    def work(self) -> None:
        """Runs items until there are none left or one has failed."""
        while not self.stopped:
            position = next(self._next)
            if position >= len(self._items):
                return
            child = self.contexts[position] = self._caller.fork()
            try:
                call = _isolated(child, self._task)
                self.results[position] = _crossing(call(_crossing(self._items[position])))
            except (Exception, Uncatchable) as failure:
                # Raised again in the caller's thread, which is where `recover`, loops and limits can see it.
                self.failures[position] = failure
                self.stopped = True


def _isolated(child: Context, task: Any) -> Callable[[Any], Any]:
    """The task as a worker runs it, taking one item."""
    return callback(isolate(task, child), 1)


def _crossing(value: Any) -> Any:
    """A copy of the value as it passes between a worker and the caller."""
    kind = value.__class__
    if kind is list:
        return [_crossing(item) for item in value]
    if kind is dict:
        return {key: _crossing(item) for key, item in value.items()}
    return display(value) if kind is Secret else value


def _run(job: _Job, workers: int) -> None:
    """Works off the job in threads; where there are none, in the calling thread."""
    threads = _started(job, workers) if workers > 1 else []
    if not threads:
        job.work()
    for thread in threads:
        while thread.is_alive():
            thread.join(_POLL_SECONDS)


def _started(job: _Job, workers: int) -> list[Any]:
    """As many running threads as the machine grants, perhaps none."""
    from threading import Thread, stack_size

    threads: list[Any] = []
    previous = stack_size(_STACK_BYTES)
    try:
        for number in range(workers):
            thread = Thread(target=job.work, name=f"parallel_map-{number}", daemon=True)
            thread.start()
            threads.append(thread)
    except RuntimeError:  # the build or the system has no (more) threads
        pass
    finally:
        stack_size(previous)
    return threads
