"""What projects take: measured, reported once a minute, and held to the size of the volume."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from runner.context import tell
from runner.engines import EngineError, Usage
from runner.protocol import Figures, Item

#: Seconds between two measurements; reports are one in so many.
MEASURE_SECONDS, REPORTED = 15.0, 4


class Measured(Protocol):
    """A project whose program is measured."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def requests(self) -> int:
        """Those since its program was started."""

    @property
    def last_request_at(self) -> int | None:
        """When the last one came."""

    async def usage(self) -> Usage | None:
        """What its programs take; ``None`` where none is up."""


async def measure(projects: Callable[[], Iterable[Measured]], keep: Callable[[Item], None]) -> None:
    """Measures for ever.

    Args:
        projects: gives those that are here.
        keep: takes the reports.
    """
    turn = 0
    while True:
        await asyncio.sleep(MEASURE_SECONDS)
        turn += 1
        for project in list(projects()):
            try:
                usage = await project.usage()
            except Exception as error:  # of whatever kind: the others are measured
                tell(f"project {project.id} is not measured: {error if isinstance(error, EngineError) else repr(error)}")
                continue
            if usage is not None and turn % REPORTED == 0:
                keep(
                    Figures(
                        project=project.id,
                        memory_mb=usage.memory_mb,
                        cpu_seconds=usage.cpu_seconds,
                        disk_mb=usage.disk_mb,
                        requests=project.requests,
                        last_request_at=project.last_request_at,
                    )
                )
