"""The builtins on single numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.values import FALSE, TRUE, Secret
from language.values.decimals import parse as dec
from stdlib.mathematics import family

INF, NAN = math.inf, math.nan
HUGE = 10**400

TO_WHOLE = ("floor", "ceil", "trunc", "round")
ELEMENTARY = (
    *("sqrt", "exp", "ln", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
)
REAL_ONLY = ("cbrt", "log10", "log2", "radians", "degrees", "gamma", "lgamma", "erf", "erfc")


def run(name, *values):
    return family.builtins[name].function(*values)


def fault(name, *values):
    with pytest.raises(RuntimeFault) as caught:
        run(name, *values)
    return caught.value.message


def as_float(value):
    return value.__class__ is float and repr(value)


# --- rounding ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "floor", "ceil", "trunc", "nearest"),
    [
        (-3.7, -4, -3, -3, -4),
        (-3.2, -4, -3, -3, -3),
        (2.5, 2, 3, 2, 2),
        (3.5, 3, 4, 3, 4),
        (-2.5, -3, -2, -2, -2),
        (5, 5, 5, 5, 5),
        (HUGE, HUGE, HUGE, HUGE, HUGE),
        (1e22, 10**22, 10**22, 10**22, 10**22),
        (-0.0, 0, 0, 0, 0),
    ],
)
def test_to_whole_numbers(value, floor, ceil, trunc, nearest):
    results = [run(name, value) for name in TO_WHOLE]
    assert results == [floor, ceil, trunc, nearest]
    assert all(result.__class__ is int for result in results)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**25), max_value=10**25))
def test_decimals_round_exactly(value):
    exact = Fraction(value)
    number = dec(format(value, "f"))
    assert [run(name, number) for name in TO_WHOLE] == [math.floor(exact), math.ceil(exact), math.trunc(exact), round(exact)]


@pytest.mark.parametrize("name", TO_WHOLE)
def test_to_whole_refuses(name):
    assert fault(name, INF) == "cannot convert inf to an integer"
    assert fault(name, -INF) == "cannot convert -inf to an integer"
    assert fault(name, NAN) == "cannot convert nan to an integer"
    assert fault(name, "1") == f"{name} expects a number, got text"
    assert fault(name, TRUE) == f"{name} expects a number, got bool"


@pytest.mark.parametrize(
    ("value", "places", "result"),
    [
        (2.675, 2, 2.67),
        (2.5, 0, 2.0),
        (5, 2, 5.0),
        (1.005, 2, 1.0),
        (-1.25, 1, -1.2),
        (1.5, 10**6, 1.5),
        (1.5, 2.0, 1.5),
        (INF, 2, INF),
        (1e300, 2, 1e300),
        (1.7976931348623157e308, 0, 1.7976931348623157e308),
        (HUGE, 1, INF),
    ],
)
def test_round_to(value, places, result):
    assert as_float(run("round_to", value, places)) == as_float(result)


def test_round_to_keeps_decimals():
    assert [run("round_to", dec(text), 2).display() for text in ("2.675", "2.665", "1.5", "-0.001")] == [
        "2.68",
        "2.66",
        "1.50",
        "0.00",
    ]


def test_round_to_refuses():
    for places in (1.5, "2", None, NAN, dec("0.5"), TRUE):
        assert fault("round_to", 1.0, places) == "round_to expects an integer number of decimals"
    assert fault("round_to", 1.0, -1) == "round_to expects a non-negative number of decimals"
    assert fault("round_to", "x", 1) == "round_to expects a number, got text"
    assert fault("round_to", dec("1"), 2_000_000) == "number too large"
    assert math.isnan(run("round_to", NAN, 1))


# --- signs ------------------------------------------------------------------------------------------------------------------


def test_abs_keeps_the_type():
    assert run("abs", -3) == 3
    assert as_float(run("abs", -0.0)) == "0.0"
    assert run("abs", dec("-1.50")).display() == "1.50"
    assert as_float(run("abs", 3 - 4j)) == "5.0"
    assert run("abs", complex(1.7e308, 1.7e308)) == INF
    assert fault("abs", TRUE) == "abs expects a number, got bool"


@pytest.mark.parametrize(
    ("value", "sign"),
    [(5, 1), (-2.5, -1), (0, 0), (-0.0, 0), (NAN, 0), (-INF, -1), (dec("-0.01"), -1), (dec("0.00"), 0), (HUGE, 1)],
)
def test_sign(value, sign):
    assert run("sign", value) == sign
    assert run("sign", value).__class__ is int


def test_clamp():
    assert run("clamp", 5, 1, 3) == 3
    assert run("clamp", -5, 1, 3) == 1
    assert run("clamp", 2.5, 1, 3) == 2.5
    assert run("clamp", dec("5.0"), 1, dec("3.00")).display() == "3.00"
    assert math.isnan(run("clamp", NAN, 0, 1))
    assert fault("clamp", dec("1"), 0.5, 2) == "cannot mix decimal and float; convert with float(x) or decimal(...)"
    assert fault("clamp", 1, "a", 2) == "clamp expects a number, got text"


# --- elementary functions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "result"),
    [
        ("sqrt", 16, 4.0),
        ("sqrt", -1, NAN),
        ("sqrt", -0.0, -0.0),
        ("sqrt", HUGE, 1e200),
        ("sqrt", 10**1000, INF),
        ("sqrt", dec("6.25"), 2.5),
        ("exp", 1, math.e),
        ("exp", 1000, INF),
        ("exp", -1000, 0.0),
        ("ln", math.e, 1.0),
        ("ln", 0, -INF),
        ("ln", -0.0, -INF),
        ("ln", -1, NAN),
        ("ln", HUGE, math.log(HUGE)),
        ("ln", INF, INF),
        ("ln", NAN, NAN),
        ("sin", INF, NAN),
        ("cos", 0, 1.0),
        ("asin", 2, NAN),
        ("acos", 1, 0.0),
        ("sinh", -1000, -INF),
        ("sinh", 1000, INF),
        ("cosh", -1000, INF),
        ("tanh", 1000, 1.0),
        ("acosh", 0.5, NAN),
        ("atanh", 1, INF),
        ("atanh", -1.0, -INF),
        ("atanh", 2, NAN),
        ("atanh", dec("1.0"), INF),
        ("cbrt", -8, -2.0),
        ("log10", 1000, 3.0),
        ("log10", HUGE, 400.0),
        ("log10", -1, NAN),
        ("log2", 8, 3.0),
        ("log2", 2**5000, 5000.0),
        ("log2", 0, -INF),
        ("radians", 180, math.pi),
        ("degrees", math.pi, 180.0),
        ("gamma", 5, 24.0),
        ("gamma", 200, INF),
        ("gamma", 0.0, INF),
        ("gamma", -0.0, -INF),
        ("gamma", -1, NAN),
        ("lgamma", 0, INF),
        ("lgamma", -3, INF),
        ("lgamma", 1, 0.0),
        ("erf", 0, 0.0),
        ("erfc", 0, 1.0),
    ],
)
def test_functions(name, value, result):
    assert as_float(run(name, value)) == as_float(result)


@pytest.mark.parametrize("name", ELEMENTARY + REAL_ONLY)
@given(value=st.floats() | st.integers() | st.integers().map(lambda n: n * 10**400))
def test_no_real_number_is_an_error(name, value):
    assert run(name, value).__class__ is float


@pytest.mark.parametrize("name", ELEMENTARY)
def test_complex_in_complex_out(name):
    assert run(name, 1 + 2j).__class__ is complex
    assert run(name, complex(INF, NAN)).__class__ is complex


def test_complex_values():
    assert run("sqrt", -1 + 0j) == 1j
    assert run("complex", 3, 2) == 3 + 2j
    assert run("real", 3 + 2j) == 3.0
    assert run("imag", 3 + 2j) == 2.0
    assert run("imag", 3) == 0.0
    assert run("conj", 3 + 2j) == 3 - 2j
    assert run("arg", 1j) == math.pi / 2
    assert fault("complex", "1", 2) == "complex expects a number, got text"


@pytest.mark.parametrize("name", ELEMENTARY + REAL_ONLY)
def test_other_types_are_refused(name):
    for value, kind in (("1", "text"), (TRUE, "bool"), (None, "nothing"), ([1], "list"), (Secret("1", ("K",)), "secret")):
        assert fault(name, value) == f"{name} expects a number, got {kind}"


@pytest.mark.parametrize("name", REAL_ONLY)
def test_real_functions_refuse_complex_numbers(name):
    assert fault(name, 1j) == f"{name} is not defined for complex numbers"


@pytest.mark.parametrize(
    ("name", "left", "right", "result"),
    [
        ("hypot", 3, 4, 5.0),
        ("hypot", 1e308, 1e308, math.hypot(1e308, 1e308)),
        ("atan2", 1, -1, 3 * math.pi / 4),
        ("atan2", 0, 0, 0.0),
        ("log_base", 8, 2, 3.0),
        ("log_base", 1000, 10, 3.0),
        ("log_base", 9, 3, 2.0),
        ("log_base", 5, 1, INF),
        ("log_base", 0.5, 1, -INF),
        ("log_base", 1, 1, NAN),
        ("log_base", -1, 3, NAN),
        ("log_base", 0, 3, -INF),
        ("log_base", 2, -1, NAN),
        ("beta", 2, 3, 1 / 12),
        ("beta", 1, 1, 1.0),
    ],
)
def test_functions_of_two(name, left, right, result):
    assert as_float(run(name, left, right)) == as_float(result)


def test_functions_of_two_refuse():
    for name in ("hypot", "atan2", "log_base", "beta"):
        assert fault(name, 1, "x") == f"{name} expects a number, got text"
        assert fault(name, 1j, 1) == f"{name} is not defined for complex numbers"


@given(st.floats(0.01, 500), st.floats(0.01, 500))
def test_beta_is_symmetric(a, b):
    assert math.isclose(run("beta", a, b), run("beta", b, a), rel_tol=1e-9)


def test_pow_is_the_operator():
    assert run("pow", 2, 10) == 1024
    assert as_float(run("pow", 2, -1)) == "0.5"
    assert run("pow", dec("1.5"), 2).display() == "2.25"
    assert as_float(run("pow", -8, 0.5)) == "nan"
    assert fault("pow", 0, -1) == "Zero cannot be raised to a negative power"
    assert fault("pow", 2, 10**8) == "number too large"
    assert fault("pow", dec("1"), 0.5) == "cannot mix decimal and float; convert with float(x) or decimal(...)"
    assert fault("pow", "2", 2) == "pow expects a number, got text"


# --- integers and classes ---------------------------------------------------------------------------------------------------


@given(st.integers(), st.integers())
def test_gcd_and_lcm(a, b):
    divisor, multiple = run("gcd", a, b), run("lcm", a, b)
    assert divisor >= 0
    assert multiple >= 0
    assert divisor * multiple == abs(a * b)
    assume(divisor)
    assert a % divisor == b % divisor == 0


def test_integer_functions_refuse():
    for name in ("gcd", "lcm"):
        assert fault(name, 1.5, 2) == f"{name} expects an integer, got float"
        assert fault(name, 2, dec("2")) == f"{name} expects an integer, got decimal"
        assert fault(name, "2", 2) == f"{name} expects an integer, got text"
    assert fault("factorial", 2.0) == "factorial expects an integer, got float"
    assert fault("factorial", -1) == "factorial expects a non-negative integer"


def test_factorial():
    assert run("factorial", 0) == 1
    assert run("factorial", 25) == 15511210043330985984000000
    assert run("factorial", 2000) == 2000 * run("factorial", 1999)
    assert fault("factorial", 600_000) == "number too large"
    assert fault("factorial", 10**100) == "number too large"


def test_classes():
    for value, nan, infinite, finite in (
        (NAN, TRUE, FALSE, FALSE),
        (-INF, FALSE, TRUE, FALSE),
        (1.5, FALSE, FALSE, TRUE),
        (HUGE, FALSE, FALSE, TRUE),
        (dec("1"), FALSE, FALSE, TRUE),
        (complex(1, NAN), TRUE, FALSE, FALSE),
    ):
        assert run("is_nan", value) is nan
        assert run("is_infinite", value) is infinite
        assert run("is_finite", value) is finite
    assert fault("is_nan", "nan") == "is_nan expects a number, got text"


@pytest.mark.parametrize("name", list(family.builtins))
def test_every_builtin_is_documented_and_callable_as_declared(name):
    builtin = family.builtins[name]
    assert len(builtin.doc) > 10
    assert builtin.function.__code__.co_argcount == len(builtin.params) == builtin.required
