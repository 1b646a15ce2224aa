"""Where ``lang fmt`` breaks a long line: the arguments of a call, the items of a list, the entries of a map go one on a line.

Only white space inside of brackets changes. A line that is long for another reason stays: a long text, a chain of operators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from language.syntax.tokens import Token

#: Columns from which a line is long. A comment at its end does not count.
LONG = 120
#: A bracket that holds less than so many characters, blanks apart, is not worth three lines.
_SHORTEST = 30
_OPENERS = frozenset({"LPAREN", "LBRACKET", "LBRACE"})
_CLOSERS = frozenset({"RPAREN", "RBRACKET", "RBRACE"})


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the result: its tokens from ``first`` up to before ``after``, and its text without a comment at the end."""

    first: int
    after: int
    text: str


@dataclass(frozen=True, slots=True)
class _Bracket:
    """The numbers of the tokens of a bracket, and of those that a line begins with when its parts stand one on a line.

    ``length`` is how many characters it holds, without blanks and comments: the same however the program is laid out.
    """

    opener: int
    closer: int
    depth: int
    length: int
    begins: frozenset[int]


def further_breaks(tokens: Sequence[Token], rows: Sequence[Row], calls: Container[tuple[int, int]]) -> frozenset[int]:
    """Which tokens are to begin a line of their own, beside those that do: the parts of one bracket of each long row.

    ``calls`` are the places, line and column, of the brackets that may be broken: those of calls, lists and maps. Nothing is
    answered where no row is long, or none of the long ones has such a bracket.
    """
    long = {number: row for row in rows if _is_long(row) for number in range(row.first, row.after)}
    if not long:
        return frozenset()
    starts = {row.first for row in rows}
    brackets = _brackets(tokens)
    ending = {one.closer: one for one in brackets}
    chosen: dict[int, _Bracket] = {}  # by the first token of the row
    for one in brackets:
        row = long.get(one.opener)
        place = tokens[one.opener].line, tokens[one.opener].col
        if row is None or one.length < _SHORTEST or place not in calls or one.begins <= starts:
            continue
        if _holds_one_thing(tokens, one, ending.get(one.closer - 1)):
            continue
        best = chosen.get(row.first)
        if best is None or (one.depth, -one.length) < (best.depth, -best.length):
            chosen[row.first] = one
    return frozenset().union(*(one.begins for one in chosen.values()))


def _is_long(row: Row) -> bool:
    return len(row.text) >= LONG and "\n" not in row.text


def _brackets(tokens: Sequence[Token]) -> list[_Bracket]:
    """The brackets that hold something, in the order of their ends."""
    found: list[_Bracket] = []
    opened: list[tuple[int, int, list[int]]] = []
    length = 0
    for number, token in enumerate(tokens):
        length += 0 if token.type == "COMMENT" else token.end - token.start
        if token.type in _OPENERS:
            opened.append((number, length, [number + 1]))
        elif token.type in _CLOSERS:
            opener, before, begins = opened.pop()
            if number > opener + 1:
                # No line begins with a comment that stands behind what it is about, or behind the comma after the last part.
                wanted = {at for at in [*begins, number] if tokens[at].type != "COMMENT"}
                found.append(_Bracket(opener, number, len(opened), length - before - 1, frozenset(wanted)))
        elif token.type == "COMMA" and opened:
            opened[-1][2].append(number + 1)
    return found


def _holds_one_thing(tokens: Sequence[Token], bracket: _Bracket, last: _Bracket | None) -> bool:
    """Whether the bracket holds a single token, or a single list, map or call, which is broken in its place.

    ``last`` is the bracket that ends where this one does.
    """
    first = bracket.opener + 1
    if first == bracket.closer - 1:
        return True
    return last is not None and all(token.type in ("IDENTIFIER", "DOT") for token in tokens[first : last.opener])
