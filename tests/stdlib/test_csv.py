"""CSV text to rows and back."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.native.host import NativeHost
from language.runtime.context import Context
from language.values import FALSE, TRUE, Secret
from language.values.decimals import parse
from language.values.operators import eq
from stdlib.csv_format import csv_encode, csv_parse


@pytest.fixture
def ctx():
    return Context(NativeHost(), collect=True)


def encoded(rows, opts=None):
    return csv_encode(Context(NativeHost(), collect=True), rows, opts)


def some_task():
    return None


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


class TestParse:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", []),
            ("\n\r\n", []),
            ("a,b", []),
            ("a,b\n1,x\n", [{"a": "1", "b": "x"}]),
            ("a,b\r\n1,x\r\n2,y", [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}]),
            ("\ufeffa\n1\n", [{"a": "1"}]),
            ("\n\na\n\n1\n\r\n2\n", [{"a": "1"}, {"a": "2"}]),
            ('a,b\n,""\n', [{"a": None, "b": ""}]),
            ('a,b\n"x,y","say ""hi"""\n', [{"a": "x,y", "b": 'say "hi"'}]),
            ('a,b\n"line\none","two\r\nlines"\n', [{"a": "line\none", "b": "two\r\nlines"}]),
            ('"a,1"\n" x "\n', [{"a,1": " x "}]),
            ("a\n x \n", [{"a": " x "}]),
            ('a\n""\n', [{"a": ""}]),
            ('a,b\nx"y,z\n', [{"a": 'x"y', "b": "z"}]),
            ('a\n"x"y\n', [{"a": "xy"}]),
            ('a,b\n"x"\r\n', None),
            ("a,b\n1,\n", [{"a": "1", "b": None}]),
            ('a,b\n"1",', [{"a": "1", "b": None}]),
            ("a\nx\ry\n", [{"a": "x"}, {"a": "y"}]),
            ("a\nx\u2028y\x85z\n", [{"a": "x\u2028y\x85z"}]),
            ("a,\n1,2\n", [{"a": "1", "": "2"}]),
        ],
    )
    def test_rows(self, text, expected):
        if expected is None:
            assert "record has 1 field(s)" in error_of(csv_parse, text)
        else:
            assert csv_parse(text) == expected

    def test_headers_false_gives_lists(self):
        assert csv_parse("a,b\n1,\n", {"headers": FALSE}) == [["a", "b"], ["1", None]]
        assert csv_parse("", {"headers": FALSE}) == []

    def test_delimiter(self):
        assert csv_parse("a;b\n1;2,5\n", {"delimiter": ";"}) == [{"a": "1", "b": "2,5"}]
        assert csv_parse('a\tb\n"1\t2"\t3\n', {"delimiter": "\t"}) == [{"a": "1\t2", "b": "3"}]
        for wrong in ("", ";;", '"', "\n", "\r", "é", 5):
            assert "delimiter" in error_of(csv_parse, "a", {"delimiter": wrong})

    @pytest.mark.parametrize(
        ("field", "expected"),
        [
            ("1", 1),
            ("-12", -12),
            ("+7", 7),
            (" 1 ", 1),
            ("1.5", 1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("-2.5E-3", -0.0025),
            ('"12"', 12),
            ("9" * 30, int("9" * 30)),
            ("1_000", "1_000"),
            ("inf", "inf"),
            ("nan", "nan"),
            ("1e999", "1e999"),
            ("0x10", "0x10"),
            ("1-2", "1-2"),
            ("--1", "--1"),
            ("+", "+"),
            (".", "."),
            ("e5", "e5"),
            ("١", "١"),
            ("9" * 4301, "9" * 4301),
            ('""', ""),
        ],
    )
    def test_numbers(self, field, expected):
        (row,) = csv_parse(f"a,b\n{field},\n", {"numbers": TRUE})
        assert row == {"a": expected, "b": None}
        assert type(row["a"]) is type(expected)

    def test_types(self):
        text = "i,f,d,t,b,o\n12,1,1.50,007,TRUE,5\n,,,,,\n-1,inf,2,x,false,6\n"
        types = {"i": "int", "f": "float", "d": "decimal", "t": "text", "b": "bool"}
        first, empty, last = csv_parse(text, {"types": types, "numbers": TRUE})
        assert first["i"] == 12
        assert type(first["f"]) is float
        assert first["d"].display() == "1.50"
        assert first["t"] == "007"
        assert first["b"] is TRUE
        assert first["o"] == 5
        assert set(empty.values()) == {None}
        assert last["f"] == float("inf")
        assert last["b"] is FALSE
        assert csv_parse("1,x\n", {"headers": FALSE, "types": {"0": "int"}}) == [[1, "x"]]

    @pytest.mark.parametrize(
        ("kind", "field"),
        [
            ("int", "1.5"),
            ("int", "x"),
            ("float", "x"),
            ("float", "1e999"),
            ("decimal", "x"),
            ("bool", "yes"),
            ("bool", "1"),
        ],
    )
    def test_a_bad_field_is_an_error_with_its_line(self, kind, field):
        text = f'a,b\n,"x\ny"\n\n{field},z\n'
        bare = field.strip('"')
        assert error_of(csv_parse, text, {"types": {"a": kind}}) == f'csv_parse: line 5: column "a": "{bare}" is no {kind}'
        assert error_of(csv_parse, field, {"types": {"0": kind}, "headers": FALSE}) == (
            f'csv_parse: line 1: column 0: "{bare}" is no {kind}'
        )

    def test_missing(self):
        text = 'a,b\nNA,"NA"\n-,\n'
        assert csv_parse(text, {"missing": ["NA", "-"]}) == [{"a": None, "b": "NA"}, {"a": None, "b": None}]
        assert csv_parse("NA,b\n1,2\n", {"missing": ["NA"]}) == [{"NA": "1", "b": "2"}]
        assert "missing" in error_of(csv_parse, "a", {"missing": "NA"})
        assert "missing" in error_of(csv_parse, "a", {"missing": [1]})

    def test_options(self):
        assert error_of(csv_parse, "a", {"sep": ";"}) == (
            'csv_parse: unknown option "sep"; valid options are: headers, delimiter, numbers, types, missing'
        )
        assert csv_parse("a\n1\n", {"headers": None, "delimiter": None}) == [{"a": "1"}]
        assert "headers" in error_of(csv_parse, "a", {"headers": "no"})
        assert "must be a map" in error_of(csv_parse, "a", [])
        assert 'unknown type "datum"' in error_of(csv_parse, "a\n1\n", {"types": {"a": "datum"}})
        assert 'names the column "z"' in error_of(csv_parse, "a\n1\n", {"types": {"z": "int"}})
        assert error_of(csv_parse, 5) == "csv_parse expects text, got number"

    def test_errors_name_the_line(self):
        assert error_of(csv_parse, 'a,b\n1,"x\ny\n') == "csv_parse: unclosed quote in the field that starts on line 2"
        assert error_of(csv_parse, 'a,b\n"1\n2","x\ny\n') == "csv_parse: unclosed quote in the field that starts on line 3"
        assert error_of(csv_parse, "a,b\n1,2\n\n3\n") == (
            "csv_parse: line 4: record has 1 field(s), but 2 were expected from the first record (the header row)"
        )
        assert error_of(csv_parse, 'a\n"x\ny"\n1,2\n') == (
            "csv_parse: line 4: record has 2 field(s), but 1 were expected from the first record (the header row)"
        )
        assert error_of(csv_parse, "1,2\n3\n", {"headers": FALSE}) == (
            "csv_parse: line 2: record has 1 field(s), but 2 were expected from the first record"
        )
        assert error_of(csv_parse, "a,b,a\n") == 'csv_parse: line 1: duplicate header "a"'

    @given(st.lists(st.lists(st.text(alphabet='ab",\n\r ;é', max_size=4), min_size=2, max_size=2), max_size=5))
    def test_agrees_with_pythons_reader(self, rows):
        """What Python's writer writes with all fields quoted is read back by ours."""
        out = io.StringIO()
        csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
        assert csv_parse(out.getvalue(), {"headers": FALSE}) == rows


class TestEncode:
    def test_maps(self):
        rows = [{"a": 1, "b": None}, {"b": "x", "a": 2.0, "c": 3}, {"a": ""}]
        assert encoded(rows) == 'a,b\r\n1,\r\n2.0,x\r\n"",\r\n'
        assert encoded(rows, {"headers": ["b", "a"], "eol": "\n"}) == 'b,a\n,1\nx,2.0\n,""\n'
        assert encoded([], {"headers": ["a", "b"]}) == "a,b\r\n"
        assert encoded([]) == ""

    def test_lists(self):
        assert encoded([["a", 1], [None, TRUE]]) == "a,1\r\n,true\r\n"
        assert encoded([[1]], {"headers": ["n"]}) == "n\r\n1\r\n"

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("x", "x"),
            ("", '""'),
            ("a,b", '"a,b"'),
            ('say "hi"', '"say ""hi"""'),
            ("a\nb", '"a\nb"'),
            ("a\rb", '"a\rb"'),
            (" x ", " x "),
            (parse("1.50"), "1.50"),
            (TRUE, "true"),
            (b"\xfb\xff", "+/8="),
            (float("inf"), "inf"),
        ],
    )
    def test_fields(self, value, expected):
        assert encoded([[value, 1]]) == f"{expected},1\r\n"

    def test_huge_integers(self):
        assert encoded([[10**5000, -(10**5000)]]) == "1" + "0" * 5000 + ",-1" + "0" * 5000 + "\r\n"

    def test_a_lonely_empty_field_is_quoted(self):
        assert encoded([{"a": None}, {"a": ""}]) == 'a\r\n""\r\n""\r\n'
        assert encoded([[None]], {"missing": "NA"}) == "NA\r\n"

    def test_missing(self):
        assert encoded([[None, "NA", ""]], {"missing": "NA"}) == 'NA,"NA",""\r\n'
        for wrong in ("", 5, "a,b"):
            assert "missing" in error_of(encoded, [[1]], {"missing": wrong})

    def test_delimiter_decides_what_is_quoted(self):
        assert encoded([["a,b", "c;d", 1.5]], {"delimiter": ";"}) == 'a,b;"c;d";1.5\r\n'
        assert encoded([[1.5, "a"]], {"delimiter": "."}) == '"1.5".a\r\n'

    def test_escape_formulas(self):
        rows = [["=1+1", "+x", "-x", "@x", -5, "x=1", "=a,b"]]
        assert encoded(rows, {"escape_formulas": TRUE}) == "'=1+1,'+x,'-x,'@x,-5,x=1,\"'=a,b\"\r\n"
        assert encoded([["=1"]], {"escape_formulas": FALSE}) == "=1\r\n"

    def test_a_secret_is_redacted_with_a_warning(self, ctx, capfd):
        assert csv_encode(ctx, [[Secret("hunter2", ("K",))]]) == "[redacted]\r\n"
        shown = capfd.readouterr().err
        assert "K" in shown
        assert "hunter2" not in shown

    def test_errors(self):
        assert error_of(encoded, {}) == "csv_encode expects a list, got map"
        assert "json_encode" in error_of(encoded, [{"a": [1]}])
        assert error_of(encoded, [{"a": 1}, {"a": {}}]).startswith('csv_encode: row 2, column "a" is a map')
        assert error_of(encoded, [[1, some_task]]).startswith("csv_encode: row 1, field 2 is a task")
        assert "row 2" in error_of(encoded, [{"a": 1}, [1]])
        assert "row 2" in error_of(encoded, [[1], {"a": 1}])
        assert "row 1" in error_of(encoded, [5])
        assert "row 2 has no fields" in error_of(encoded, [[1], []])
        assert "no keys" in error_of(encoded, [{}])
        assert "eol" in error_of(encoded, [[1]], {"eol": ";"})
        assert "headers" in error_of(encoded, [[1]], {"headers": "a"})
        assert error_of(encoded, [], {"sep": 1}) == (
            'csv_encode: unknown option "sep"; valid options are: headers, delimiter, eol, missing, escape_formulas'
        )


