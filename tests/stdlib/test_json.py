"""JSON and JSON lines."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from types import CellType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.registry import MISSING
from language.runtime.context import Context
from language.values import FALSE, TRUE, Module, Secret
from language.values.decimals import parse
from language.values.json_decoding import MOST_DEPTH, decode
from language.values.json_encoding import _Writer, encode
from stdlib.json_format import json_decode, json_encode, json_for_script, jsonl_decode, jsonl_encode


@pytest.fixture
def ctx():
    return Context(NativeHost(), collect=True)


def some_task(x):
    return x


def error_of(function, *values, **named):
    with pytest.raises(RuntimeFault) as caught:
        function(*values, **named)
    return caught.value.message


def nested(depth, innermost=1):
    value = innermost
    for _ in range(depth):
        value = [value]
    return value


def exact(value):
    """The text of the step-by-step path, whichever path ``encode`` takes."""
    writer = _Writer("json_encode", None, "the value")
    writer.write(value)
    return "".join(writer.out)


VALUES = st.recursive(
    st.none() | st.sampled_from([TRUE, FALSE]) | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=30,
)


class TestEncode:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (None, "null"),
            (TRUE, "true"),
            (FALSE, "false"),
            (42, "42"),
            (-7, "-7"),
            (1.0, "1.0"),
            (1e16, "1e+16"),
            (1e-05, "1e-05"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (math.nan, "NaN"),
            (math.inf, "Infinity"),
            (-math.inf, "-Infinity"),
            ("é", '"\\u00e9"'),
            ("😀", '"\\ud83d\\ude00"'),
            ("\x7f", '"\\u007f"'),
            ('"\\/\b\t\n\f\r\x00\x1f', '"\\"\\\\/\\b\\t\\n\\f\\r\\u0000\\u001f"'),
            (b"\xfb\xff", '"+/8="'),
            (parse("1.50"), "1.50"),
            (parse("-0.000000001"), "-0.000000001"),
            (complex(1, -2), '{"re": 1.0, "im": -2.0}'),
            ([], "[]"),
            ({}, "{}"),
            ([[], {}], "[[], {}]"),
            ({"b": 1, "a": [1, "x"]}, '{"b": 1, "a": [1, "x"]}'),
            ({"": None, "é": TRUE}, '{"": null, "\\u00e9": true}'),
            ([10**40, 2**64], f"[{10**40}, {2**64}]"),
            (Secret("p", ("K",)), '"[redacted]"'),
        ],
    )
    def test_forms(self, value, expected):
        assert encode(value) == expected
        assert exact(value) == expected
        assert encode([value]) == f"[{expected}]"
        assert encode({"k": value}) == f'{{"k": {expected}}}'

    def test_the_manuals_example(self, ctx):
        value = {"a": 1, "b": [TRUE, None, 1.5], "c": "é", "d": parse("1.50")}
        assert json_encode(ctx, value) == '{"a": 1, "b": [true, null, 1.5], "c": "\\u00e9", "d": 1.50}'

    def test_huge_integers_whatever_the_limit_on_digits(self):
        number = 10**6000
        expected = "1" + "0" * 6000
        assert encode(number) == expected
        assert encode({"a": [number, "x"]}) == f'{{"a": [{expected}, "x"]}}'
        assert encode(-number) == "-" + expected

    def test_a_module_is_a_map_of_its_exports(self):
        module = Module("m.lang", lambda name: False)
        module.export("a", CellType(1), fixed=False)
        module.export("b", CellType([TRUE]), fixed=True)
        assert encode({"m": module}) == '{"m": {"a": 1, "b": [true]}}'
        assert encode(module) == '{"a": 1, "b": [true]}'
        module.export("f", CellType(some_task), fixed=True)
        assert error_of(encode, [module]) == 'json_encode: the value[0]["f"] is a task, not data'

    def test_a_task_is_an_error_that_names_its_place(self, ctx):
        assert error_of(json_encode, ctx, {"f": some_task}) == 'json_encode: the value["f"] is a task, not data'
        assert error_of(json_encode, ctx, [0, {"g": some_task}]) == 'json_encode: the value[1]["g"] is a task, not data'
        assert error_of(json_encode, ctx, some_task) == "json_encode: the value is a task, not data"
        deep = [1, {'a"b': [[], [2, some_task]]}]
        assert error_of(json_encode, ctx, deep) == 'json_encode: the value[1]["a\\"b"][1][1] is a task, not data'
        assert error_of(json_for_script, ctx, [some_task]) == (
            "json_for_script: the value[0] is a task, not data — JSON cannot hold code; store what it computes, or leave it out"
        )

    def test_a_secret_is_redacted_with_one_warning_that_names_it(self, ctx, capfd):
        secret = Secret("hunter2", ("DEMO_KEY",))
        assert json_encode(ctx, {"k": secret, "l": [secret]}) == '{"k": "[redacted]", "l": ["[redacted]"]}'
        assert json_encode(ctx, secret) == '"[redacted]"'
        shown = capfd.readouterr().err
        assert shown.startswith("lang: warning: ")
        assert shown.count("DEMO_KEY") == 1
        assert "hunter2" not in shown
        assert ctx.state == {}
        assert json_encode(ctx, Secret("x", ("OTHER",))) == '"[redacted]"'
        assert capfd.readouterr().err.count("OTHER") == 1
        assert json_encode(ctx.fork(), secret) == '"[redacted]"'
        assert capfd.readouterr().err == ""

    def test_script_text(self, ctx):
        assert json_for_script(ctx, {"<b>": "a&b</script>"}) == ('{"\\u003cb\\u003e": "a\\u0026b\\u003c/script\\u003e"}')

    @given(VALUES)
    def test_both_paths_agree_with_pythons(self, value):
        text = encode(value)
        assert text == exact(value)
        assert text.isascii()
        assert text == json.dumps(to_python(value))

    @pytest.mark.parametrize("depth", [60, 64, 65, 100, 1000])
    def test_deep_values_are_written(self, depth):
        assert encode(nested(depth)) == "[" * depth + "1" + "]" * depth

    @pytest.mark.parametrize("depth", [1001, 50_000, 200_000])
    def test_very_deep_values_are_an_error(self, depth):
        expected = "json_encode: the value is nested more than 1000 levels deep"
        assert error_of(encode, nested(depth)) == expected
        value = 1
        for _ in range(depth):
            value = {"k": value}
        assert error_of(encode, value) == expected


def to_python(value):
    """The value with Python's own booleans."""
    if value is TRUE or value is FALSE:
        return bool(value)
    if isinstance(value, list):
        return [to_python(item) for item in value]
    if isinstance(value, dict):
        return {key: to_python(item) for key, item in value.items()}
    return value


