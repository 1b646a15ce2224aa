"""A short run of the long random tests, and what they once found."""

from __future__ import annotations

import random
import runpy
from pathlib import Path

import pytest

FUZZ = runpy.run_path(str(Path(__file__).resolve().parent / "fuzz.py"), run_name="fuzz")

FOUND = [
    'match 1.5d\n    is 1.5\n    when f("x")\n',
    "match a\n    when x\n        3\n",
]


@pytest.mark.parametrize("source", FOUND)
def test_what_was_found(source: str) -> None:
    FUZZ["examine"](source)


def test_a_few_hundred_texts() -> None:
    texts = FUZZ["corpus"]()
    for seed in range(300):
        source = FUZZ["garbled"](texts, random.Random(seed))
        report = FUZZ["broken"](source)
        assert report is None, f"seed {seed}:\n{source}\n{report}"


def test_a_failure_is_made_smaller() -> None:
    lines = [f"let x{n} be {n}" for n in range(40)]
    lines[17] = "here"
    assert FUZZ["smaller"]("\n".join(lines), lambda text: "here" in text) == "here"
