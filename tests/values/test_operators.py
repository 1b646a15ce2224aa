"""Every operator on every pair of types, equality through containers, and the reads."""

from __future__ import annotations

import math
from types import CellType

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.values import FALSE, TRUE, Module, Secret
from language.values import operators as op
from language.values.decimals import parse as dec

INF = math.inf
NAN = math.nan
HUGE = 10**400


def a_task(x):
    return x


def another_task(x):
    return x


SAMPLES = {
    "number": 3,
    "float": 2.5,
    "decimal": dec("1.50"),
    "text": "a",
    "bool": TRUE,
    "nothing": None,
    "list": [1],
    "map": {"k": 1},
    "bytes": b"\x01",
    "task": a_task,
    "secret": Secret("x", ("K",)),
    "complex": 1 + 2j,
}


def name_of(sample):
    return "number" if sample == "float" else sample


def message(function, *arguments):
    with pytest.raises(RuntimeFault) as caught:
        function(*arguments)
    return caught.value.message


def same_float(left, right):
    return left.__class__ is right.__class__ and repr(left) == repr(right)


# --- + ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("a", "b", "ab"),
        ("a", 1, "a1"),
        (1, "a", "1a"),
        ("n=", 1.0, "n=1.0"),
        ("x", HUGE, "x1" + "0" * 400),
        ("a", dec("1.50"), "a1.50"),
        (dec("2"), "d", "2d"),
        ("a", TRUE, "atrue"),
        (FALSE, "a", "falsea"),
        ("a", 1 + 2j, "a1+2i"),
        (b"\x01", b"\x02", b"\x01\x02"),
        ([1], [[2]], [1, [2]]),
        (1, 2, 3),
        (1, 0.5, 1.5),
        (dec("1.50"), 1, dec("2.50")),
        (1, 2j, 1 + 2j),
    ],
)
def test_add(left, right, result):
    assert op.add(left, right) == result
    assert op.add(left, right).__class__ is result.__class__


def test_adding_lists_makes_a_new_one():
    left, right = [1], [2]
    assert op.add(left, right) == [1, 2]
    assert (left, right) == ([1], [2])


@pytest.mark.parametrize("kind", ["nothing", "list", "map", "bytes", "task"])
def test_text_refuses_to_join_what_has_no_plain_text(kind):
    advice = "convert it on purpose: text(x), or interpolate it: `...{x}`"
    if kind == "bytes":
        advice += ' (for bytes: hex(b) or decode(b, "utf8"))'
    assert message(op.add, "a", SAMPLES[kind]) == f"Cannot add text and {kind} — {advice}"
    assert message(op.add, SAMPLES[kind], "a") == f"Cannot add {kind} and text — {advice}"


def test_secrets_join_anything():
    for sample in SAMPLES.values():
        for joined in (op.add(Secret("x", ("K",)), sample), op.add(sample, Secret("x", ("K",)))):
            assert isinstance(joined, Secret)
            assert joined.names[0] == "K"


# --- what has no meaning ----------------------------------------------------------------------------------------------------