class TestDecode:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("null", None),
            ("true", TRUE),
            ("false", FALSE),
            ("0", 0),
            ("-0", 0),
            ("12345678901234567890", 12345678901234567890),
            ("2.0", 2.0),
            ("1e2", 100.0),
            ("-0.0", -0.0),
            ("1E-2", 0.01),
            ("1e-400", 0.0),
            ('"a\\u00e9\\n\\/"', "aé\n/"),
            ('"\\ud83d\\ude00"', "😀"),
            (" \t\r\n[ ] ", []),
            ("\ufeff{}", {}),
            ('{"a": 1, "b": 2, "a": 3}', {"a": 3, "b": 2}),
            ('[true, {"a": false, "b": [true]}]', [TRUE, {"a": FALSE, "b": [TRUE]}]),
        ],
    )
    def test_values(self, text, expected):
        value = json_decode(text)
        assert value == expected
        assert repr(value) == repr(expected)
        assert type(value) is type(expected)

    def test_integers_and_floats_keep_their_kind(self):
        assert [type(item) for item in json_decode("[1, 1.0, -0, -0.0, 1e0]")] == [int, float, int, float, float]
        assert math.copysign(1, json_decode("-0")) == 1
        assert math.copysign(1, json_decode("-0.0")) == -1

    def test_python_booleans_never_stay(self):
        value = json_decode('[true, [false, {"a": true, "b": [false]}]]')
        assert value[0] is TRUE
        assert value[1][0] is FALSE
        assert value[1][1]["a"] is TRUE
        assert value[1][1]["b"][0] is FALSE

    def test_a_repeated_key_keeps_its_first_place(self):
        assert list(json_decode('{"a": 1, "b": 2, "a": 3}').items()) == [("a", 3), ("b", 2)]

    @pytest.mark.parametrize(
        "text",
        [
            "", " ", "{oops", "[1,]", '{"a": 1,}', "[1 2]", "'a'", "01", "1.", ".5", "+1", "-", "1e", "0x1", "1_0", "True",
            '"a\nb"', '"\\x41"', '"\\u12"', '"\\u 123"', '"', "[", "{", '{"a"}', "{1: 2}", "[1]]", "[1] x", "nul", "//", "１",
            "\u00a01", "\ufeff\ufeff1", '"\\', "NaN", "Infinity", "-Infinity", '["a": 1]', "[}", "\x0c1",
        ],
    )  # fmt: skip
    def test_invalid_text(self, text):
        assert error_of(json_decode, text).startswith("json_decode: invalid JSON: ")
        assert json_decode(text, None) is None
        assert json_decode(text, 7) == 7

    def test_the_error_says_where(self):
        assert error_of(json_decode, "[1,\n  oops]") == "json_decode: invalid JSON: Expecting value: line 2 column 3 (char 6)"

    def test_without_a_default_nothing_is_a_default_too(self):
        assert json_decode("oops", None) is None
        assert json_decode("1", MISSING) == 1

    def test_numbers_out_of_range(self):
        for text in ("1e400", "[1, -1e999]", '{"a": ' + "9" * 400 + ".0}"):
            assert "out of range for a float" in error_of(json_decode, text)
        assert error_of(json_decode, "[1, 1e400]") == "json_decode: invalid JSON: 1e400 is out of range for a float"
        assert "out of range" in error_of(json_decode, "[Infinity, 1e400]", allow_nan=TRUE)
        assert json_decode("1e400", "no") == "no"

    def test_nan_only_when_allowed(self):
        assert math.isnan(json_decode("NaN", allow_nan=TRUE))
        assert json_decode('[Infinity, {"a": -Infinity}, true, 1.5]', allow_nan=TRUE) == [math.inf, {"a": -math.inf}, TRUE, 1.5]
        assert "NaN" in error_of(json_decode, "[NaN]")
        assert "NaN" in error_of(json_decode, "[NaN]", allow_nan=FALSE)
        assert "NaN" in error_of(json_decode, "[NaN]", allow_nan=None)

    def test_digits(self):
        most = "9" * 4300
        assert json_decode(most) == int(most)
        assert json_decode(f"[-{most}]") == [-int(most)]
        expected = "json_decode: invalid JSON: a number has more than 4300 digits"
        assert error_of(json_decode, most + "9") == expected
        assert error_of(json_decode, f'{{"a": -{most}9}}') == expected

    @pytest.mark.parametrize("limit", [0, 640, 100_000])
    def test_digits_do_not_depend_on_the_limit_of_the_process(self, limit):
        program = (
            "import sys\n"
            f"sys.set_int_max_str_digits({limit})\n"
            "from language.values.json_decoding import decode\n"
            "from language.values.json_encoding import encode\n"
            "from language.errors import RuntimeFault\n"
            "number = decode('[' + '7' * 4300 + ', -' + '8' * 900 + ', -0]')\n"
            "assert number == [7 * (10**4300 - 1) // 9, -8 * (10**900 - 1) // 9, 0]\n"
            "assert encode(number) == '[' + '7' * 4300 + ', -' + '8' * 900 + ', 0]'\n"
            "try:\n    decode('7' * 4301)\nexcept RuntimeFault as fault:\n    print(fault.message)\n"
        )
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert result.stdout == "json_decode: invalid JSON: a number has more than 4300 digits\n"

    def test_lone_surrogates_become_replacement_characters(self):
        assert json_decode('"a\\ud800b"') == "a\ufffdb"
        assert json_decode('"\\uDC00\\uD800"') == "\ufffd\ufffd"
        assert json_decode('"\\ud800\\ud83d\\ude00"') == "\ufffd😀"
        assert json_decode('[{"\\udfff": ["\\ud800", 1]}]') == [{"\ufffd": ["\ufffd", 1]}]
        assert json_decode('{"\\ud800": 1, "b": 2, "\\udc00": 3}') == {"\ufffd": 3, "b": 2}
        assert json_decode('"\\ud83d\\ude00\\\\ud800"') == "😀\\ud800"

    def test_depth(self):
        for opening, closing in (("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")):
            levels = MOST_DEPTH // (opening.count("[") + opening.count("{"))
            assert json_decode(opening * levels + "1" + closing * levels) is not None
            levels += 1
            message = error_of(json_decode, opening * levels + "1" + closing * levels)
            assert message == "json_decode: invalid JSON: nested more than 128 levels deep"

    @pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":', '["]", ', '["\\"]", ', '["\\\\", '])
    def test_very_deep_text_never_reaches_the_scanner(self, opening):
        """On a small stack, where the scanner's recursion would overflow."""
        messages = []
        threading.stack_size(256 * 1024)
        try:
            thread = threading.Thread(target=lambda: messages.append(error_of(decode, opening * 100_000)))
            thread.start()
            thread.join()
        finally:
            threading.stack_size(0)
        assert messages == ["json_decode: invalid JSON: nested more than 128 levels deep"]

    def test_brackets_in_strings_are_no_depth(self):
        many = '"' + "[" * 500 + '\\"' + "{" * 500 + '\\\\"'
        assert json_decode(f"[{many}, {many}]") == ["[" * 500 + '"' + "{" * 500 + "\\"] * 2
        closers = '"' + "]" * 500 + '"'
        assert "nested" in error_of(json_decode, "[" + closers + "," + "[" * 200)

    def test_wide_documents_are_no_depth(self):
        text = "[" + ",".join(['{"a": [[]]}'] * 1000) + "]"
        assert len(json_decode(text)) == 1000

    def test_other_values_count_with_their_display_text(self):
        assert json_decode(42) == 42
        assert json_decode(TRUE) is TRUE
        assert json_decode([1, [2, "a"]]) == [1, [2, "a"]]
        assert error_of(json_decode, None).startswith("json_decode: invalid JSON: ")
        assert error_of(json_decode, Secret("1", ("K",))).startswith("json_decode: invalid JSON: ")

    @given(VALUES)
    def test_round_trip(self, value):
        again = json_decode(encode(value))
        assert again == value
        assert repr(again) == repr(value)

    @given(VALUES, st.integers(1, 16))
    def test_lines_are_those_of_python_and_read_back(self, value, indent):
        shown = json_encode(Context(NativeHost(), collect=True), value, indent)
        assert shown == json.dumps(json.loads(encode(value)), indent=indent)
        assert repr(json_decode(shown)) == repr(value)

    @given(st.text(alphabet='[]{}"\\:,au0d8 1', max_size=40))
    def test_any_text_gives_a_value_or_the_error(self, text):
        try:
            json.loads(text)
            valid = True
        except ValueError:
            valid = False
        if valid:
            json_decode(text)
        else:
            assert error_of(json_decode, text).startswith("json_decode: invalid JSON: ")


class TestLines:
    def test_encode(self, ctx):
        assert jsonl_encode(ctx, [1, {"a": "x\ny"}, None]) == '1\n{"a": "x\\ny"}\nnull\n'
        assert jsonl_encode(ctx, []) == ""
        assert error_of(jsonl_encode, ctx, {}) == "jsonl_encode expects a list, got map"
        assert error_of(jsonl_encode, ctx, [1, {"f": some_task}]) == 'jsonl_encode: the value[1]["f"] is a task, not data'

    def test_decode(self):
        assert jsonl_decode('1\n\n [2] \r\n{"a": true}') == [1, [2], {"a": TRUE}]
        assert jsonl_decode("") == []
        assert jsonl_decode("\ufeff1\n") == [1]
        assert error_of(jsonl_decode, "1\n\noops\n").startswith("jsonl_decode: line 3: invalid JSON: ")
        assert jsonl_decode("1\noops", "bad") == "bad"
        assert jsonl_decode("Infinity\n", allow_nan=TRUE) == [math.inf]

    def test_only_line_feeds_end_a_line(self):
        assert jsonl_decode('"a\u2028b\u0085c"\n2') == ["a\u2028b\u0085c", 2]

    @given(st.lists(VALUES, max_size=5))
    def test_round_trip(self, values):
        assert jsonl_decode(jsonl_encode(Context(NativeHost(), collect=True), values)) == values


def best_of(function, runs=5):
    times = []
    for _ in range(runs):
        # Not the time that goes by: each piece of a document lets other threads in, and one that was left busy takes 5 ms each.
        start = time.thread_time()
        function()
        times.append(time.thread_time() - start)
    return min(times)


def test_large_documents_take_a_small_multiple_of_the_interpreters_own_time():
    """A megabyte of records. The aim is 2; the bound leaves room for a machine under load."""
    records = [
        {
            "id": n,
            "name": f"user {n}",
            "active": n % 2 == 0,
            "score": n / 7,
            "tags": ["a", "bb"],
            "at": {"x": None, "y": [1, 2]},
        }
        for n in range(10_000)
    ]
    text = json.dumps(records)
    assert len(text) > 1_000_000
    value = decode(text)
    assert best_of(lambda: decode(text)) < 5 * best_of(lambda: json.loads(text))
    assert best_of(lambda: encode(value)) < 5 * best_of(lambda: json.dumps(records))
