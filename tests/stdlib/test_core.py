"""The core builtins, through their declarations."""

from __future__ import annotations

import math
from types import MethodType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language import Program
from language.capabilities import Ceiling
from language.errors import ExitProgram, InternalError, LimitExceeded, RuntimeFault
from language.host import EmbeddedHost
from language.registry import Family
from language.runtime.context import Context
from language.values import FALSE, TRUE, Module, Secret
from language.values.allowance import Allowance, set_memory_limit
from language.values.decimals import Dec
from language.values.decimals import parse as dec
from language.values.operators import same
from stdlib.core import family

SECRET = Secret("s3cret", ("KEY",))


def context(**options):
    return Context(EmbeddedHost(), collect=True, **options)


def run(name, *values, **named):
    builtin = family.builtins[name]
    if builtin.context:
        return builtin.function(context(), *values, **named)
    return builtin.function(*values, **named)


def fault(name, *values, **named):
    with pytest.raises(RuntimeFault) as caught:
        run(name, *values, **named)
    return caught.value.message


def a_task(a, b=None):
    return [a, b]


# --- output, input, the end -------------------------------------------------------------------------------------------------


def test_print_writes_display_forms_on_one_line():
    ctx = context()
    write = family.builtins["print"].function
    assert write(ctx, "n", 1, [TRUE, "a"], SECRET) is None
    write(ctx)
    write(ctx, "x")
    write(ctx, ["x"])
    assert ctx.collected == ['n 1 [true, "a"] secret(KEY)', "", "x", '["x"]']


def test_print_under_a_ceiling_needs_stdout():
    with pytest.raises(RuntimeFault):
        family.builtins["print"].function(context(ceiling=Ceiling.parse("time")), "x")


def test_eprint_is_never_output():
    ctx = context()
    assert family.builtins["eprint"].function(ctx, "x") is None
    assert ctx.collected == []


def test_exit():
    for code, ends_with in ((None, 0), (0, 0), (3, 3), (255, 255)):
        with pytest.raises(ExitProgram) as caught:
            run("exit", code)
        assert caught.value.code == ends_with
    assert "from 0 to 255" in fault("exit", 256)
    assert "from 0 to 255" in fault("exit", -1)
    assert "got text" in fault("exit", "1")
    assert "got bool" in fault("exit", TRUE)


def test_exit_does_not_end_a_server():
    with pytest.raises(RuntimeFault) as caught:
        family.builtins["exit"].function(context(mode="serve"), 0)
    assert "shutdown" in caught.value.message


def test_read_line_at_the_end_of_the_input():
    assert run("read_line") is None
    assert run("read_line", "name? ") is None
    with pytest.raises(RuntimeFault):
        family.builtins["read_line"].function(context(ceiling=Ceiling.parse("stdout")))


def test_args_is_a_copy():
    ctx = context(arguments=("a", "b"))
    found = family.builtins["args"].function(ctx)
    assert found == ["a", "b"]
    found.append("c")
    assert ctx.arguments == ["a", "b"]


def test_flush_gives_nothing():
    assert run("flush") is None


# --- what a value is --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "length"), [("ñ😀", 2), ("", 0), ([1, [2]], 2), ({"a": 1}, 1), (b"\x00\x01", 2)])
def test_length(value, length):
    assert run("length", value) == length


def test_length_refuses():
    for value, kind in ((5, "number"), (None, "nothing"), (TRUE, "bool"), (SECRET, "secret"), (a_task, "task")):
        assert fault("length", value) == f"Cannot get length of {kind}"
    assert run("length", Module("m", lambda name: False)) == 0


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("is_integer", [1, 10**30], [1.0, dec("1"), TRUE, "1"]),
        ("is_text", ["", "a"], [1, SECRET, b"a"]),
        ("is_list", [[]], [{}, "a"]),
        ("is_map", [{}, Module("m", lambda name: False)], [[], None]),
        ("is_decimal", [dec("1")], [1, 1.0]),
        ("is_bytes", [b""], ["", SECRET]),
        ("is_complex", [1j], [1, 1.0]),
        ("is_array", [], [[1], b"a", None]),
    ],
)
def test_is(name, yes, no):
    for value in yes:
        assert run(name, value) is TRUE
    for value in no:
        assert run(name, value) is FALSE


