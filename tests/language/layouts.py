"""What the layout of a program must not change; shared by the tests of the formatter and the long random tests."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from language.format import format_source
from language.syntax.lexer import tokenize
from language.syntax.parser import parse


def meaning(root: Any) -> list[Any]:
    """A tree without its places, flat and in the order of the source: chains of calls are deep."""
    found: list[Any] = []
    pending = [root]
    while pending:
        value = pending.pop()
        if isinstance(value, tuple):
            found.append(len(value))
            pending.extend(reversed(value))
        elif is_dataclass(value):
            found.append(type(value).__name__)
            pending.extend(getattr(value, f.name) for f in reversed(fields(value)) if f.name not in ("span", "at"))
        else:
            found.append((type(value).__name__, value))
    return found


def comments(source: str) -> list[str]:
    return [source[t.start : t.end].rstrip() for t in tokenize(source, "x", keep_comments=True) if t.type == "COMMENT"]


def check(source: str) -> str:
    """Formats and asserts what must hold for every program."""
    result = format_source(source, "x.lang")
    assert meaning(parse(result, "x.lang")) == meaning(parse(source, "x.lang"))
    assert comments(result) == comments(source)
    assert format_source(result, "x.lang") == result
    assert result == "" or (result.endswith("\n") and not result.endswith("\n\n"))
    return result
