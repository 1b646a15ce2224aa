"""The runs of a job: each a fresh start of its version, one at a time, ended at its limit of time or when nobody wants it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from runner.context import Context, tell
from runner.engines import EngineAway
from runner.gates import GateDesk
from runner.logs import Allowance
from runner.protocol import DeploySpec, ProjectSpec, RunReport, RunSpec, RunStatus
from runner.service import ServiceAway
from runner.started import NotStarted, Started
from runner.state import MOST_RUNS, KeptStart

#: Seconds between two reports of what a run has printed.
OUTPUT_SECONDS = 2.0
LOST = "The runner was started again while this ran.\n"

#: From the id of a version to it and its project, where that is what is wanted and it is prepared.
FindVersion = Callable[[str], tuple[ProjectSpec, DeploySpec] | None]


class Runs:
    """The runs of one project."""

    def __init__(
        self, context: Context, project: str, gates: GateDesk, allowance: Allowance, find_version: FindVersion
    ) -> None:
        self._context, self._project, self._gates, self._allowance = context, project, gates, allowance
        self._find_version = find_version
        self._waiting: dict[str, RunSpec] = {}
        #: ends of runs that were reported, the newest
        self._reported: dict[tuple[str, int], None] = {}
        self._now: tuple[str, int] | None = None
        self._cancelled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._leave = False

    @property
    def is_busy(self) -> bool:
        """Whether one is under way."""
        return self._task is not None

    @property
    def current(self) -> tuple[str, int] | None:
        """Id and attempt of the one under way."""
        return self._now

    def update(self, run: RunSpec) -> None:
        """A run is wanted, or not any more."""
        key = run.id, run.attempt
        if self._now is not None and self._now[0] == run.id:
            if run.cancel or run.attempt > self._now[1]:
                self._cancelled.set()
            if run.attempt > self._now[1] and not run.cancel:
                self._waiting[run.id] = run
            return
        begun = self._context.state.begun.get(run.id, 0)
        if run.cancel:
            self._waiting.pop(run.id, None)
            if key not in self._reported and begun < run.attempt:
                self._report(run, "cancelled")
        elif begun >= run.attempt:
            if key not in self._reported:
                self._report(run, "failed", LOST)
        else:
            self._waiting[run.id] = run
            self.kick()

    def kick(self) -> None:
        """Begins the next run where that can be."""
        if self._task is not None or self._leave:
            return
        for run in self._waiting.values():
            found = self._find_version(run.deploy)
            if found is not None:
                del self._waiting[run.id]
                self._begin(run, *found, None, None)
                return

    def adopt(self, started: Started, run: RunSpec, kept: KeptStart, spec: ProjectSpec) -> None:
        """Takes up a run that went on while the runner was gone."""
        left = max(0.0, min(kept.seconds_left(), run.timeout_minutes * 60.0))
        self._begin(run, spec, started.deploy, started, left)

    def lost(self, run: str, attempt: int) -> None:
        """A run that ended with an earlier process of the runner, or with it."""
        self._report(RunSpec(id=run, project=self._project, deploy="", attempt=attempt), "failed", LOST)

    async def end_all(self) -> None:
        """Ends what is under way: the project is not wanted up any more."""
        self._waiting.clear()
        if self._task is not None:
            self._cancelled.set()
            await asyncio.gather(self._task, return_exceptions=True)

    async def close(self, *, leave: bool) -> None:
        """Ends what is under way without a report: the runner ends."""
        self._leave = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    # ---- parts -----------------------------------------------------------------------------------------------------------

    def _begin(
        self, run: RunSpec, spec: ProjectSpec, deploy: DeploySpec, adopted: Started | None, seconds: float | None
    ) -> None:
        self._now = run.id, run.attempt
        self._cancelled.clear()
        self._task = asyncio.get_running_loop().create_task(self._run(run, spec, deploy, adopted, seconds))
        self._task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._task, self._now = None, None
        if not task.cancelled() and task.exception() is not None:
            tell(f"a run of project {self._project} broke off: {task.exception()!r}")
        self.kick()

    async def _run(
        self, run: RunSpec, spec: ProjectSpec, deploy: DeploySpec, adopted: Started | None, seconds: float | None
    ) -> None:
        loop = asyncio.get_running_loop()
        started = adopted or Started(self._context, spec, deploy, self._gates, self._allowance, run=(run.id, run.attempt))
        limit = run.timeout_minutes * 60.0 if seconds is None else seconds
        leaving = False
        try:
            if adopted is None:
                self._context.state.began(run.id, run.attempt)
                self._report(run, "running")
                try:
                    await started.launch()
                except (NotStarted, ServiceAway, EngineAway) as error:
                    self._report(run, "failed", f"{error}\n")
                    return
                started.remember_until(limit)
            status = await self._follow(run, started, loop.time() + limit)
            await started.stop()
            exit = started.ended.result()
            code = exit.code if status in ("succeeded", "failed") else None
            output = started.printed.output
            if status == "failed" and exit.reason:
                output += started.reason(exit).partition("\n")[0] + "\n"
            self._report(run, status, output, code)
        except asyncio.CancelledError:
            leaving = self._leave and self._context.engine.outlives_runner
            raise
        except BaseException:
            self._report(run, "failed", started.printed.output)
            raise
        finally:
            await (started.leave() if leaving else started.discard())

    async def _follow(self, run: RunSpec, started: Started, end: float) -> RunStatus:
        """Waits for the end of a run, and says how it ends."""
        loop = asyncio.get_running_loop()
        cancelled: asyncio.Future[Any] = asyncio.ensure_future(self._cancelled.wait())
        waited: set[asyncio.Future[Any]] = {started.ended, cancelled}
        try:
            while True:
                left = end - loop.time()
                wait = max(0.0, min(OUTPUT_SECONDS, left))
                await asyncio.wait(waited, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
                if started.ended.done():
                    exit = started.ended.result()
                    return "succeeded" if exit.code == 0 and not exit.reason else "failed"
                if cancelled.done():
                    return "cancelled"
                if end - loop.time() <= 0:
                    return "timed_out"
                if started.printed.changed and not self._context.spool.is_behind:
                    started.printed.changed = False
                    self._report(run, "running", started.printed.output)
        finally:
            cancelled.cancel()

    def _report(self, run: RunSpec, status: RunStatus, output: str = "", code: int | None = None) -> None:
        if status != "running":
            self._reported[run.id, run.attempt] = None
            while len(self._reported) > MOST_RUNS:
                del self._reported[next(iter(self._reported))]
        self._context.spool.append(
            RunReport(
                project=self._project,
                run=run.id,
                attempt=run.attempt,
                status=status,
                output=output,
                exit_code=code,
                deploy=run.deploy or None,
            )
        )
