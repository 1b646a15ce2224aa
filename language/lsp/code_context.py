"""Where a place in a text stands, read off the characters before it: a program that is being typed seldom parses.

In code, in a text or in a comment; in which calls; behind which name and dot. The scan begins at the first line and takes
everything: what is left open by mistake ends where the next statement of the file begins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NAME = re.compile(r"[^\W\d]\w*")
_PIECE = re.compile(
    r"""(?P<space>[ \t\r]+)
      | (?P<newline>\n)
      | (?P<comment>--[^\n]*)
      | (?P<text>"(?:[^"\\\n]|\\[^\n])*(?:"|(?=\n)|\\?\Z)|'(?:[^'\\\n]|\\[^\n])*(?:'|(?=\n)|\\?\Z))
      | (?P<name>[^\W\d]\w*)
      | (?P<number>\d[\w.]*)
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
      | (?P<tick>`)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_LITERAL = re.compile(r"(?:[^`\\{]|\\.)*", re.DOTALL)
#: Words that begin a statement: where one stands at the start of a line without indentation, every bracket is closed.
_BEGINS = frozenset({"let", "set", "task", "type", "enum", "export", "require", "use", "test", "agent", "serve", "intent"})


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call whose argument list is open: what stands before its bracket, and how far the arguments go.

    ``name`` is the dotted name, ``start`` the offset where it begins, ``opening`` the offset of the bracket, ``argument`` the
    number of the open argument, ``keyword`` the name that it is given by, empty for one by position, ``named`` all such names.
    """

    name: str
    start: int
    opening: int
    argument: int
    keyword: str
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CodeContext:
    """What stands before a place.

    ``inside`` is ``code``, ``text`` or ``comment``; ``start`` the offset of the text or comment it is inside of. ``calls`` are
    the open calls, the innermost last; ``opener`` is the innermost open bracket of any kind. ``chain`` are the names before the
    last dot (``request`` in ``request.pa``), ``word`` what is written of the name at the place, ``line`` the code of the line
    before that word.
    """

    inside: str
    start: int
    calls: tuple[OpenCall, ...]
    opener: str
    chain: tuple[str, ...]
    word: str
    line: str


class _Bracket:
    __slots__ = ("argument", "kind", "name", "named", "offset", "pending", "start")

    def __init__(self, kind: str, name: str, start: int, offset: int) -> None:
        self.kind = kind
        self.name = name
        self.start = start
        self.offset = offset
        self.argument = 0
        self.named: list[str] = []
        self.pending = ""


def context_at(text: str, offset: int) -> CodeContext:
    """The context of an offset of a text."""
    brackets: list[_Bracket] = []
    before = text[:offset]
    position = 0
    inside, inside_start = "code", 0
    chain: list[tuple[str, int]] = []  # names joined by dots, up to here
    joined = False  # whether a dot stands behind the last of them
    adjacent = False  # whether nothing stands between the last name and here
    last_name = ""
    line_start = 0
    fresh_line = True
    in_literal = False
    while position < len(before):
        if in_literal:
            found = _LITERAL.match(before, position)
            position = found.end() if found else len(before)
            if position >= len(before):
                inside, inside_start = "text", brackets[-1].offset
                break
            if before[position] == "`":
                brackets.pop()
            else:
                brackets.append(_Bracket("hole", "", position, position))
            in_literal = False
            position += 1
            chain, joined, adjacent = [], False, False
            continue
        piece = _PIECE.match(before, position)
        if piece is None:
            break
        kind, value = piece.lastgroup, piece[0]
        start, position = position, piece.end()
        if kind == "space":
            adjacent = False
            continue
        if kind == "newline":
            line_start, fresh_line = position, True
            chain, joined, adjacent = [], False, False
            continue
        if kind == "comment":
            if position == len(before):
                inside, inside_start = "comment", start
            continue
        if kind == "text":
            if position == len(before) and (len(value) == 1 or value[-1] != value[0] or _escaped_end(value)):
                inside, inside_start = "text", start
            chain, joined, adjacent = [], False, False
        elif kind == "name":
            if fresh_line and start == line_start and value in _BEGINS:
                brackets.clear()
            if not joined:
                chain = []
            chain.append((value, start))
            joined, adjacent, last_name = False, True, value
        elif kind == "open":
            call = value == "(" and adjacent
            brackets.append(
                _Bracket(value, ".".join(name for name, _ in chain) if call else "", chain[0][1] if call else start, start)
            )
            chain, joined, adjacent = [], False, False
        elif kind == "close":
            while brackets and brackets[-1].kind not in "([{hole":
                brackets.pop()
            if brackets:
                closed = brackets.pop()
                in_literal = closed.kind == "hole"
            chain, joined, adjacent = [], False, False
        elif kind == "tick":
            brackets.append(_Bracket("`", "", start, start))
            in_literal = True
            if position == len(before):
                inside, inside_start = "text", start
        else:
            if value == ".":
                joined = bool(chain)
            else:
                if brackets:
                    _argument(brackets[-1], value, last_name if chain else "", before[position : position + 1])
                chain, joined = [], False
            adjacent = False
        fresh_line = False
    return _context(before, brackets, inside, inside_start, line_start)


def _escaped_end(value: str) -> bool:
    body = value[1:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 1


def _argument(bracket: _Bracket, sign: str, name: str, following: str) -> None:
    if sign == ",":
        bracket.argument += 1
        bracket.pending = ""
    elif sign == "=" and name and following not in ("=", ">") and not bracket.pending:
        bracket.pending = name
        bracket.named.append(name)


_WORD_AT_END = re.compile(r"(?:[^\W\d]\w*)?\Z")
_CHAIN_AT_END = re.compile(r"((?:[^\W\d]\w*[ \t]*\.[ \t]*)+)\Z")


def _context(before: str, brackets: list[_Bracket], inside: str, start: int, line_start: int) -> CodeContext:
    calls = tuple(
        OpenCall(b.name, b.start, b.offset, b.argument, b.pending, tuple(b.named)) for b in brackets if b.kind == "(" and b.name
    )
    found = _WORD_AT_END.search(before)
    word = found[0] if found is not None and inside == "code" else ""
    rest = before[: len(before) - len(word)]
    joined = _CHAIN_AT_END.search(rest) if inside == "code" else None
    chain = tuple(NAME.findall(joined[1])) if joined is not None else ()
    opener = brackets[-1].kind if brackets else ""
    return CodeContext(inside, start, calls, opener, chain, word, rest[line_start:])


def word_at(text: str, offset: int) -> tuple[str, int]:
    """The name that stands at an offset, or ends there, and the offset of its start; the empty text where none does."""
    start = offset
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    found = NAME.match(text, start)
    return (found[0], start) if found is not None and found.end() >= offset else ("", offset)
