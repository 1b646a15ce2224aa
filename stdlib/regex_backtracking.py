"""Regular expressions on Python's own engine, where its worst case is bounded.

Python's engine is the fastest one available, but it backtracks. Before it is given a text, its worst case is computed from
the tree of the pattern: a choice between branches that begin with different characters adds nothing, any other choice
multiplies the steps. A pattern that could exceed the limit is run by a linear engine.
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
    Repeat,
    Sequence,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from stdlib.char_sets import Ranges
    from stdlib.regex_syntax import Node, Tree

    Span = tuple[int, int]

# The most steps of the engine in the worst case, some nanoseconds each, in one call that cannot be cancelled.
CHEAP_STEPS = 4_000_000
MOST_STEPS = 16_000_000

_NEVER = "(?!)"
_INFINITE = float("inf")
_ASSERTIONS = {BEGIN: r"\A", END: r"\Z", LINE_BEGIN: "(?m:^)", LINE_END: "(?m:$)"}

# The characters that a text may contain. Sets are reduced to them, because Python's sets are only fast below U+10000.
_ASCII: Ranges = ((0, 0x7F),)
_BASIC: Ranges = ((0, 0xFFFF),)


def alphabet_of(text: str) -> Ranges:
    """The smallest alphabet that contains the text."""
    if text.isascii():
        return _ASCII
    return _BASIC if len(text.encode("utf-16-le")) == 2 * len(text) else char_sets.ALL


class Backtracker:
    """A pattern compiled for the texts of one alphabet, and the bound of its steps. Thread-safe."""

    __slots__ = ("_alphabet", "_anchored", "_costs", "_nullable", "_pattern", "_tree", "_verdicts")

    def __init__(self, tree: Tree, alphabet: Ranges) -> None:
        self._tree = tree
        self._alphabet = alphabet
        self._anchored = _is_anchored(tree.root)
        self._costs = _Costs(alphabet)
        self._nullable = self._costs.first(tree.root)[1]
        self._verdicts: dict[tuple[bool, int], bool] = {}
        self._pattern: Any = None

    def fits(self, text: str) -> bool:
        """Whether the whole text matches."""
        return self._compiled().fullmatch(text) is not None

    def matches(self, text: str, groups: bool) -> Iterator[list[Span]]:
        """As :meth:`stdlib.regex_automaton.Automaton.matches`."""
        pattern = self._compiled()

        def search(at: int) -> list[Span] | None:
            match = pattern.search(text, at)
            return None if match is None else list(match.regs) if groups else [match.span()]

        return _all_matches(search, len(text))

    @property
    def native(self) -> Any:
        """Python's compiled pattern if its own loops find the same as :meth:`matches`, else ``None``.

        They differ where a match can be empty: Python also finds one directly after another match.
        """
        return None if self._nullable else self._compiled()

    def _compiled(self) -> Any:
        if self._pattern is None:
            from re import compile

            self._pattern = compile(_written(self._tree.root, self._alphabet))
        return self._pattern

    def is_cheap(self, text: str, whole: bool) -> bool:
        """Whether the engine takes less than :data:`CHEAP_STEPS` on every text of about the same length."""
        length = len(text).bit_length()
        verdict = self._verdicts.get((whole, length))
        if verdict is None:
            verdict = self._verdicts[whole, length] = (
                self._steps(whole, 1 << length, lambda members: 1 << length) <= CHEAP_STEPS
            )
        return verdict

    def is_cheap_on(self, text: str, whole: bool) -> bool:
        """Whether the engine takes less than :data:`MOST_STEPS` on this text, whose characters limit the repetitions."""
        return self._steps(whole, len(text), _Runs(text).longest) <= MOST_STEPS

    def _steps(self, whole: bool, length: int, longest: Callable[[Ranges], int]) -> float:
        starts = 1 if whole or self._anchored else length + 1
        return starts * self._costs.of(self._tree.root, (), longest)[1]


def _all_matches(search: Callable[[int], list[Span] | None], length: int) -> Iterator[list[Span]]:
    """The successive results of ``search(from)``. An empty match directly after another match is left out."""
    at, last = 0, -1
    while at <= length:
        spans = search(at)
        if spans is None:
            return
        low, high = spans[0]
        if low < high:
            yield spans
            at = last = high
            continue
        if low != last:
            yield spans
            last = low
        at = low + 1


def _is_anchored(node: Node) -> bool:
    if isinstance(node, Sequence):
        return bool(node.parts) and _is_anchored(node.parts[0])
    if isinstance(node, Group):
        return _is_anchored(node.body)
    return isinstance(node, Assertion) and node.kind == BEGIN


class _Runs:
    """The longest run of characters of a set in a text."""

    __slots__ = ("_lengths", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._lengths: dict[Ranges, int] = {}

    def longest(self, members: Ranges) -> int:
        length = self._lengths.get(members)
        if length is None:
            from re import finditer

            found = finditer(_class(members) + "+", self._text)
            length = self._lengths[members] = max((match.end() - match.start() for match in found), default=0)
        return length


class _Costs:
    """Bounds of the steps of a backtracking engine, for an alphabet."""

    __slots__ = ("_alphabet", "_firsts", "_members")

    def __init__(self, alphabet: Ranges) -> None:
        self._alphabet = alphabet
        self._firsts: dict[int, tuple[Ranges, bool]] = {}
        self._members: dict[int, Ranges] = {}

    def of(self, node: Node, follow: Ranges, longest: Callable[[Ranges], int]) -> tuple[float, float]:
        """In how many ways the node can match from one position before ``follow``, and the steps to try all of them.

        Ways that the next character distinguishes count as one: all but one of them fail at once.
        """
        if isinstance(node, Group):
            return self.of(node.body, follow, longest)
        if isinstance(node, Sequence):
            ways = steps = 1.0
            for part in reversed(node.parts):
                part_ways, part_steps = self.of(part, follow, longest)
                ways, steps = ways * part_ways, part_steps + part_ways * steps
                first, nullable = self.first(part)
                follow = char_sets.merged([*first, *follow]) if nullable else first
            return ways, steps
        if isinstance(node, Branches):
            return self._of_branches(node, follow, longest)
        if isinstance(node, Repeat):
            return self._of_repeat(node, follow, longest)
        return 1, 1

    def _of_branches(self, node: Branches, follow: Ranges, longest: Callable[[Ranges], int]) -> tuple[float, float]:
        total = most = 0.0
        steps = float(len(node.branches))
        taken: Ranges = ()
        distinct = True
        for branch in node.branches:
            ways, branch_steps = self.of(branch, follow, longest)
            total, most, steps = total + ways, max(most, ways), steps + branch_steps
            first, nullable = self.first(branch)
            first = char_sets.merged([*first, *follow]) if nullable else first
            distinct = distinct and not char_sets.common(taken, first)
            taken = char_sets.merged([*taken, *first])
        return (most if distinct else total), steps

    def _of_repeat(self, node: Repeat, follow: Ranges, longest: Callable[[Ranges], int]) -> tuple[float, float]:
        if node.most == 0:
            return 1, 1
        first, nullable = self.first(node.body)
        if nullable and node.most != 1:
            return _INFINITE, _INFINITE
        again = follow if node.most == 1 else char_sets.merged([*first, *follow])
        ways, steps = self.of(node.body, again, longest)
        rounds = longest(self.members(node.body))
        if node.most is not None:
            rounds = min(rounds, node.most)
        leaves = 1 if not char_sets.common(first, follow) else rounds + 1
        if ways > 1:
            # Every repetition multiplies, so only a few are possible.
            ways = ways**rounds if rounds <= 16 else _INFINITE
        return ways * leaves, (ways * (rounds + 1)) * (steps + 1)

    def first(self, node: Node) -> tuple[Ranges, bool]:
        """The characters that the node can begin with, and whether it can be empty."""
        found = self._firsts.get(id(node))
        if found is None:
            found = self._firsts[id(node)] = self._first(node)
        return found

    def _first(self, node: Node) -> tuple[Ranges, bool]:
        if isinstance(node, Chars):
            return char_sets.common(node.ranges, self._alphabet), False
        if isinstance(node, Group):
            return self.first(node.body)
        if isinstance(node, Repeat):
            ranges, nullable = self.first(node.body)
            return ranges, nullable or node.least == 0
        if isinstance(node, Branches):
            firsts = [self.first(branch) for branch in node.branches]
            return char_sets.merged(r for ranges, _ in firsts for r in ranges), any(nullable for _, nullable in firsts)
        union: Ranges = ()
        if isinstance(node, Sequence):
            for part in node.parts:
                ranges, nullable = self.first(part)
                union = char_sets.merged([*union, *ranges])
                if not nullable:
                    return union, False
        return union, True

    def members(self, node: Node) -> Ranges:
        """All characters that the node can match anywhere."""
        found = self._members.get(id(node))
        if found is None:
            if isinstance(node, Chars):
                found = char_sets.common(node.ranges, self._alphabet)
            elif isinstance(node, (Group, Repeat)):
                found = self.members(node.body)
            elif isinstance(node, Assertion):
                found = ()
            else:
                inner = node.parts if isinstance(node, Sequence) else node.branches
                found = char_sets.merged(r for part in inner for r in self.members(part))
            self._members[id(node)] = found
        return found


# --- writing ----------------------------------------------------------------------------------------------------------------


def _written(node: Node, alphabet: Ranges) -> str:
    """The pattern in the syntax of Python's engine, with its sets reduced to the alphabet."""
    if isinstance(node, Chars):
        return _class(char_sets.common(node.ranges, alphabet))
    if isinstance(node, Assertion):
        return _ASSERTIONS.get(node.kind) or _boundary(node.kind, alphabet)
    if isinstance(node, Group):
        return f"({_written(node.body, alphabet)})"
    if isinstance(node, Sequence):
        return "".join([_written(part, alphabet) for part in node.parts])
    if isinstance(node, Branches):
        return "(?:" + "|".join([_written(branch, alphabet) for branch in node.branches]) + ")"
    return f"(?:{_written(node.body, alphabet)}){node.operator}"


def _boundary(kind: str, alphabet: Ranges) -> str:
    word = _class(char_sets.common(char_sets.word(), alphabet))
    if kind == NO_BOUNDARY:
        return f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))"
    assert kind == BOUNDARY
    return f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"


def _class(ranges: Ranges) -> str:
    """A set as a character class of Python's engine."""
    if not ranges:
        return _NEVER
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return f"\\U{ranges[0][0]:08x}"
    return "[" + "".join([f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges]) + "]"