ARITHMETIC = {"+": op.add, "-": op.sub, "*": op.mul, "/": op.div, "//": op.floordiv, "%": op.mod, "**": op.power}
ORDER = {"<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge}
REAL = {"number", "float", "decimal"}


def has_meaning(sign, left, right):
    if sign == "+" and ("secret" in (left, right) or "text" in (left, right)):
        return True
    if sign == "+" and left == right and left in ("list", "bytes"):
        return True
    if sign in ORDER:
        return (left in REAL and right in REAL) or left == right == "text"
    if left in REAL and right in REAL:
        return True
    return "complex" in (left, right) and {left, right} <= {"complex", "number", "float"} and sign not in ("//", "%")


@pytest.mark.parametrize("sign", [*ARITHMETIC, *ORDER])
def test_every_pair_without_a_meaning_names_both_types(sign):
    function = {**ARITHMETIC, **ORDER}[sign]
    refused = 0
    for left, left_value in SAMPLES.items():
        for right, right_value in SAMPLES.items():
            if has_meaning(sign, left, right):
                continue
            refused += 1
            text, _, hint = message(function, left_value, right_value).partition(" — ")
            assert text == f"Unsupported operation: {name_of(left)} {sign} {name_of(right)}"
            assert bool(hint) == ((left, sign) == ("text", "%"))
    assert refused > 80


@pytest.mark.parametrize("sign", [*ARITHMETIC, *ORDER])
@pytest.mark.parametrize("pair", [(dec("1.5"), 1.5), (1.5, dec("1.5")), (dec("1"), NAN), (INF, dec("1"))])
def test_decimals_and_floats_never_mix(sign, pair):
    function = {**ARITHMETIC, **ORDER}[sign]
    assert message(function, *pair) == "cannot mix decimal and float; convert with float(x) or decimal(...)"


# --- numbers ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "left", "right", "result"),
    [
        (op.div, 10, 2, 5.0),
        (op.div, 7, 2, 3.5),
        (op.div, 10**400, 10**399, 10.0),
        (op.div, 10**400, 1, INF),
        (op.div, -(10**400), 1, -INF),
        (op.div, 10**400, -3, -INF),
        (op.div, 10**400, 2.0, INF),
        (op.div, 1.0, 10**400, 0.0),
        (op.div, 2**1074, 2**2148, 5e-324),
        (op.add, HUGE, 1.5, INF),
        (op.sub, 1.5, HUGE, -INF),
        (op.sub, INF, HUGE, NAN),
        (op.mul, HUGE, -1.5, -INF),
        (op.mul, 1e308, 10, INF),
        (op.add, HUGE, 1j, complex(INF, 1)),
        (op.sub, 1j, HUGE, complex(-INF, 1)),
        (op.div, 1j, HUGE, 0j),
        (op.floordiv, -7, 2, -4),
        (op.floordiv, 7.5, 2, 3.0),
        (op.floordiv, 7, 0.1, 69.0),
        (op.floordiv, 10**20, 3, 33333333333333333333),
        (op.mod, -7, 3, 2),
        (op.mod, 7, -3, -2),
        (op.mod, 7, 0.1, 0.09999999999999962),
        (op.mod, -5, INF, INF),
        (op.mod, 2.5, HUGE, 2.5),
        (op.power, 2, 10, 1024),
        (op.power, 2, -1, 0.5),
        (op.power, 0, 0, 1),
        (op.power, 0.0, 0, 1.0),
        (op.power, 2.0, 10_000, INF),
        (op.power, -2.0, 10_001, -INF),
        (op.power, -2.0, 10_000, INF),
        (op.power, 10, 400.5, INF),
        (op.power, HUGE, 0.5, INF),
        (op.power, HUGE, -1, 0.0),
        (op.power, 2, -HUGE, 0.0),
        (op.power, -8, 1 / 3, NAN),
        (op.power, -8.0, 0.5, NAN),
        (op.power, -INF, 3, -INF),
        (op.power, NAN, 0, 1.0),
        (op.power, 1, HUGE, 1),
        (op.power, -1, HUGE, 1),
        (op.power, -1, HUGE + 1, -1),
        (op.power, 0, HUGE, 0),
        (op.power, -1, 0, 1),
        (op.power, -3, 3, -27),
    ],
)
def test_numbers(function, left, right, result):
    assert same_float(function(left, right), result)


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, dec("0.00")])
def test_division_by_any_zero(zero):
    for left in (1, 0, dec("1")) if op.is_decimal(zero) else (1, 0, 2.5, HUGE):
        assert message(op.div, left, zero) == "Division by zero"
        assert message(op.floordiv, left, zero) == "Division by zero"
        assert message(op.mod, left, zero) == "Modulo by zero"
    assert message(op.div, 1j, 0) == "Division by zero"


@pytest.mark.parametrize(
    ("base", "exponent"), [(0, -1), (0.0, -1), (0, -0.5), (-0.0, -3), (dec("0"), -1), (0j, -1), (0.0, -INF)]
)
def test_zero_to_a_negative_power(base, exponent):
    assert message(op.power, base, exponent) == "Zero cannot be raised to a negative power"


