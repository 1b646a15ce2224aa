"""Which known name a misspelt one stands for."""

from __future__ import annotations

import pytest

from language.hints import did_you_mean, undefined_name_hint

NAMES = ("length", "print", "prices", "price", "json_decode", "json_encode", "total", "get", "x", "to_number")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("lenght", "length"),
        ("pritn", "print"),
        ("Print", "print"),
        ("jsonDecode", "json_decode"),
        ("json_decod", "json_decode"),
        ("totl", "total"),
        ("toatl", "total"),
        ("gte", "get"),
        ("y", ""),
        ("zebra", ""),
        ("to", ""),
        ("json_ncode", "json_encode"),
    ],
)
def test_one_name_or_none(name: str, meant: str) -> None:
    assert did_you_mean(name, NAMES) == meant


def test_two_names_that_are_equally_near_are_none() -> None:
    assert did_you_mean("cat", ("car", "cut")) == ""
    assert did_you_mean("pricse", NAMES) == ""


def test_a_name_is_never_suggested_for_itself() -> None:
    assert did_you_mean("total", ("total",)) == ""


def test_long_names_are_not_compared() -> None:
    assert did_you_mean("a" * 10_000, ("a" * 10_001,)) == ""


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("integer", "int(x)"),
        ("parse_int", "int(x)"),
        ("to_float", "float(x)"),
        ("to_number", "number(x)"),
        ("to_text", "text(x)"),
        ("parse_json", "json_decode(t)"),
        ("to_json", "json_encode(x)"),
        ("paragraph", "prose(text)"),
    ],
)
def test_conversions_by_the_names_of_other_languages(name: str, here: str) -> None:
    assert f"`{here}`" in undefined_name_hint(name)
