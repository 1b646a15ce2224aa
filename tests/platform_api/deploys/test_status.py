"""The status of a project over its whole table, and what requests and reports make of it in any order."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from platform_api.deploys.lifecycle import (
    Lifecycle,
    Step,
    deploy_asked,
    erase_asked,
    replaced,
    reported,
    stop_asked,
)
from platform_api.deploys.status import DEPLOY_STATUSES, DESIRED, PHASES, SERVING, STATUSES, status_of

#: Every row: what is wanted, the newest deploy, the phase that was seen, the status. ``*`` stands for any of its column.
TABLE = [
    ("none", "*", "*", "created"),
    ("erased", "*", "*", "deleting"),
    ("down", "*", "", "stopping"),
    ("down", "*", "starting", "stopping"),
    ("down", "*", "running", "stopping"),
    ("down", "*", "ready", "stopping"),
    ("down", "*", "paused", "stopping"),
    ("down", "*", "sleeping", "stopping"),
    ("down", "*", "waking", "stopping"),
    ("down", "*", "stopping", "stopping"),
    ("down", "*", "stopped", "stopped"),
    ("down", "*", "done", "stopped"),
    ("down", "*", "failed", "failed"),
    ("up", "queued", "*", "deploying"),
    ("up", "starting", "*", "deploying"),
    *(
        ("up", deploy, phase, status)
        for deploy in (None, "needs_review", "live", "failed", "superseded", "cancelled")
        for phase, status in (
            ("", "deploying"),
            ("starting", "waking"),
            ("running", "running"),
            ("ready", "ready"),
            ("paused", "sleeping"),
            ("sleeping", "sleeping"),
            ("waking", "waking"),
            ("done", "stopped"),
            ("failed", "failed"),
            ("stopping", "stopping"),
            ("stopped", "stopped"),
        )
    ),
]


def rows_for(desired: str, deploy: str | None, phase: str) -> list[str]:
    return [row[3] for row in TABLE if row[0] == desired and row[1] in ("*", deploy) and row[2] in ("*", phase)]


@pytest.mark.parametrize(
    ("desired", "deploy", "phase"),
    list(itertools.product(DESIRED, (None, *DEPLOY_STATUSES), PHASES)),
    ids=lambda value: value or "-",
)
def test_every_combination_has_one_row_and_its_status(desired: str, deploy: str | None, phase: str) -> None:
    [status] = rows_for(desired, deploy, phase)
    assert status_of(desired, deploy, phase) == status
    assert status in STATUSES


def after(*steps: Step) -> Lifecycle:
    return steps[-1].after


def live(phase: str = "running") -> Lifecycle:
    asked = deploy_asked(Lifecycle(), "one").after
    return reported(asked, asked.generation, phase).after


def test_a_first_deploy_goes_live() -> None:
    asked = deploy_asked(Lifecycle(), "one").after
    assert (asked.status, asked.generation, asked.wanted) == ("deploying", 1, "one")
    starting = reported(asked, 1, "starting")
    assert [(settled.deploy, settled.status) for settled in starting.settled] == [("one", "starting")]
    up = reported(starting.after, 1, "running")
    assert [(settled.deploy, settled.status) for settled in up.settled] == [("one", "live")]
    assert (up.after.status, up.after.current, up.after.coming) == ("running", "one", None)


@pytest.mark.parametrize("phase", ["running", "paused", "sleeping", "waking", "ready", "starting"])
def test_a_failed_deploy_gives_back_the_status_before(phase: str) -> None:
    before = live()
    before = reported(before, before.generation, phase).after
    asked = deploy_asked(before, "two").after
    assert asked.status == "deploying"
    failed = reported(asked, asked.generation, "failed", "it crashed")
    assert [(settled.deploy, settled.status, settled.error) for settled in failed.settled] == [("two", "failed", "it crashed")]
    assert failed.after.status == before.status
    assert (failed.after.wanted, failed.after.generation) == ("one", asked.generation + 1)


def test_a_failed_deploy_of_a_stopped_project_starts_nothing_old() -> None:
    stopped = stop_asked(live(), placed=True).after
    asked = deploy_asked(stopped, "two").after
    failed = reported(asked, asked.generation, "failed").after
    assert (failed.status, failed.wanted, failed.desired) == ("failed", None, "down")
    # That nothing is left of it makes it no less failed.
    assert reported(failed, failed.generation, "stopped").after.status == "failed"


def test_a_late_start_does_not_undo_a_stop_nor_a_delete() -> None:
    asked = deploy_asked(Lifecycle(), "one").after
    stopped = stop_asked(asked, placed=True)
    assert [(settled.deploy, settled.status) for settled in stopped.settled] == [("one", "cancelled")]
    assert reported(stopped.after, asked.generation, "running").after == stopped.after
    assert reported(stopped.after, stopped.after.generation, "stopped").after.status == "stopped"
    erased = erase_asked(asked, placed=True).after
    assert reported(erased, asked.generation, "running") == Step(erased)
    assert reported(erased, erased.generation, "erased").erased


def test_a_newer_deploy_supersedes_one_that_starts() -> None:
    asked = deploy_asked(Lifecycle(), "one").after
    starting = reported(asked, asked.generation, "starting").after
    second = deploy_asked(starting, "two")
    assert [(settled.deploy, settled.status) for settled in second.settled] == [("one", "superseded")]
    assert reported(second.after, starting.generation, "running").after == second.after


def test_what_ended_by_itself_is_not_started_again() -> None:
    worked = live()
    done = reported(worked, worked.generation, "done").after
    assert (done.status, done.wanted) == ("stopped", None)
    assert stop_asked(done, placed=True).after == done


def test_a_stop_without_a_runner_is_done_at_once() -> None:
    asked = deploy_asked(Lifecycle(), "one").after
    assert stop_asked(asked, placed=False).after.status == "stopped"
    assert erase_asked(asked, placed=False).erased
    assert stop_asked(Lifecycle(), placed=False).after.status == "created"


REPORTS = st.tuples(st.just("report"), st.integers(0, 2), st.sampled_from([*PHASES[1:], "erased"]))
REQUESTS = st.tuples(st.sampled_from(["deploy", "deploy", "stop", "erase", "replace"]))


@given(st.lists(st.one_of(REQUESTS, REPORTS, REPORTS), max_size=40))
def test_any_order_of_requests_and_reports(steps: list[tuple[object, ...]]) -> None:
    """``age`` of a report is by how many generations it is late."""
    now, made = Lifecycle(), 0
    fate: dict[str, list[str]] = {}
    for step in steps:
        before = now
        if step[0] == "deploy":
            if now.desired == "erased":
                continue
            made += 1
            fate[f"d{made}"] = ["queued"]
            result = deploy_asked(now, f"d{made}")
        elif step[0] == "stop":
            result = stop_asked(now, placed=True)
        elif step[0] == "erase":
            result = erase_asked(now, placed=True)
        elif step[0] == "replace":
            result = replaced(now)
        else:
            age, phase = step[1], str(step[2])
            assert isinstance(age, int)
            result = reported(now, now.generation - age, phase, "why")
            if age:
                assert result == Step(before), "a report of an older generation changed something"
        now = result.after
        for settled in result.settled:
            fate[settled.deploy].append(settled.status)
        assert now.generation >= before.generation
        wanted = (before.desired, before.wanted), (now.desired, now.wanted)
        # What is wanted changes with the generation alone.
        assert wanted[0] == wanted[1] or now.generation > before.generation or now.status == "deploying"
        assert now.status in STATUSES and (now.coming is None or now.desired == "up")
        assert before.desired != "erased" or now.desired == "erased"
        if now.status == "running":
            assert now.current is not None and fate[now.current][-1] == "live" and now.phase in SERVING
    on_their_way = [deploy for deploy, statuses in fate.items() if statuses[-1] in ("queued", "starting")]
    assert on_their_way == ([now.coming] if now.coming else [])
    assert [deploy for deploy, statuses in fate.items() if statuses[-1] == "live"] == ([now.current] if now.current else [])
    for statuses in fate.values():
        order = ["queued", "starting", "live"]
        reached = [status for status in statuses if status in order]
        assert reached == sorted(set(reached), key=order.index), statuses
