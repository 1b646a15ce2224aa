"""What the service does by itself for deploys, runs and gates: each step is safe beside the same step on another replica."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from platform_api.clock_jumps import ClockJumps
from platform_api.gates.operations import expire, overdue_gates
from platform_api.moments import now
from platform_api.records.logs import append_logs
from platform_api.rehearsals.following import end_stuck_rehearsal, stuck_rehearsals
from platform_api.runners.placement import place_waiting, waits_for_runner
from platform_api.runs.reconciling import end_stuck, patience_with, stuck_runs
from platform_api.runs.schedule import bring_forward, due_projects, rearm, start_due

if TYPE_CHECKING:
    from collections.abc import Callable

    from platform_api.platform import Platform


class Upkeep:
    """The steps of one service.

    Args:
        clock: seconds of a clock that does not jump.
    """

    def __init__(self, platform: Platform, clock: Callable[[], float] = time.monotonic) -> None:
        self._platform, self._clock = platform, clock
        #: since when, by that clock, a run has been found stuck
        self._stuck: dict[str, float] = {}
        self._jumps = ClockJumps(clock)
        #: whether schedules may wait for a moment that a wrong clock has told
        self._set_back = True

    def add_to_tasks(self) -> None:
        """Has every step done again and again while the service runs."""
        tasks = self._platform.tasks
        tasks.add("scheduled runs", self.start_due_runs, seconds=1)
        tasks.add("overdue gates", self.close_overdue_gates, seconds=2)
        tasks.add("placement", self.place_projects, seconds=2)
        tasks.add("stuck runs", self.end_stuck_runs, seconds=15)
        tasks.add("stuck rehearsals", self.end_stuck_rehearsals, seconds=15)
        tasks.add("schedules", self.rearm_schedules, seconds=60)

    async def start_due_runs(self) -> None:
        """Starts the jobs whose schedule is due."""
        main = self._platform.store.main
        moment = now()
        for project_id, due in await main.read(due_projects, moment):
            skipped = await main.write(start_due, self._platform.plans, project_id, due, moment)
            if skipped is not None:
                await self._platform.store.records.write(append_logs, project_id, [(moment, "system", skipped.reason, None)])

    async def close_overdue_gates(self) -> None:
        """Closes the gates that nobody can decide any more.

        A program counts the time of its gates by a clock that does not jump: nor is a gate closed here because the time of day
        was set forward.
        """
        main = self._platform.store.main
        moment = self._moment()
        for project_id, approval_id in await main.read(overdue_gates, moment):
            await main.write(expire, project_id, approval_id, moment)

    async def place_projects(self) -> None:
        """Finds a runner for the projects that wait for one."""
        main = self._platform.store.main
        if await main.read(waits_for_runner):
            await main.write(place_waiting)

    async def end_stuck_runs(self) -> None:
        """Ends the runs that no runner will finish, when they have stayed so for a while."""
        main = self._platform.store.main
        found = {run_id: project_id for project_id, run_id in await main.read(stuck_runs, now())}
        moment = self._clock()
        self._stuck = {run_id: self._stuck.get(run_id, moment) for run_id in found}
        for run_id, project_id in found.items():
            if moment - self._stuck[run_id] >= await main.read(patience_with, run_id):
                await main.write(end_stuck, project_id, run_id)

    async def end_stuck_rehearsals(self) -> None:
        """Ends the rehearsals that no runner will finish."""
        main = self._platform.store.main
        for project_id, rehearsal_id in await main.read(stuck_rehearsals, self._moment()):
            await main.write(end_stuck_rehearsal, project_id, rehearsal_id)

    async def rearm_schedules(self) -> None:
        """Gives schedules without a next time one, and a new one to those that wait for a time which a wrong clock has told."""
        self._moment()
        await self._platform.store.main.write(rearm, now())
        if self._set_back:
            self._set_back = False
            await self._platform.store.main.write(bring_forward, now())

    def _moment(self) -> int:
        """The time of day, without what it was set forward by."""
        if self._jumps.look() < 0:
            self._set_back = True
        return now() - self._jumps.ahead
