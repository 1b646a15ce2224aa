"""Tokens to the syntax tree: an LALR parser over the tables of ``grammar.lark``.

lark makes the tables (``table_maker``); the loop below shifts and reduces without recursion, skips the reductions that only
climb from one level of precedence to the next, and counts the depth of nesting.
"""

from __future__ import annotations

from typing import Any

from language.errors import ParseError
from language.syntax import nodes
from language.syntax.layout import Settled, settle
from language.syntax.lexer import flat_tokens
from language.syntax.table_reading import NESTING, PICK, SAME, Tables, tables
from language.syntax.tokens import MAX_DEPTH, TOO_DEEP, Token


def parse(source: str, filename: str) -> nodes.Program:
    """The program in ``source``; ``filename`` is the one that errors name. Raises ``LexerError`` and ``ParseError``."""
    settled = settle(flat_tokens(source, filename))
    try:
        program: nodes.Program = _run(tables(), settled)
    except ParseError as error:
        error.file = filename
        raise
    return program


def _run(tables: Tables, settled: Settled) -> Any:
    actions, jumps, reductions, end, climbs = tables
    states = [0]
    values: list[Any] = []
    firsts: list[Token] = []
    lasts: list[Token] = []
    depth = 0
    nesting = NESTING
    for position, (kind, token) in enumerate(zip(settled.kinds, settled.tokens, strict=True)):
        while True:
            action = actions[states[-1]].get(kind)
            if action is None:
                from language.syntax.parse_errors import explain

                raise explain(tables, states, settled, position)
            if action >= 0:
                states.append(action)
                values.append(token)
                firsts.append(token)
                # a block ends with its last statement, not where the next line begins
                lasts.append(lasts[-1] if kind in ("NEWLINE", "DEDENT") and lasts else token)
                if kind in nesting:
                    depth += 1
                    if depth > MAX_DEPTH:
                        raise ParseError(TOO_DEEP, line=token.line, column=token.col)
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
            if kind == "$END" and states[-1] == end:
                return value
    raise AssertionError("the tokens have no end")


def _climb(tables: Tables, key: tuple[int, int, str]) -> int:
    """Where the state ``key[1]`` above ``key[0]`` leads by reductions that keep their only value, if ``key[2]`` comes next."""
    below, top, kind = key
    action = tables.actions[top].get(kind, 0)
    while action < 0 and tables.reductions[~action].action == SAME:
        top = tables.jumps[below][tables.reductions[~action].origin]
        action = tables.actions[top].get(kind, 0)
    tables.climbs[key] = top
    return top
