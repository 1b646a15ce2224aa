"""Reductions of lists of numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.values import TRUE
from language.values.decimals import Dec
from language.values.decimals import parse as dec
from stdlib.statistics import family

INF, NAN = math.inf, math.nan
MIXED = "cannot mix decimal and float; convert with float(x) or decimal(...)"
REDUCTIONS = ("sum", "product", "mean", "std", "var", "median", "min", "max", "argmin", "argmax")


def run(name, *values, **named):
    return family.builtins[name].function(*values, **named)


def fault(name, *values, **named):
    with pytest.raises(RuntimeFault) as caught:
        run(name, *values, **named)
    return caught.value.message


def shown(value):
    return value.display() if isinstance(value, Dec) else repr(value)


whole = st.integers(-(10**30), 10**30)
decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=4).map(
    lambda value: dec(format(value, "f"))
)


def exact(value):
    return Fraction(value.display()) if isinstance(value, Dec) else Fraction(value)


# --- all reductions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REDUCTIONS)
def test_nan_goes_through(name):
    result = run(name, [1.0, NAN, 2])
    assert result == 1 if name.startswith("arg") else math.isnan(result)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_nothing_is_skipped(name):
    assert run(name, [None, 4.0, None, 4.0]) == run(name, [4.0, 4.0]) + (name.startswith("arg"))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_only_missing_values(name):
    assert fault(name, [None, None]) == f"{name}: every value is missing"


@pytest.mark.parametrize("name", REDUCTIONS)
def test_decimals_and_floats_never_mix(name):
    assert fault(name, [dec("1"), 2, 1.5]) == MIXED


@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name not in ("min", "max")])
def test_only_lists_of_numbers(name):
    assert fault(name, "abc") == f"{name} expects a list, got text"
    assert fault(name, [1, "a"]) == f"{name} expects a list of numbers, got text"
    assert fault(name, [TRUE]) == f"{name} expects a list of numbers, got bool"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mean", "mean of an empty list"),
        ("median", "median of an empty collection"),
        ("min", "min of an empty sequence"),
        ("max", "max of an empty sequence"),
    ],
)
def test_of_nothing_at_all(name, text):
    assert fault(name, []) == text


# --- sums -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "result"),
    [
        ("sum", [], "0"),
        ("product", [], "1"),
        ("sum", [1, 2], "3"),
        ("sum", [0.1, 0.2], "0.30000000000000004"),
        ("sum", [0.1] * 10, "0.9999999999999999"),
        ("sum", [1, 0.5], "1.5"),
        ("sum", [10**400, 1.5], "inf"),
        ("sum", [1.5, -(10**400), 1], "-inf"),
        ("sum", [dec("0.1"), dec("0.2")], "0.3"),
        ("sum", [dec("0.10"), 2], "2.10"),
        ("product", [2, 3, 7], "42"),
        ("product", [dec("0.5"), dec("0.5")], "0.25"),
        ("product", [1e308, 10], "inf"),
        ("mean", [1, None, 3], "2.0"),
        ("mean", [10**400, -(10**400)], "0.0"),
        ("mean", [dec("1.00"), dec("2")], "1.50"),
        ("mean", [dec("1"), dec("1"), dec("2")], "1.333333333333333333333333333"),
    ],
)
def test_sums(name, values, result):
    assert shown(run(name, values)) == result


@given(st.lists(whole | decimals, min_size=1, max_size=8))
def test_sums_and_products_are_exact(values):
    assert exact(run("sum", values)) == sum(map(exact, values))
    assert exact(run("product", values)) == math.prod(map(exact, values))


def test_sums_of_decimals_end_at_their_limit():
    assert fault("sum", [dec("9e999999"), dec("9e999999")]) == "number too large"
    assert fault("product", [dec("9e999999"), 10]) == "number too large"


# --- extremes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("min", ([3, None, 1],), 1),
        ("max", ([3, 1.5],), 3),
        ("min", (2, 1.5), 1.5),
        ("max", (1, 2, 3), 3),
        ("min", (["b", "a"],), "a"),
        ("max", ("b", "é", "z"), "é"),
        ("min", (2**53 + 1, 9007199254740992.0), 9007199254740992.0),
        ("max", ([10**400, INF],), INF),
        ("min", (None, 4), 4),
        ("min", ([0, -0.0],), 0),
    ],
)
def test_extremes(name, arguments, result):
    found = run(name, *arguments)
    assert found == result
    assert found.__class__ is result.__class__


def test_extremes_of_decimals_keep_them():
    assert run("max", [dec("1.50"), 1]).display() == "1.50"
    assert run("min", dec("1.0"), 1).display() == "1.0"


@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_refuse(name):
    assert fault(name, [1, "a"]) == f"{name}: cannot order number and text together"
    assert fault(name, 5) == f"{name} expects a list, or two or more arguments, got number"
    assert fault(name, [[1], [2]]) == f"{name} expects a number, got list"
    assert fault(name, TRUE, 1) == f"{name} expects a number, got bool"
    assert fault(name, [1j]) == f"{name} expects a number, got complex"


def test_positions_of_extremes():
    assert run("argmin", [3, None, 1, 1]) == 2
    assert run("argmax", [None, 3, 5, 5]) == 2
    assert fault("argmin", []) == "argmin of an empty sequence"


# --- spread -----------------------------------------------------------------------------------------------------------------


def test_std_and_var():
    assert run("std", [1, 2, 3, 4], ddof=0) == 1.118033988749895
    assert run("var", [1, 2, 3, 4]) == 5 / 3
    assert run("var", [1.0, 2.0, 3.0, 4.0], ddof=0) == 1.25
    assert run("var", [dec("1.0"), dec("2.0")]).display() == "0.50"
    assert run("std", [dec("1"), dec("3")], ddof=0).display() == "1"
    assert run("std", [dec("1"), dec("2")]).display() == "0.7071067811865475244008443621"
    assert math.isnan(run("std", [5]))
    assert math.isnan(run("var", [dec("5")]))
    assert run("var", [10**400, 10**400]) == 0.0
    assert fault("std", []) == "std of an empty list"


@pytest.mark.parametrize("name", ["std", "var"])
def test_the_second_argument_has_a_name(name):
    assert "ddof = 0" in fault(name, [1, 2], 0)
    assert "ddof" in fault(name, [1, 2], ddof=-1)
    assert "ddof" in fault(name, [1, 2], ddof=0.5)


@given(st.lists(st.integers(-(10**20), 10**20), min_size=2, max_size=8), st.integers(0, 1))
def test_the_variance_of_integers_is_rounded_once(values, ddof):
    average = Fraction(sum(values), len(values))
    variance = sum((value - average) ** 2 for value in values) / (len(values) - ddof)
    assert run("var", values, ddof=ddof) == variance.numerator / variance.denominator


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8))
def test_the_variance_of_floats(values):
    average = sum(map(Fraction, values)) / len(values)
    variance = float(sum((Fraction(value) - average) ** 2 for value in values) / (len(values) - 1))
    assert math.isclose(run("var", values), variance, rel_tol=1e-9, abs_tol=1e-9)


# --- order statistics -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "result"),
    [
        ([1, 2, 3, 4], "2.5"),
        ([3, 1, 2], "2.0"),
        ([1], "1.0"),
        ([2.5, None, 1], "1.75"),
        ([10**400, 10**400], "inf"),
        ([dec("1.0"), dec("2.0")], "1.5"),
        ([dec("3.00"), 1, 2], "2"),
        ([dec("1"), 2], "1.5"),
    ],
)
def test_median(values, result):
    assert shown(run("median", values)) == result


@pytest.mark.parametrize(
    ("values", "p", "result"),
    [
        ([1, 2, 3, 4], 25, "1.75"),
        ([4, 3, 2, 1], 0, "1.0"),
        ([1, 2, 3, 4], 100, "4.0"),
        ([1, 2, 3, 4], 50.0, "2.5"),
        ([7], 33, "7.0"),
        ([INF, 1.0], 0, "1.0"),
        ([dec("1.00"), dec("2.00")], 25, "1.25"),
        ([dec("1"), dec("2")], 12.5, "1.125"),
        ([dec("1"), 3], 100, "3"),
    ],
)
def test_percentile_and_quantile(values, p, result):
    assert shown(run("percentile", values, p)) == result
    fraction = p / 100
    assert Fraction(shown(run("quantile", values, fraction))) == Fraction(result)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=9))
def test_quantiles_lie_within_the_data_and_agree_with_the_median(values):
    assert run("quantile", values, 0) == min(values)
    assert run("quantile", values, 1) == max(values)
    assert math.isclose(run("quantile", values, 0.5), run("median", values), rel_tol=1e-12, abs_tol=1e-6)
    assert min(values) <= run("percentile", values, 37) <= max(values)


def test_percentile_refuses():
    assert fault("percentile", [1], 101) == "percentile expects p between 0 and 100, got 101"
    assert fault("percentile", [1], -0.5) == "percentile expects p between 0 and 100, got -0.5"
    assert fault("percentile", [1], NAN) == "percentile expects p between 0 and 100, got nan"
    assert fault("percentile", [], 50) == "percentile of an empty collection"
    assert "between 0 and 1" in fault("quantile", [1], 1.5)
    assert fault("quantile", [1], "a") == "quantile expects a number, got text"
    assert math.isnan(run("percentile", [1.0, NAN], 50))


# --- series, pairs, histogram -----------------------------------------------------------------------------------------------


def test_series():
    assert run("cumsum", [1, None, 2, 3]) == [1, None, 3, 6]
    assert run("diff", [1, 4, None, 2, 9]) == [3, None, None, 7]
    assert run("cumsum", []) == run("diff", []) == run("diff", [1]) == []
    assert [v.display() for v in run("diff", [dec("1.5"), 2])] == ["0.5"]


def test_pairs():
    assert run("cov", [1, 2, 3], [2, 4, 6]) == 2.0
    assert run("cov", [1, 2, 3], [2, 4, 6], ddof=0) == 4 / 3
    assert math.isclose(run("corr", [1, 2, 3], [6, 4, 2]), -1.0)
    assert run("cov", [1, None, 3, 5], [1, 2, 3, None]) == run("cov", [1, 3], [1, 3])
    assert math.isnan(run("corr", [1, 1], [1, 2]))
    assert "same length" in fault("cov", [1], [1, 2])
    assert "ddof" in fault("cov", [1], [2], 0)


def test_histogram():
    assert run("histogram", [1, 2, 3, 4], 2) == {"counts": [2, 2], "edges": [1.0, 2.5, 4.0]}
    assert run("histogram", [5, 5], 1) == {"counts": [2], "edges": [4.5, 5.5]}
    assert run("histogram", [0, 1, 2, 3, None], [0, 1, 2]) == {"counts": [1, 2], "edges": [0.0, 1.0, 2.0]}
    found = run("histogram", [0, 10])
    assert len(found["counts"]) == 10
    assert found["edges"][0] == 0.0
    assert found["edges"][-1] == 10.0
    for bins in (0, -1, 2.5, "x", 10**400, -(10**400)):
        assert "bins" in fault("histogram", [1], bins)
    assert "ascending" in fault("histogram", [1], [1, 1])
    assert fault("histogram", []) == "histogram of an empty collection"
    assert "finite" in fault("histogram", [INF])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20), st.integers(1, 12))
def test_a_histogram_counts_everything_once(values, bins):
    found = run("histogram", values, bins)
    assert sum(found["counts"]) == len(values)
    assert len(found["edges"]) == bins + 1
    assert found["edges"] == sorted(found["edges"])


@pytest.mark.parametrize("name", list(family.builtins))
def test_every_builtin_is_documented(name):
    assert len(family.builtins[name].doc) > 10