def test_powers_end_at_ten_million_bits():
    assert op.power(2, 9_999_999).bit_length() == 10_000_000
    assert op.power(-2, 9_999_999).bit_length() == 10_000_000
    for base, exponent in ((2, 10_000_000), (-2, 10_000_000), (3, 6_400_000), (7, 10**100), (2**9_999_999, 2)):
        assert message(op.power, base, exponent) == "number too large"


@given(st.integers(), st.integers())
def test_floor_division_and_modulo_of_integers_fit_together(a, b):
    assume(b != 0)
    assert a == b * op.floordiv(a, b) + op.mod(a, b)
    assert op.mod(a, b) == 0 or (op.mod(a, b) > 0) == (b > 0)


@given(st.integers(-(10**700), 10**700), st.integers(1, 10**700))
def test_quotients_of_integers_are_correctly_rounded(a, b):
    from fractions import Fraction

    quotient = op.div(a, b)
    if math.isinf(quotient):
        assert abs(a) > abs(b) * 2**1023
        return
    exact = Fraction(a, b)
    for neighbour in (math.nextafter(quotient, INF), math.nextafter(quotient, -INF)):
        if not math.isinf(neighbour):
            assert abs(exact - Fraction(quotient)) <= abs(exact - Fraction(neighbour))


def test_negate():
    assert op.negate(3) == -3
    assert same_float(op.negate(0.0), -0.0)
    assert op.negate(dec("1.50")).display() == "-1.50"
    assert op.negate(1 + 2j) == -1 - 2j
    for kind, value in SAMPLES.items():
        if kind not in REAL | {"complex"}:
            assert message(op.negate, value) == f"Cannot negate {kind}"


# --- order ------------------------------------------------------------------------------------------------------------------


def test_order():
    assert op.lt(1, 1.5)
    assert op.lt("B", "a")
    assert op.lt("z", "é")
    assert op.gt(2**53 + 1, 9007199254740992.0)
    assert op.ge(dec("1.50"), 1)
    assert op.le(1, dec("1.00"))
    assert op.gt(HUGE, 1.7e308)
    assert op.lt(HUGE, INF)
    for function in ORDER.values():
        assert function(NAN, 1) is False
        assert function(1, NAN) is False
        assert function(1, 2) in (True, False)


# --- equality ---------------------------------------------------------------------------------------------------------------

MIXED = "cannot mix decimal and float; convert with float(x) or decimal(...)"


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (5, dec("5.00"), True),
        (dec("1.5"), dec("1.50"), True),
        (dec("1"), NAN, False),
        (NAN, NAN, False),
        ([NAN], [NAN], False),
        (2**53 + 1, 9007199254740992.0, False),
        (HUGE, INF, False),
        (TRUE, 1, True),
        (0.0, FALSE, True),
        (TRUE, dec("1.0"), True),
        (TRUE, 2, False),
        (TRUE, "true", False),
        (1, "1", False),
        (None, None, True),
        (None, 0, False),
        (None, FALSE, False),
        (b"a", "a", False),
        (b"a", b"a", True),
        (a_task, a_task, False),
        ([a_task], [a_task], False),
        ([1, [2, {"a": 3}]], [1.0, [2, {"a": 3}]], True),
        ([1], [1, 2], False),
        ([1, 2], [2, 1], False),
        ({"x": 1, "y": 2}, {"y": 2, "x": 1}, True),
        ({"x": 1}, {"y": 1}, False),
        ({"x": 1}, {"x": 1, "y": 2}, False),
        ([], {}, False),
        ({}, [], False),
        (Secret("k", ("A",)), "k", True),
        ("k", Secret("k", ("A",)), True),
        (Secret("k", ("A",)), b"k", False),
        ([Secret("k", ("A",))], [Secret("k", ("B",))], True),
        (1 + 0j, 1, True),
        (1 + 1j, 1, False),
        ([dec("1"), "a"], [1.0, "b"], False),
        (["a", dec("1")], ["a", 1.0, 3], False),
        ([dec("1")], [1], True),
        ({"a": dec("1"), "b": 1}, {"a": 1.0, "b": 2}, False),
        ({"a": dec("1"), "b": 1}, {"a": 1.0, "c": 1}, False),
        ([[dec("1")], 1], [[1.0], 2], False),
        ([dec("1")], [NAN], False),
    ],
)
def test_equality(left, right, equal):
    assert op.eq(left, right) is equal
    assert op.eq(right, left) is equal
    assert op.ne(left, right) is not equal
    assert op.same(left, right) is equal


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (dec("1.5"), 1.5),
        (dec("1"), 2.0),
        (dec("1"), INF),
        ([dec("1")], [1.0]),
        ([dec("1"), "a"], [1.0, "a"]),
        ({"a": [1, dec("1")]}, {"a": [1.0, 5.0]}),
    ],
)
def test_only_a_decimal_against_a_float_is_in_doubt(left, right):
    for function in (op.eq, op.ne):
        assert message(function, left, right) == MIXED
        assert message(function, right, left) == MIXED
    assert op.same(left, right) is False
    assert op.same(right, left) is False