FIELDS = (
    st.none()
    | st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=6)
    | st.sampled_from(['"', ",", "\r\n", "\r", "\n", "\ufeff", "NA", " ", ";"])
)


class TestRoundTrip:
    @given(st.lists(st.lists(FIELDS, min_size=2, max_size=2), max_size=5), st.sampled_from([",", ";", "\t", "N"]))
    def test_lists(self, rows, delimiter):
        text = encoded(rows, {"delimiter": delimiter})
        assert csv_parse(text, {"delimiter": delimiter, "headers": FALSE}) == rows

    @given(
        st.lists(st.text(max_size=3), min_size=2, max_size=3, unique=True).flatmap(
            lambda names: st.lists(st.fixed_dictionaries(dict.fromkeys(names, FIELDS)), min_size=1, max_size=4)
        )
    )
    def test_maps(self, rows):
        assert csv_parse(encoded(rows)) == rows
        assert csv_parse(encoded(rows, {"missing": "NA", "eol": "\n"}), {"missing": ["NA"]}) == rows

    @given(st.lists(st.lists(st.integers() | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=3)))
    def test_numbers(self, rows):
        rows = [row for row in rows if len(row) == len(rows[0])]
        again = csv_parse(encoded(rows), {"headers": FALSE, "numbers": TRUE})
        assert eq(again, rows)
        assert repr(again) == repr(rows)
