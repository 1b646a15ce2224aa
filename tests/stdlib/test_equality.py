"""Which values of a column are one, against the definition."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.values import Bool
from language.values.decimals import Dec
from language.values.decimals import parse as dec
from language.values.operators import MIXED_NUMBERS
from stdlib.equality import first_appearances, group_numbers

NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([2**53, 2**53 + 1, 10**400]),
    st.sampled_from([0.5, 1.0, 0.1, -2.0, float(2**53), float("inf"), -0.0, 1e300]),
    st.sampled_from(["0.5", "0.50", "1", "1.0", "0.1", "-2", str(2**53 + 1), "1e400", "0", "0.10000000000000000001"]).map(dec),
)


def exact(number):
    if isinstance(number, Dec):
        return Fraction(number.display())
    return number if number == float("inf") else Fraction(number)


def expected(values):
    """The groups by what the numbers are; ``None`` where a value and the first one of a group are a decimal and a float that
    nobody can tell apart."""
    firsts, groups = [], []
    for value in values:
        mixed = [{type(first), type(value)} == {Dec, float} for first in firsts]
        same = [not mix and exact(first) == exact(value) for first, mix in zip(firsts, mixed)]
        if not any(same):
            for first, mix in zip(firsts, mixed):
                near = [number.to_float() if isinstance(number, Dec) else number for number in (first, value)]
                if mix and near[0] == near[1] != float("inf"):
                    return None
            firsts.append(value)
            same.append(True)
        groups.append(same.index(True))
    return groups


@given(st.lists(NUMBERS, max_size=6))
def test_decimals_beside_floats(values):
    for wrap in (lambda value: value, lambda value: ["a", value], lambda value: {"k": value, "a": 1.5}):
        wrapped = [wrap(value) for value in values]
        groups = expected(values)
        if groups is None:
            with pytest.raises(RuntimeFault) as caught:
                group_numbers(wrapped, "unique")
            assert caught.value.message == f"unique: {MIXED_NUMBERS}"
        else:
            assert group_numbers(wrapped, "unique") == groups
            assert len(first_appearances(wrapped, "unique")) == len(set(groups))


@given(st.permutations([({"b": dec("1"), "a": 0.5}, 0), ({"a": dec("0.5"), "b": 2}, 1), ({"a": 0.5, "b": 2.5}, 2)]))
def test_the_order_of_fields_does_not_matter(pairs):
    """None of the three is another: each differs in one field at least."""
    assert group_numbers([value for value, _ in pairs], "x") == [0, 1, 2]
    with pytest.raises(RuntimeFault):
        group_numbers([*[value for value, _ in pairs], {"b": Bool(True), "a": dec("0.5")}], "x")
