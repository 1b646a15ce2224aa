"""A program that waits is stopped there, whatever it waits for. How soon is measured by `tests/bench/stop_figures.py`."""

from __future__ import annotations

import pytest

import language
from tests.agents.stopped_waits import BEFORE, LONG, WAITS, stopped


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_is_stopped(name: str) -> None:
    with stopped(name) as program:
        answer = program.run()
    assert answer["ok"], answer["errors"]
    *printed, error, seconds = answer["output"]
    assert printed == (["Good "] if name == "a model in the middle" else [])
    assert error == f"time_limit: not done within {BEFORE} seconds"
    assert BEFORE <= float(seconds) < LONG / 4


def test_a_stop_in_a_statement_of_a_database_is_no_error_that_the_program_could_go_on_after() -> None:
    above, statement = WAITS["a database"]
    source = f"""{above}
task asks()
    try
        {statement}
    recover why
        print("went on after: " + why)
each i in range(5)
    try
        time_limit(0.1, asks)
    recover why
        print(why)
"""
    answer = language.run(source, host=language.NativeHost(), limits={"time_ms": LONG * 1000})
    assert answer["output"] == ["time_limit: not done within 0.1 seconds"] * 5, answer["errors"]
