"""Writes the word tables of the highlighter from those of the lexer: ``python -m wasm_abi.playground.generate``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from editors.vscode.generate import SCOPES
from language.syntax.tokens import (
    DESCRIBE_CLAUSES,
    EXPORTABLE,
    GATE_WORDS,
    HARD_KEYWORDS,
    HOST_CLAUSES,
    INFIX_WORDS,
    OPERATOR_TYPES,
    SERVE_CLAUSES,
    STATEMENT_WORDS,
)
from stdlib import all_builtins

TARGET = Path(__file__).resolve().parent / "words.js"

#: Classes of the style sheet for the scopes of the other editors.
CLASSES = {"constant.language": "constant", "keyword.operator.word": "operator", "invalid.illegal.reserved": "reserved"}


def tables() -> dict[str, list[str] | dict[str, str]]:
    """The tables by the name under which the highlighter imports them."""
    classes = {word: CLASSES.get(scope, "keyword") for scope, words in SCOPES.items() for word in words}
    assert set(classes) == HARD_KEYWORDS
    starters = {*STATEMENT_WORDS, *SERVE_CLAUSES, *HOST_CLAUSES, "use", "test", "enum", "proxy", "routes", "stream", "socket"}
    return {
        "KEYWORDS": dict(sorted(classes.items())),
        "STARTERS": _sorted(starters),
        "EXPORTABLE": _sorted(EXPORTABLE),
        "DESCRIBE_CLAUSES": _sorted(DESCRIBE_CLAUSES),
        "GATE_WORDS": _sorted(GATE_WORDS),
        "INFIX_WORDS": _sorted(INFIX_WORDS),
        "OPERATORS": sorted(OPERATOR_TYPES, key=lambda operator: (-len(operator), operator)),
        "BUILTINS": _sorted(all_builtins()),
    }


def _sorted(words: Iterable[str]) -> list[str]:
    return sorted(set(words))


def text_of_tables() -> str:
    """The module ``words.js``."""
    lines = ["// Written by wasm_abi/playground/generate.py from language/syntax/tokens.py and the registry of builtins."]
    for name, table in tables().items():
        lines += ["", f"export const {name} = {_laid_out(table)};"]
    return "\n".join(lines) + "\n"


def _laid_out(table: list[str] | dict[str, str]) -> str:
    """JSON in lines of a readable length."""
    if isinstance(table, dict):
        opening, closing, items = "{", "}", [f"{json.dumps(key)}: {json.dumps(value)}," for key, value in table.items()]
    else:
        opening, closing, items = "[", "]", [f"{json.dumps(value)}," for value in table]
    lines, line = [opening], "   "
    for item in items:
        if len(line) + len(item) + 1 > 128:
            lines.append(line)
            line = "   "
        line += f" {item}"
    return "\n".join([*lines, line, closing])


if __name__ == "__main__":
    TARGET.write_text(text_of_tables(), encoding="utf-8")
