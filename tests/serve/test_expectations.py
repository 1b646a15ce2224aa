"""What `expect` takes of a request, and what its fields are afterwards."""

from json import loads
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.serve.expectations import Unexpected, checked_body, checked_texts
from language.values import FALSE, TRUE
from language.values.decimals import parse
from language.values.display import display
from language.values.json_decoding import decode, parse_written
from tests.serve.served import Served


def refused(check: Any, *arguments: Any) -> tuple[str, str | None]:
    with pytest.raises(Unexpected) as caught:
        check(*arguments)
    return str(caught.value), caught.value.field


def nothing_written() -> Any:
    raise AssertionError("only decimals and integers with a point ask for the text of a number")


class TestBodies:
    FIELDS = tuple(
        (*field, False) for field in [("item", "text"), ("qty", "number"), ("gift", "bool"), ("tags", "list"), ("more", "map")]
    )
    GOOD = MappingProxyType({"item": "pen", "qty": 2, "gift": TRUE, "tags": [], "more": {}})

    def test_as_declared(self):
        assert checked_body(self.FIELDS, {**self.GOOD, "extra": 1}, nothing_written) == self.GOOD
        assert checked_body(self.FIELDS, {**self.GOOD, "qty": 2.5}, nothing_written)["qty"] == 2.5
        assert checked_body((), {}, nothing_written) == {}

    @pytest.mark.parametrize("body", [None, [], "text", 5, TRUE])
    def test_no_map(self, body):
        assert refused(checked_body, self.FIELDS, body, nothing_written) == ("expected a JSON object body", None)

    @pytest.mark.parametrize(
        ("body", "message", "field"),
        [
            ({}, "missing field 'item'", "item"),
            ({"qty": "x", "item": "pen"}, "field 'qty' must be number, got text", "qty"),
            ({"item": "pen"}, "missing field 'qty'", "qty"),
            ({**GOOD, "item": 5}, "field 'item' must be text, got number", "item"),
            ({**GOOD, "item": None}, "field 'item' must be text, got nothing", "item"),
            ({**GOOD, "qty": TRUE}, "field 'qty' must be number, got bool", "qty"),
            ({**GOOD, "gift": 1}, "field 'gift' must be bool, got number", "gift"),
            ({**GOOD, "tags": {}}, "field 'tags' must be list, got map", "tags"),
            ({**GOOD, "more": []}, "field 'more' must be map, got list", "more"),
        ],
    )
    def test_the_first_wrong_field_in_declared_order(self, body, message, field):
        assert refused(checked_body, self.FIELDS, body, nothing_written) == (message, field)

    @pytest.mark.parametrize("body", [{}, {"n": None}])
    @pytest.mark.parametrize("kind", ["text", "integer", "decimal", "map"])
    def test_an_optional_field_that_is_absent_or_null_is_nothing(self, body, kind):
        assert checked_body((("n", kind, True),), body, nothing_written) == {"n": None}

    def test_an_optional_field_that_is_there_is_checked(self):
        assert refused(checked_body, (("n", "text", True),), {"n": 1}, nothing_written)[1] == "n"

    @pytest.mark.parametrize(("value", "whole"), [(5, 5), (-5.0, -5), (1e3, 1000), (10**400, 10**400)])
    def test_integers(self, value, whole):
        found = checked_body((("n", "integer", False),), {"n": value}, lambda: {"n": str(value)})["n"]
        assert found == whole
        assert type(found) is int

    @pytest.mark.parametrize("value", [5.5, "5", TRUE, None])
    def test_no_integers(self, value):
        assert refused(checked_body, (("n", "integer", False),), {"n": value}, lambda: {"n": str(value)})[1] == "n"

    @pytest.mark.parametrize("text", ["5.5", "5.50", "-0.1000000000000000000001", "1e2", "7", "12345678901234567890.5", "1E-3"])
    def test_decimals_keep_every_digit_that_was_sent(self, text):
        sent = f'{{"n": {text}}}'
        found = checked_body((("n", "decimal", False),), decode(sent), lambda: parse_written(sent))["n"]
        assert display(found) == display(parse(text))

    def test_a_decimal_that_would_fill_the_memory_is_refused(self):
        sent = '{"n": 1e-300000000}'
        failed = refused(checked_body, (("n", "decimal", False),), decode(sent), lambda: parse_written(sent))
        assert failed == ("field 'n' must be decimal, got a number of more than 4300 digits", "n")


