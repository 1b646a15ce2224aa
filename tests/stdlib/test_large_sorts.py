"""Lists so large, or of items so large, that they are sorted in pieces: the order is that of the small ones."""

from __future__ import annotations

import random

import pytest

from stdlib.lists import sort, sort_by

MANY = 150_000


def column(kind: str, different: int) -> list[object]:
    """Values of one kind, so many different ones among them."""
    source = random.Random(different)
    numbers = [source.randrange(different) for _ in range(MANY)]
    makers = {
        "integers": lambda n: n,
        "numbers": lambda n: n / 2 if n % 3 else n,
        "texts": lambda n: f"{n:07}é",
        "rows": lambda n: [n % 7, str(n)],
    }
    return [makers[kind](number) for number in numbers]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("different", [3, 1000, 10**6])
@pytest.mark.parametrize("kind", ["integers", "numbers", "texts", "rows"])
def test_order_and_stability(kind: str, different: int, descending: bool) -> None:
    keys = column(kind, different)
    assert sort(keys, descending) == sorted(keys, reverse=descending)
    items = [[key, place] for place, key in enumerate(keys)]
    assert sort_by(items, lambda item: item[0], descending) == sorted(items, key=lambda item: item[0], reverse=descending)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("length", [100_000, 5_000_000])
def test_few_large_texts(length: int, descending: bool) -> None:
    texts = ["a" * length + str(number % 7) for number in range(40)]
    items = list(enumerate(texts))
    assert sort(texts, descending) == sorted(texts, reverse=descending)
    expected = sorted(items, key=lambda item: item[1], reverse=descending)
    assert sort_by(items, lambda item: item[1], descending) == expected


def test_nothing_and_nan_stay_last() -> None:
    nan = float("nan")
    values = [None, nan, *range(MANY, 0, -1), None]
    assert sort(values)[:MANY] == list(range(1, MANY + 1))
    assert sort(values)[MANY:][1:] == [None, None]
    assert sort(values, True)[:2] == [MANY, MANY - 1]
