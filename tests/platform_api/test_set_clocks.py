"""The time of day is set while the service runs: nothing that still goes on is ended, and no schedule falls silent."""

from __future__ import annotations

import asyncio
import time

import pytest
from deploying import API, deployed, ok, runner_of
from platform_service import Service
from sqlalchemy import select, update

from platform_api.clock_jumps import ClockJumps
from platform_api.moments import DAY, HOUR, MINUTE, SECOND, now
from platform_api.runs.schedule import bring_forward, due_after, read_schedule
from platform_api.store.tables import gates, projects, rehearsals
from platform_api.upkeep import Upkeep
from runner.protocol import GateOpened

NANOSECONDS = 1_000_000


def set_by(milliseconds: int, monkeypatch: pytest.MonkeyPatch, time_ns: object = time.time_ns) -> None:
    """Sets the time of day, from what it really is."""
    monkeypatch.setattr("time.time_ns", lambda: time_ns() + milliseconds * NANOSECONDS)  # type: ignore[operator]


def test_gates_and_rehearsals_end_by_a_clock_that_does_not_jump(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    client = service.signed_in()
    passed = 0.0
    steps = Upkeep(service.platform, lambda: passed)
    main = service.platform.store.main

    def look() -> None:
        asyncio.run(steps.close_overdue_gates())
        asyncio.run(steps.end_stuck_rehearsals())

    def states() -> tuple[str, str]:
        with main.reading() as connection:
            gate = connection.execute(select(gates.c.status)).scalar_one()
            return gate, connection.execute(select(rehearsals.c.status)).scalar_one()

    with runner_of(service) as runner:
        project = deployed(client, runner)
        asked = GateOpened(project=project, gate="g", kind="approve", message="On?", left_ms=2 * HOUR)
        runner.report(asked)
        ok(client.post(f"{API}/projects/{project}/rehearsals", json={}))
        look()
        for hours in (5, 0, 5):
            set_by(hours * HOUR, monkeypatch)
            look()
            assert states() == ("pending", "queued"), hours
        # Their time passes by both clocks.
        passed = 3.0 * HOUR / SECOND
        set_by(8 * HOUR, monkeypatch)
        look()
        assert states() == ("denied", "failed")


def test_a_jump_counts_for_a_day_and_a_clock_that_is_slewed_has_not_jumped(monkeypatch: pytest.MonkeyPatch) -> None:
    passed, begun = 0.0, time.time_ns()
    monkeypatch.setattr("time.time_ns", lambda: begun)
    jumps = ClockJumps(lambda: passed)
    for _ in range(100):
        passed += 1.0
        begun += 1_001 * NANOSECONDS
        assert jumps.look() == 0
    assert jumps.ahead == 0
    begun += HOUR * NANOSECONDS
    assert jumps.look() == HOUR and jumps.look() == 0 and jumps.ahead == HOUR
    begun -= HOUR // 2 * NANOSECONDS
    assert jumps.look() == -HOUR // 2 and jumps.ahead == HOUR // 2
    passed += DAY / SECOND + 1
    begun += (DAY + SECOND) * NANOSECONDS
    assert jumps.look() == 0 and jumps.ahead == 0


def test_a_job_does_not_wait_for_a_time_that_a_wrong_clock_has_told(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    client = service.signed_in()
    main = service.platform.store.main

    def next_at() -> int:
        with main.reading() as connection:
            return int(connection.execute(select(projects.c.next_at)).scalar_one())

    with runner_of(service) as runner:
        project = deployed(client, runner, "job")
        right = now()
        ok(client.put(f"{API}/projects/{project}/schedule", json={"cron": "0 6 * * *"}))
        first = next_at()
        steps = Upkeep(service.platform, lambda: 0.0)
        with main.writing() as connection:
            connection.execute(update(projects).values(next_at=first + DAY))  # this day's run has begun
            assert bring_forward(connection, right) == 0, "and does not begin again where the clock goes back a little"
            connection.execute(update(projects).values(next_at=first + 365 * DAY))  # told by a clock a year ahead
        asyncio.run(steps.rearm_schedules())
        assert next_at() == first == due_after(read_schedule("0 6 * * *"), right)
        with main.writing() as connection:
            connection.execute(update(projects).values(next_at=first + 30 * DAY))
        asyncio.run(steps.rearm_schedules())
        assert next_at() == first + 30 * DAY, "it is not looked for without a reason"
        set_by(-2 * MINUTE, monkeypatch)
        asyncio.run(steps.rearm_schedules())
        assert next_at() <= first
