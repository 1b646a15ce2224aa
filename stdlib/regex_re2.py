r"""Regular expressions on re2: linear time for every pattern.

The tree is written out as a pattern of re2's own, all classes as ranges of code points, in up to three forms:

- *plain*, cut down to ASCII, for a text of ASCII alone;
- *wide*, the full sets, for any other text;
- *marked*, for ``\b`` in a text that is not ASCII, because re2 knows the boundaries of ASCII words only. The text is written
  with a mark on either side of every character, and every set takes the marks along: a word character ``c`` becomes ``wcx``,
  any other ``-c+``; a line end stays bare for ``^`` and ``$``. Between two characters re2 sees nothing but marks, so that its
  boundaries are those of all alphabets. No set can match from within a marked character: an opening mark never follows there
  where a closing one is due.
"""

from __future__ import annotations

from stdlib import char_sets
from stdlib.regex_syntax import (
    BEGIN,
    BOUNDARY,
    END,
    LINE_BEGIN,
    LINE_END,
    NO_BOUNDARY,
    Assertion,
    Branches,
    Chars,
    Group,
    PatternError,
    Sequence,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from stdlib.char_sets import Ranges
    from stdlib.regex_syntax import Node, Tree

    Span = tuple[int, int]
    Cut = Callable[[int, int | None], str]

PLAIN, WIDE, MARKED = "plain", "wide", "marked"

# Enough for every pattern that regex_syntax lets pass; re2 allocates what it uses.
_MEMORY = 128 * 1024 * 1024

_ASCII: Ranges = ((0, 0x7F),)
_ASSERTIONS = {
    BEGIN: "\\A", END: "\\z", LINE_BEGIN: "(?m:^)", LINE_END: "(?m:$)", BOUNDARY: "\\b", NO_BOUNDARY: "\\B",
}  # fmt: skip


class Re2Engine:
    """A pattern compiled by re2, each form when a text first asks for it. May be shared between threads."""

    __slots__ = ("_programs", "_tree")

    #: As :attr:`stdlib.regex_backtracking.Backtracker.native`.
    native = None
    #: Whether long texts are best left to this engine alone.
    fast = True

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._programs: dict[tuple[str, bool], Any] = {}

    def fits(self, text: str) -> bool:
        """Whether the whole text matches."""
        from re2 import _re2  # type: ignore[import-untyped]

        form = self._form(text)
        data = _marked(text) if form is MARKED else text.encode()
        spans: list[Span] = self._program(form, False).Match(_re2.RE2.Anchor.ANCHOR_BOTH, data, 0, len(data))
        return spans[0][0] >= 0

    def matches(self, text: str, groups: bool) -> tuple[Iterator[list[Span]], Cut]:
        """The matches from left to right and the function that cuts a span out of the text; ``None``: up to its end.

        A match is the spans of its whole and, with ``groups``, of its groups; ``(-1, -1)`` for one that took no part. Spans
        mean nothing but to that function, and rise along the text.
        """
        form = self._form(text)
        program = self._program(form, groups)
        if form is PLAIN:
            return _matches(program, text.encode(), form), lambda low, high: text[low:high]
        if form is WIDE:
            data = text.encode()
            return _matches(program, data, form), lambda low, high: data[low:high].decode()
        marked = _marked(text)
        return _matches(program, marked, form), lambda low, high: _unmarked(marked[low:high])

    def _form(self, text: str) -> str:
        if text.isascii():
            return PLAIN
        return MARKED if self._tree.boundaries else WIDE

    def _program(self, form: str, groups: bool) -> Any:
        program = self._programs.get((form, groups))
        if program is None:
            program = self._programs[form, groups] = _compiled(_written(self._tree.root, form), groups)
        return program


def _compiled(pattern: str, groups: bool) -> Any:
    from re2 import Options, _re2

    options = Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    options.never_capture = not groups
    program = _re2.RE2(pattern.encode(), options)
    if not program.ok():
        raise PatternError(f"the pattern is too large: {program.error().decode()}")
    return program


# --- matching ---------------------------------------------------------------------------------------------------------------


def _matches(program: Any, data: bytes, form: str) -> Iterator[list[Span]]:
    """All matches in bytes. An empty match directly behind another match does not count."""
    from re2 import _re2

    match, anywhere = program.Match, _re2.RE2.Anchor.UNANCHORED
    at, last, end = 0, -1, len(data)
    while at <= end:
        spans: list[Span] = match(anywhere, data, at, end)
        low, high = spans[0]
        if low < high:
            yield spans
            at = last = high
        elif low < 0:
            return
        elif form is MARKED and not _between(data, low):
            at = low + 1
        else:
            if low != last:
                yield spans
                last = low
            at = low + _width(data, low, form)


def _width(data: bytes, at: int, form: str) -> int:
    """How many bytes the character takes that begins here; 1 at the end."""
    if form is PLAIN or at >= len(data):
        return 1
    if form is MARKED:
        return 1 if data[at] == 10 else 2 + _width(data, at + 1, WIDE)
    lead = data[at]
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


# --- the marked form --------------------------------------------------------------------------------------------------------


def _marked(text: str) -> bytes:
    word = char_sets.word()
    marks = {
        ord(character): f"w{character}x" if char_sets.has(word, ord(character)) else f"-{character}+"
        for character in set(text)
        if character != "\n"
    }
    return text.translate(marks).encode()


def _unmarked(data: bytes) -> str:
    return "\n".join([line[1::3] for line in data.decode().split("\n")])


def _between(data: bytes, at: int) -> bool:
    """Whether the place lies between two marked characters, not within one."""
    return (at == 0 or data[at - 1] in b"x+\n") and (at == len(data) or data[at] in b"w-\n")


# --- writing ----------------------------------------------------------------------------------------------------------------


def _written(node: Node, form: str) -> str:
    if isinstance(node, Chars):
        if form is MARKED:
            return _written_marked(node.ranges)
        return _class(char_sets.common(node.ranges, _ASCII) if form is PLAIN else node.ranges)
    if isinstance(node, Assertion):
        return _ASSERTIONS[node.kind]
    if isinstance(node, Group):
        return f"({_written(node.body, form)})"
    if isinstance(node, Sequence):
        return "".join([_written(part, form) for part in node.parts])
    if isinstance(node, Branches):
        return "(?:" + "|".join([_written(branch, form) for branch in node.branches]) + ")"
    return f"(?:{_written(node.body, form)}){node.operator}"


def _class(ranges: Ranges) -> str:
    if not ranges:
        return "[^\\x{0}-\\x{10ffff}]"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return f"\\x{{{ranges[0][0]:x}}}"
    return "[" + "".join([f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges]) + "]"


def _written_marked(ranges: Ranges) -> str:
    word = char_sets.word()
    members = _class(ranges)
    ways = []
    if char_sets.common(ranges, word):
        ways.append(f"w{members}x")
    if char_sets.common(ranges, char_sets.negated(word)):
        ways.append(f"-{members}\\+")
    if char_sets.has(ranges, 10):
        ways.append("\\n")
    return "(?:" + "|".join(ways or [members]) + ")"
