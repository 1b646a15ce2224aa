"""Searches the lines of files: one match a line, with positions in characters."""

from __future__ import annotations

from stdlib.large_texts import split
from stdlib.regex_engine import PatternError as BadPattern
from stdlib.regex_engine import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from stdlib.regex_engine import Pattern

__all__ = ["BadPattern", "name_filter", "search"]

_SPECIAL = frozenset("\\.^$|?*+()[]{}")


def name_filter(glob: str | None) -> Callable[[str], bool]:
    """Whether a file name matches a pattern of ``*``, ``?`` and ``[...]``; case-sensitive."""
    if glob is None:
        return lambda _: True
    from fnmatch import fnmatchcase

    return lambda name: fnmatchcase(name, glob)


def search(
    contents: Iterable[tuple[str, bytes]], pattern: str, *, regex: bool, ignore_case: bool, most: int | None
) -> tuple[list[dict[str, Any]], bool]:
    """The matches, and whether there were ``most``. Raises ``BadPattern``, and what reading the files raises."""
    find = _regex_finder(pattern, regex, ignore_case) if regex or ignore_case else _literal_finder(pattern)
    matches: list[dict[str, Any]] = []
    for path, data in contents:
        for line, column, text in find(data.decode("utf-8", "replace")):
            if most is not None and len(matches) >= most:
                break
            matches.append({"file": path, "line": line, "col": column, "text": text})
        if most is not None and len(matches) >= most:
            break
    return matches, most is not None and len(matches) >= most


def _literal_finder(pattern: str) -> Callable[[str], Iterator[tuple[int, int, str]]]:
    def find(text: str) -> Iterator[tuple[int, int, str]]:
        if "\n" in pattern:
            return  # a pattern with a line end matches no line
        line = 1
        counted = 0
        at = text.find(pattern)
        while at >= 0:
            start = text.rfind("\n", 0, at) + 1
            line += text.count("\n", counted, start)
            counted = start
            end = text.find("\n", at)
            if end < 0:
                yield line, at - start + 1, text[start:]
                return
            yield line, at - start + 1, text[start:end]
            at = text.find(pattern, end)

    return find


def _regex_finder(pattern: str, regex: bool, ignore_case: bool) -> Callable[[str], Iterator[tuple[int, int, str]]]:
    source = pattern if regex else "".join(["\\" + c if c in _SPECIAL else c for c in pattern])
    expression: Pattern = compiled(source, ignore_case)

    def find(text: str) -> Iterator[tuple[int, int, str]]:
        lines = split(text, "\n")
        if not lines[-1]:
            lines.pop()  # there is no line after the last line end
        for number, line in enumerate(lines, 1):
            span = expression.first(line)
            if span is not None:
                yield number, span[0] + 1, line

    return find