def test_type_of_and_text():
    assert run("type_of", dec("1")) == "decimal"
    assert run("text", 42.0) == "42.0"
    assert run("text", ["a", None]) == '["a", nothing]'
    assert run("text", SECRET) == "secret(KEY)"


def test_constants():
    assert family.constants["pi"] == math.pi
    assert family.constants["tau"] == math.tau
    assert family.constants["e"] == math.e
    assert family.constants["inf"] == math.inf
    assert math.isnan(family.constants["nan"])


# --- conversions ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (42, 42.0),
        (TRUE, 1.0),
        (FALSE, 0.0),
        ("42", 42.0),
        (" 1e3 ", 1000.0),
        ("\u00a0\u3000-1_000.5\u2028", -1000.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("+7", 7.0),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
        ("1e999", math.inf),
        (10**400, math.inf),
        (dec("1.50"), 1.5),
        ("9007199254740992", 2.0**53),
        ("000009007199254740992", 2.0**53),
        ("12345678901234567890.0", 12345678901234567890.0),
    ],
)
@pytest.mark.parametrize("name", ["number", "float"])
def test_to_float(name, value, result):
    found = run(name, value)
    assert found.__class__ is float
    assert found == result


def test_nan_is_read_too():
    assert math.isnan(run("number", "nan"))
    assert math.isnan(run("float", " NaN "))


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "0x10",
        "1__0",
        "1_",
        "_1",
        "1e",
        "1e_3",
        "١٢",
        "1 2",
        "--1",
        "infinit",
        "++inf",
        ".",
        "1\x1c",
        "e5",
        "1,5",
        "nan1",
    ],
)
def test_texts_that_are_no_numbers(value):
    assert fault("number", value) == f"Cannot convert {value} to number"
    assert fault("float", value) == f"Cannot convert {value} to float"
    assert run("number", value, None) is None
    assert run("float", value, "fallback") == "fallback"
    assert fault("decimal", value) == f"Cannot parse {value} as a decimal"


@pytest.mark.parametrize(
    ("value", "shown", "kind"), [(None, "nothing", "nothing"), ([1], "[1]", "list"), (SECRET, "secret(KEY)", "secret")]
)
def test_values_that_are_no_numbers(value, shown, kind):
    assert fault("number", value) == f"Cannot convert {shown} to number"
    assert fault("float", value) == f"Cannot convert {kind} to float"
    assert fault("decimal", value) == f"Cannot convert {kind} to a decimal"
    assert fault("int", value) == f'Cannot convert "{shown}" to an integer'
    for name in ("number", "float", "decimal", "int"):
        assert run(name, value, -1) == -1


def test_number_refuses_to_lose_digits():
    for text in ("9007199254740993", "-9007199254740993", "12_345_678_901_234_567_890"):
        assert fault("number", text) == (
            f'number("{text}") would lose digits: a float is exact only up to 2^53. Use int(x) for an exact integer'
        )
        assert run("number", text, 0) == 0
    assert "4300" in fault("number", "1" * 5000)


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (5, 5),
        (3.0, 3),
        (1e22, 10**22),
        (dec("2.00"), 2),
        ("42", 42),
        (" -1_000 ", -1000),
        ("+7", 7),
        ("-0x10", -16),
        ("0XfF", 255),
        ("0o17", 15),
        ("0b101", 5),
        ("007", 7),
        ("9" * 4300, 10**4300 - 1),
        ("0" * 5000 + "1", 1),
    ],
)
def test_int(value, result):
    found = run("int", value)
    assert found.__class__ is int
    assert found == result


