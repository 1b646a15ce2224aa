"""TOML text to maps and back."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from language.values.decimals import parse
from language.values.operators import eq
from stdlib.dates import parse_date, parse_datetime
from stdlib.toml_format import toml_encode, toml_parse


def encoded(value):
    return toml_encode(Context(NativeHost(), collect=True), value)


def some_task():
    return None


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


DOCUMENT = """\
# A comment
title = "x \\u00e9"
big = 9223372036854775808
hex = 0xff
ratio = 1.50
small = 1e-3
yes = true
flags = [true, [false]]
when = 1979-05-27T07:32:00Z
there = 1979-05-27T00:32:00.5-07:00
local = 1979-05-27 07:32:00
day = 1979-05-27
hour = 07:32:00
a.b.c = 1

[server]
port = 8080

[[users]]
name = "a"
[[users]]
name = 'b\\n'
"""


class TestParse:
    def test_a_document(self):
        value = toml_parse(DOCUMENT)
        assert value == {
            "title": "x é",
            "big": 9223372036854775808,
            "hex": 255,
            "ratio": 1.5,
            "small": 0.001,
            "yes": TRUE,
            "flags": [TRUE, [FALSE]],
            "when": parse_datetime("1979-05-27T07:32:00Z"),
            "there": parse_datetime("1979-05-27T00:32:00.5-07:00"),
            "local": parse_datetime("1979-05-27T07:32:00"),
            "day": parse_date("1979-05-27"),
            "hour": "07:32:00",
            "a": {"b": {"c": 1}},
            "server": {"port": 8080},
            "users": [{"name": "a"}, {"name": "b\\n"}],
        }
        assert value["yes"] is TRUE
        assert value["flags"][1][0] is FALSE

    def test_special_floats(self):
        value = toml_parse("a = inf\nb = -inf\nc = nan\nd = +inf")
        assert (value["a"], value["b"], value["d"]) == (math.inf, -math.inf, math.inf)
        assert math.isnan(value["c"])

    def test_small_texts(self):
        assert toml_parse("") == {}
        assert toml_parse("\ufeffa = 1\r\n") == {"a": 1}

    @pytest.mark.parametrize(
        "text", ["a", "a = ", "a = 1\na = 2", "[a]\n[a]", 'a = "\n"', "a = nothing", "= 1", "a = 1979-13-01", 'a = "\\ud800"']
    )
    def test_invalid_text(self, text):
        assert error_of(toml_parse, text).startswith("toml_parse: invalid TOML: ")
        assert toml_parse(text, None) is None
        assert toml_parse(text, 5) == 5

    def test_numbers_out_of_range(self):
        assert error_of(toml_parse, "a = 1e400") == "toml_parse: invalid TOML: 1e400 is out of range for a float"
        assert "4300 digits" in error_of(toml_parse, "a = " + "9" * 4301)

    def test_only_text(self):
        assert error_of(toml_parse, 5) == "toml_parse expects text, got number"
        assert toml_parse(5, "default") == "default"

    @pytest.mark.parametrize("depth", [129, 5000, 50_000])
    def test_deep_text_is_an_error(self, depth):
        deep = "toml_parse: invalid TOML: nested more than 128 levels deep"
        assert error_of(toml_parse, "a = " + "[" * depth + "]" * depth) == deep
        assert error_of(toml_parse, "a = " + "{a = " * depth + "1" + "}" * depth) == deep
        assert error_of(toml_parse, "a = " + "[" * depth).startswith("toml_parse: invalid TOML: ")
        for part in ("a", '"a.b"', "'a' ", ' "\\""'):
            key = ".".join([part] * depth)
            for text in (f"{key} = 1", f"[{key}]", f"a = {{{key} = 1}}"):
                assert error_of(toml_parse, text) == deep

    def test_what_only_looks_deep(self):
        dots = "a." * 300
        assert toml_parse("a = " + "[" * 100 + "]" * 100)
        assert toml_parse(".".join(["a"] * 128) + " = 1")
        assert toml_parse("a = [" + "1.5, " * 300 + "]") == {"a": [1.5] * 300}
        assert toml_parse("a.b = 1.5\n[x.y]\n" * 1) == {"a": {"b": 1.5}, "x": {"y": {}}}
        text = f'a = "{dots} \\" {dots}" # {dots}\nb = \'{dots}\'\nc = """{dots}\n" {dots}"""\nd = \'\'\'{dots}\' {dots}\'\'\''
        assert toml_parse(text) == {"a": f'{dots} " {dots}', "b": dots, "c": f'{dots}\n" {dots}', "d": f"{dots}' {dots}"}


class TestEncode:
    def test_a_document(self):
        value = {
            "users": [{"name": "a"}, {"name": "b", "tags": []}],
            "title": "x",
            "server": {"port": 8080, "tls": {"on": TRUE}, "mixed": [1, {"a b": 2.0}]},
            "only": {"inner": {}},
            "price": parse("1.50"),
        }
        assert encoded(value) == (
            'title = "x"\n'
            "price = 1.50\n"
            "\n[[users]]\n"
            'name = "a"\n'
            "\n[[users]]\n"
            'name = "b"\n'
            "tags = []\n"
            "\n[server]\n"
            "port = 8080\n"
            'mixed = [1, {"a b" = 2.0}]\n'
            "\n[server.tls]\n"
            "on = true\n"
            "\n[only.inner]\n"
        )

    def test_scalars(self):
        value = {
            "s": 'a"\\\n\x7fé',
            "i": -7,
            "f": 1e16,
            "n": math.inf,
            "b": b"\xfb\xff",
            "": 1,
            "é": 2,
            "a.b": 3,
            "d": parse("5"),
        }
        assert encoded(value) == (
            's = "a\\"\\\\\\n\\u007fé"\ni = -7\nf = 1e+16\nn = inf\nb = "+/8="\n"" = 1\n"é" = 2\n"a.b" = 3\nd = 5\n'
        )
        assert encoded({}) == ""

    def test_a_secret_is_redacted_with_a_warning(self, capfd):
        assert encoded({"k": Secret("hunter2", ("DEMO",))}) == 'k = "[redacted]"\n'
        shown = capfd.readouterr().err
        assert "DEMO" in shown
        assert "hunter2" not in shown

    def test_errors_name_the_place(self):
        assert error_of(encoded, [1]) == "toml_encode expects a map, got list"
        assert error_of(encoded, {"a": {"b": [1, None]}}) == (
            'toml_encode: the value["a"]["b"][1] is nothing, which TOML cannot write'
        )
        assert error_of(encoded, {"a": [{"f": some_task}]}) == 'toml_encode: the value["a"][0]["f"] is a task, not data'
        assert error_of(encoded, {"a": [1, {"f": some_task}]}) == 'toml_encode: the value["a"][1]["f"] is a task, not data'

    @pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"k": v}, lambda v: [1, {"k": v}]], ids=["list", "map", "mixed"])
    def test_very_deep_values_are_an_error(self, wrap):
        value = 1
        for _ in range(20_000):
            value = wrap(value)
        assert error_of(encoded, {"a": value}) == "toml_encode: the value is nested more than 128 levels deep"


VALUES = st.recursive(
    st.sampled_from([TRUE, FALSE]) | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_round_trip(value):
    assert eq(toml_parse(encoded(value)), value)
