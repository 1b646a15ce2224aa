"""Mistakes that people make, and exactly what is shown of them."""

from __future__ import annotations

import pytest

from tests.errors.beginners import MISTAKES
from tests.errors.corpus import CASES, Case, cases, shown


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_what_is_shown(case: Case) -> None:
    assert shown(case) == case.expected.read_text(encoding="utf-8"), "python -m tests.errors.rewrite, then read the difference"


def test_each_text_belongs_to_a_case() -> None:
    assert {path.stem for path in CASES.glob("*.txt")} == {case.name for case in cases()}


def test_the_mistakes_of_beginners_are_cases() -> None:
    assert set(MISTAKES) - {case.name for case in cases()} == set()
