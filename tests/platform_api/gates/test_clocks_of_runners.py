"""A runner whose clock is off: the time of its gates is counted here from what is left of it, whatever day the runner has."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from pathlib import Path

import pytest
from deploying import API, deployed, ok, runner_of
from platform_service import Service

from language.host_link import GateAsked
from platform_api.gates.operations import overdue_gates
from platform_api.moments import MINUTE, SECOND, now
from runner.gates import GateDesk, opened_report
from runner.protocol import Item, item_from_json
from runner.spool import Spool

#: Nanoseconds of an hour.
HOUR = 3_600_000_000_000


class Program:
    """The link of a program that takes every decision."""

    async def decide(self, gate: str, *, decision: bool | None, value: str | None, seconds: float) -> bool:
        return True


def told(spool: Spool) -> list[Item]:
    """What a runner sends of what it keeps."""
    return [item_from_json(item) for _, item in spool.streams["state"].pending(100, 2**20)]


def ask(spool: Spool, project: str, milliseconds: int) -> None:
    """A program asks, on the runner's machine."""

    async def story() -> None:
        end = time.time_ns() // 1_000_000_000 + milliseconds // 1000
        asked = GateAsked("g1", "approve", "On?", end, "0" * 64, None, milliseconds)
        GateDesk(project, spool.append).opened(opened_report(project, "dep_1", None, asked), Program(), "start")

    asyncio.run(story())


@pytest.mark.parametrize("hours", [1, -1])
def test_a_gate_lives_as_long_as_it_should_where_the_runners_clock_is_off(
    service: Service, hours: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    client = service.signed_in()
    with runner_of(service) as runner:
        project = deployed(client, runner)
        spool = Spool(tmp_path / "spool")
        right = time.time_ns
        with monkeypatch.context() as wrong:
            wrong.setattr("time.time_ns", lambda: right() + hours * HOUR)
            ask(spool, project, 5 * MINUTE)
            items = told(spool)
        before = now()
        runner.report(*items)
        [gate] = ok(client.get(f"{API}/approvals"))["items"]
        ends = datetime.fromisoformat(gate["expires_at"]).timestamp() * SECOND
        assert before + 4 * MINUTE < ends <= now() + 5 * MINUTE
        with service.platform.store.main.reading() as connection:
            assert overdue_gates(connection, before + 4 * MINUTE) == []
            assert len(overdue_gates(connection, now() + 6 * MINUTE)) == 1
        ok(client.post(f"{API}/approvals/{gate['id']}", json={"decision": True}))
        [decision] = runner.poll().decisions
        assert (decision.gate, decision.decision) == ("g1", True)
        spool.close()


@pytest.mark.parametrize("hours", [0, 1, -1])
def test_the_time_that_a_report_was_kept_is_counted(hours: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The service was away for two minutes, and the runner was started anew meanwhile; its clock was set as well."""
    spool = Spool(tmp_path / "spool")
    day, steady = time.time_ns, time.monotonic_ns
    ask(spool, "prj_1", 5 * MINUTE)
    spool.close()
    monkeypatch.setattr("time.monotonic_ns", lambda: steady() + 2 * MINUTE * 1_000_000)
    monkeypatch.setattr("time.time_ns", lambda: day() + hours * HOUR)
    spool = Spool(tmp_path / "spool")
    [item] = told(spool)
    assert 2 * MINUTE < item.left_ms <= 3 * MINUTE  # type: ignore[union-attr]
    monkeypatch.setattr("time.monotonic_ns", lambda: steady() + HOUR)
    [item] = told(spool)
    assert item.left_ms == 0  # type: ignore[union-attr]
    spool.close()
    monkeypatch.setattr("runner.moments.boot", lambda: "another start of the machine")
    monkeypatch.setattr("time.time_ns", lambda: day() + 2 * MINUTE * 1_000_000)
    spool = Spool(tmp_path / "spool")
    [item] = told(spool)
    assert 2 * MINUTE < item.left_ms <= 3 * MINUTE, "the time of day is the best there is then"  # type: ignore[union-attr]
    spool.close()


def test_a_gate_that_is_announced_again_has_what_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The service was away: what it is told again counts from the new report."""
    reported: list[Item] = []

    async def story() -> None:
        loop = asyncio.get_running_loop()
        passed, begun = 0.0, loop.time
        monkeypatch.setattr(loop, "time", lambda: begun() + passed)
        desk = GateDesk("prj_1", reported.append)
        asked = GateAsked("g1", "approve", "On?", 0, "0" * 64, None, 5 * MINUTE)
        desk.opened(opened_report("prj_1", "dep_1", None, asked), Program(), "start")
        passed = 120.0
        desk.announce()

    asyncio.run(story())
    first, again = reported
    assert first.left_ms == 5 * MINUTE  # type: ignore[union-attr]
    assert 2 * MINUTE < again.left_ms <= 3 * MINUTE  # type: ignore[union-attr]
