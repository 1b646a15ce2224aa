"""Lines of other languages as this one has them."""

from __future__ import annotations

import pytest

from language.syntax.foreign_lines import is_line, written_here


@pytest.mark.parametrize(
    ("line", "here"),
    [
        ("for i in range(10):", "each i in range(10)"),
        ("for (const x of xs) {", "each x in xs"),
        ("foreach x in xs", "each x in xs"),
        ("if (x == 1) {", "when x == 1"),
        ("if (a) == (b) {", "when (a) == (b)"),
        ("else if (y):", "otherwise when y"),
        ("elif x == 2:", "otherwise when x == 2"),
        ("else:", "otherwise"),
        ("def add(a, b):", "task add(a, b)"),
        ("func f() {", "task f()"),
        ("return", "give nothing"),
        ("return {a: 1};", "give {a: 1}"),
        ("const total = f(4);", "let total be f(4)"),
        ("switch (x) {", "match x"),
        ("case 1:", "is 1"),
        ("default:", "otherwise"),
    ],
)
def test_what_a_line_is_here(line: str, here: str) -> None:
    assert written_here(line) == here
    assert is_line(here)


@pytest.mark.parametrize(
    "line",
    [
        *("if x && y:", "if x is None:", "return a if b else c", "def add(a: int, b):", "func add(a int, b int) int {"),
        *("for i, x in enumerate(xs):", "for (let i = 0; i < 3; i++) {", "if x: print(1)", "import json", "if", "case"),
        *("return " + "x" * 80, "return \x00", "const a = 1, b = 2", "if " + "(" * 300, "return a\nprint(1)"),
    ],
)
def test_what_is_not_surely_a_line_here_is_left(line: str) -> None:
    assert written_here(line) == ""
