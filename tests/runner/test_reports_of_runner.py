"""How soon a runner reports when a service that was away answers again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner.protocol import LogLine, ReportAnswer
from runner.reports import Reports
from runner.service import ServiceAway
from runner.spool import Spool


class Away:
    """A service that does not answer at first."""

    def __init__(self) -> None:
        self.is_away, self.asked = True, 0

    async def report(self, batches: Mapping[str, list[tuple[int, Mapping[str, Any]]]]) -> ReportAnswer:
        self.asked += 1
        if self.is_away:
            raise ServiceAway("no answer")
        return ReportAnswer(acknowledged={name: items[-1][0] for name, items in batches.items()})


def test_what_waits_is_reported_as_soon_as_the_service_answers(tmp_path: Path) -> None:
    async def story() -> None:
        service: Any = Away()
        spool, connected = Spool(tmp_path / "spool"), asyncio.Event()
        connected.set()
        reports = Reports(service, spool, connected, lambda text: None)
        spool.append(LogLine(project="prj_a", at=1, line="x"))
        running = asyncio.create_task(reports.run())
        async with asyncio.timeout(60):
            while not service.asked:
                await asyncio.sleep(0)
        service.is_away = False
        reports.answers()
        for _ in range(50):  # steps, and no time
            await asyncio.sleep(0)
        assert service.asked == 2 and not spool.waiting
        running.cancel()
        spool.close()

    asyncio.run(story())
