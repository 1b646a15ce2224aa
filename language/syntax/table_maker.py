"""Makes the parse tables of ``grammar.lark``: ``python -m language.syntax.table_maker`` writes ``parse_table.py``.

lark builds the tables; they are kept as a module, because building them takes longer than most programs run. States are
numbered in the order in which they are reached, so that the same grammar always gives the same text.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

from lark import Lark
from lark.lexer import Lexer
from lark.parsers.lalr_analysis import Shift

from language.syntax.table_reading import BUILD, COLLECT, NESTING, PICK, SAME

FOLDER = Path(__file__).parent
GRAMMAR = FOLDER / "grammar.lark"
TARGET = FOLDER / "parse_table.py"

_Rows = list[dict[str, int]]


class _Tokens(Lexer):
    """Takes the place of a lexer for lark: the tokens come from the lexer and the layout pass of this package."""

    def __init__(self, conf: object) -> None:
        pass

    def lex(self, *arguments: Any) -> Any:
        raise NotImplementedError


def module_text() -> str:
    """The text of the module for the grammar as it is."""
    lark = Lark(GRAMMAR.read_text(encoding="utf-8"), parser="lalr", lexer=_Tokens, start="program", maybe_placeholders=True)
    table: Any = lark.parser.parser._parse_table
    rule_names = {str(rule.origin.name) for rule in lark.rules}
    order, states = _reached(table)
    reductions: dict[Any, int] = {}
    actions: _Rows = []
    jumps: _Rows = []
    for state in order:
        actions.append({})
        jumps.append({})
        for symbol, (action, argument) in sorted(table.states[state].items()):
            if symbol in rule_names:
                jumps[-1][str(symbol)] = states[argument]
            elif action is Shift:
                actions[-1][_terminal(symbol)] = states[argument]
            else:
                actions[-1][_terminal(symbol)] = ~reductions.setdefault(argument, len(reductions))
    terminals = sorted({name for row in actions for name in row})
    rules = sorted(rule_names)
    action_rows, action_numbers = _packed(actions, terminals)
    jump_rows, jump_numbers = _packed(jumps, rules)
    return "".join(
        (
            '"""The parse tables of ``grammar.lark``. Made by ``python -m language.syntax.table_maker``."""\n\n',
            f"END = {states[table.end_states['program']]}\n",
            _constant("TERMINALS", " ".join(terminals)),
            _constant("RULES", " ".join(rules)),
            "# rule, symbols, what to do, what to keep, absent parts behind, levels closed, builder\n",
            _constant("REDUCTIONS", " ; ".join(_reduction(rule, rules) for rule in reductions)),
            _constant("ACTIONS", action_rows),
            _constant("ACTION_ROWS", action_numbers),
            _constant("JUMPS", jump_rows),
            _constant("JUMP_ROWS", jump_numbers),
        )
    )


def _reached(table: Any) -> tuple[list[Any], dict[Any, int]]:
    """The states in the order in which they are reached from the start, and their numbers."""
    order = [table.start_states["program"]]
    numbers = {order[0]: 0}
    for state in order:
        for _, (action, argument) in sorted(table.states[state].items()):
            if action is Shift and argument not in numbers:
                numbers[argument] = len(order)
                order.append(argument)
    return order, numbers


def _terminal(name: str) -> str:
    """The grammar's name of a terminal as the layout pass has it."""
    name = str(name).removeprefix("_")
    return "IDENTIFIER" if name == "NAME" else name


def _reduction(rule: Any, rules: list[str]) -> str:
    name = str(rule.origin.name)
    keep: list[tuple[int, int, int]] = []
    absent = 0
    position = 0
    # lark marks with True the optional parts that this alternative lacks
    for missing in list(rule.options.empty_indices) or [False] * len(rule.expansion):
        if missing:
            absent += 1
            continue
        symbol = rule.expansion[position]
        if rule.options.keep_all_tokens or not (symbol.is_term and symbol.filter_out):
            keep.append((absent, position, int(not symbol.is_term and symbol.name.startswith("_"))))
            absent = 0
        position += 1
    builder = ""
    if name.startswith("_"):
        action = COLLECT
    elif rule.options.expand1 and rule.alias is None and len(keep) == 1 and not keep[0][0] and not keep[0][2] and not absent:
        action = SAME if len(rule.expansion) == 1 else PICK
    else:
        action = BUILD
        builder = str(rule.alias or name)
    nesting = sum(1 for symbol in rule.expansion if symbol.is_term and _terminal(symbol.name) in NESTING)
    kept = ",".join(f"{before}.{number}.{joined}" for before, number, joined in keep)
    return f"{rules.index(name)} {len(rule.expansion)} {action} {kept or '-'} {absent} {nesting} {builder or '-'}"


def _packed(rows: _Rows, names: list[str]) -> tuple[str, str]:
    """The different rows as text, names of one value together; and for each state which row is its own."""
    texts: dict[str, int] = {}
    numbers = []
    for row in rows:
        groups: dict[int, list[str]] = {}
        for name in names:
            if name in row:
                groups.setdefault(row[name], []).append(str(names.index(name)))
        text = " ".join(f"{value}:{','.join(members)}" for value, members in sorted(groups.items()))
        numbers.append(str(texts.setdefault(text, len(texts))))
    return " ; ".join(texts), " ".join(numbers)


def _constant(name: str, text: str) -> str:
    lines = textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)
    return f'{name} = """\n' + "\n".join(lines) + '\n"""\n'


if __name__ == "__main__":
    TARGET.write_text(module_text(), encoding="utf-8")
    sys.stdout.write(f"{TARGET}\n")