@pytest.mark.parametrize(
    "value", ["", "x", "1.0", "1e3", "0x", "0xg", "1__0", "_1", "0x__ff", "0x_", "- 1", "١", "--1", "0b2", "ff", TRUE]
)
def test_int_refuses(value):
    assert fault("int", value).startswith('Cannot convert "')
    assert fault("int", value).endswith('" to an integer')
    assert run("int", value, None) is None
    assert run("int", value, fallback="none") == "none"


def test_int_of_a_fraction_asks_for_a_rounding():
    for value, shown in ((1.5, "1.5"), (dec("1.50"), "1.50"), (math.inf, "inf"), (math.nan, "nan")):
        assert fault("int", value) == (
            f"int({shown}): not a whole number — round it on purpose first: floor(x), round(x) or trunc(x)"
        )
        assert run("int", value, 0) == 0


def test_int_of_too_many_digits():
    assert "4300" in fault("int", "1" * 4301)
    assert run("int", "1" * 4301, nothing := None) is nothing


def test_int_with_a_base():
    assert run("int", "ff", base=16) == 255
    assert run("int", "-0xFF", base=16) == -255
    assert run("int", "zz", base=36) == 35 * 37
    assert run("int", "0b1", base=16) == 0xB1
    assert run("int", "1_0", base=2) == 2
    assert run("int", "12", base=2, fallback=None) is None
    assert run("int", 5, base=2, fallback="no") == "no"
    assert run("int", "zz", 7, base=16) == 7
    assert fault("int", "12", base=2) == 'Cannot convert "12" to an integer'
    assert "got number" in fault("int", 255, base=16)
    for base in (1, 37, "16", 2.0):
        assert "from 2 to 36" in fault("int", "1", base=base)
        assert "from 2 to 36" in fault("int", "1", base=base, fallback=0)


def test_a_base_in_the_place_of_the_fallback():
    for second in (2, 16, 36):
        text = fault("int", "ff", second)
        assert text.startswith(f"int(x, {second}): the second argument is the fallback value, not the base — ")
        assert "base =" in text
        assert "fallback =" in text
    for fallback in (0, 1, 37, -1):
        assert run("int", "x", fallback) == fallback
    assert run("int", "x", fallback=16) == 16
    assert fault("int", "x", 1, fallback=2) == "duplicate argument 'fallback'"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("1.50", "1.50"),
        (" 1.5e-3 ", "0.0015"),
        ("1.50e1", "15.0"),
        ("1_000", "1000"),
        (10**30, "1" + "0" * 30),
        (-7, "-7"),
        (dec("2.00"), "2.00"),
    ],
)
def test_decimal(value, shown):
    found = run("decimal", value)
    assert isinstance(found, Dec)
    assert found.display() == shown


def test_decimal_refuses():
    assert fault("decimal", 1.5) == (
        'decimal(float) is not exact; use a string, e.g. decimal("1.50"), to avoid float imprecision'
    )
    assert fault("decimal", TRUE) == "Cannot convert bool to a decimal"
    assert fault("decimal", "inf") == "Cannot parse inf as a decimal"
    too_long = 'Cannot convert "1e999999999" to a decimal: it has more than 4300 digits'
    assert fault("decimal", "1e999999999") == too_long
    assert fault("decimal", 10**1_000_000) == "number too large"
    assert run("decimal", 1.5, None) is None
    assert run("decimal", "1e999999999", 0) == 0


def test_hex():
    assert run("hex", 0) == "0x0"
    assert run("hex", 7960) == "0x1f18"
    assert run("hex", bytes([0, 255])) == "0x00ff"
    assert run("hex", b"") == "0x"
    assert len(run("hex", 16**5000)) == 5003
    assert fault("hex", -1) == "hex(-1): negative numbers have no hex quantity form"
    assert fault("hex", 1.5).startswith("hex() takes an integer or bytes, got")
    assert fault("hex", "ff") == "hex() takes an integer or bytes, got text"


# --- lists and maps ---------------------------------------------------------------------------------------------------------


def test_results_are_new_values():
    xs, m = [1, 2], {"a": 1}
    for result in (
        run("append", xs, 3),
        run("insert", xs, 0, 3),
        run("reverse", xs),
        run("slice", xs),
        run("remove", m, "z"),
        run("merge", m, {}),
        run("keys", m),
        run("values", m),
    ):
        result.clear()
    assert xs == [1, 2]
    assert m == {"a": 1}