def test_modules_compare_as_maps():
    module = Module("m.lang", lambda name: False)
    module.export("n", CellType(1), fixed=True)
    assert op.eq(module, {"n": 1.0})
    assert op.eq({"n": 1}, module)
    assert op.eq([module], [module])
    assert not op.eq(module, [1])
    assert not op.eq(module, a_task)


scalars = st.none() | st.integers() | st.text(max_size=3) | st.sampled_from([TRUE, FALSE]) | st.floats() | st.binary(max_size=2)
data = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3), max_leaves=8
)


def holds_nan(value):
    if isinstance(value, list):
        return any(map(holds_nan, value))
    if isinstance(value, dict):
        return any(map(holds_nan, value.values()))
    return isinstance(value, float) and math.isnan(value)


@given(data, data)
def test_equality_is_symmetric_and_reflexive_but_for_nan(left, right):
    assert op.eq(left, right) is op.eq(right, left)
    assert op.eq(left, left) is not holds_nan(left)


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"k": v}])
def test_too_deep_values_are_an_error_and_no_crash(wrap):
    left = right = 1
    for _ in range(50_000):
        left, right = wrap(left), wrap(right)
    with pytest.raises(RecursionError):
        op.eq(left, right)
    with pytest.raises(RecursionError):
        op.contains([left], right)


# --- in ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("container", "item", "found"),
    [
        ([1, 2], 2.0, True),
        ([1, 2], 3, False),
        ([[1], {"a": 1}], {"a": 1.0}, True),
        ([NAN], NAN, False),
        ([a_task], a_task, False),
        ([1.0, dec("1")], dec("1"), True),
        (["x", 1], TRUE, True),
        ({"k": 1, "1": 2, "true": 3}, "k", True),
        ({"k": 1, "1": 2, "true": 3}, 1, True),
        ({"k": 1, "1": 2, "true": 3}, 1.0, False),
        ({"k": 1, "1": 2, "true": 3}, TRUE, True),
        ({"k": 1}, None, False),
        ({"nothing": 1}, None, True),
        ("abc", "bc", True),
        ("abc", "", True),
        ("abc", "x", False),
        (b"abc", b"bc", True),
        (b"abc", 97, True),
        (b"abc", 0, False),
    ],
)
def test_contains(container, item, found):
    assert op.contains(container, item) is found


def test_contains_refuses():
    piece = "`in` on text looks for a piece of text, got number — convert it first: text(x) in s"
    assert message(op.contains, "a1", 1) == piece
    assert message(op.contains, "a", Secret("a", ("K",))).startswith("`in` on text looks for a piece of text, got secret")
    assert message(op.contains, 5, 1) == "`in` needs a list, map, text or bytes on its right, got number"
    assert message(op.contains, None, 1) == "`in` needs a list, map, text or bytes on its right, got nothing"
    assert message(op.contains, {}, Secret("a", ("K",))) == "a secret cannot be a map key"
    assert message(op.contains, [dec("1"), "x"], 1.0) == MIXED
    assert "256" in message(op.contains, b"a", 256)
    assert "text" in message(op.contains, b"a", "a")