class TestTexts:
    @pytest.mark.parametrize(
        ("kind", "text", "value"),
        [
            ("text", "", ""),
            ("text", " 5 ", " 5 "),
            ("integer", "-12", -12),
            ("integer", " 007 ", 7),
            ("integer", "9" * 4300, int("9" * 4300)),
            ("number", "5", 5),
            ("number", "-5.25e1", -52.5),
            ("bool", "true", TRUE),
            ("bool", "on", TRUE),
            ("bool", "0", FALSE),
        ],
    )
    def test_are_read_as_the_type(self, kind, text, value):
        found = checked_texts("query", (("n", kind, False),), {"n": text})["n"]
        assert found == value
        assert type(found) is type(value)

    def test_decimals_are_exact(self):
        assert display(checked_texts("form", (("n", "decimal", False),), {"n": "5.50"})["n"]) == "5.50"

    @pytest.mark.parametrize(
        ("kind", "text"),
        [
            ("integer", "5.0"),
            ("integer", "0x10"),
            ("integer", "1_000"),
            ("integer", "٣"),
            ("integer", "9" * 4301),
            ("number", "1e999"),
            ("number", "nan"),
            ("number", "1_0.5"),
            ("decimal", "1e999999999"),
            ("decimal", "Infinity"),
            ("bool", "yes please"),
        ],
    )
    def test_wrong_ones_are_refused_by_name_and_never_quoted(self, kind, text):
        assert refused(checked_texts, "query", (("n", kind, False),), {"n": text}) == (
            f"field 'n' of the query must be {kind}",
            "n",
        )

    def test_an_empty_field_counts_as_absent_unless_it_is_text(self):
        assert refused(checked_texts, "form", (("n", "integer", False),), {"n": " "}) == ("missing field 'n' in the form", "n")
        assert checked_texts("form", (("n", "integer", True),), {"n": ""}) == {"n": None}

    def test_a_file_is_a_map_and_no_text(self):
        file = {"filename": "a", "content_type": None, "data": b""}
        assert checked_texts("form", (("f", "map", False),), {"f": file}) == {"f": file}
        assert refused(checked_texts, "form", (("f", "text", False),), {"f": file})[1] == "f"
        assert refused(checked_texts, "form", (("f", "integer", False),), {"f": file})[1] == "f"

    @given(st.integers())
    def test_every_integer_that_is_written_comes_back(self, number):
        assert checked_texts("query", (("n", "integer", False),), {"n": str(number)}) == {"n": number}


def as_sent(text: str) -> Any:
    body = f'{{"n": {text}}}'
    return checked_body((("n", "integer", False),), decode(body), lambda: parse_written(body))["n"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e16", 10**16),
        ("9007199254740993.0", 9007199254740993),
        ("-9007199254740993.0", -9007199254740993),
        ("12.50e1", 125),
        ("1200E-2", 12),
        ("0e999999999", 0),
        ("-0.0", 0),
        ("0.000e-5", 0),
        ("1e300", 10**300),
        ("100000000000000000000000000000001.000", 100000000000000000000000000000001),
    ],
)
def test_an_integer_is_what_the_text_writes(text: str, number: int) -> None:
    assert as_sent(text) == number


@pytest.mark.parametrize("text", ["1.00000000000000001", "9007199254740992.5", "1e-1", "1e-400", "12.5", "5e-324", "123456e-7"])
def test_a_number_that_is_nearly_whole_is_none(text: str) -> None:
    with pytest.raises(Unexpected, match="must be integer, got a number that is not whole"):
        as_sent(text)


@given(st.integers(-(10**40), 10**40), st.integers(0, 30), st.integers(0, 5))
def test_every_way_to_write_an_integer_gives_it(number: int, shift: int, zeros: int) -> None:
    assert as_sent(f"{number}.{'0' * (zeros + 1)}") == number
    assert as_sent(f"{number * 10**shift}e-{shift}") == number
    assert as_sent(f"{number}e{shift}") == number * 10**shift


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"price": 1e309}', "price"),
        ('{"a": 1, "rows": [{"x": 2}, {"x": -1e400}]}', "rows[1].x"),
        ('{"s": "1e309", "b": [1e308, 1e309]}', "b[1]"),
        ("1e309", None),
    ],
)
def test_a_number_that_no_float_holds_is_named(body: str, field: str | None) -> None:
    source = """
require serve(8080)
serve on 8080
    route "POST /x"
        expect body {price: decimal}
        give 1
"""
    reply = Served(source)("POST", "/x", body, content_type="application/json")
    found = loads(reply.body)
    assert (reply.status, found["field"]) == (400, field)
    assert "out of range" in found["error"] and (field or "the body") in found["error"]
