"""Compiled regular expressions: the choice of the engine for a pattern, and the operations for builtins.

Python's own engine is used where its time is bounded, otherwise our own automata, which are linear for every pattern. Both are
the same in every build. Measured in processor time on 3.11, Python's engine is 1 to 2 times as fast as the automata where a
short text is checked, and 5 to 14 times where groups are captured or many short matches are found. In those cases re2 with its
Python binding was 3 to 9 times slower than Python's engine. It was 3 to 20 times faster than the automata on long texts that
Python's engine must not be given. That alone did not justify a dependency that is often missing for new versions of Python.
"""

from __future__ import annotations

from stdlib.regex_backtracking import Backtracker, alphabet_of
from stdlib.regex_syntax import PatternError, parse
from stdlib.sizes import check_length, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stdlib.char_sets import Ranges
    from stdlib.regex_automaton import Automaton
    from stdlib.regex_syntax import Tree

__all__ = ["Pattern", "PatternError", "compiled", "quoted"]

_MOST_KEPT = 256
# The characters of a text times those of the replacement, up to which Python replaces all matches in one operation.
_AT_ONCE = 1 << 24
_kept: dict[tuple[str, bool], Pattern] = {}


class Pattern:
    """A compiled pattern. Positions are counted in characters; a group that took no part has the span ``(-1, -1)``.

    Matches are found from left to right without overlap; an empty match directly after another match is left out.
    """

    __slots__ = ("_automaton", "_backtrackers", "_templates", "_tree")

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._backtrackers: dict[Ranges, Backtracker] = {}
        self._automaton: Automaton | None = None
        self._templates: dict[str, list[str | int]] = {}

    def _engine(self, text: str, whole: bool = False) -> Backtracker | Automaton:
        """The engine to use for this text."""
        alphabet = alphabet_of(text)
        backtracker = self._backtrackers.get(alphabet)
        if backtracker is None:
            backtracker = self._backtrackers[alphabet] = Backtracker(self._tree, alphabet)
        if backtracker.is_cheap(text, whole) or backtracker.is_cheap_on(text, whole):
            return backtracker
        if self._automaton is None:
            from stdlib.regex_automaton import Automaton

            self._automaton = Automaton(self._tree)
        return self._automaton

    def fits(self, text: str) -> bool:
        """Whether the whole text matches."""
        return self._engine(text, whole=True).fits(text)

    def first(self, text: str) -> tuple[int, int] | None:
        """Beginning and end of the first match, in characters."""
        for (span,) in self._engine(text).matches(text, False):
            return span
        return None

    def find_all(self, text: str) -> list[str]:
        """The texts of all matches."""
        engine = self._engine(text)
        if engine.native is not None and not self._tree.groups:
            return engine.native.findall(text)  # type: ignore[no-any-return]
        return [text[low:high] for ((low, high),) in engine.matches(text, False)]

    def capture(self, text: str) -> list[str | None] | None:
        """The text of the first match and of each of its groups, ``None`` for a group that took no part; ``None`` without a
        match.
        """
        engine = self._engine(text)
        if engine.native is not None:
            match = engine.native.search(text)
            return None if match is None else [match[0], *match.groups()]
        for spans in engine.matches(text, self._tree.groups > 0):
            return [None if low < 0 else text[low:high] for low, high in spans]
        return None

    def replace(self, text: str, template: str) -> str:
        r"""The text with every match replaced. In the template ``\1``, ``\12``, ``\g<name>`` and ``\g<0>`` stand for groups."""
        parts = self._templates.get(template)
        if parts is None:
            if len(self._templates) >= _MOST_KEPT:
                self._templates.clear()
            parts = self._templates[template] = self._parts(template)
        engine = self._engine(text)
        if engine.native is not None and (len(text) + 1) * (len(template) + 1) <= _AT_ONCE:
            natively = "".join([f"\\g<{part}>" if isinstance(part, int) else part.replace("\\", r"\\") for part in parts])
            return engine.native.sub(natively, text)  # type: ignore[no-any-return]
        done: list[str] = []
        length = at = 0
        for spans in engine.matches(text, any(part.__class__ is int and part for part in parts)):
            low, high = spans[0]
            before = len(done)
            done.append(text[at:low])
            for part in parts:
                if isinstance(part, str):
                    done.append(part)
                elif spans[part][0] >= 0:
                    begin, end = spans[part]
                    done.append(text[begin:end])
            length += sum(map(len, done[before:]))
            check_length("regex_replace", length)
            at = high
        if not done:
            return text
        done.append(text[at:])
        return together("regex_replace", done)

    def _parts(self, template: str) -> list[str | int]:
        """The template as texts and group numbers; groups that do not exist are left out."""
        parts: list[str | int] = []
        at = 0
        while True:
            backslash = template.find("\\", at)
            if backslash < 0:
                parts.append(template[at:])
                return parts
            parts.append(template[at:backslash])
            name, at = _reference(template, backslash)
            if name == "":
                # No reference: the backslash is literal, and two of them give one.
                parts.append("\\")
                continue
            number = int(name) if name.isascii() and name.isdigit() else self._tree.names.get(name, -1)
            if 0 <= number <= self._tree.groups:
                parts.append(number)


def _reference(template: str, at: int) -> tuple[str, int]:
    """The group that the backslash at ``at`` refers to (empty text: none) and the position after it."""
    following = template[at + 1 : at + 2]
    if following == "\\":
        return "", at + 2
    if following == "g" and template.startswith("<", at + 2):
        end = template.find(">", at + 3)
        name = template[at + 3 : max(end, 0)]
        if name.isidentifier() or (name.isascii() and name.isdigit() and len(name) <= 4):
            return name, end + 1
    if following.isascii() and following.isdigit() and following != "0":
        end = at + 3 if template[at + 2 : at + 3].isascii() and template[at + 2 : at + 3].isdigit() else at + 2
        return template[at + 1 : end], end
    return "", at + 1


def compiled(pattern: str, ignore_case: bool = False) -> Pattern:
    """The compiled pattern, cached. Raises ``PatternError`` with the detail of the error text."""
    found = _kept.get((pattern, ignore_case))
    if found is None:
        made = Pattern(parse(pattern, ignore_case))
        while len(_kept) >= _MOST_KEPT:
            _kept.pop(next(iter(_kept)), None)
        found = _kept[pattern, ignore_case] = made
    return found


def quoted(pattern: str) -> str:
    """The pattern in the quotes of error texts: single ones, double when it holds a single quote and no double one."""
    quote = '"' if "'" in pattern and '"' not in pattern else "'"
    return quote + pattern + quote
