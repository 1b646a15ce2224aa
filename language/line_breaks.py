"""Where ``lang fmt`` breaks a long line: the arguments of a call, the parameters of a task, the items of a list, the entries of
a map and the steps of a pipe in parentheses go one on a line. So do the items of a list or map that is broken in part.

Only white space inside of brackets changes. A line that is long for another reason stays: a long text, a chain of operators,
a pipe without brackets around it.
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
    ``pipes`` says that its parts are the steps of a pipe, which is all that the parentheses hold.
    """

    opener: int
    closer: int
    depth: int
    length: int
    begins: frozenset[int]
    pipes: bool


def further_breaks(
    tokens: Sequence[Token], rows: Sequence[Row], breakable: Container[tuple[int, int]], literals: Container[tuple[int, int]]
) -> frozenset[int]:
    """Which tokens are to begin a line of their own, beside those that do: the parts of one bracket of each long row, and those
    of lists and maps that are broken in part.

    ``breakable`` are the places, line and column, of the brackets that may be broken: those of calls, parameters, lists and
    maps. ``literals`` are those of lists and maps among them. A pipe in parentheses is always broken before its steps.
    """
    starts = {row.first for row in rows}
    long = {number: row for row in rows if _is_long(row) for number in range(row.first, row.after)}
    if not long and len(rows) == 1:
        return frozenset()
    brackets = _brackets(tokens)
    ending = {one.closer: one for one in brackets}
    chosen: dict[int, _Bracket] = {}  # by the first token of the row
    ragged: list[_Bracket] = []
    for one in brackets:
        place = tokens[one.opener].line, tokens[one.opener].col
        if one.begins <= starts or (place not in breakable and not one.pipes):
            continue
        if place in literals and _is_ragged(one, starts):
            ragged.append(one)
        stands = [one.opener, *sorted(one.begins - starts)] if one.pipes else [one.opener]
        row = next((long[at] for at in stands if at in long), None)
        if row is None or one.length < _SHORTEST or _holds_one_thing(tokens, one, ending.get(one.closer - 1)):
            continue
        best = chosen.get(row.first)
        if best is None or (one.depth, -one.length) < (best.depth, -best.length):
            chosen[row.first] = one
    return frozenset().union(*(one.begins for one in (*ragged, *chosen.values())))


def _is_ragged(bracket: _Bracket, starts: Container[int]) -> bool:
    """Whether the list or map is broken between its parts or at one of its ends, but not at both ends."""
    opened, closed = min(bracket.begins) in starts, bracket.closer in starts
    return opened != closed or (not opened and any(at in starts for at in bracket.begins))


def _is_long(row: Row) -> bool:
    return len(row.text) >= LONG and "\n" not in row.text


def _brackets(tokens: Sequence[Token]) -> list[_Bracket]:
    """The brackets that hold something, in the order of their ends."""
    found: list[_Bracket] = []
    opened: list[tuple[int, int, list[int], list[int]]] = []
    length = 0
    for number, token in enumerate(tokens):
        length += 0 if token.type == "COMMENT" else token.end - token.start
        if token.type in _OPENERS:
            opened.append((number, length, [number + 1], []))
        elif token.type in _CLOSERS:
            opener, before, begins, pipes = opened.pop()
            if pipes and len(begins) == 1 and token.type == "RPAREN":
                found.append(_Bracket(opener, number, len(opened), length - before - 1, frozenset(pipes), pipes=True))
            elif number > opener + 1:
                # No line begins with a comment that stands behind what it is about, or behind the comma after the last part.
                wanted = {_after_comments(tokens, at) for at in [*begins, number]}
                found.append(_Bracket(opener, number, len(opened), length - before - 1, frozenset(wanted), pipes=False))
        elif token.type == "COMMA" and opened:
            opened[-1][2].append(number + 1)
        elif token.type == "PIPE" and opened:
            opened[-1][3].append(number)
    return found


def _after_comments(tokens: Sequence[Token], at: int) -> int:
    """The token with that number, or the first after the comments that begin there."""
    while tokens[at].type == "COMMENT":
        at += 1
    return at


def _holds_one_thing(tokens: Sequence[Token], bracket: _Bracket, last: _Bracket | None) -> bool:
    """Whether the bracket holds a single token, or a single list, map or call, which is broken in its place.

    ``last`` is the bracket that ends where this one does.
    """
    first = bracket.opener + 1
    if bracket.pipes:
        return False
    if first == bracket.closer - 1:
        return True
    return last is not None and all(token.type in ("IDENTIFIER", "DOT") for token in tokens[first : last.opener])
