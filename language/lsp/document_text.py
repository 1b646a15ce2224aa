"""The text of one document, its lines, and the two ways to name a place in it.

An editor counts lines and columns from 0, and columns in the units of the encoding that it negotiated. The language counts both
from 1, and columns in code points. Lines end at LF, CRLF or CR, as the lexer reads them.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from lsprotocol.types import Position, PositionEncodingKind, Range

_LINE_END = re.compile(r"\r\n|\n|\r")
_BYTE_ORDER_MARK = "\ufeff"

Encoding = PositionEncodingKind | str


class DocumentText:
    """A text that does not change. ``encoding`` is the one in which positions count columns."""

    __slots__ = ("_ends", "_starts", "encoding", "text")

    def __init__(self, text: str, encoding: Encoding = PositionEncodingKind.Utf16) -> None:
        self.text = text
        self.encoding = encoding
        self._starts = [0]
        self._ends: list[int] = []
        for found in _LINE_END.finditer(text):
            self._ends.append(found.start())
            self._starts.append(found.end())
        self._ends.append(len(text))

    @property
    def line_count(self) -> int:
        """How many lines there are; behind the last line end there is one more."""
        return len(self._starts)

    def line(self, number: int) -> str:
        """The line of that number, from 0, without its end; the empty text where there is none."""
        if not 0 <= number < len(self._starts):
            return ""
        return self.text[self._starts[number] : self._ends[number]]

    # ---- places of the editor --------------------------------------------------------------------------------------------

    def offset(self, position: Position) -> int:
        """The offset of a position, in code points. A position outside of the text is the nearest one inside."""
        line = position.line
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text)
        return self._starts[line] + code_points(self.line(line), position.character, self.encoding)

    def position(self, offset: int) -> Position:
        """The position of an offset, which may lie outside of the text."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._starts, offset) - 1
        return Position(line, units(self.line(line), offset - self._starts[line], self.encoding))

    def changed(self, text: str, span: Range | None) -> DocumentText:
        """The text with ``text`` in the place of the range; of everything without one. Takes any range."""
        if span is None:
            return DocumentText(text, self.encoding)
        start, end = sorted((self.offset(span.start), self.offset(span.end)))
        return DocumentText(self.text[:start] + text + self.text[end:], self.encoding)

    @property
    def whole(self) -> Range:
        """The range of the whole text."""
        return Range(Position(0, 0), self.position(len(self.text)))

    # ---- places of the language ------------------------------------------------------------------------------------------

    def place(self, position: Position) -> tuple[int, int]:
        """Line and column of a position as the language counts them."""
        offset = self.offset(position)
        line = bisect_right(self._starts, offset) - 1
        return line + 1, max(1, offset - self._starts[line] + 1 - self._lead(line))

    def position_of(self, line: int, column: int) -> Position:
        """The position of a line and column of the language; the nearest one where the text has no such place."""
        if line < 1:
            return Position(0, 0)
        if line > len(self._starts):
            return self.position(len(self.text))
        shown = self.line(line - 1)
        return Position(line - 1, units(shown, max(0, column - 1) + self._lead(line - 1), self.encoding))

    def range_of(self, line: int, column: int, end_line: int, end_column: int) -> Range:
        """The range of a span of the language."""
        return Range(self.position_of(line, column), self.position_of(end_line, end_column))

    def offset_of(self, line: int, column: int) -> int:
        """The offset of a line and column of the language."""
        return self.offset(self.position_of(line, column))

    def _lead(self, line: int) -> int:
        """How many characters of a line the lexer passes over: a byte order mark."""
        return 1 if line == 0 and self.text.startswith(_BYTE_ORDER_MARK) else 0


def code_points(line: str, count: int, encoding: Encoding) -> int:
    """How many code points the first ``count`` units of a line are. A unit inside of a character counts for its start."""
    if count <= 0:
        return 0
    if encoding == PositionEncodingKind.Utf32 or line.isascii():
        return min(count, len(line))
    # the most characters whose units are not more than that
    return bisect_right(range(1, len(line) + 1), count, key=lambda number: units(line, number, encoding))


def units(line: str, count: int, encoding: Encoding) -> int:
    """How many units the first ``count`` code points of a line are."""
    before = line[: max(0, count)]
    if encoding == PositionEncodingKind.Utf32 or before.isascii():
        return len(before)
    if encoding == PositionEncodingKind.Utf8:
        return len(before.encode("utf-8", "surrogatepass"))
    return len(before.encode("utf-16-le", "surrogatepass")) // 2
