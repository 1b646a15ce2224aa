"""What a runner does with decisions, and with the time that a run has left, while the time of day jumps, and after a kill."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from runner.gates import GateDesk, kept_gate, report_kept
from runner.protocol import DecisionSpec, GateClosed, GateOpened, Item
from runner.state import KeptStart, State


class Program:
    """The link of a program that takes every decision."""

    async def decide(self, gate: str, *, decision: bool | None, value: str | None, seconds: float) -> bool:
        return True


@pytest.mark.parametrize("hours", [5, -5])
def test_a_gate_that_is_announced_again_after_the_clock_was_set_can_still_be_decided(
    hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program announces its gates anew when its link was broken: their deadlines stay what they were."""
    reported: list[Item] = []
    time_ns = time.time_ns

    async def story() -> None:
        desk = GateDesk("prj_1", reported.append)
        asked = GateOpened(project="prj_1", gate="g1", kind="approve", message="On?", left_ms=60_000)
        assert desk.opened(asked, Program(), "start")
        monkeypatch.setattr("time.time_ns", lambda: time_ns() + hours * 3_600_000_000_000)
        assert not desk.opened(asked, Program(), "start")
        desk.decide(DecisionSpec(id="d1", project="prj_1", gate="g1", decision=True))
        async with asyncio.timeout(60):
            while len(reported) < 2:
                await asyncio.sleep(0)
        await desk.close()

    asyncio.run(story())
    closed = reported[-1]
    assert isinstance(closed, GateClosed)
    assert (closed.outcome, closed.delivered) == ("approved", True)


def test_a_decision_that_comes_before_a_returning_program_has_announced_its_gate_again_waits_for_it() -> None:
    """A runner can be killed between the report of a gate and the write of its own state."""
    reported: list[Item] = []

    async def story() -> None:
        desk = GateDesk("prj_1", reported.append)
        desk.taken_up()
        desk.decide(DecisionSpec(id="d1", project="prj_1", gate="g1", decision=True))
        for _ in range(3):
            await asyncio.sleep(0)
        assert reported == []
        asked = GateOpened(project="prj_1", gate="g1", kind="approve", message="On?", left_ms=60_000)
        desk.opened(asked, Program(), "start")
        async with asyncio.timeout(60):
            while len(reported) < 2:
                await asyncio.sleep(0.01)
        await desk.close()

    asyncio.run(story())
    closed = reported[-1]
    assert isinstance(closed, GateClosed)
    assert (closed.outcome, closed.delivered) == ("approved", True)


def test_a_decision_reaches_a_program_that_was_taken_up_after_the_clock_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program counts the time of its gates itself, and by then it still waits."""
    reported: list[Item] = []
    asked = GateOpened(project="prj_1", gate="g1", kind="approve", message="On?", left_ms=60_000)
    remembered = kept_gate(asked)
    now = time.time_ns() + 5 * 3_600_000_000_000
    monkeypatch.setattr("time.time_ns", lambda: now)

    async def story() -> None:
        desk = GateDesk("prj_1", reported.append)
        assert desk.opened(report_kept(remembered), Program(), "start")
        desk.decide(DecisionSpec(id="d1", project="prj_1", gate="g1", decision=True))
        async with asyncio.timeout(60):
            while len(reported) < 2:
                await asyncio.sleep(0)
        await desk.close()

    asyncio.run(story())
    closed = reported[-1]
    assert isinstance(closed, GateClosed)
    assert (closed.outcome, closed.delivered) == ("approved", True)


@pytest.mark.parametrize("hours", [5, -5])
def test_a_run_that_is_taken_up_has_the_time_that_it_had(hours: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    state = State(tmp_path / "state.json")
    kept = state.starts["s"] = KeptStart(project="prj_1", deploy="dep_1", generation=1, kind="job", ceiling="")
    kept.end_in(3600)
    state.save()
    now = time.time_ns() + hours * 3_600_000_000_000
    monkeypatch.setattr("time.time_ns", lambda: now)
    found = State(tmp_path / "state.json").starts["s"]
    assert 3000 < found.seconds_left() <= 3600
    found.boot = "another start of the machine"
    assert found.seconds_left() == pytest.approx(3600 - hours * 3600, abs=600)
