"""The expression of ``lang test -k``: words joined by ``and``, ``or``, ``not`` and parentheses.

A word (or quoted text) holds for a test whose name contains it, upper and lower case alike.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Selection = Callable[[str], bool]

_PIECE = re.compile(r"""\s*(?:(?P<paren>[()])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<word>[^\s()"']+))""")
_OPERATORS = ("and", "or", "not", "(", ")")


def compile_selection(text: str) -> Selection:
    """Returns a predicate that says of the name of a test whether it is selected. Raises ``ValueError`` for an invalid
    expression.
    """
    pieces = _split(text)
    selection = _either(pieces)
    if pieces:
        raise ValueError(f"'{pieces[0][0]}' is not expected there; join words with 'and' or 'or', or quote them")
    return selection


def _split(text: str) -> list[tuple[str, bool]]:
    """The tokens in reverse order, each with whether it is an operator."""
    pieces = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        found = _PIECE.match(text, at)
        if found is None:
            raise ValueError("a quotation mark is not closed")
        at = found.end()
        piece = found[found.lastgroup or 0]
        pieces.append((piece, found.lastgroup in ("paren", "word") and piece in _OPERATORS))
    return pieces[::-1]


def _next_is(pieces: list[tuple[str, bool]], operator: str) -> bool:
    if pieces and pieces[-1] == (operator, True):
        pieces.pop()
        return True
    return False


def _either(pieces: list[tuple[str, bool]]) -> Selection:
    parts = [_both(pieces)]
    while _next_is(pieces, "or"):
        parts.append(_both(pieces))
    return parts[0] if len(parts) == 1 else lambda name: any(part(name) for part in parts)


def _both(pieces: list[tuple[str, bool]]) -> Selection:
    parts = [_one(pieces)]
    while _next_is(pieces, "and"):
        parts.append(_one(pieces))
    return parts[0] if len(parts) == 1 else lambda name: all(part(name) for part in parts)


def _one(pieces: list[tuple[str, bool]]) -> Selection:
    if _next_is(pieces, "not"):
        negated = _one(pieces)
        return lambda name: not negated(name)
    if _next_is(pieces, "("):
        inner = _either(pieces)
        if not _next_is(pieces, ")"):
            raise ValueError("a ')' is missing")
        return inner
    if not pieces:
        raise ValueError("a word is missing at the end")
    word, operator = pieces.pop()
    if operator:
        raise ValueError(f"a word is missing before '{word}'")
    wanted = word.casefold()
    return lambda name: wanted in name.casefold()
