"""Positions of an editor and places of the language name the same characters, whatever the text and the encoding."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, PositionEncodingKind, Range

from language.lsp.document_text import DocumentText
from language.syntax.lexer import normalised

ENCODINGS = st.sampled_from([PositionEncodingKind.Utf8, PositionEncodingKind.Utf16, PositionEncodingKind.Utf32])
TEXTS = st.text(st.sampled_from("ab é€😀\t\n\r\ufeff\u2028\x0b"), max_size=30)
#: Bytes of one unit, and the codec that counts in them.
CODECS = {
    PositionEncodingKind.Utf8: (1, "utf-8"),
    PositionEncodingKind.Utf16: (2, "utf-16-le"),
    PositionEncodingKind.Utf32: (4, "utf-32-le"),
}


@given(TEXTS, ENCODINGS)
def test_a_position_counts_the_units_before_it(text: str, encoding: PositionEncodingKind) -> None:
    source = DocumentText(text, encoding)
    size, codec = CODECS[encoding]
    for offset in range(len(text) + 1):
        position = source.position(offset)
        if text[offset - 1 : offset + 1] == "\r\n":
            continue  # inside of a line end
        start = source.offset(Position(position.line, 0))
        assert position.character == len(text[start:offset].encode(codec)) // size
        assert source.offset(position) == offset


@given(TEXTS, ENCODINGS)
def test_lines_are_those_of_the_lexer(text: str, encoding: PositionEncodingKind) -> None:
    source = DocumentText(text, encoding)
    lines = normalised(text).split("\n")
    assert source.line_count == len(lines)
    for number, line in enumerate(lines, 1):
        for column in range(1, len(line) + 2):
            position = source.position_of(number, column)
            assert source.place(position) == (number, column)
            after = source.text[source.offset(position) : source.offset(position) + 1]
            assert column > len(line) or after == line[column - 1]


@given(TEXTS, TEXTS, ENCODINGS, st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_any_range_can_be_replaced(text: str, new: str, encoding: PositionEncodingKind, numbers: list[int]) -> None:
    source = DocumentText(text, encoding)
    first, second = Position(*numbers[:2]), Position(*numbers[2:])
    changed = source.changed(new, Range(first, second))
    kept = len(changed.text) - len(new)
    assert 0 <= kept <= len(text)
    start = min(source.offset(first), source.offset(second))
    assert changed.text == text[:start] + new + text[start + len(text) - kept :]


def test_an_emoji_is_two_units_in_utf_16_and_a_half_of_it_is_its_start() -> None:
    line = "let x be `😀` + y"
    units = {PositionEncodingKind.Utf8: 4, PositionEncodingKind.Utf16: 2, PositionEncodingKind.Utf32: 1}
    for encoding, width in units.items():
        source = DocumentText(line, encoding)
        assert source.position_of(1, 12) == Position(0, 10 + width)
        assert source.place(Position(0, 10 + width)) == (1, 12)
        assert source.place(Position(0, 10 + max(1, width - 1))) == (1, 11 if width > 1 else 12)


def test_a_byte_order_mark_is_passed_over() -> None:
    source = DocumentText("\ufefflet x be 1\nlet y be 2", PositionEncodingKind.Utf16)
    assert source.position_of(1, 1) == Position(0, 1)
    assert source.place(Position(0, 5)) == (1, 5)
    assert source.place(Position(1, 4)) == (2, 5)
