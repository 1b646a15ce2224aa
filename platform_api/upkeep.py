"""What the service does by itself for deploys, runs and gates: each step is safe beside the same step on another replica."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platform_api.gates.operations import expire, overdue_gates
from platform_api.moments import now
from platform_api.records.logs import append_logs
from platform_api.runners.placement import place_waiting, waits_for_runner
from platform_api.runs.reconciling import end_stuck, stuck_runs
from platform_api.runs.schedule import due_projects, rearm, start_due

if TYPE_CHECKING:
    from platform_api.platform import Platform


class Upkeep:
    """The steps of one service."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def add_to_tasks(self) -> None:
        """Has every step done again and again while the service runs."""
        tasks = self._platform.tasks
        tasks.add("scheduled runs", self.start_due_runs, seconds=1)
        tasks.add("overdue gates", self.close_overdue_gates, seconds=2)
        tasks.add("placement", self.place_projects, seconds=2)
        tasks.add("stuck runs", self.end_stuck_runs, seconds=15)
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
        """Closes the gates that nobody can decide any more."""
        main = self._platform.store.main
        for project_id, approval_id in await main.read(overdue_gates, now()):
            await main.write(expire, project_id, approval_id)

    async def place_projects(self) -> None:
        """Finds a runner for the projects that wait for one."""
        main = self._platform.store.main
        if await main.read(waits_for_runner):
            await main.write(place_waiting)

    async def end_stuck_runs(self) -> None:
        """Ends the runs that no runner will finish."""
        main = self._platform.store.main
        for project_id, run_id in await main.read(stuck_runs, now()):
            await main.write(end_stuck, project_id, run_id)

    async def rearm_schedules(self) -> None:
        """Gives schedules without a next time one."""
        await self._platform.store.main.write(rearm, now())
