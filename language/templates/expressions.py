"""The expressions in holes: parsed by the language's own parser, with the position of their hole."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import Any

from language.errors import ParseError
from language.syntax import nodes
from language.syntax.lexer import tokenize
from language.syntax.parser import parse

BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LITERAL_NAMES = frozenset(("true", "false", "nothing"))

_OPENING = frozenset(("LPAREN", "LBRACKET", "LBRACE"))
_CLOSING = frozenset(("RPAREN", "RBRACKET", "RBRACE"))


def is_bare(text: str) -> bool:
    """Whether the text is a single name, which is looked up even if it is a keyword."""
    return BARE_NAME.fullmatch(text) is not None and text not in LITERAL_NAMES


def expression(text: str, line: int) -> nodes.Expr:
    """The expression in the text, with all positions on one line.

    Raises ``LexerError`` or ``ParseError`` if it is not an expression.
    """
    if is_bare(text):
        return nodes.Name((line, 1, line, 1 + len(text)), text)
    if not text:
        raise ParseError("an expression is missing")
    # Inside parentheses line ends are ignored. The closing one is on a line of its own, so that no comment hides it.
    source = f"({text}\n)"
    if ")" in text and _closes_early(source):
        raise ParseError("a closing bracket has no opening one")
    try:
        program = parse(source, "")
    except ParseError as error:
        if error.line > text.count("\n") + 1 or error.code == "E0104":
            raise ParseError("it is not complete") from None
        if error.message.startswith("expected `)`, found ") and "(" not in text:
            raise ParseError(error.message.partition(": ")[0].replace("`)`", "the end", 1)) from None
        raise
    if len(program.statements) != 1 or not isinstance(program.statements[0], nodes.ExprStmt):
        raise ParseError("it is no expression")
    placed: nodes.Expr = _on_line(program.statements[0].value, line)
    return placed


def _closes_early(source: str) -> bool:
    depth = 0
    tokens = [token for token in tokenize(source, "") if token.type in _OPENING or token.type in _CLOSING]
    for token in tokens:
        depth += 1 if token.type in _OPENING else -1
        if depth == 0 and token is not tokens[-1]:
            return True
    return False


def _on_line(node: Any, line: int) -> Any:
    """The same tree with every position on one line; columns are kept."""
    if isinstance(node, tuple):
        return tuple([_on_line(part, line) for part in node])
    if not is_dataclass(node) or isinstance(node, type):
        return node
    changes: dict[str, Any] = {}
    for part in fields(node):
        value = getattr(node, part.name)
        if part.name == "span":
            changes["span"] = (line, value[1], line, value[3])
        elif part.name == "at":
            changes["at"] = (line, value[1])
        elif isinstance(value, tuple) or is_dataclass(value):
            changes[part.name] = _on_line(value, line)
    return replace(node, **changes)
