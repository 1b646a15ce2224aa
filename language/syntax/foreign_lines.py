"""The first line of a statement of another language, written as this language has it."""

from __future__ import annotations

import re

from language.errors import LanguageError
from language.syntax.layout import settle
from language.syntax.lexer import flat_tokens
from language.syntax.parser import Stack, Unfit, run
from language.syntax.table_reading import tables

#: A longer line is not rewritten: nobody would read it in a message.
LONGEST = 80
_NAME = r"[A-Za-z_]\w*"
_END = r"\s*[:{;]?\s*"
#: What a line is in another language, what it is here, and the lines that must stand above and below it to make a program.
_LINES: tuple[tuple[str, str, str, str], ...] = tuple(
    (rf"{pattern}{_END}", written, above, below)
    for pattern, written, above, below in (
        (rf"(?:for|foreach)\s+({_NAME})\s+(?:in|of)\s+(.+?)", "each {0} in {1}", "", "\n    1"),
        (rf"for\s*\(\s*(?:let|const|var)?\s*({_NAME})\s+of\s+(.+)\)", "each {0} in {1}", "", "\n    1"),
        (r"if\b\s*(.+?)", "when {0}", "", "\n    1"),
        (r"(?:elif|elsif|elseif|else\s+if)\b\s*(.+?)", "otherwise when {0}", "when true\n    1\n", "\n    1"),
        (r"else", "otherwise", "when true\n    1\n", "\n    1"),
        (rf"(?:def|function|func|fn)\s+({_NAME})\s*\(((?:\s*{_NAME}\s*,)*\s*{_NAME}\s*|\s*)\)", "task {0}({1})", "", "\n    1"),
        (r"return", "give nothing", "task t()\n    ", ""),
        (r"return\b\s*(.+?)", "give {0}", "task t()\n    ", ""),
        (rf"(?:var|const)\s+({_NAME})\s*=\s*(.+?)", "let {0} be {1}", "", ""),
        (r"switch\b\s*(.+?)", "match {0}", "", "\n    is 1\n        1"),
        (r"case\b\s*(.+?)", "is {0}", "match 1\n    ", "\n        1"),
        (r"default", "otherwise", "match 1\n    is 1\n        1\n    ", "\n        1"),
    )
)


def written_here(line: str) -> str:
    """The line as this language has it, where that is surely a statement; else the empty text."""
    if len(line) > LONGEST or not line.isprintable():
        return ""
    for pattern, written, above, below in _LINES:
        found = re.fullmatch(pattern, line)
        if found is not None:
            here = written.format(*(_without_brackets(part.strip()) if part else "" for part in found.groups()))
            return here if _is_program(f"{above}{here}{below}\n") else ""
    return ""


def is_line(text: str) -> bool:
    """Whether a text can be a line of a program: a statement, the head of one, or a further part of one."""
    around = {(above, below) for *_, above, below in _LINES} | {("", "")}
    return any(_is_program(f"{above}{text}{below}\n") for above, below in around)


def line_without_comment(line: str) -> str:
    """A line up to the comment behind its code, if it has one, without blanks at the end."""
    return line.partition(" --")[0].rstrip()


def _without_brackets(value: str) -> str:
    """A value without the brackets that stand around the whole of it."""
    if not (value.startswith("(") and value.endswith(")")):
        return value
    depth = 0
    for place, sign in enumerate(value):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if not depth and place < len(value) - 1:
            return value
    return value[1:-1].strip() or value


def _is_program(source: str) -> bool:
    try:
        settled = settle(flat_tokens(source, "line"))
        run(tables(), settled.kinds, settled.tokens, Stack())
    except (LanguageError, Unfit):
        return False
    return True
