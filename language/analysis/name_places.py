"""Where a name stands that the tree keeps without its place: in ``let x``, ``each x``, ``as x``, ``recover x``, ``(x) =>``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from language.syntax import nodes
from language.syntax.lexer import normalised

_WORD = r"[A-Za-z0-9_\x80-\U0010ffff]"
_HEAD = re.compile(r"(?:export[ \t]+)?(?:let|task|type|enum|routes|each|agent)[ \t]+")
_RECOVER = re.compile(rf"[ \t]*recover\b[ \t]*({_WORD}*)")
_COMMENT = re.compile(r"[ \t]*--[ \t]?(.*)")


@dataclass(frozen=True, slots=True)
class SourceRange:
    """A part of a file: ``line`` and ``column`` count from 1, columns in code points, the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class SourceText:
    """The text of one file, asked for the places of names."""

    def __init__(self, file: str, source: str) -> None:
        self.file = file
        self.lines = normalised(source).split("\n")

    def range(self, span: nodes.Span) -> SourceRange:
        """The part that a span of the tree stands for."""
        return SourceRange(self.file, *span)

    def named(self, name: str, line: int, column: int) -> SourceRange:
        """``name`` that begins at a place."""
        return SourceRange(self.file, line, column, line, column + len(name))

    def after(self, name: str, line: int, column: int, last: int | None = None) -> SourceRange | None:
        """The next place, from the given one on, where the word ``name`` stands; not behind the line ``last``."""
        word = re.compile(rf"(?<!{_WORD}){re.escape(name)}(?!{_WORD})")
        start = column - 1
        for number in range(line, min(len(self.lines), last or line) + 1):
            found = word.search(self.lines[number - 1], start)
            if found is not None:
                return self.named(name, number, found.start() + 1)
            start = 0
        return None

    def defined(self, node: Any) -> SourceRange | None:
        """The name that a statement defines, where it begins with its word: ``let``, ``task``, ``type``, ``each``, ..."""
        line, column = node.span[:2]
        head = _HEAD.match(self.lines[line - 1], column - 1)
        return None if head is None else self.named(node.name, line, head.end() + 1)

    def alias(self, node: Any) -> SourceRange:
        """The name behind ``as``, with which the statement ends."""
        return self.named(node.alias, node.span[2], node.span[3] - len(node.alias))

    def caught(self, node: nodes.Try) -> SourceRange | None:
        """The name behind ``recover``; ``None`` where none is written."""
        line = self.recover_line(node)
        found = None if line is None else _RECOVER.match(self.lines[line - 1])
        if line is None or found is None or not found[1]:
            return None
        return self.named(node.name, line, found.start(1) + 1)

    def recover_line(self, node: nodes.Try) -> int | None:
        """The line of the word ``recover``."""
        last = node.handler[0].span[0] if node.handler else node.span[2]
        for line in range(last, node.span[0], -1):
            found = _RECOVER.match(self.lines[line - 1])
            if found is not None:
                return line
        return None

    def text(self, span: nodes.Span) -> str:
        """What stands at a span, its first line."""
        line, column, end_line, end = span
        return self.lines[line - 1][column - 1 : end - 1 if end_line == line else None]

    def comment_above(self, line: int) -> str:
        """The comment lines that stand directly above a line, without their marks."""
        found: list[str] = []
        while line > 1 and (comment := _COMMENT.fullmatch(self.lines[line - 2])) is not None:
            found.append(comment[1])
            line -= 1
        return "\n".join(reversed(found))