def test_append():
    assert run("append", [1], [2]) == [1, [2]]
    assert fault("append", "a", 1) == "First argument to append must be a list"


@pytest.mark.parametrize(
    ("items", "place", "result"),
    [
        ([1, 3], 1, [1, 9, 3]),
        ([1], -1, [9, 1]),
        ([1], 1, [1, 9]),
        ([], 0, [9]),
        ([1, 2], -2, [9, 1, 2]),
        ([1, 2], 1.0, [1, 9, 2]),
    ],
)
def test_insert(items, place, result):
    assert run("insert", items, place, 9) == result


def test_insert_refuses():
    assert fault("insert", [1, 2], 3, 0) == "insert(): position 3 out of range for a list of length 2 (valid: -2..2)"
    assert fault("insert", [1, 2], -3, 0) == "insert(): position -3 out of range for a list of length 2 (valid: -2..2)"
    assert fault("insert", [1], 0.5, 0).startswith("index must be an integer, got 0.5")
    assert "got map" in fault("insert", {}, 0, 0)


def test_get():
    assert run("get", {"a": 1}, "a") == 1
    assert run("get", {"a": 1}, "z") is None
    assert run("get", {"a": 1}, "z", 0) == 0
    assert run("get", {"a": None}, "a", 0) is None
    assert run("get", {"1": "x"}, 1) == "x"
    assert run("get", [1, 2], -1) == 2
    assert run("get", [1, 2], 2, "none") == "none"
    assert run("get", [1, 2], 1.0) == 2
    assert fault("get", [1], "a") == "an index must be an integer, got text"
    assert fault("get", "abc", 0) == "get() reads a map or a list, got text"
    assert fault("get", {}, SECRET) == "a secret cannot be a map key"


def test_maps():
    assert run("remove", {"a": 1, "b": 2}, "a") == {"b": 2}
    assert run("remove", {"1": 1}, 1) == {}
    assert fault("remove", [1], 0) == "remove() takes a map, got list"
    merged = run("merge", {"a": 1, "b": 2}, {"b": 3}, {"c": 4, "a": 5})
    assert list(merged.items()) == [("a", 5), ("b", 3), ("c", 4)]
    assert fault("merge", {}, [1]) == "merge(): argument 2 is list, not a map"
    assert fault("merge", None, {}) == "merge(): argument 1 is nothing, not a map"
    assert run("items", {"x": 1}) == [{"key": "x", "value": 1}]
    assert fault("items", []) == "items() takes a map, got list"
    assert run("keys", {"b": 1, "a": 2}) == ["b", "a"]
    assert fault("keys", "x") == "keys() requires a map, got text"
    assert run("values", {"b": 1, "a": 2}) == [1, 2]
    assert fault("values", "x") == "values() requires a map"
    assert run("enumerate", ["a"]) == [{"index": 0, "item": "a"}]
    assert fault("enumerate", {}) == "enumerate() requires a list, got map"


@pytest.mark.parametrize(
    ("container", "item", "found"),
    [
        ([1, [2]], [2.0], TRUE),
        ([math.nan], math.nan, FALSE),
        ("abc1", 1, TRUE),
        ("is True", TRUE, TRUE),
        ("None", None, TRUE),
        ("a", "", TRUE),
        ("secret(KEY)", SECRET, TRUE),
        ({"true": 1}, TRUE, TRUE),
        ({"nothing": 1}, None, TRUE),
        ({"1": 1}, 1.0, FALSE),
        (b"abc", b"", TRUE),
        (b"abc", 98, TRUE),
        (b"abc", 0, FALSE),
    ],
)
def test_contains(container, item, found):
    assert run("contains", container, item) is found


