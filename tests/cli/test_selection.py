"""The expressions of ``lang test -k``."""

from __future__ import annotations

import pytest

from language.cli.selection import compile_selection

NAMES = ["adds numbers", "adds text", "Slow sort", "not a word", "f(x)"]


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ("adds", [0, 1]),
        ("ADDS", [0, 1]),
        ("slow", [2]),
        ("adds and numbers", [0]),
        ("adds and not numbers", [1]),
        ("numbers or slow", [0, 2]),
        ("numbers or adds and text", [0, 1]),
        ("(numbers or adds) and text", [1]),
        ("not (adds or slow)", [3, 4]),
        ("not not slow", [2]),
        ('"adds numbers"', [0]),
        ("'not'", [3]),
        ('"f(x)"', [4]),
        ("zzz", []),
        ("  adds  ", [0, 1]),
    ],
)
def test_selection(expression: str, chosen: list[int]) -> None:
    selected = compile_selection(expression)
    assert [at for at, name in enumerate(NAMES) if selected(name)] == chosen


@pytest.mark.parametrize(
    "expression", ["", " ", "and", "adds and", "or adds", "adds numbers", "(adds", "adds)", "not", '"adds', "a ( b"]
)
def test_no_expression(expression: str) -> None:
    with pytest.raises(ValueError):
        compile_selection(expression)
