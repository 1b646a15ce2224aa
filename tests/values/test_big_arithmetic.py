"""Large products, quotients and powers are those of Python, in pieces of a moment each."""

from __future__ import annotations

import math
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import language
from language.values import big_arithmetic
from language.values.big_arithmetic import factorial, power, product, quotient

LENGTHS = (0, 1, 64, 1000, 63_001, 250_000, 250_001, 1_000_003)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts at lengths where every path of the cutting is taken by many numbers."""
    monkeypatch.setattr(big_arithmetic, "_PIECE", 40**2)


def numbers(seed: int) -> list[int]:
    dice = random.Random(seed)
    found = [sign * dice.getrandbits(bits) for bits in LENGTHS for sign in (1, -1)]
    return [*found, 1 << 500_000, (1 << 500_000) - 1, -(1 << 700_000)]


def test_products_and_quotients_at_their_real_size() -> None:
    for left in numbers(1):
        for right in numbers(2)[::3]:
            assert product(left, right) == left * right
    dice = random.Random(3)
    for dividend, divisor in ((900_000, 400_000), (2_000_000, 1_000_000), (2_000_000, 30_000)):
        right = dice.getrandbits(divisor) | 1
        left = dice.getrandbits(dividend)
        for signed in ((left, right), (-left, right), (left, -right), (-left, -right), (left * 0 + right * 7, right)):
            whole, rest = quotient(*signed)
            assert whole * signed[1] + rest == signed[0]
            assert 0 <= abs(rest) < abs(signed[1]) and (rest == 0 or (rest < 0) == (signed[1] < 0))


near_powers = st.builds(lambda bits, off: (1 << bits) + off, st.integers(0, 700), st.integers(-2, 2))
wide = st.integers(-(1 << 900), 1 << 900) | st.integers(-3, 3) | near_powers


@settings(max_examples=400, deadline=None)
@given(wide, wide)
def test_they_are_pythons(left: int, right: int) -> None:
    whole = big_arithmetic._PIECE
    big_arithmetic._PIECE = 40**2
    try:
        assert product(left, right) == left * right
        if right:
            assert quotient(left, right) == divmod(left, right)
        assert power(left, abs(right) % 9) == left ** (abs(right) % 9)
    finally:
        big_arithmetic._PIECE = whole


def test_division_by_zero() -> None:
    with pytest.raises(ZeroDivisionError):
        quotient(1 << 1_000_000, 0)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("count", [0, 1, 2, 5, 1000, 1001, 2500])
def test_factorials(count: int) -> None:
    assert factorial(count) == math.factorial(count)


# ---- programs under a limit of time -----------------------------------------------------------------------------------


def ended_after(source: str, limits: dict[str, int], **options: Any) -> tuple[list[str], float]:
    start = time.perf_counter()
    result = language.run(source, limits=limits, **options)
    return result["errors"], time.perf_counter() - start


@pytest.mark.parametrize(
    "endless",
    [
        "let x be 3 ** 6000000",
        "let x be 3 ** 1000000\nlet y be x * x * x * x * x * x * x * x * x * x * x * x",
        "let x be 3 ** 300000\nwhile true\n    set x to x * x",
        "let x be [3 ** 300000]\nwhile true\n    set x[0] to x[0] * x[0]",
        "let b be 3 ** 1000000\nlet x be 3 ** 2000000\nwhile true\n    let q be x // b",
        "let b be 3 ** 1000000\nlet x be 3 ** 2000000\nwhile true\n    let q be x % b",
        "let x be factorial(500000)",
        "let x be 3 ** 1000000\nlet y be product([x, x, x, x, x, x, x, x])",
        "let x be 3 ** 1000000\nlet y be pow(x, 6)",
        "let x be 3 ** 300000\nlet y be 7 ** 100000\nwhile true\n    let z be lcm(x, y)",
        "task f(x)\n    give x * x\nlet x be 3 ** 300000\nwhile true\n    set x to f(x)",
    ],
    ids=lambda source: source.replace("\n", " ; ")[:60],
)
@pytest.mark.parametrize("more", [{}, {"steps": 1_000_000_000}], ids=["time", "steps too"])
def test_large_numbers_end_in_time(endless: str, more: dict[str, int]) -> None:
    errors, seconds = ended_after(endless, {"time_ms": 200, **more})
    assert [error.endswith(": Limit exceeded: time_ms (200)") for error in errors] == [True]
    assert seconds < 3


def test_in_a_module_too() -> None:
    module = "export task f(x)\n    give x * x * x * x * x * x * x * x"
    errors, seconds = ended_after('use "./m.lang" as m\nlet y be m.f(3 ** 1000000)', {"time_ms": 200}, files={"m.lang": module})
    assert [error.endswith(": Limit exceeded: time_ms (200)") for error in errors] == [True] and seconds < 3


@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_a_divisor_that_would_take_minutes_is_refused_at_once(name: str) -> None:
    errors, seconds = ended_after(f"let x be {name}(3 ** 2000000, 7 ** 1000000)", {})
    assert errors[0].endswith("number too large") and seconds < 5
    assert ended_after(f"print({name}(2 ** 2000000, 12))", {})[0] == []


def test_a_limit_changes_no_result() -> None:
    source = """
let a be 3 ** 300000
let b be 7 ** 90000
print((a * b) % 1000003, (a // b) % 1000003, a % b % 1000003, (0 - a) // b % 1000003, (0 - a) % b % 1000003)
print(7 * 6, 7 // 2, 0 - 7 // 2, 7 % 3, 2.5 * 2, 7.5 // 2, 7.5 % 2, 1.5d * 2, 7d // 2, 3 * 1.5)
task attempt(f)
    try
        give f()
    recover e
        give e
print(attempt(() => 7 // 0), attempt(() => 7 % 0), attempt(() => "a" * 2), attempt(() => [1] * 2), attempt(() => 1.5d * 1.5))
print(attempt(() => true * 2), attempt(() => nothing % 2), attempt(() => "a" % 2), attempt(() => a * 0.5), 2 * 3 * 4 // 5 % 6)
"""
    free, limited = language.run(source), language.run(source, limits={"time_ms": 60_000})
    assert free["ok"] and free["output"] == limited["output"] and free["errors"] == limited["errors"]