def test_contains_refuses():
    assert fault("contains", b"a", 256) == "contains(bytes, ...): expected bytes or an integer 0..=255, got number"
    assert fault("contains", b"a", "a") == "contains(bytes, ...): expected bytes or an integer 0..=255, got text"
    assert fault("contains", 5, 1) == "Cannot check containment in number"
    assert fault("contains", {}, SECRET) == "a secret cannot be a map key"
    assert fault("contains", [1.0], dec("1")) == (
        "contains: cannot mix decimal and float; convert with float(x) or decimal(...)"
    )


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        (("héllo", -3), "llo"),
        (("héllo", 1, 3), "él"),
        (([1, 2, 3], 1), [2, 3]),
        (([1, 2, 3], None, -1), [1, 2]),
        (([1, 2, 3], 5), []),
        (([1, 2, 3], 2, 1), []),
        (([1, 2, 3], -100, 100), [1, 2, 3]),
        ((b"abc", 1, None), b"bc"),
        (("abc", 1.0, dec("2.0")), "b"),
    ],
)
def test_slice(arguments, result):
    assert run("slice", *arguments) == result


def test_slice_refuses():
    assert fault("slice", {}, 1) == "Cannot slice map"
    assert fault("slice", "abc", 0.5).startswith("index must be an integer, got 0.5")
    assert fault("slice", "abc", 0, "1") == "an index must be an integer, got text"


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ((3,), [0, 1, 2]),
        ((1, 4), [1, 2, 3]),
        ((5, 0, -2), [5, 3, 1]),
        ((0,), []),
        ((2, 1), []),
        ((2.0,), [0, 1]),
        ((3, None), [0, 1, 2]),
    ],
)
def test_range(arguments, result):
    assert run("range", *arguments) == result


def test_range_refuses():
    assert fault("range", 0, 5, 0) == "range() arg 3 must not be zero"
    assert fault("range", 0, 2.5).startswith("index must be an integer, got 2.5")
    assert fault("range", "3") == "an index must be an integer, got text"
    assert family.builtins["range"].too_few == "range() takes 1-3 arguments"
    assert fault("range", 2**62) == "range(): the list does not fit into memory"
    set_memory_limit(Allowance(8_000_000))
    try:
        with pytest.raises(LimitExceeded):
            run("range", 1_000_001)
        assert len(run("range", 1_000_000)) == 1_000_000
    finally:
        set_memory_limit(None)


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(bool))
def test_range_is_an_arithmetic_series_without_its_end(start, end, step):
    numbers = run("range", start, end, step)
    assert numbers == [start + step * i for i in range(len(numbers))]
    assert all((start <= n < end) if step > 0 else (end < n <= start) for n in numbers)
    following = start + step * len(numbers)
    assert following >= end if step > 0 else following <= end


def test_reverse():
    assert run("reverse", [1, 2]) == [2, 1]
    assert run("reverse", "añb") == "bña"
    assert fault("reverse", {}).startswith("reverse expects a list, got map")


# --- errors, assertions, calls ----------------------------------------------------------------------------------------------


def test_raise():
    assert fault("raise", "why") == "why"
    assert fault("raise", {"code": 7, "why": "x"}) == '{code: 7, why: "x"}'
    assert fault("raise", None) == "nothing"
    assert fault("raise", SECRET) == "secret(KEY)"
    assert family.builtins["raise"].too_few == "raise expects a message"


def test_call():
    assert run("call", a_task, {"a": 1, "b": 2}) == [1, 2]
    assert run("call", a_task, {"b": 2, "a": 1}) == [1, 2]
    assert run("call", lambda: 7, None) == 7
    assert fault("call", a_task, [1]) == "call expects a map of named args, got list"
    assert fault("call", a_task, {"a": 1, "z": 2}) == "unknown parameter 'z'"
    assert fault("call", 5, None) == "Cannot call value of type number"


def test_assert():
    assert run("assert", 1) is None
    assert fault("assert", FALSE) == "assertion failed"
    assert fault("assert", [], "no items") == "no items"
    assert fault("assert", None, None) == "assertion failed"


