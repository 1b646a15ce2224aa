"""Numbers chosen to share one hash cost no more than any others wherever values are told apart by a dictionary."""

from __future__ import annotations

import time

import pytest

import language

# Python's hash of a number is what is left of it by division with this.
MODULUS = 2**61 - 1
MANY = 12_000

NUMBERS = {
    "integers": "(x) => x * {factor}",
    "decimals": "(x) => decimal(x * {factor})",
    "fractions": "(x) => decimal(x * {factor}) / 2",
    "lists": "(x) => [x * {factor}]",
    "maps": '(x) => {{"n": x * {factor}}}',
    "negative": "(x) => 0 - x * {factor}",
}
OPERATIONS = [
    "unique(xs)",
    "group_by(xs, (x) => x)",
    "count_by(xs)",
    "[mode(xs)]",
    'summarize(rows, "x", {"n": count()})',
    'summarize(rows, ["x", "one"], {"n": n_unique_of("x")})',
    'join(rows, rows, "x", "semi")',
    'pivot(rows, "x", "one", "one")',
]


def seconds(numbers: str, operation: str, factor: int) -> float:
    """Processor time of the operation over the numbers, the best of three."""
    source = f"""
let xs be apply(range(1, {MANY}), {NUMBERS[numbers].format(factor=factor)})
let rows be apply(xs, (x) => {{"x": x, "one": 1}})
print(length({operation}))
"""
    taken = []
    for _ in range(3):
        started = time.thread_time()
        answer = language.run(source)
        taken.append(time.thread_time() - started)
        assert answer["errors"] == []
    return min(taken)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("numbers", ["integers", "decimals"])
def test_numbers_of_one_hash(numbers: str, operation: str) -> None:
    seconds(numbers, operation, 1)  # loads the modules
    assert seconds(numbers, operation, MODULUS) < 0.1 + 20 * seconds(numbers, operation, MODULUS + 2)


@pytest.mark.parametrize("numbers", [kind for kind in NUMBERS if kind not in ("integers", "decimals")])
def test_numbers_of_one_hash_inside_of_others(numbers: str) -> None:
    assert seconds(numbers, "unique(xs)", MODULUS) < 0.1 + 20 * seconds(numbers, "unique(xs)", MODULUS + 2)


def test_what_is_equal_stays_one() -> None:
    source = """
print(unique([1, 1.0, true, 0, false, 0.0, -0.0, nan, nan, "1", nothing]))
print(unique([10 ** 30, 1e30, float(10 ** 30), 10 ** 30 + 1]))
print(unique([2, 2.00d, 2.50d, 2.5d, 10 ** 40, decimal(10 ** 40)]))
print(unique([[1, 2.0], [1.0, 2], {"a": true}, {"a": 1}]))
"""
    assert language.run(source)["output"] == [
        '[1, 0, nan, "1", nothing]',
        "[1000000000000000000000000000000, 1e+30, 1000000000000000000000000000001]",
        "[2, 2.50, 10000000000000000000000000000000000000000]",
        "[[1, 2.0], {a: true}]",
    ]


def test_a_table_with_as_many_columns_as_rows() -> None:
    def taken(count: int) -> float:
        started = time.thread_time()
        row = f"each i in range({count})\n    set one[text(i)] to i\n    set two[text(i + 1)] to i\n"
        source = f'let one be {{"k": 1}}\nlet two be {{"k": 1}}\n{row}print(length(join([one], [two], "k")[0]))'
        answer = language.run(source)
        assert answer["output"] == [str(2 * count + 1)]
        return time.thread_time() - started

    assert taken(16_000) < 0.1 + 20 * taken(4_000)
