"""Splits the text of a template into literal text and holes."""

from __future__ import annotations

import re
from typing import NamedTuple

from language.errors import RuntimeFault

BLANKS = " \t\r\n\f\v"

#: The tokens that matter for finding the end of a hole. A string literal without an end extends to the end of the text.
_MARK = re.compile(r'[{}]|"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_END = re.compile(r"\{[ \t\r\n\f\v]*end[ \t\r\n\f\v]*\}")


class TemplateFault(RuntimeFault):
    """An error of a page whose message already names file and line."""


class Hole(NamedTuple):
    """``text`` is the trimmed content; ``line`` is that of the opening brace, from 1."""

    line: int
    text: str


def cut(source: str, file: str) -> list[str | Hole]:
    """The parts of a template in order; verbatim blocks become literal text. ``file`` is the name that errors show.

    Raises ``TemplateFault`` for a hole or a verbatim block without an end.
    """
    pieces: list[str | Hole] = []
    line = 1
    pos = 0
    while (start := source.find("{", pos)) >= 0:
        if start > pos:
            pieces.append(source[pos:start])
        line += source.count("\n", pos, start)
        pos = _hole_end(source, start)
        if pos < 0:
            raise TemplateFault(f"{file}:{line}: unclosed '{{' in template")
        text = source[start + 1 : pos - 1].strip(BLANKS)
        if text == "raw":
            end = _END.search(source, pos)
            if end is None:
                raise TemplateFault(f"{file}:{line}: missing '{{ end }}' for '{{ raw }}' verbatim block")
            pieces.append(source[pos : end.start()])
            pos = end.end()
        elif not text.startswith("--"):
            pieces.append(Hole(line, text))
        line += source.count("\n", start, pos)
    if pos < len(source):
        pieces.append(source[pos:])
    return pieces


def _hole_end(source: str, start: int) -> int:
    """The position after the hole that opens at ``start``; -1 when it has no end."""
    depth = 0
    for mark in _MARK.finditer(source, start):
        text = mark[0]
        if text == "{":
            depth += 1
        elif text == "}":
            depth -= 1
            if depth == 0:
                return mark.end()
    return -1