def test_assert_eq():
    assert run("assert_eq", [1, {"a": 1.0}], [1.0, {"a": 1}]) is None
    assert fault("assert_eq", [2], ["2"], "sum") == 'sum: expected ["2"], got [2]'
    assert fault("assert_eq", "a", "b") == "expected b, got a"
    assert fault("assert_eq", dec("1.0"), 1.0) == "expected 1.0, got 1.0"
    assert fault("assert_eq", math.nan, math.nan) == "expected nan, got nan"


def test_assert_ne():
    assert run("assert_ne", 1, 2) is None
    assert run("assert_ne", dec("1"), 1.0) is None
    assert fault("assert_ne", 1, 1.0) == "expected values to differ, both 1"
    assert fault("assert_ne", "a", "a", "names") == "names: expected values to differ, both a"


def test_assert_error():
    def fails():
        raise RuntimeFault("x")

    assert run("assert_error", fails) is None
    assert fault("assert_error", lambda: 1) == "expected an error, but none was raised"
    assert fault("assert_error", 5) == "assert_error expects a task or lambda, got number"


def test_assert_error_lets_the_end_of_the_program_pass():
    def leaves():
        raise ExitProgram(3)

    with pytest.raises(ExitProgram):
        run("assert_error", leaves)


# --- the whole family -------------------------------------------------------------------------------------------------------


def test_every_builtin_of_the_chapter_is_there():
    assert isinstance(family, Family)
    assert " ".join(sorted(family.builtins)) == (
        "append args assert assert_eq assert_error assert_ne call contains decimal enumerate eprint exit float flush "
        "get hex insert int is_array is_bytes is_complex is_decimal is_integer is_list is_map is_text items keys length "
        "merge number print raise range read_line remove reverse shutdown slice steps text type_of values"
    )


@pytest.mark.parametrize("name", list(family.builtins))
def test_every_builtin_is_documented_and_callable_as_declared(name):
    builtin = family.builtins[name]
    assert len(builtin.doc) > 10
    code = builtin.function.__code__
    positional = code.co_argcount - builtin.context
    params = [param for param in builtin.params if not param.endswith("...")]
    assert positional == len(params)
    assert len(builtin.function.__defaults__ or ()) == len(params) - builtin.required
    assert bool(code.co_flags & 0x04) == (builtin.most is None)
    assert set(builtin.named) <= set(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])


LANGUAGE_KINDS = (int, float, str, bytes, list, dict, type(None), type(TRUE), Dec)


@pytest.mark.parametrize("name", [name for name, builtin in family.builtins.items() if name not in ("exit", "raise")])
@given(
    values=st.lists(
        st.sampled_from([1, -2, 2.5, "ab", TRUE, None, [1], {"a": 1}, b"x", dec("1.5"), SECRET, a_task]), max_size=3
    )
)
def test_any_arguments_give_a_value_or_an_error_of_the_language(name, values):
    builtin = family.builtins[name]
    if len(values) < builtin.required or (builtin.most is not None and len(values) > builtin.most):
        return
    function = MethodType(builtin.function, context()) if builtin.context else builtin.function
    try:
        result = function(*values)
    except RuntimeFault:
        return
    assert result is None or isinstance(result, LANGUAGE_KINDS) or result in values
    assert result is not True
    assert result is not False
    assert not isinstance(result, Dec) or same(result, result)


def outcome(source):
    return Program(source, filename="t.lang").run()


@pytest.mark.parametrize(
    "body", ["1 / 0", "1 + nothing", "{}.x", "[][0]", "zz", "raise(1)", "length(1)", "assert(false)", "length()"]
)
def test_assert_error_passes_on_every_error_of_a_program(body):
    assert outcome(f"assert_error(() => {body})\nprint(1)")["output"] == ["1"]


def test_assert_error_passes_on_endless_recursion():
    assert outcome("task f()\n    give f()\nassert_error(f)\nprint(1)")["output"] == ["1"]


def test_a_defect_of_the_interpreter_fails_no_assertion_quietly():
    def defect():
        raise AttributeError("x")

    with pytest.raises(InternalError):
        run("assert_error", defect)
