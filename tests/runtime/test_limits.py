"""Limits for untrusted programs: each ends the program, and the program cannot catch it."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import pytest

import language

FOREVER = "let i be 0\nwhile true\n    set i to i + 1"
CATCHING = 'while true\n    try\n        while true\n            let x be 1\n    recover\n        print("caught")'


def limited(source: str, **limits: int) -> dict[str, Any]:
    return language.run(source, limits=limits)


@pytest.mark.parametrize("source", [FOREVER, CATCHING, "task f(n)\n    each i in range(10 ** 12)\n        let x be i\nf(1)"])
def test_time(source: str) -> None:
    started = time.monotonic()
    answer = limited(source, time_ms=200)
    (error,) = answer["errors"]
    assert re.fullmatch(r"Runtime error: <embedded>:[1-5]:\d+: Limit exceeded: time_ms \(200\)", error)
    assert answer["limit"] == "time_ms"
    assert answer["output"] == []
    assert time.monotonic() - started < 5


def test_time_is_not_caught_by_assert_error() -> None:
    answer = limited('assert_error(() => reduce(range(10 ** 7), (a, b) => a + b))\nprint("on")', time_ms=100)
    assert answer["limit"] == "time_ms"
    assert answer["output"] == []


def test_a_program_within_its_time_ends_normally() -> None:
    for _ in range(20):
        assert limited("print(1)", time_ms=2000) == {"ok": True, "output": ["1"], "errors": [], "audit": [], "llm_tokens": 0}


def test_the_thread_is_clean_after_a_limit() -> None:
    for _ in range(20):
        assert limited(FOREVER, time_ms=20)["limit"] == "time_ms"
        assert sum(range(1000)) == 499500


def test_steps_are_counted_the_same_every_time() -> None:
    source = 'let i be 0\ntry\n    while true\n        set i to i + 1\nrecover e\n    print("caught")'
    answers = [limited(source, steps=1000) for _ in range(3)]
    assert {a["errors"][0] for a in answers} == {"Runtime error: <embedded>:4:9: Limit exceeded: steps (1000)"}
    assert all(a["limit"] == "steps" and a["output"] == [] for a in answers)


@pytest.mark.parametrize(
    ("source", "limit", "value", "place"),
    [
        ("let a be 1\nprint('0123456789')", "output_bytes", 5, "2:6"),
        ("let a be 1\nlet x be range(100000000)", "memory_bytes", 3_000_000, "2:15"),
        ("task f(n)\n    while true\n        set n to n + 1\nf(1)", "steps", 50, "2:5"),
    ],
)
def test_the_place_of_each_limit(source: str, limit: str, value: int, place: str) -> None:
    assert limited(source, **{limit: value})["errors"] == [
        f"Runtime error: <embedded>:{place}: Limit exceeded: {limit} ({value})"
    ]


def test_the_place_of_a_limit_is_not_in_a_reply_but_in_its_log() -> None:
    source = 'require serve(8080)\nserve on 8080\n    route "GET /"\n        while true\n            let x be 1\n'
    answer = language.handle(source, {"path": "/"}, limits={"steps": 200})
    assert (answer["status"], "embedded" in answer["body"]) == (503, False)
    assert answer["log"] == ["Runtime error: <embedded>:4:9: Limit exceeded: steps (200)"]


def test_steps_count_calls() -> None:
    source = 'task f(n)\n    give n\neach i in range(100)\n    f(i)\nprint("done")'
    assert limited(source, steps=10_000)["output"] == ["done"]
    assert limited(source, steps=150)["limit"] == "steps"


def test_call_depth_is_the_ordinary_error() -> None:
    source = "task f(n)\n    give f(n + 1)\ntry\n    f(1)\nrecover e\n    print(e)"
    answer = limited(source, call_depth=100)
    assert answer["ok"] and answer["output"] == ["maximum recursion depth exceeded"]


def test_call_depth_counts_nesting_and_not_calls() -> None:
    source = 'task f(n)\n    give n\neach i in range(1000)\n    f(i)\nprint("done")'
    assert limited(source, call_depth=5)["output"] == ["done"]


def test_output() -> None:
    answer = limited('while true\n    try\n        print("x")\n    recover\n        print("y")', output_bytes=1000)
    assert answer["limit"] == "output_bytes"
    assert sum(len(line) + 1 for line in answer["output"]) <= 1000


@pytest.mark.parametrize(
    "source",
    ["let xs be []\nwhile true\n    set xs to append(xs, [1, 2, 3])", "let xs be range(10 ** 12)"],
    ids=["growing", "at once"],
)
def test_memory(source: str) -> None:
    answer = limited(source, memory_bytes=60_000_000)
    assert answer["limit"] == "memory_bytes"


def test_a_limited_program_does_not_disturb_another_thread() -> None:
    answers: list[dict[str, Any]] = []

    def work() -> None:
        answers.append(language.run("let n be 0\neach i in range(300000)\n    set n to n + i\nprint(n)"))

    thread = threading.Thread(target=work)
    thread.start()
    assert limited(FOREVER, time_ms=100)["limit"] == "time_ms"
    thread.join()
    assert answers[0]["output"] == ["44999850000"]


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"step": 1}, "limits: unknown limit 'step'"),
        ({"steps": 0}, "limits: steps must be"),
        ({"time_ms": "5"}, "limits: time_ms"),
    ],
)
def test_a_wrong_limit_is_refused(limits: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        language.run("print(1)", limits=limits)
