"""What projects take is measured one after the other."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from runner import figures
from runner.engines import EngineError, Usage
from runner.figures import measure
from runner.protocol import Item


@dataclass
class Project:
    """One that takes this much, or cannot be measured."""

    id: str
    usage_or_fault: Usage | Exception
    requests: int = 1
    last_request_at: int | None = None

    async def usage(self) -> Usage | None:
        if isinstance(self.usage_or_fault, Exception):
            raise self.usage_or_fault
        return self.usage_or_fault


def test_a_project_that_cannot_be_measured_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures, "MEASURE_SECONDS", 0.001)
    known = [Project("a", EngineError("it is away")), Project("b", KeyError("cpu_stats")), Project("c", Usage(5, 0.5, 1))]
    kept: list[Item] = []

    async def story() -> None:
        measuring = asyncio.create_task(measure(lambda: known, kept.append))
        while not kept and not measuring.done():
            await asyncio.sleep(0.001)
        measuring.cancel()
        await asyncio.gather(measuring, return_exceptions=True)

    asyncio.run(asyncio.wait_for(story(), 60))
    assert [item.project for item in kept[:1]] == ["c"]
    assert "project a is not measured: it is away" in capsys.readouterr().err
