"""``lang run --explain``: the whole story of an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_process import Lang

PROGRAM = """\
intent: "Split a bill"
require secret("KEY")
let key be secret("KEY", "plain-and-secret")
let people be [1, 2]
let long be join(apply(range(500), (i) => "a"), "")
task share(total, count = 0)
    let note be "half"
    give total / count
task bill(total)
    trace "billing"
        give share(total)
print("begun")
bill(12.5d)
print("never")
"""


def diagnosis(lang: Lang, program: str, *words: str) -> dict[str, Any]:
    result = lang("run", "--explain", "--format", "json", *words, "p.lang", files={"p.lang": program})
    report = json.loads(result.out)
    assert result.code == report["exit"] == 1 and result.err == ""
    (found,) = report["diagnostics"]
    assert isinstance(found, dict)
    return found


def test_the_report_for_people(lang: Lang) -> None:
    result = lang("run", "--explain", "p.lang", files={"p.lang": PROGRAM})
    assert (result.code, result.out) == (1, "begun\n")
    for part in (
        "Error: Division by zero",
        "at p.lang:8:",
        "intent: Split a bill",
        "trace: billing",
        ">    8 |     give total / count",
        "share(total = 12.5, count = 0) at p.lang:8",
        "bill(total = 12.5) at p.lang:11",
        "top level at p.lang:13",
        'note = "half"',
        "key = secret(KEY)",
        "Category: data; recoverable: yes; a retry may help: no",
    ):
        assert part in result.err, result.err
    assert "plain-and-secret" not in result.err
    assert "Runtime error" not in result.err
    calls = [result.err.index(call) for call in ("share(total", "bill(total", "top level")]
    assert calls == sorted(calls)


def test_the_report_as_data(lang: Lang) -> None:
    found = diagnosis(lang, PROGRAM)
    assert set(found) == {
        "error_type",
        "message",
        "file",
        "line",
        "column",
        "source_context",
        "source_start_line",
        "error_category",
        "recoverable",
        "retry_makes_sense",
        "call_stack",
        "variables",
        "suggestions",
        "active_intent",
        "active_trace",
        "last_checkpoint",
    }
    assert (found["message"], found["file"], found["line"]) == ("Division by zero", "p.lang", 8)
    assert found["source_context"] == PROGRAM.splitlines()[4:11] and found["source_start_line"] == 5
    variables = found["variables"]
    assert variables["people"] == "[1, 2]" and variables["key"] == "secret(KEY)" and variables["total"] == "12.5"
    assert len(variables["long"]) == 200
    assert not set(variables) & {"share", "bill", "pi", "tau", "print"}
    assert "plain-and-secret" not in json.dumps(found)


@pytest.mark.parametrize(
    ("line", "category", "recoverable"),
    [
        ("print(nope)", "logic", False),
        ("print([1][5])", "data", True),
        ("each x in 5\n    print(x)", "type", False),
        ("let f be 5\nf()", "type", False),
        ("set nope to 1", "logic", False),
        ("let m be {}\nprint(m.a)", "data", True),
        ("invariant: 1 == 2", "logic", True),
        ("print(1 / 0)", "data", True),
        ('print(int("abc"))', "data", True),
        ("print(upper(5, 6, 7))", "type", False),
        ('assert(false, "something else")', "logic", True),
        ('raise "Division by zero, says the program"', "unknown", False),
        ('require file.read("none.txt")\nprint(read_file("none.txt"))', "io", True),
    ],
)
def test_classes(lang: Lang, line: str, category: str, recoverable: bool) -> None:
    found = diagnosis(lang, line)
    assert (found["error_category"], found["recoverable"]) == (category, recoverable)
    assert found["line"] == len(line.splitlines()) or category == "type"
    assert 1 <= len(found["suggestions"]) <= 4


def test_a_missing_capability_is_answered_with_its_line(lang: Lang) -> None:
    found = diagnosis(lang, 'print(1)\nprint(read_file("a.txt"))')
    assert found["error_category"] == "capability"
    assert found["suggestions"][0] == 'require file.read("a.txt")'
    assert found["line"] == 2


def test_a_program_that_does_not_parse(lang: Lang) -> None:
    found = diagnosis(lang, "let x be 1\nlet y be")
    assert (found["error_type"], found["line"], found["call_stack"], found["variables"]) == ("parse", 2, [], {})
    assert found["source_context"] == ["let x be 1", "let y be"]


def test_without_an_error_nothing_is_explained(lang: Lang) -> None:
    result = lang("run", "--explain", "--format", "json", "p.lang", files={"p.lang": "print(1)"})
    assert json.loads(result.out)["diagnostics"] == []
    assert lang("run", "--explain", "p.lang").out == "1\n"


def test_an_error_in_a_module(lang: Lang) -> None:
    files = {"p.lang": 'use "./m.lang" as m\nlet a be 1\nm.f(2)', "m.lang": "export task f(n)\n    give n / 0"}
    result = lang("run", "--explain", "p.lang", files=files)
    assert "at m.lang:2:" in result.err and "top level at p.lang:3" in result.err and "a = 1" in result.err
    assert ">" not in result.err  # the window shows lines of the main program only
