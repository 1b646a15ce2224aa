"""The text of a ``.env`` file (5.2)."""

from __future__ import annotations

import pytest

from language.cli.envfile import read


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("K=v", "v"),
        ("K=", ""),
        (" K = v ", "v"),
        ("K=a b  c ", "a b  c"),
        ("K=a=b", "a=b"),
        ("K=a#b", "a#b"),
        ("K=a #b", "a"),
        ("K=a\t# b", "a"),
        ("K=#b", "#b"),
        ("K= # b", ""),
        ('K="a # b" # c', "a # b"),
        ("K='a \" b'x", 'a " b'),
        ("K=  ' a '", " a "),
        ('K="open ', "open"),
        ("K=''", ""),
        ("K=a\\nb", "a\\nb"),
        ("K=$HOME", "$HOME"),
        ("K=é€", "é€"),
        ("K=v\r", "v"),
    ],
)
def test_values(line: str, value: str) -> None:
    assert read(line) == ({"K": value}, [])


def test_comments_and_blank_lines() -> None:
    assert read("\ufeff# c\n\n   # c\n  \nA=1\r\nB=2") == ({"A": "1", "B": "2"}, [])


def test_the_last_of_two_wins() -> None:
    assert read("A=1\nA=2\n")[0] == {"A": "2"}


def test_faulty_lines_are_named_without_their_content() -> None:
    variables, problems = read("1A=hidden\nexport A=hidden\nhidden\nA-B=hidden\n=hidden\né=hidden\nB=ok")
    assert variables == {"B": "ok"}
    assert [line for line, _ in problems] == [1, 2, 3, 4, 5, 6]
    assert not [text for _, text in problems if "hidden" in text]
