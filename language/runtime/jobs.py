"""Scheduled jobs of a program. Each has a thread of its own.

A server starts them when it begins to listen and stops them when it ends. Under ``lang run`` they start at once and end with
the program.
"""

from __future__ import annotations

from _thread import LockType, allocate_lock

from language.locks import Lock
from language.runtime.threads import Background

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds between two readings of the clock by a waiting job, because the clock may be set meanwhile.
_CHECK_SECONDS = 1.0


class Job:
    """One job. ``run`` does one run and returns whether it succeeded; ``next_after(now)`` is the time of the next run.

    All times are in Unix seconds. ``next_after`` returns ``None`` after the last run. ``next_run`` is ``None`` then, and while
    the job runs.
    """

    __slots__ = (
        "active",
        "background",
        "errors",
        "interval",
        "name",
        "next_after",
        "next_run",
        "repeating",
        "run",
        "run_count",
        "schedule",
        "stopped",
        "tz",
        "wake",
    )

    def __init__(
        self,
        name: str,
        schedule: str,
        run: Callable[[], bool],
        next_after: Callable[[float], float | None],
        *,
        first: float,
        interval: float | None = None,
        repeating: bool = True,
        tz: str | None = None,
    ) -> None:
        self.name = name
        self.schedule = schedule
        self.run = run
        self.next_after = next_after
        self.next_run: float | None = first
        self.interval = interval
        self.repeating = repeating
        self.tz = tz
        self.active = True
        self.run_count = 0
        self.errors = 0
        self.stopped = False
        self.wake: LockType = allocate_lock()
        self.wake.acquire()
        self.background: Background | None = None


class Scheduler:
    """The jobs of one program by name, in the order of their registration. ``now`` is a clock in Unix seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._jobs: dict[str, Job] = {}
        #: name → a lock that is held while a job of that name runs; a job that replaces it waits for the end of that run
        self._turns: dict[str, Lock] = {}
        self._running = False

    @property
    def jobs(self) -> list[Job]:
        """All registered jobs."""
        return list(self._jobs.values())

    def start(self) -> None:
        """Starts the registered jobs. From now on each job starts when it is registered."""
        self._running = True
        for job in self.jobs:
            self._begin(job)

    def stop(self) -> None:
        """Stops all jobs and cancels those that are running, without waiting for them."""
        self._running = False
        for job in self.jobs:
            self._end(job)

    def add(self, job: Job) -> None:
        """Registers a job. It replaces one of the same name."""
        known = self._jobs.pop(job.name, None)
        if known is not None:
            self._cancel(known)
        self._jobs[job.name] = job
        if self._running:
            self._begin(job)

    def cancel(self, name: str) -> bool:
        """Removes a job; a run that has begun is not interrupted. Returns whether there was an active job of that name."""
        job = self._jobs.pop(name, None)
        if job is None:
            return False
        was_active = job.active
        self._cancel(job)
        return was_active

    def _begin(self, job: Job) -> None:
        if job.background is None and not job.stopped:
            job.background = Background(lambda: self._work(job))
            job.background.start()

    def _cancel(self, job: Job) -> None:
        job.stopped = True
        job.active = False
        if job.wake.locked():
            job.wake.release()

    def _end(self, job: Job) -> None:
        self._cancel(job)
        if job.background is not None:
            job.background.end()
            job.background = None

    def _work(self, job: Job) -> None:
        while not job.stopped:
            due = job.next_run
            if due is None:
                job.active = False
                return
            wait = due - self._now()
            if wait > 0:
                job.wake.acquire(timeout=min(wait, _CHECK_SECONDS))
                continue
            job.next_run = None
            with self._turns.setdefault(job.name, Lock()):
                if job.stopped:
                    return
                if job.run():
                    job.run_count += 1
                else:
                    job.errors += 1
            job.next_run = job.next_after(self._now())
