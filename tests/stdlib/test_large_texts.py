"""What is done to a large text in pieces is what Python's own methods do to the whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stdlib import large_texts

LETTERS = "aAbé ßΣσςΐİı\n'’\u0301\u00ad.Å漢😀"


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_texts, "PIECE", 4)


@given(st.text(LETTERS, max_size=40))
def test_case(text: str) -> None:
    assert large_texts.upper(text) == text.upper()
    assert large_texts.lower(text) == text.lower()
    assert large_texts.translate(text, {0xE9: "ee"}) == text.replace("é", "ee")
    assert large_texts.characters(text) == list(text)


@given(st.text("ab,", max_size=40), st.text("ab,", min_size=1, max_size=6))
def test_splitting(text: str, separator: str) -> None:
    assert large_texts.split(text, separator) == text.split(separator)
    assert large_texts.split(text, "") == list(text)


@pytest.mark.parametrize("separator", ["aa", "aba", "aaaaaaaaa", "abababab"])
def test_separators_that_overlap_themselves_and_pieces(separator: str) -> None:
    for text in ("a" * 41, "ab" * 30 + "a", "aab" * 20, separator * 9 + "a"):
        assert large_texts.split(text, separator) == text.split(separator)
