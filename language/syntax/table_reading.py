"""The parse tables: what the parser does in each state, read from the module that ``table_maker`` generated."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from language.syntax import node_builders, parse_table, serve_tree
from language.syntax.tokens import Token, words

#: What a reduction does with the values of its symbols: keep the only one, pick one, collect them, build a node.
SAME, PICK, COLLECT, BUILD = range(4)

#: Terminals that nest: blocks, brackets, holes, prefix operators and words.
NESTING = words(
    "INDENT LPAREN LBRACKET LBRACE HOLE LAMBDA PATTERN_LIST PATTERN_MAP NEGATIVE NOT INLINE_WHEN SANDBOX "
    "REASON REASON_BLOCK DECIDE ANALYZE GENERATE JUDGE APPROVE CONFIRM ASK SHOW"
)


class Reduction(NamedTuple):
    """One alternative of a rule: what it makes, of how many symbols, and how the value comes about.

    ``keep`` has, for each value that is kept, the number of absent optional parts before it, its position, and whether it is a
    list to be joined; ``absent`` optional parts follow. ``nesting`` is the number of levels that it closes.
    """

    origin: str
    size: int
    action: int
    keep: tuple[tuple[int, int, bool], ...]
    absent: int
    build: Callable[[list[Any], Token, Token], Any] | None
    nesting: int


class Tables(NamedTuple):
    """``actions`` per state: terminal to the next state, or to ``~number`` of a reduction. ``jumps``: rule to the next state.

    State 0 is the start; in state ``end`` the program is complete. ``climbs`` remembers where the reductions that keep their
    only value end, by the state below, the state and the terminal: a name in brackets climbs a dozen levels of precedence,
    always the same ones.
    """

    actions: list[dict[str, int]]
    jumps: list[dict[str, int]]
    reductions: list[Reduction]
    end: int
    climbs: dict[tuple[int, int, str], int]


@cache
def tables() -> Tables:
    """The tables, once per process."""
    terminals = parse_table.TERMINALS.split()
    rules = parse_table.RULES.split()
    builders = {**node_builders.BUILDERS, **serve_tree.BUILDERS}
    reductions = [_reduction(line.split(), rules, builders) for line in parse_table.REDUCTIONS.split(";")]
    actions = _rows(parse_table.ACTIONS, parse_table.ACTION_ROWS, terminals)
    jumps = _rows(parse_table.JUMPS, parse_table.JUMP_ROWS, rules)
    return Tables(actions, jumps, reductions, parse_table.END, {})


def accepts(tables: Tables, states: list[int], terminal: str) -> bool:
    """Whether the parser in ``states`` takes ``terminal``: shifts it in the end, not only reduces for it."""
    stack = list(states)
    while (action := tables.actions[stack[-1]].get(terminal)) is not None:
        if action >= 0:
            return True
        reduction = tables.reductions[~action]
        if reduction.size:
            del stack[-reduction.size :]
        target = tables.jumps[stack[-1]][reduction.origin]
        if terminal == "$END" and target == tables.end:
            return True
        stack.append(target)
    return False


def _reduction(fields: list[str], rules: list[str], builders: dict[str, node_builders.Builder]) -> Reduction:
    rule, size, action, kept, absent, nesting, builder = fields
    keep = []
    for part in kept.split(",") if kept != "-" else ():
        nothings, position, joined = part.split(".")
        keep.append((int(nothings), int(position), joined == "1"))
    build = None if builder == "-" else builders[builder]
    return Reduction(rules[int(rule)], int(size), int(action), tuple(keep), int(absent), build, int(nesting))


def _rows(text: str, numbers: str, names: list[str]) -> list[dict[str, int]]:
    """The row of each state: ``text`` has the different ones, in groups ``value:name,name``; ``numbers`` say whose is which."""
    rows = []
    for line in text.split(";"):
        row = {}
        for group in line.split():
            value, _, members = group.partition(":")
            target = int(value)
            for member in members.split(","):
                row[names[int(member)]] = target
        rows.append(row)
    return [rows[int(number)] for number in numbers.split()]
