r"""The syntax of regular expressions: a pattern becomes a tree of sets of characters, repeats, branches, groups and assertions.

The language is that of the linear-time engines: no look-around, no back-references. Flags, classes, escapes and folding of case
are settled here, in terms of code points, so that every engine gets the same simple tree:

- ``. [...] [^...] [[:alpha:]] \d \w \s \D \W \S \p{L} \PL``, all but the ``[[:...:]]`` Unicode aware;
- ``^ $ \A \z \b \B``, ``$`` at the very end only unless the flag ``m`` is on;
- ``* + ? {n} {n,} {n,m} {,m}`` and their lazy forms with ``?``, counts up to 1000; braces that are not a count are literal;
- ``(...) (?:...) (?P<name>...) (?<name>...) (?ims-x) (?i:...)``;
- ``\t \n \r \f \v \a \0 \x41 \x{1F600} \u00e9 \U0001F600`` and any escaped character other than a letter or digit.
"""

from __future__ import annotations

from stdlib import char_sets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from stdlib.char_sets import Ranges

    Node: TypeAlias = "Chars | Assertion | Group | Sequence | Branches | Repeat"

MOST_REPEATS = 1000
DEEPEST = 200

# The most steps of a compiled matcher, roughly; more would take too much memory.
LARGEST = 500_000

BEGIN, END, LINE_BEGIN, LINE_END, BOUNDARY, NO_BOUNDARY = "begin", "end", "line begin", "line end", "boundary", "no boundary"

_PLAIN_ESCAPES = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_WHITE = " \t\n\r\f\v"


class PatternError(Exception):
    """The pattern is invalid; the message is the detail of the error text."""


class Chars:
    """One character of a set."""

    __slots__ = ("ranges",)

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges


class Assertion:
    """A condition on the position, by name."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind


class Group:
    """A group whose text is captured, numbered from 1."""

    __slots__ = ("body", "number")

    def __init__(self, number: int, body: Node) -> None:
        self.number = number
        self.body = body


class Sequence:
    """Parts in sequence; without parts, the empty text."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Node, ...]) -> None:
        self.parts = parts


class Branches:
    """Alternatives: the first branch that leads to a match."""

    __slots__ = ("branches",)

    def __init__(self, branches: tuple[Node, ...]) -> None:
        self.branches = branches


class Repeat:
    """``least`` to ``most`` repetitions (``None``: no limit), as many as possible or, if not ``greedy``, as few."""

    __slots__ = ("body", "greedy", "least", "most")

    def __init__(self, body: Node, least: int, most: int | None, greedy: bool) -> None:
        self.body = body
        self.least = least
        self.most = most
        self.greedy = greedy

    @property
    def operator(self) -> str:
        """The repetition operator in the syntax that all engines share."""
        most = "" if self.most is None else str(self.most)
        return f"{{{self.least},{most}}}" + ("" if self.greedy else "?")


class Tree:
    r"""A parsed pattern. ``names`` gives the number of each named group; ``boundaries``: it contains ``\b`` or ``\B``."""

    __slots__ = ("boundaries", "groups", "names", "root")

    def __init__(self, root: Node, groups: int, names: dict[str, int], boundaries: bool) -> None:
        self.root = root
        self.groups = groups
        self.names = names
        self.boundaries = boundaries


def parse(pattern: str, ignore_case: bool = False) -> Tree:
    """The tree of a pattern. Raises ``PatternError``."""
    parser = _Parser(pattern)
    root, _ = parser.branches("i" if ignore_case else "", 0)
    if parser.at < len(pattern):
        raise PatternError(f"unmatched ) at position {parser.at}")
    _measured(root, 1)
    return Tree(root, parser.groups, parser.names, parser.boundaries)


def _measured(node: Node, times: int) -> int:
    """How many steps the node compiles to. ``times`` is the product of the repetitions around it. Raises ``PatternError`` when
    it is too large.
    """
    size = 1
    if isinstance(node, Chars):
        size = 1 if len(node.ranges) == 1 else 2 * len(node.ranges)
    elif isinstance(node, Group):
        size = 2 + _measured(node.body, times)
    elif isinstance(node, Sequence):
        size = sum(_measured(part, times) for part in node.parts)
    elif isinstance(node, Branches):
        size = sum(1 + _measured(branch, times) for branch in node.branches)
    elif isinstance(node, Repeat):
        count = max(node.least, node.most or 0, 1)
        if times * count > MOST_REPEATS:
            raise PatternError(f"the pattern is too large: nested repeats of more than {MOST_REPEATS}")
        size = count * (1 + _measured(node.body, times * count))
    if size > LARGEST:
        raise PatternError("the pattern is too large")
    return size


