"""Tokens to the syntax tree: an LALR parser over the tables of ``grammar.lark``.

lark makes the tables (``table_maker``); the loop below shifts and reduces without recursion, skips the reductions that only
climb from one level of precedence to the next, and counts the depth of nesting.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from language.errors import LanguageError, ParseError
from language.syntax import nodes
from language.syntax.layout import settle
from language.syntax.lexer import flat_tokens
from language.syntax.table_reading import NESTING, PICK, SAME, Tables, tables
from language.syntax.tokens import MAX_DEPTH, TOO_DEEP, Token

if TYPE_CHECKING:
    from collections.abc import Iterator


class Stack:
    """What the parser has read and not yet put together, and the position of the token that comes next.

    Above the state at the start each state has a value, its first and its last token. ``first`` is the first token of what was
    last put together.
    """

    __slots__ = ("depth", "first", "firsts", "lasts", "position", "states", "values")

    def __init__(self) -> None:
        self.states = [0]
        self.values: list[Any] = []
        self.firsts: list[Token] = []
        self.lasts: list[Token] = []
        self.depth = 0
        self.position = 0
        self.first: Token | None = None


class Unfit(Exception):
    """The token at the position of the stack fits nowhere."""


def parse(source: str, filename: str) -> nodes.Program:
    """The program in ``source``; ``filename`` is the one that errors name.

    Raises the first error, a ``LexerError`` or ``ParseError``.
    """
    try:
        settled = settle(flat_tokens(source, filename))
        program: nodes.Program = run(tables(), settled.kinds, settled.tokens, Stack())
        return program
    except (LanguageError, Unfit):
        from language.syntax.recovery import first_error

        error = first_error(source, filename)
    raise error


def run(tables: Tables, kinds: list[str], tokens: list[Token], stack: Stack, end: int | None = None) -> Any:
    """Reads the tokens from ``stack.position`` up to ``end``; gives the tree once ``$END`` is read, ``None`` before.

    Raises ``Unfit``, and ``ParseError`` for what a rule refuses; the stack is then as it was at that token, without the parts
    that were refused.
    """
    actions, jumps, reductions, last_state, climbs = tables
    states, values, firsts, lasts = stack.states, stack.values, stack.firsts, stack.lasts
    depth = stack.depth
    position = begin = stack.position
    nesting = NESTING
    first: Token | None = None
    try:
        for kind, token in zip(_part(kinds, begin, end), _part(tokens, begin, end), strict=True):
            while True:
                action = actions[states[-1]].get(kind)
                if action is None:
                    raise Unfit
                if action >= 0:
                    states.append(action)
                    values.append(token)
                    firsts.append(token)
                    # a block ends with its last statement, not where the next line begins
                    lasts.append(lasts[-1] if kind in ("NEWLINE", "DEDENT") and lasts else token)
                    if kind in nesting:
                        depth += 1
                        if depth > MAX_DEPTH:
                            raise ParseError(TOO_DEEP, line=token.line, column=token.col, code="E0129")
                    break
                origin, size, what, keep, absent, build, levels = reductions[~action]
                if what == SAME:
                    key = (states[-2], states[-1], kind)
                    top = climbs.get(key)
                    states[-1] = _climb(tables, key) if top is None else top
                    continue
                depth -= levels
                if size:
                    children = values[-size:]
                    first = firsts[-size]
                    last = lasts[-1]
                    del states[-size:], values[-size:], firsts[-size:], lasts[-size:]
                else:
                    children = []
                    first = last = token
                if what == PICK:
                    value = children[keep[0][1]]
                else:
                    kept: list[Any] = []
                    for nothings, number, joined in keep:
                        if nothings:
                            kept.extend([None] * nothings)
                        if joined:
                            if kept:
                                kept.extend(children[number])
                            else:
                                kept = children[number]
                        else:
                            kept.append(children[number])
                    if absent:
                        kept.extend([None] * absent)
                    value = kept if build is None else build(kept, first, last)
                values.append(value)
                firsts.append(first)
                lasts.append(last)
                states.append(jumps[states[-1]][origin])
                if kind == "$END" and states[-1] == last_state:
                    return value
            position += 1
        return None
    finally:
        stack.position, stack.depth, stack.first = position, depth, first


def _part(items: list[Any], begin: int, end: int | None) -> Iterator[Any]:
    """The items from ``begin`` up to ``end``. Passes over none of those before, as ``islice`` does: reading that begins again
    behind each of many errors would take time in proportion to their square."""
    iterator: Any = iter(items)
    iterator.__setstate__(begin)
    return islice(iterator, None if end is None else end - begin)


def _climb(tables: Tables, key: tuple[int, int, str]) -> int:
    """Where the state ``key[1]`` above ``key[0]`` leads by reductions that keep their only value, if ``key[2]`` comes next."""
    below, top, kind = key
    action = tables.actions[top].get(kind, 0)
    while action < 0 and tables.reductions[~action].action == SAME:
        top = tables.jumps[below][tables.reductions[~action].origin]
        action = tables.actions[top].get(kind, 0)
    tables.climbs[key] = top
    return top
