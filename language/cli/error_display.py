"""Shows an error of a program on standard error, with its line of source, in colours at a terminal.

Loaded when there is an error to show.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from language.cli.streams import say_rendered
from language.diagnostics.rendering import rendered
from language.host.regular_file import open_given

if TYPE_CHECKING:
    from collections.abc import Iterable

    from language.analysis.manifest import Problem
    from language.cli.source import Source
    from language.diagnostics.rendering import Shown

#: Bytes of a file. For a larger one no source line is shown, only the position.
_MOST_BYTES = 16 * 1024 * 1024


class SourceLines:
    """The source lines of a program: those of its own file as it was read, those of its modules as they are on disk now."""

    def __init__(self, source: Source | None = None) -> None:
        self._files: dict[str, list[str]] = {}
        if source is not None:
            self.add(source)

    def add(self, source: Source) -> None:
        """Adds a program as it was read."""
        self._files[source.name] = _lines(source.data)

    def line(self, file: str, number: int) -> str | None:
        """A line of a file; ``None`` if it cannot be read."""
        known = self._files.get(file)
        if known is None:
            known = self._files[file] = _lines(_read(file))
        return known[number - 1] if 0 < number <= len(known) else None


def show_error(error: Shown, source: Source | None = None, *, first: str | None = None) -> None:
    """Writes the error to the error stream. ``source`` is the program as it was read, ``first`` the first line to show."""
    say_rendered(rendered(error, SourceLines(source).line, colours=colours(2), first=first))


def show_problems(problems: Iterable[Problem], sources: Iterable[Source]) -> None:
    """Writes what ``lang check`` found in programs, each with its line of source. ``sources`` are the programs as they were
    read."""
    lines = SourceLines()
    for source in sources:
        lines.add(source)
    coloured = colours(2)
    for problem in problems:
        say_rendered(rendered(problem, lines.line, colours=coloured))


def colours(descriptor: int) -> bool:
    """Whether a stream is a terminal that shows colours and ``NO_COLOR`` is not set (no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in ("", "dumb"):
        return False
    return os.isatty(descriptor)


def _lines(data: bytes) -> list[str]:
    """The lines of a text, as the lexer counts them."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _read(file: str) -> bytes:
    if file.startswith("<"):
        return b""
    try:
        descriptor = open_given(file)
    except OSError:
        return b""
    with open(descriptor, "rb") as opened:
        return opened.read(_MOST_BYTES)