# --- truth ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [None, FALSE, 0, 0.0, -0.0, dec("0.00"), "", [], {}, b"", 0j, Secret("", ("K",)), Module("m", lambda n: False)]
)
def test_what_is_false(value):
    assert op.truthy(value) is False


@pytest.mark.parametrize("value", [TRUE, 1, NAN, -1, dec("0.01"), " ", [0], {"": 0}, b"\0", 1j, a_task, Secret("x", ("K",))])
def test_what_is_true(value):
    assert op.truthy(value) is True


# --- reads ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "position", "result"),
    [
        ([1, 2, 3], 0, 1),
        ([1, 2, 3], -1, 3),
        ([1, 2, 3], 2.0, 3),
        ([1, 2, 3], dec("1.0"), 2),
        ("héllo", 1, "é"),
        ("ñ😀", -1, "😀"),
        (b"\x00\xff", 1, 255),
        ({"1": "a"}, 1, "a"),
        ({"k": None}, "k", None),
        ({"true": 1}, TRUE, 1),
        ({"[1]": 1}, [1], 1),
    ],
)
def test_index(value, position, result):
    assert op.index(value, position) == result


@pytest.mark.parametrize(
    ("value", "position", "text"),
    [
        ([1], 5, "Index 5 out of bounds (list length 1)"),
        ([], -1, "Index -1 out of bounds (list length 0)"),
        ([1], 3.0, "Index 3 out of bounds (list length 1)"),
        ("ab", 2, "Index 2 out of bounds (text length 2)"),
        (b"ab", -3, "Index -3 out of bounds (bytes length 2)"),
        ({"a": 1}, "b", "Map has no key 'b'"),
        ({"1": 1}, 1.0, "Map has no key '1.0'"),
        ({}, Secret("x", ("K",)), "a secret cannot be a map key"),
        (None, 0, "Cannot index into nothing"),
        (5, 0, "Cannot index into number"),
        (Secret("x", ("K",)), 0, "Cannot index into secret"),
    ],
)
def test_index_errors(value, position, text):
    assert message(op.index, value, position) == text


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (1.7, "index must be an integer, got 1.7 — use floor(x), round(x) or trunc(x) on purpose"),
        (INF, "index must be an integer, got inf — use floor(x), round(x) or trunc(x) on purpose"),
        (NAN, "index must be an integer, got nan — use floor(x), round(x) or trunc(x) on purpose"),
        (dec("1.70"), "index must be an integer, got 1.70 — use floor(x), round(x) or trunc(x) on purpose"),
        ("0", "an index must be an integer, got text"),
        (TRUE, "an index must be an integer, got bool"),
        (None, "an index must be an integer, got nothing"),
        (2**63, "number too large for an index"),
        (1e300, "number too large for an index"),
        (dec("1e100"), "number too large for an index"),
    ],
)
def test_index_type_errors_have_no_place(position, text):
    assert message(op.to_index, position) == text
    assert message(op.index, [1, 2], position) == text


def test_field():
    assert op.field({"a": 1}, "a") == 1
    assert message(op.field, {"a": 1}, "b") == "Map has no key 'b'"
    for kind in ("list", "text", "bytes", "nothing", "task", "secret", "number"):
        assert message(op.field, SAMPLES[kind], "k") == f"Cannot access property 'k' of {kind}"


def test_reads_of_methods_get_a_hint():
    assert message(op.field, [1], "append").startswith("Cannot access property 'append' of list — ")
    assert message(op.field, {}, "get").startswith("Map has no key 'get' — ")
    assert message(op.index, {}, "get").startswith("Map has no key 'get' — ")


def test_reads_of_a_module():
    module = Module("m.lang", lambda name: name == "hidden")
    module.export("n", CellType(1), fixed=False)
    assert op.field(module, "n") == op.index(module, "n") == 1
    hidden = message(op.field, module, "hidden")
    assert hidden.startswith("the module has no export 'hidden' — it is defined inside the module but not exported")
    assert "export task hidden" in hidden
    assert message(op.index, module, "hidden") == "Map has no key 'hidden'"
    assert message(op.field, module, "other") == "Map has no key 'other'"