class _Parser:
    """Parses a pattern from left to right; ``at`` is the position of the next character."""

    __slots__ = ("at", "boundaries", "groups", "names", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.groups = 0
        self.names: dict[str, int] = {}
        self.boundaries = False

    def branches(self, flags: str, depth: int) -> tuple[Node, str]:
        """Everything up to the end of the group."""
        pattern = self.pattern
        done: list[Node] = []
        parts: list[Node] = []
        while self.at < len(pattern):
            character = pattern[self.at]
            if "x" in flags and self._skipped():
                continue
            if character == ")":
                break
            if character == "|":
                self.at += 1
                done.append(_sequence(parts))
                parts = []
                continue
            if character in "*+?" or (character == "{" and self._count() is not None):
                raise PatternError(f"missing argument to repetition operator: {self._operator()}")
            if pattern.startswith("(?", self.at):
                switched = self._flag_switch(flags)
                if switched is not None:
                    flags = switched
                    continue
            parts.append(self._repeated(self._atom(flags, depth), flags))
        done.append(_sequence(parts))
        return (done[0] if len(done) == 1 else Branches(tuple(done))), flags

    def _skipped(self) -> bool:
        """Skips white space or a comment of the flag ``x``. Returns whether there was any."""
        character = self.pattern[self.at]
        if character in _WHITE:
            self.at += 1
            return True
        if character == "#":
            end = self.pattern.find("\n", self.at)
            self.at = len(self.pattern) if end < 0 else end + 1
            return True
        return False

    # --- repeats ------------------------------------------------------------------------------------------------------------

    def _repeated(self, atom: Node, flags: str) -> Node:
        start = self._after_space(flags)
        bounds = self._bounds()
        if bounds is None:
            return atom
        least, most = bounds
        greedy = not self.pattern.startswith("?", self.at)
        if not greedy:
            self.at += 1
        end = self._after_space(flags)
        if self._bounds() is not None:
            raise PatternError(f"bad repetition operator: {self.pattern[start:end].strip()}{self.pattern[end : self.at]}")
        return Repeat(atom, least, most, greedy)

    def _after_space(self, flags: str) -> int:
        while "x" in flags and self.at < len(self.pattern) and self._skipped():
            pass
        return self.at

    def _bounds(self) -> tuple[int, int | None] | None:
        """Parses a repetition operator, if there is one here, and returns its bounds."""
        character = self.pattern[self.at : self.at + 1]
        if character and character in "*+?":
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[character]
        count = self._count() if character == "{" else None
        if count is None:
            return None
        least, most, end = count
        shown = self.pattern[self.at : end]
        if max(least, most or 0) > MOST_REPEATS:
            raise PatternError(f"invalid repetition size: {shown} (at most {MOST_REPEATS})")
        if most is not None and most < least:
            raise PatternError(f"invalid repetition size: {shown}")
        self.at = end
        return least, most

    def _count(self) -> tuple[int, int | None, int] | None:
        """The bounds in the braces here and their end; ``None`` when the brace is literal."""
        end = self.pattern.find("}", self.at, self.at + 2 * 12)
        low, comma, high = self.pattern[self.at + 1 : max(end, 0)].partition(",")
        if end < 0 or not (low or high) or not ((low + high).isascii() and (low + high).isdigit()):
            return None
        least = int(low or "0")
        return least, (int(high) if high else None) if comma else least, end + 1

    def _operator(self) -> str:
        count = self._count()
        return self.pattern[self.at] if count is None else self.pattern[self.at : count[2]]

    # --- groups -------------------------------------------------------------------------------------------------------------

    def _flag_switch(self, flags: str) -> str | None:
        """The flags after ``(?ims)``; ``None`` when this is a group."""
        end = self.at + 2
        while self.pattern[end : end + 1].isalpha() or self.pattern[end : end + 1] == "-":
            end += 1
        if self.pattern[end : end + 1] != ")":
            return None
        switched = self._switched(flags, self.pattern[self.at + 2 : end])
        self.at = end + 1
        return switched

    def _switched(self, flags: str, letters: str) -> str:
        on, dash, off = letters.partition("-")
        for letter in on + off:
            if letter not in "imsx":
                raise PatternError(f"unknown flag {letter} in (?{letters}: the flags are i, m, s and x")
        if not on + off or (dash and not off):
            raise PatternError(f"missing flag in (?{letters}")
        return "".join(letter for letter in "imsx" if letter in flags + on and letter not in off)

    def _group(self, flags: str, depth: int) -> Node:
        pattern, start = self.pattern, self.at
        if depth >= DEEPEST:
            raise PatternError(f"groups are nested more than {DEEPEST} deep")
        number = 0
        self.at += 1
        if pattern.startswith("?", self.at):
            self.at += 1
            if pattern.startswith(("=", "!", "<=", "<!"), self.at):
                raise PatternError("look-around is not supported")
            if pattern.startswith("P=", self.at):
                raise PatternError("back-references are not supported")
            if pattern.startswith(("P<", "<"), self.at):
                number = self._named(start)
            else:
                colon = self.at
                while pattern[colon : colon + 1].isalpha() or pattern[colon : colon + 1] == "-":
                    colon += 1
                if pattern[colon : colon + 1] != ":":
                    raise PatternError(f"unknown group (?{pattern[self.at : colon + 1]} at position {start}")
                if colon > self.at:
                    flags = self._switched(flags, pattern[self.at : colon])
                self.at = colon + 1
        else:
            self.groups += 1
            number = self.groups
        body, _ = self.branches(flags, depth + 1)
        if self.at >= len(pattern):
            raise PatternError(f"missing ) for the group at position {start}")
        self.at += 1
        return Group(number, body) if number else body

    def _named(self, start: int) -> int:
        opening = self.pattern.index("<", self.at) + 1
        end = self.pattern.find(">", opening)
        name = self.pattern[opening : max(end, opening)]
        if not name.isidentifier():
            raise PatternError(f"bad group name at position {start}: a name is letters, digits and _, no digit first")
        if name in self.names:
            raise PatternError(f"two groups are named {name}")
        self.at = end + 1
        self.groups += 1
        self.names[name] = self.groups
        return self.groups

    # --- single characters and classes --------------------------------------------------------------------------------------

    def _atom(self, flags: str, depth: int) -> Node:
        character = self.pattern[self.at]
        if character == "(":
            return self._group(flags, depth)
        if character == "[":
            return Chars(self._class(flags))
        if character == "\\":
            return self._escape(flags)
        self.at += 1
        if character == ".":
            return Chars(char_sets.ALL if "s" in flags else char_sets.NOT_NEWLINE)
        if character == "^":
            return Assertion(LINE_BEGIN if "m" in flags else BEGIN)
        if character == "$":
            return Assertion(LINE_END if "m" in flags else END)
        return Chars(_single(ord(character), flags))

    def _escape(self, flags: str) -> Node:
        letter = self.pattern[self.at + 1 : self.at + 2]
        if letter in ("b", "B"):
            self.at += 2
            self.boundaries = True
            return Assertion(BOUNDARY if letter == "b" else NO_BOUNDARY)
        if letter in ("A", "z"):
            self.at += 2
            return Assertion(BEGIN if letter == "A" else END)
        found = self._shorthand(flags)
        return Chars(_single(self._character(), flags) if found is None else found)

    def _shorthand(self, flags: str) -> Ranges | None:
        r"""The set of ``\d``, ``\W``, ``\p{...}`` or a similar escape, if there is one here."""
        letter = self.pattern[self.at + 1 : self.at + 2]
        if letter and letter in "dDwWsS":
            self.at += 2
            kind = letter.lower()
            ranges = char_sets.digit() if kind == "d" else char_sets.word() if kind == "w" else char_sets.SPACE
            return ranges if letter.islower() else char_sets.negated(ranges)
        return self._property(flags) if letter in ("p", "P") else None

    def _property(self, flags: str) -> Ranges:
        start = self.at
        inverse = self.pattern[start + 1] == "P"
        name = self.pattern[start + 2 : start + 3]
        self.at = start + 3
        if name == "{":
            end = self.pattern.find("}", self.at)
            name = self.pattern[self.at : max(end, self.at)]
            self.at = end + 1
        if name.startswith("^"):
            inverse, name = not inverse, name[1:]
        found = char_sets.property_set(name) if name else None
        if found is None:
            raise PatternError(f"unknown character property {self.pattern[start : max(self.at, start + 3)]}")
        if "i" in flags:
            found = char_sets.folded(found)
        return char_sets.negated(found) if inverse else found

    def _character(self) -> int:
        """The code point of an escape for one character."""
        start = self.at
        letter = self.pattern[start + 1 : start + 2]
        if not letter:
            raise PatternError("trailing \\ at the end of the pattern")
        self.at = start + 2
        if letter in _PLAIN_ESCAPES:
            return _PLAIN_ESCAPES[letter]
        if letter == "0":
            while self.at < min(start + 4, len(self.pattern)) and self.pattern[self.at] in "01234567":
                self.at += 1
            return int(self.pattern[start + 1 : self.at], 8)
        if letter in _HEX_DIGITS:
            end = self.at + _HEX_DIGITS[letter]
            digits = self.pattern[self.at : end]
            if digits.startswith("{"):
                end = self.pattern.find("}", self.at) + 1
                digits = self.pattern[self.at + 1 : max(end - 1, 0)]
            elif len(digits) < _HEX_DIGITS[letter]:
                digits = ""
            code = int(digits, 16) if digits.isascii() and digits.isalnum() and _is_hex(digits) else -1
            if not 0 <= code <= char_sets.LAST:
                raise PatternError(f"bad escape {self.pattern[start : max(end, start + 2)]}")
            self.at = end
            return code
        if letter.isascii() and letter.isdigit():
            raise PatternError("back-references are not supported")
        if letter.isascii() and letter.isalpha():
            hint = ": the end of the text is \\z" if letter == "Z" else ""
            raise PatternError(f"unknown escape \\{letter}{hint}")
        return ord(letter)

    def _class(self, flags: str) -> Ranges:
        pattern, start = self.pattern, self.at
        self.at += 1
        inverse = pattern.startswith("^", self.at)
        if inverse:
            self.at += 1
        sets: list[tuple[int, int]] = []
        first = True
        while first or not pattern.startswith("]", self.at):
            if self.at >= len(pattern):
                raise PatternError(f"missing ] for the class at position {start}")
            sets += self._class_item(flags, start)
            first = False
        self.at += 1
        ranges = char_sets.merged(sets)
        return char_sets.negated(ranges) if inverse else ranges

    def _class_item(self, flags: str, start: int) -> Ranges:
        pattern, begun = self.pattern, self.at
        if pattern.startswith("[:", begun):
            end = pattern.find(":]", begun + 2)
            if end >= 0:
                return self._posix(pattern[begun + 2 : end], end + 2, flags)
        found = self._shorthand(flags) if pattern[begun] == "\\" else None
        if found is not None:
            return found
        low = self._class_character()
        # A hyphen makes a range unless it is the last character of the class.
        if not pattern.startswith("-", self.at) or pattern.startswith("-]", self.at):
            return _single(low, flags)
        self.at += 1
        if self.at >= len(pattern):
            raise PatternError(f"missing ] for the class at position {start}")
        if pattern[self.at] == "\\" and self._shorthand(flags) is not None:
            raise PatternError(f"bad character range {pattern[begun : self.at]}")
        high = self._class_character()
        if high < low:
            raise PatternError(f"bad character range {pattern[begun : self.at]}")
        return char_sets.folded(((low, high),)) if "i" in flags else ((low, high),)

    def _class_character(self) -> int:
        if self.pattern[self.at] != "\\":
            self.at += 1
            return ord(self.pattern[self.at - 1])
        if self.pattern.startswith("b", self.at + 1):
            self.at += 2
            return 8
        return self._character()

    def _posix(self, name: str, end: int, flags: str) -> Ranges:
        found = char_sets.POSIX.get(name.removeprefix("^"))
        if found is None:
            raise PatternError(f"unknown class [:{name}:]")
        self.at = end
        if "i" in flags:
            found = char_sets.folded(found)
        return char_sets.negated(found) if name.startswith("^") else found


def _sequence(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def _single(code: int, flags: str) -> Ranges:
    return char_sets.folded(((code, code),)) if "i" in flags else ((code, code),)


def _is_hex(digits: str) -> bool:
    return all(digit in "0123456789abcdefABCDEF" for digit in digits)
