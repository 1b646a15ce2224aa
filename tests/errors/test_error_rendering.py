"""An error over several lines: the caret stands under the fault whatever the line holds, and nothing acts on a terminal."""

from __future__ import annotations

import pytest

from language.diagnostics.rendering import WIDEST, rendered
from language.errors import LanguageError, ParseError


def lines_of(error: LanguageError, source: str, **options: bool) -> list[str]:
    return rendered(error, lambda file, line: source, **options).split("\n")


def at(column: int, **parts: int) -> ParseError:
    error = ParseError("wrong", file="a.lang", line=3, column=column, code="E0101")
    for name, value in parts.items():
        setattr(error, name, value)
    return error


def test_the_first_line_is_the_line_that_scripts_match_and_the_last_names_the_page() -> None:
    assert lines_of(at(5), "let total 5") == [
        "Parse error: a.lang:3:5: wrong",
        "3 | let total 5",
        "  |     ^^^^^",
        "more: lang docs E0101",
    ]


@pytest.mark.parametrize(
    ("source", "column", "ends", "marked"),
    [
        ("\tlet x 5", 6, 7, "  | \t    ^"),
        ("let 価格 5", 8, 9, "  |          ^"),
        ("let 価格 5", 5, 7, "  |     ^^^^"),
        ("let e\u0301 5", 8, 9, "  |       ^"),
        ("let x", 6, 0, "  |      ^"),
        ('let x "a b" c', 7, 0, "  |       ^^^^^"),
        ("", 1, 0, "  | ^"),
    ],
)
def test_the_caret_stands_under_the_fault(source: str, column: int, ends: int, marked: str) -> None:
    assert lines_of(at(column, end_line=3 if ends else 0, end_column=ends), source)[2] == marked


def test_a_fault_that_goes_on_below_is_marked_to_the_end_of_its_line() -> None:
    assert lines_of(at(5, end_line=4, end_column=2), "abc {x  ")[2] == "  |     ^^"


def test_a_long_line_is_cut_around_the_fault() -> None:
    _, source, marks, _ = lines_of(at(5001), "a" * 5000 + "!" + "b" * 5000)
    assert len(source) <= WIDEST + 6 and source[marks.index("^")] == "!"
    assert source.startswith("3 | …") and source.endswith("…")


def test_nothing_of_the_source_acts_on_a_terminal() -> None:
    error = at(4)
    error.message, error.help = "bad \x1b[2J", "not \x1b[8m this"
    text = "\n".join(lines_of(error, "\x1b[31m\u202e!x"))
    assert "\x1b" not in text and "\u202e" not in text


def test_control_characters_before_the_fault_move_the_caret_as_they_are_shown() -> None:
    _, source, marks, _ = lines_of(at(3), "\x1b\x07!")
    assert source[marks.index("^")] == "!"


def test_colours_change_nothing_but_colours() -> None:
    import re

    coloured = "\n".join(lines_of(at(5), "let total 5", colours=True))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split("\n") == lines_of(at(5), "let total 5")


def test_calls_and_help_follow_the_source() -> None:
    error = at(5)
    error.calls, error.more_calls, error.help = (("area", "a.lang", 9, 1),), 7, "Do this.\nOr that."
    assert lines_of(error, "let total 5")[3:] == [
        "in `area`, called at a.lang:9:1",
        "and 7 calls before",
        "help: Do this.",
        "      Or that.",
        "more: lang docs E0101",
    ]


def test_without_its_source_an_error_is_its_line_and_its_page() -> None:
    assert rendered(at(5), lambda file, line: None).split("\n") == ["Parse error: a.lang:3:5: wrong", "more: lang docs E0101"]
