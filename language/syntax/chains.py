"""How long chains of calls, reads and powers may get.

Operators of one level are flat in the tree, however many; each further call, ``.``, index, ``of`` or ``**`` is a node around or
inside the one before. The later stages walk the tree, so its depth has a bound.
"""

from __future__ import annotations

from language.syntax.tokens import ENDS_VALUE, words

#: Links of one value, those of the values in its brackets included.
MAX_LINKS = 2000
TOO_LONG = f"a chain of more than {MAX_LINKS} calls, reads or powers: give a part of it a name with `let`"

_OPENERS = words("LPAREN LBRACKET LBRACE HOLE")
_CLOSERS = words("RPAREN RBRACKET RBRACE HOLE_END")
_LINKS = words("DOT OF POWER")
_PARTS = ENDS_VALUE | words("TEMPLATE PIECE")


def too_long(types: list[str], start: int, end: int) -> int | None:
    """Where the tokens from ``start`` to ``end``, one line, exceed the bound; ``None`` when they do not.

    Assumes the worst case: what is in a bracket is the innermost part of the chain around it.
    """
    #: per open bracket, innermost last: links of the current chain, the deepest bracket in it, the deepest chain before it
    levels = [[0, 0, 0]]
    before = ""
    for position in range(start, end):
        kind = types[position]
        level = levels[-1]
        if kind in _OPENERS:
            level[0] += before in ENDS_VALUE and kind in ("LPAREN", "LBRACKET")
            levels.append([0, 0, 0])
        elif kind in _CLOSERS:
            depth = max(level[2], level[0] + level[1])
            if depth > MAX_LINKS:
                return position
            if len(levels) > 1:
                levels.pop()
                levels[-1][1] = max(levels[-1][1], depth)
        elif kind in _LINKS:
            level[0] += 1
        elif kind not in _PARTS:
            level[2] = max(level[2], level[0] + level[1])
            level[0] = level[1] = 0
        if level[0] > MAX_LINKS:
            return position
        before = kind
    return end if any(max(done, links + inner) > MAX_LINKS for links, inner, done in levels) else None
