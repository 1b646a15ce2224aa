r"""What re2 answers to a pattern: somebody else's engine, which those of the language are compared with.

The tree is written out as a pattern of re2's own, all classes as ranges of code points, in one of two forms:

- *wide*, as it is;
- *marked*, for ``\b`` in a text that is not ASCII, because re2 knows the boundaries of ASCII words only. The text is written
  with a mark on either side of every character, and every set takes the marks along: a word character ``c`` becomes ``wcx``,
  any other ``-c+``; a line end stays bare for ``^`` and ``$``. Between two characters re2 sees nothing but marks, so that its
  boundaries are those of all alphabets. No set can match from within a marked character: an opening mark never follows there
  where a closing one is due.
"""

from __future__ import annotations

from re2 import Options, _re2

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

WIDE, MARKED = "wide", "marked"

# Enough for every pattern that regex_syntax lets pass; re2 allocates what it uses.
_MEMORY = 128 * 1024 * 1024

_ASSERTIONS = {
    BEGIN: "\\A", END: "\\z", LINE_BEGIN: "(?m:^)", LINE_END: "(?m:$)", BOUNDARY: "\\b", NO_BOUNDARY: "\\B",
}  # fmt: skip


class Re2Engine:
    """A pattern compiled by re2, with the methods of the language's own engines."""

    native = None

    def __init__(self, tree):
        self._tree = tree

    def fits(self, text):
        """Whether the whole text matches."""
        form = self._form(text)
        data = _marked(text) if form is MARKED else text.encode()
        spans = self._program(form, False).Match(_re2.RE2.Anchor.ANCHOR_BOTH, data, 0, len(data))
        return spans[0][0] >= 0

    def matches(self, text, groups):
        """As :meth:`stdlib.regex_automaton.Automaton.matches`."""
        form = self._form(text)
        data = _marked(text) if form is MARKED else text.encode()
        places = _places(text, form)
        for spans in _matches(self._program(form, groups), data, form):
            yield [(-1, -1) if low < 0 else (places[low], places[high]) for low, high in spans]

    def _form(self, text):
        return MARKED if self._tree.boundaries and not text.isascii() else WIDE

    def _program(self, form, groups):
        options = Options()
        options.log_errors = False
        options.max_mem = _MEMORY
        options.never_capture = not groups
        program = _re2.RE2(_written(self._tree.root, form).encode(), options)
        if not program.ok():
            raise PatternError(f"the pattern is too large: {program.error().decode()}")
        return program


def _places(text, form):
    """By place in the bytes of a form of the text, the place in the text; where no character begins, that of the one before."""
    places = []
    for number, character in enumerate(text):
        places += [number] * len(_marked(character) if form is MARKED else character.encode())
    return [*places, len(text)]


# --- matching ---------------------------------------------------------------------------------------------------------------


def _matches(program, data, form):
    """All matches in bytes. An empty match directly behind another match does not count."""
    match, anywhere = program.Match, _re2.RE2.Anchor.UNANCHORED
    at, last, end = 0, -1, len(data)
    while at <= end:
        spans = match(anywhere, data, at, end)
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


def _width(data, at, form):
    """How many bytes the character takes that begins here; 1 at the end."""
    if at >= len(data):
        return 1
    if form is MARKED:
        return 1 if data[at] == 10 else 2 + _width(data, at + 1, WIDE)
    lead = data[at]
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


# --- the marked form --------------------------------------------------------------------------------------------------------


def _marked(text):
    word = char_sets.word()
    marks = {
        ord(character): f"w{character}x" if char_sets.has(word, ord(character)) else f"-{character}+"
        for character in set(text)
        if character != "\n"
    }
    return text.translate(marks).encode()


def _between(data, at):
    """Whether the place lies between two marked characters, not within one."""
    return (at == 0 or data[at - 1] in b"x+\n") and (at == len(data) or data[at] in b"w-\n")


# --- writing ----------------------------------------------------------------------------------------------------------------


def _written(node, form):
    if isinstance(node, Chars):
        if form is MARKED:
            return _written_marked(node.ranges)
        return _class(node.ranges)
    if isinstance(node, Assertion):
        return _ASSERTIONS[node.kind]
    if isinstance(node, Group):
        return f"({_written(node.body, form)})"
    if isinstance(node, Sequence):
        return "".join([_written(part, form) for part in node.parts])
    if isinstance(node, Branches):
        return "(?:" + "|".join([_written(branch, form) for branch in node.branches]) + ")"
    return f"(?:{_written(node.body, form)}){node.operator}"


def _class(ranges):
    if not ranges:
        return "[^\\x{0}-\\x{10ffff}]"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return f"\\x{{{ranges[0][0]:x}}}"
    return "[" + "".join([f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges]) + "]"


def _written_marked(ranges):
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
