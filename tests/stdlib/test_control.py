"""``retry`` and ``time_limit``, through whole programs: what a conformance case cannot see."""

from __future__ import annotations

import language


def output(source):
    result = language.run(source, host=language.NativeHost())
    assert result["ok"], result["errors"]
    return result["output"]


def error(source):
    result = language.run(source, host=language.NativeHost())
    assert not result["ok"]
    return result["errors"][0]


def test_a_task_that_sleeps_is_stopped():
    assert output("""
try
    time_limit(0.05, () => sleep(3600))
recover e
    print(e)
""") == ["time_limit: not done within 0.05 seconds"]


def test_what_a_stopped_task_began_has_ended_before_the_program_goes_on():
    assert output("""
task count()
    while true
        state_incr("rounds")
try
    time_limit(0.05, count)
recover e
    let first be state_get("rounds")
    sleep(0.1)
    print(first == state_get("rounds"), first > 0)
""") == ["true true"]


def test_a_limit_of_the_host_ends_the_task_inside():
    source = "time_limit(3600, () => sleep(3600))"
    assert language.run(source, host=language.NativeHost(), limits={"time_ms": 100})["limit"] == "time_ms"


def test_an_error_inside_keeps_its_place():
    failed = error("""
task inner()
    give 1 / 0
time_limit(60, inner)
""")
    assert failed.endswith(":3:12: Division by zero")


def test_the_last_error_of_a_retry_keeps_its_place():
    failed = error("""
task inner()
    give 1 / 0
retry(inner, {"wait": 0, "when": (e) => true})
""")
    assert failed.endswith(":3:12: Division by zero")


def test_the_steps_of_a_limited_task_count():
    source = "time_limit(60, () => length(apply(range(100000), (x) => x)))"
    assert language.run(source, limits={"steps": 1000})["limit"] == "steps"


def test_a_wait_needs_the_clock():
    assert "Capability not granted: time" in error('sandbox\n    retry(() => 1 / 0, {"times": 2, "wait": 0.001})\n')
