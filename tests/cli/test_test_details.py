"""What a failed test shows: the place, the expression, how long it took, and where the two values differ."""

from __future__ import annotations

import re

import pytest
from command_process import Lang

from language.values import TRUE
from language.values.decimals import parse
from language.values.differences import MOST, differences


def test_a_failed_test_shows_place_expression_time_and_differences(lang: Lang) -> None:
    source = (
        'task cheap(xs)\n    assert_eq(xs, [{"name": "Quill", "price": 12}, {"name": "C"}])\n'
        'test "prices"\n    cheap([{"name": "Quill", "price": 13}, {"name": "B"}, {"name": "C"}])\n'
        'test "holds"\n    assert(1 < 2)\n'
    )
    result = lang("test", "a.lang", files={"a.lang": source})
    first, taken, excerpt, caret, *rest = result.lines
    assert first.startswith("✗ prices: ")
    assert "expected [{name: " in first
    assert "a.lang:2:" in first + taken
    assert re.fullmatch(r"  (at a\.lang:2:\d+, )?after \d+\.\d{3} s", taken)
    assert excerpt == '  2 |     assert_eq(xs, [{"name": "Quill", "price": 12}, {"name": "C"}])'
    assert re.fullmatch(r"    \| +\^+", caret)
    assert rest[-4:] == [
        "  [0].price: expected 12, got 13",
        '  [1]: not expected, got {name: "B"}',
        "✓ holds",
        "1 passed, 1 failed (2 total)",
    ]


def test_a_folder_does_not_run_programs_without_tests(lang: Lang) -> None:
    files = {
        "p/writes.lang": 'require file.write("./*")\nwrite_file("ran", "")\nprint("ran")\n',
        "p/tested.lang": 'test "one"\n    assert(true)\n',
        "p/indented.lang": 'when true\n    let x be 1\ntest  "two"\n    assert(true)\n',
    }
    result = lang("test", "-v", "p", files=files)
    assert result.lines == ["p/indented.lang:", "✓ two", "p/tested.lang:", "✓ one", "2 passed, 0 failed (2 total)"]
    assert (result.err, result.code) == ("", 0)
    named = lang("test", "-v", "p/writes.lang")
    assert named.lines[-1] == "0 passed, 0 failed (0 total)"


@pytest.mark.parametrize(
    ("expected", "actual", "lines"),
    [
        (1, 2, []),
        ("a", "b", []),
        ([1], {"a": 1}, []),
        ([1, 2, 3], [1, 3], ["[1]: missing, expected 2"]),
        ([1, 3], [0, 1, 3], ["[0]: not expected, got 0"]),
        ([], [], []),
        ({"a": 1, "b": {"c": [1]}}, {"b": {"c": [2]}, "d": TRUE}, [
            ".a: missing, expected 1", ".b.c[0]: expected 1, got 2", ".d: not expected, got true",
        ]),
        ([parse("1.5")], [1.5], ["[0]: expected 1.5, got 1.5"]),
        ("a\nb\nc", "a\nB\nc", ['text line 2: expected "b", got "B"']),
        ({"t": "a\nb"}, {"t": "a\nb\n"}, ['.t line 3: not expected, got ""']),
    ],
)  # fmt: skip
def test_differences(expected: object, actual: object, lines: list[str]) -> None:
    assert differences(expected, actual) == lines


def test_no_more_differences_are_told_than_a_person_reads() -> None:
    found = differences(list(range(100)), list(range(100, 200)))
    assert len(found) == MOST + 1
    assert found[-1] == "and 80 more"
    long = differences([0] * 5000, [1] * 5000)
    assert long[-1] == "and 4980 more"
    assert len(differences({"x": "a" * 1000}, {"x": "b" * 1000})[0]) < 200
