"""A large JSON text scanned in pieces gives the value, and the errors, that the scanner gives for the whole of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.values.json_decoding import MOST_DEPTH, parse
from language.values.json_pieces import LARGE, TooDeep, cut, scan

DECODER = json.JSONDecoder()
TEXTS = st.text(alphabet='ab"\\,[]{}: \n\u00e9\u6f22\U0001f600', max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(TEXTS, inner, max_size=8),
    max_leaves=60,
)
#: Objects that name a thing more than once, which no dictionary shows.
TOKENS = st.lists(
    st.sampled_from(["[", "]", "{", "}", ",", ":", '"a":', '"a":{', '"b":[', "1", '"\\\\"', '"\\""', " ", "\\"]), max_size=40
)
REPEATED = '{"a":[1,{"a":[2],"b":3,"a":[4,5]}],"b":{"c":1},"a":[[6,7],8],"b":2,"a":{"a":{"x":1},"b":1,"a":{"y":[2,3],"x":9}}}'


def outcome(function: Any, *arguments: Any) -> tuple[str, object]:
    """The value as text, which tells 1 from 1.0 and keeps the order of names; or the error."""
    try:
        return "value", json.dumps(function(*arguments))
    except json.JSONDecodeError as error:
        return "error", (error.msg, error.pos, error.lineno, error.colno, error.doc)


def in_pieces(text: str, window: int) -> Any:
    return scan(text, DECODER, cut(text, MOST_DEPTH, window))


def same(text: str, window: int) -> None:
    assert outcome(in_pieces, text, window) == outcome(json.loads, text)


@given(VALUES, st.integers(1, 100), st.sampled_from([None, 0, 2]), st.booleans())
def test_pieces_of_any_size_give_the_same_value(value: object, window: int, indent: int | None, ascii_only: bool) -> None:
    for text in (
        json.dumps(value, indent=indent, ensure_ascii=ascii_only),
        json.dumps(value, separators=(",", ":")),
        f"\n {json.dumps(value)}\t",
    ):
        same(text, window)


@given(VALUES, st.integers(1, 60), st.sampled_from([*',]}[{":x\\\n ', "", "0", ",]", ",}", ",,"]), st.data())
def test_what_is_no_json_is_refused_at_the_same_place(value: object, window: int, fault: str, data: st.DataObject) -> None:
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 1])))
    at = data.draw(st.integers(0, len(text)))
    same(text[:at] + fault + text[at + data.draw(st.integers(0, 2)) :], window)
    same(text[:at], window)


@given(TOKENS, st.integers(1, 20))
def test_any_tokens_in_a_row(tokens: list[str], window: int) -> None:
    same("".join(tokens), window)
    same("[" + ",".join(tokens) + "]", window)


@pytest.mark.parametrize("window", range(1, len(REPEATED) + 2))
def test_a_name_that_stands_twice_keeps_its_place_and_its_last_value(window: int) -> None:
    same(REPEATED, window)
    for end in range(len(REPEATED)):
        same(REPEATED[:end], window)


@given(st.integers(1, MOST_DEPTH + 3), st.integers(1, 300), st.sampled_from(["[", '{"a":', '[0,{"b":1,"a":']))
def test_depth_is_counted_across_pieces(levels: int, window: int, opening: str) -> None:
    closing = "".join("]" if bracket == "[" else "}" for bracket in reversed(opening) if bracket in "[{")
    text = "[[1, 2]," + opening * levels + "0" + closing * levels + ", []]"
    if levels * len(closing) + 1 > MOST_DEPTH:
        with pytest.raises(TooDeep):
            cut(text, MOST_DEPTH, window)
    else:
        same(text, window)


def test_no_piece_is_longer_than_two_windows() -> None:
    for item in ("[[1]],{},[]", "[" * 100 + "]" * 100, '{"a":{"b":[]}}', '"\\\\\\"[,"', "1.5, true"):
        for form in ("[{}]", '{{"rows": [{}], "n": 1}}', '[[{}], {{"a": [{}]}}]'):
            text = form.format(*[",".join([item] * 3000)] * 2)
            pieces = cut(text, MOST_DEPTH, 1000)
            assert len(pieces) > len(text) / 2000
            assert max(end - start for start, end, _, _ in pieces) < 2000
            same(text, 1000)


@pytest.mark.parametrize("item", ["1", "[[1]],{},[]", '"a,]b"', '{"a": [1, {"b": "},"}]}', "[" * 20 + "]" * 20, "1.5, 7, null"])
@pytest.mark.parametrize("form", ["[{}]", '{{"rows": [{}], "n": 1}}', '[[{}], {{"a": [{}]}}]'])
def test_large_texts(item: str, form: str) -> None:
    text = form.format(*[", ".join([item] * (LARGE // len(item)))] * 2)
    assert outcome(parse, text) == outcome(json.loads, text)
    for broken in (text[:-1], text[:-1] + ",]", text + "]", text[: len(text) // 2]):
        assert outcome(parse, broken) == outcome(json.loads, broken)
