"""An error as a person reads it: the line that says what and where, the source with a caret, the calls, and what to do.

The first line is exactly the one-line form of the error, which scripts match. Nothing that is quoted acts on a terminal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from language.console_text import one_line, visible
from language.diagnostics.fields import help_of
from language.errors import LimitExceeded, RuntimeFault, placed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from language.errors import Call

    class Shown(Protocol):
        """What is shown: an error of a program, a problem that ``lang check`` found."""

        @property
        def code(self) -> str: ...
        @property
        def file(self) -> str: ...
        @property
        def line(self) -> int: ...
        @property
        def column(self) -> int: ...
        @property
        def end_line(self) -> int: ...
        @property
        def end_column(self) -> int: ...
        @property
        def help(self) -> str: ...


#: Columns of a source line that are shown; a longer line is cut around the caret.
WIDEST = 120
#: What is underlined where only the beginning of the faulty text is known: a word, a number, a text, else one character.
_TOKEN = re.compile(r'\w+|"(?:[^"\\]|\\.)*"|[-+*/%<>=!]=?|.')

#: What is called or indexed, before the bracket.
_CALLEE = re.compile(r"[\w.]+$")

_BOLD_RED, _RED, _BLUE, _CYAN, _PLAIN = "\033[1;31m", "\033[31m", "\033[34m", "\033[36m", "\033[0m"


def rendered(
    error: Shown,
    source_line_of: Callable[[str, int], str | None],
    *,
    colours: bool = False,
    first: str | None = None,
) -> str:
    """The error over several lines, without a line end behind the last.

    ``source_line_of(file, line)`` gives a line of source without its end, ``None`` where it is not to be had. ``first`` is the
    first line, ``str(error)`` without it. ``colours`` are escape sequences for a terminal.
    """
    paint = _painted if colours else _unpainted
    lines = [_first_line(visible(str(error) if first is None else first), paint)]
    if error.line:
        source = source_line_of(error.file, error.line)
        if source is not None:
            lines += _excerpt(error, source, paint)
    calls: tuple[Call, ...] = getattr(error, "calls", ())
    lines += _chain(calls)
    more = getattr(error, "more_calls", 0)
    if more:
        lines.append(f"and {more} calls before")
    cure = help_of(error)
    if cure and cure not in lines[0]:
        told = visible(cure).split("\n")
        lines.append(paint(_CYAN, "help:") + f" {told[0]}")
        lines += [f"      {line}".rstrip() for line in told[1:]]
    lines.append(f"more: lang docs {error.code}")
    return "\n".join(lines)


def _chain(calls: tuple[Call, ...]) -> list[str]:
    """A line for each call, the innermost first; one for the same call several times over."""
    lines: list[str] = []
    times = 1
    for position, call in enumerate(calls):
        if calls[position + 1 : position + 2] == (call,):
            times += 1
            continue
        name, file, line, column = call
        often = f" ({times} times)" if times > 1 else ""
        shown = name if " " in name else f"`{one_line(name)}`"  # no task of its own name: `a lambda`, `the module`
        lines.append(f"in {shown}, called at {placed(file, line, column)}{often}")
        times = 1
    return lines


def _painted(colour: str, text: str) -> str:
    return f"{colour}{text}{_PLAIN}"


def _unpainted(colour: str, text: str) -> str:
    return text


def _first_line(line: str, paint: Callable[[str, str], str]) -> str:
    category, mark, rest = line.partition(": ")
    return paint(_BOLD_RED, category + ":") + " " + rest if mark else line


class _Piece(NamedTuple):
    """A part of a source line as it is shown, and how many columns of a terminal that takes."""

    text: str
    width: int


def _excerpt(error: Shown, source: str, paint: Callable[[str, str], str]) -> list[str]:
    """The line of source with its number, and the carets under the faulty text."""
    start, end = marked_part(error, source)
    first, last = _window(source, start, end)
    before = [_shown(character) for character in source[first:start]]
    marked = [_shown(character) for character in source[start:end]]
    after = [_shown(character) for character in source[end:last]]
    text = "".join(piece.text for piece in (*before, *marked, *after)).rstrip()
    cut = "…" if first else ""
    indent = " " * len(cut) + "".join("\t" if piece.text == "\t" else " " * piece.width for piece in before)
    carets = "^" * max(sum(piece.width for piece in marked), 1)
    number = str(error.line)
    gutter = " " * len(number)
    return [
        paint(_BLUE, f"{number} |") + f" {cut}{text}{'…' if last < len(source) else ''}".rstrip(),
        paint(_BLUE, f"{gutter} |") + f" {indent}{paint(_RED, carets)}",
    ]


def marked_part(error: Shown, source: str) -> tuple[int, int]:
    """From where to where the line is marked: to the end that is known, to that of the line for what goes on below.

    Where only the beginning is known, it is the word there; errors of a running program stand at the bracket of a call or an
    index and at the point before a field, and the whole of that is marked.
    """
    start = min(max(error.column - 1, 0), len(source))
    if error.end_line > error.line:
        return start, max(len(source.rstrip()), start)
    if error.end_line == error.line and error.end_column - 1 > start:
        return start, min(error.end_column - 1, len(source))
    if isinstance(error, (RuntimeFault, LimitExceeded)):
        if source[start : start + 1] in ("(", "["):
            before = _CALLEE.search(source, 0, start)
            return start if before is None else before.start(), _closing(source, start)
        if source[start : start + 1] == "." and start + 1 < len(source):
            start += 1
    token = _TOKEN.match(source, start)
    return start, start if token is None else token.end()


def _closing(source: str, start: int) -> int:
    """Behind the bracket that closes the one at ``start``; behind that one itself where the line does not close it."""
    depth = 0
    for token in _TOKEN.finditer(source, start):
        if token[0] in ("(", "[", "{"):
            depth += 1
        elif token[0] in (")", "]", "}"):
            depth -= 1
            if not depth:
                return token.end()
    return start + 1


def _window(source: str, start: int, end: int) -> tuple[int, int]:
    """From which character to which a line is shown."""
    if len(source) <= WIDEST:
        return 0, len(source)
    first = max(0, min(start - WIDEST // 3, len(source) - WIDEST))
    return first, min(len(source), first + WIDEST)


def _shown(character: str) -> _Piece:
    if character.isascii() and character.isprintable():
        return _Piece(character, 1)
    if character == "\t":
        return _Piece(character, 1)
    shown = one_line(character)
    if shown != character:
        return _Piece(shown, len(shown))
    from unicodedata import combining, east_asian_width

    if combining(character) or character in "\u200b\u200c\u200d\ufe0e\ufe0f":
        return _Piece(character, 0)
    return _Piece(character, 2 if east_asian_width(character) in "WF" else 1)
