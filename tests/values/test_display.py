"""Display forms: what print, text(x) and templates show."""

from __future__ import annotations

import json
from types import CellType, MethodType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.errors import InternalError, RuntimeFault
from language.registry import Family
from language.values import FALSE, TRUE, Module, Secret
from language.values.decimals import parse
from language.values.display import display, key_text, number_text, quote, raw_text

family = Family("sample", "Sample")


@family.builtin("measure(x)")
def measure_(x):
    return x


@family.builtin("emit(x)", context=True)
def emit_(ctx, x):
    return x


def named(function, name):
    function.__code__ = function.__code__.replace(co_name=name)
    return function


def area(w, h, unit="m"):
    for total in (w, h):
        w += total
    return w


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("text é\n", "text é\n"),
        (42, "42"),
        (-7, "-7"),
        (5.0, "5.0"),
        (1e16, "1e+16"),
        (1e15, "1000000000000000.0"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (2.0**100, "1.2676506002282294e+30"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
        (-0.0, "-0.0"),
        (parse("1.50"), "1.50"),
        (parse("100"), "100"),
        (parse("0.0000000001"), "0.0000000001"),
        (TRUE, "true"),
        (FALSE, "false"),
        (None, "nothing"),
        ([], "[]"),
        ({}, "{}"),
        ([1, "a", None], '[1, "a", nothing]'),
        ({"k": 1, "k2": "v"}, '{k: 1, k2: "v"}'),
        ({"a b": {"": []}, 'q"': "x"}, '{a b: {: []}, q": "x"}'),
        (["1", 1, {"a": 'say "hi"\n'}], '["1", 1, {a: "say \\"hi\\"\\n"}]'),
        (b"\x00\xff", "bytes(00ff)"),
        (b"", "bytes()"),
        (bytes(32), "bytes(" + "00" * 32 + ")"),
        (bytes(33), "bytes(" + "00" * 32 + "… (33 bytes))"),
        (Secret("x", ("API_KEY", "B")), "secret(API_KEY)"),
        ([Secret("x", ("K",)), b"\x00\xff"], "[secret(K), bytes(00ff)]"),
        (3 + 2j, "3+2i"),
        (1.5 - 2j, "1.5-2i"),
    ],
)
def test_display(value, shown):
    assert display(value) == shown


def test_tasks_and_builtins():
    assert display(area) == "task area(w, h, unit)"
    assert display(named(lambda x: x, "<lambda>")) == "task <lambda>(x)"
    assert display([measure_]) == "[builtin:measure]"
    assert display(MethodType(emit_, object())) == "builtin:emit"
    assert display(named(lambda x, y: x, "type:Point@3:1")) == "builtin:Point"
    assert display(named(lambda x, y: x, "variant:Shape.rect@3:1")) == "builtin:Shape.rect"


def test_names_the_compiler_changed_are_shown_as_written():
    function = named(lambda x: x, "None·1")
    function.__code__ = function.__code__.replace(co_varnames=("True·2",))
    assert display(function) == "task None(True)"


def test_modules_show_as_maps():
    module = Module("geo.lang", lambda name: False)
    module.export("STATE", CellType({"n": 6}), fixed=False)
    module.export("name", CellType("x"), fixed=True)
    assert display(module) == '{STATE: {n: 6}, name: "x"}'
    assert display([module]) == '[{STATE: {n: 6}, name: "x"}]'


def test_a_python_object_that_is_no_value_is_a_defect_of_ours():
    for foreign in (True, {1}, (1, 2)):
        with pytest.raises(InternalError):
            display([foreign])


def test_integers_beyond_pythons_limit_on_digits():
    assert display(10**5000) == "1" + "0" * 5000
    assert display([-(10**5000)]) == "[-1" + "0" * 5000 + "]"


def test_quote_escapes_only_what_json_must():
    assert (
        quote('" \\ \n \r \t \b \f \x00 \x1f / é \x7f \u2028')
        == '"\\" \\\\ \\n \\r \\t \\b \\f \\u0000 \\u001f / é \x7f \u2028"'
    )


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_quoted_text_is_json(text):
    assert json.loads(quote(text)) == text


@given(st.floats(allow_nan=False))
def test_floats_read_back_equal(number):
    assert float(display(number)) == number
    assert "." in display(number) or "e" in display(number) or "inf" in display(number)


values = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([TRUE, FALSE]) | st.binary(max_size=3),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=3), children, max_size=4),
    max_leaves=12,
)


@given(values)
def test_containers_are_made_of_the_forms_of_their_parts(value):
    def inside(part):
        return quote(part) if isinstance(part, str) else display(part)

    if isinstance(value, list):
        assert display(value) == "[" + ", ".join(inside(part) for part in value) + "]"
    elif isinstance(value, dict):
        assert display(value) == "{" + ", ".join(f"{key}: {inside(part)}" for key, part in value.items()) + "}"
    else:
        assert display([value]) == f"[{inside(value)}]"


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"k": v}])
def test_too_deep_a_value_is_an_error_and_no_crash(wrap):
    value = []
    for _ in range(50_000):
        value = wrap(value)
    with pytest.raises(RecursionError):
        display(value)


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        ("x", "x"),
        (1, "1"),
        (1.0, "1.0"),
        (parse("1.50"), "1.50"),
        (TRUE, "True"),
        (FALSE, "False"),
        (None, "None"),
        ([None, TRUE], "[nothing, true]"),
        (Secret("x", ("K",)), "secret(K)"),
    ],
)
def test_raw_text(value, raw):
    assert raw_text(value) == raw


def test_key_text():
    assert key_text("a") == "a"
    assert key_text(1) == "1"
    assert key_text(1.0) == "1.0"
    assert key_text(None) == "nothing"
    assert key_text(TRUE) == "true"
    assert key_text([1, "a"]) == '[1, "a"]'
    with pytest.raises(RuntimeFault) as caught:
        key_text(Secret("x", ("K",)))
    assert caught.value.message == "a secret cannot be a map key"


def test_number_text():
    assert [number_text(n) for n in (1, 1.0, parse("1.0"), 1j)] == ["1", "1.0", "1.0", "0+1i"]
