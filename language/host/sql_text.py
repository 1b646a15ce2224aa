"""Scans the text of an SQL statement without running it: its placeholders, its first word.

String literals, quoted names and comments are skipped by the rules of each dialect.
"""

from __future__ import annotations

import re

_BLOCK_COMMENT = r"/\*.*?(?:\*/|\Z)"
_DOUBLED = {quote: rf"{quote}[^{quote}]*(?:{quote}{quote}[^{quote}]*)*{quote}?" for quote in "'\"`"}
_ESCAPED = {quote: rf"{quote}(?:[^{quote}\\]|\\.|{quote}{quote})*{quote}?" for quote in "'\""}

_SQLITE = re.compile(
    "|".join([_DOUBLED["'"], _DOUBLED['"'], _DOUBLED["`"], r"\[[^\]]*\]?", r"--[^\n]*", _BLOCK_COMMENT, r"\?"]), re.DOTALL
)
# Comments nest; `E'...'` has backslash escapes; `$tag$...$tag$` is a string literal.
_POSTGRES = re.compile(
    "|".join(
        [
            rf"(?<![A-Za-z0-9_$])[eE]{_ESCAPED[chr(39)]}",
            _DOUBLED["'"],
            _DOUBLED['"'],
            r"(?<![A-Za-z0-9_$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)",
            r"--[^\n]*",
            r"(?P<open>/\*)",
            r"\?",
        ]
    ),
    re.DOTALL,
)
_MYSQL_COMMENTS = [r"--(?=\s|\Z)[^\n]*", r"\#[^\n]*", _BLOCK_COMMENT]
_MYSQL = re.compile("|".join([_ESCAPED["'"], _ESCAPED['"'], _DOUBLED["`"], *_MYSQL_COMMENTS, r"\?"]), re.DOTALL)
_MYSQL_PLAIN = re.compile("|".join([*_DOUBLED.values(), *_MYSQL_COMMENTS, r"\?"]), re.DOTALL)

_COMMENT_MARK = re.compile(r"/\*|\*/")
_WORD = re.compile(r"[A-Za-z_]+")


def placeholders(text: str, dialect: str) -> list[int]:
    """The positions of the placeholders ``?``.

    ``dialect`` is ``sqlite``, ``postgres``, ``mysql`` or ``mysql-plain`` (without backslash escapes).
    """
    if "?" not in text:
        return []
    return [start for start, _, piece in _pieces(text, dialect) if piece == "?"]


def numbered(text: str) -> tuple[str, int]:
    """A PostgreSQL statement with ``$1``, ``$2``, ... in place of its placeholders, and the number of them."""
    places = placeholders(text, "postgres")
    parts: list[str] = []
    done = 0
    for number, place in enumerate(places, 1):
        parts += (text[done:place], f"${number}")
        done = place + 1
    return "".join([*parts, text[done:]]), len(places)


def without_comments(text: str) -> str:
    """An SQLite statement with each comment replaced by a blank."""
    parts: list[str] = []
    done = 0
    for start, end, piece in _pieces(text, "sqlite"):
        if piece.startswith(("--", "/*")):
            parts += (text[done:start], " ")
            done = end
    return "".join([*parts, text[done:]])


def first_word(text: str) -> str:
    """The first word of an SQLite statement in upper case; empty statements and comments before it are skipped."""
    bare = text.lstrip("; \t\r\n\f\ufeff")
    if bare.startswith(("--", "/*")):
        bare = without_comments(bare).lstrip("; \t\r\n\f\ufeff")
    found = _WORD.match(bare)
    return found.group().upper() if found else ""


def _pieces(text: str, dialect: str) -> list[tuple[int, int, str]]:
    pattern = _PATTERNS[dialect]
    found: list[tuple[int, int, str]] = []
    at = 0
    while True:
        match = pattern.search(text, at)
        if match is None:
            return found
        end = match.end()
        if dialect == "postgres" and match.group("open") is not None:
            end = _nested_end(text, end)
        found.append((match.start(), end, text[match.start() : end]))
        at = end


def _nested_end(text: str, at: int) -> int:
    """The position after a comment that may contain comments; ``at`` is the position after its opening mark."""
    depth = 1
    while depth:
        mark = _COMMENT_MARK.search(text, at)
        if mark is None:
            return len(text)
        depth += 1 if mark.group() == "/*" else -1
        at = mark.end()
    return at


_PATTERNS = {"sqlite": _SQLITE, "postgres": _POSTGRES, "mysql": _MYSQL, "mysql-plain": _MYSQL_PLAIN}
