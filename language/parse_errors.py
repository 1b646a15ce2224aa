"""What to say about the first token that does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from language.errors import ParseError

if TYPE_CHECKING:
    from language.layout import Settled
    from language.parser import Tables


def explain(tables: Tables, states: list[int], settled: Settled, position: int) -> ParseError:
    token = settled.tokens[position]
    message = settled.problems.get(position) or f"Unexpected token: {token.type} ('{token.value}')"
    return ParseError(message, line=token.line, column=token.col)
