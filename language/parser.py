"""Tokens to the syntax tree: the LALR tables of lark, driven by a loop of our own.

The grammar stands in ``grammar.lark``. lark makes the tables, once per process; the loop below shifts and reduces without
recursion, skips the reductions that only climb from one level of precedence to the next, and counts the depth of nesting.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from language import nodes
from language.errors import ParseError
from language.layout import PROBLEM, Settled, settle
from language.lexer import flat_tokens
from language.tokens import Token
from language import serve_tree  # noqa: F401 (registers its builders)
from language.tree import BUILDERS

#: How deep blocks, brackets, holes, prefix operators and words may nest.
MAX_DEPTH = 200

_NESTING = frozenset(
    (
        *("INDENT", "LPAREN", "LBRACKET", "LBRACE", "HOLE", "LAMBDA", "PATTERN_LIST", "PATTERN_MAP", "NEGATIVE", "NOT"),
        *("INLINE_WHEN", "SANDBOX", "REASON", "REASON_BLOCK", "DECIDE", "ANALYZE", "GENERATE", "JUDGE"),
        *("APPROVE", "CONFIRM", "ASK", "SHOW"),
    )
)

# What a reduction does with the values of its symbols.
_SAME, _PICK, _COLLECT, _BUILD = range(4)


class Reduction(NamedTuple):
    """One alternative of a rule: what it makes, how many symbols it takes, and how the value comes about.

    ``action`` is one of: keep the only value, pick value ``keep[0]``, collect into a list, call ``build``. ``keep`` has, for each
    value that is kept, the number of absent optional parts before it, its position, and whether it is a list to be joined.
    """

    origin: str
    size: int
    action: int
    keep: tuple[tuple[int, int, bool], ...]
    absent: int
    build: Callable[[list[Any], Token, Token], Any] | None
    nesting: int


class Tables(NamedTuple):
    """``actions`` per state: terminal to the next state, or to ``~number`` of a reduction. ``jumps``: rule to the next state."""

    actions: list[dict[str, int]]
    jumps: list[dict[str, int]]
    reductions: list[Reduction]
    start: int
    end: int


_tables: Tables | None = None


def parse(source: str, filename: str) -> nodes.Program:
    """The program in ``source``; ``filename`` is the one that errors name. Raises ``LexerError`` and ``ParseError``."""
    settled = settle(flat_tokens(source, filename))
    try:
        program: nodes.Program = _run(tables(), settled, filename)
    except ParseError as error:
        error.file = filename
        raise
    return program


def tables() -> Tables:
    """The parse tables, made when first needed."""
    global _tables
    if _tables is None:
        _tables = _make_tables()
    return _tables


def _run(tables: Tables, settled: Settled, filename: str) -> Any:
    actions, jumps, reductions, start, end = tables
    states = [start]
    values: list[Any] = []
    firsts: list[Token] = []
    lasts: list[Token] = []
    depth = 0
    nesting = _NESTING
    for position, (kind, token) in enumerate(zip(settled.kinds, settled.tokens, strict=True)):
        while True:
            action = actions[states[-1]].get(kind)
            if action is None:
                from language.parse_errors import explain

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
                        message = f"nested too deeply: more than {MAX_DEPTH} blocks, brackets and prefix words within each other"
                        raise ParseError(message, line=token.line, column=token.col)
                break
            origin, size, what, keep, absent, build, levels = reductions[~action]
            if what == _SAME:
                states.pop()
                states.append(jumps[states[-1]][origin])
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
            if what == _PICK:
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


# ---- tables -------------------------------------------------------------------------------------------------------------


def _make_tables() -> Tables:
    from lark import Lark
    from lark.lexer import Lexer
    from lark.parsers.lalr_analysis import Shift

    class Tokens(Lexer):
        """The tokens come from our own lexer and layout pass."""

        def __init__(self, conf: object) -> None:
            pass

        def lex(self, state: Any, parser_state: Any = None) -> Any:
            raise NotImplementedError

    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    lark = Lark(grammar, parser="lalr", lexer=Tokens, start="program", maybe_placeholders=True)
    table: Any = lark.parser.parser._parse_table
    rules: dict[Any, int] = {}
    actions: list[dict[str, int]] = [{} for _ in table.states]
    jumps: list[dict[str, int]] = [{} for _ in table.states]
    rule_names = {rule.origin.name for rule in lark.rules} | {"$root_program"}
    for state, row in table.states.items():
        for symbol, (action, argument) in row.items():
            if symbol in rule_names:
                jumps[state][symbol] = argument
            else:
                target = argument if action is Shift else ~rules.setdefault(argument, len(rules))
                actions[state][_terminal(symbol)] = target
    return Tables(actions, jumps, [_reduction(rule) for rule in rules], table.start_states["program"], table.end_states["program"])


def _terminal(name: str) -> str:
    """The grammar's name of a terminal as the tokens have it."""
    return {"_NEWLINE": "NEWLINE", "NAME": "IDENTIFIER"}.get(name, name.removeprefix("_"))


def _reduction(rule: Any) -> Reduction:
    name = rule.origin.name
    keep: list[tuple[int, int, bool]] = []
    nothings = 0
    # lark marks with True the optional parts that this alternative lacks
    marks = list(rule.options.empty_indices) or [False] * len(rule.expansion)
    position = 0
    for absent in marks:
        if absent:
            nothings += 1
            continue
        symbol = rule.expansion[position]
        if rule.options.keep_all_tokens or not (symbol.is_term and symbol.filter_out):
            keep.append((nothings, position, not symbol.is_term and symbol.name.startswith("_")))
            nothings = 0
        position += 1
    nesting = sum(1 for symbol in rule.expansion if symbol.is_term and _terminal(symbol.name) in _NESTING)
    size = len(rule.expansion)
    build = None
    if name.startswith("_"):
        action = _COLLECT
    elif rule.options.expand1 and rule.alias is None and len(keep) == 1 and not keep[0][2] and not keep[0][0] and not nothings:
        action = _SAME if size == 1 else _PICK
    else:
        action = _BUILD
        build = BUILDERS[rule.alias or name]
    return Reduction(name, size, action, tuple(keep), nothings, build, nesting)


__all__ = ["MAX_DEPTH", "PROBLEM", "parse", "tables"]
