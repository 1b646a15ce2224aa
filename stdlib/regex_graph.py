"""The graph of a regular expression: nodes that read a character, choose, record a position, or check a condition.

This is Thompson's construction. Characters that the pattern does not distinguish are one symbol here.
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
    Sequence,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stdlib.char_sets import Ranges
    from stdlib.regex_syntax import Node, Repeat, Tree

# What a node does. Its operand: the number of the set it reads, the second branch, the slot of the position, the condition.
READ, SPLIT, SAVE, ASSERT, DONE = range(5)

# The kinds of characters that conditions distinguish; EDGE is the beginning or the end of the text.
EDGE, NEWLINE, WORD, OTHER = range(4)

_CONDITIONS = (BEGIN, END, LINE_BEGIN, LINE_END, BOUNDARY, NO_BOUNDARY)

# The most characters whose symbol is cached.
_MOST_SYMBOLS = 20_000


class Symbol:
    """Characters that the pattern does not distinguish: the numbers of the sets that contain them, and their kind."""

    __slots__ = ("kind", "sets")

    def __init__(self, sets: frozenset[int], kind: int) -> None:
        self.sets = sets
        self.kind = kind


class Graph:
    """The nodes of a pattern as ``(kind, operand, next node)``; the sets that they read, by number."""

    __slots__ = (
        "_conditions",
        "_numbers",
        "_sets",
        "_symbols",
        "_told_apart",
        "done",
        "entry",
        "groups",
        "into",
        "nodes",
        "restart",
    )

    def __init__(self, tree: Tree) -> None:
        self.nodes: list[tuple[int, int, int]] = []
        self.groups = tree.groups
        self._numbers: dict[Ranges, int] = {}
        self._conditions = False
        self.done = self._add(DONE, 0, 0)
        self.entry = self._emit(tree.root, self.done)
        # Reads any character and returns here: the search continues at the next position.
        loop = self._add(READ, self._number(char_sets.ALL), 0)
        self.restart = self._add(SPLIT, self.entry, loop)
        self.nodes[loop] = (READ, self._number(char_sets.ALL), self.restart)
        #: by node, the nodes that lead to it
        self.into: list[list[int]] = [[] for _ in self.nodes]
        for number, (kind, operand, after) in enumerate(self.nodes):
            if kind != DONE and number != self.restart and number != loop:
                self.into[after].append(number)
                if kind == SPLIT:
                    self.into[operand].append(number)
        self._sets = list(self._numbers)
        self._told_apart: dict[tuple[frozenset[int], int], Symbol] = {}
        self._symbols: dict[str, Symbol] = {"": Symbol(frozenset(), EDGE)}

    def symbol(self, character: str) -> Symbol:
        """The symbol of a character; the empty text stands for the beginning or the end."""
        found = self._symbols.get(character)
        if found is None:
            code = ord(character)
            sets = frozenset([number for number, ranges in enumerate(self._sets) if char_sets.has(ranges, code)])
            key = sets, self._kind(character)
            found = self._told_apart.setdefault(key, Symbol(*key))
            if len(self._symbols) > _MOST_SYMBOLS:
                self._symbols.clear()
                self._symbols[""] = Symbol(frozenset(), EDGE)
            self._symbols[character] = found
        return found

    def _kind(self, character: str) -> int:
        if not self._conditions:
            return OTHER
        if character == "\n":
            return NEWLINE
        return WORD if char_sets.has(char_sets.word(), ord(character)) else OTHER

    def holds(self, condition: int, before: int, after: int) -> bool:
        """Whether a condition holds between characters of these kinds."""
        name = _CONDITIONS[condition]
        if name == BEGIN:
            return before == EDGE
        if name == END:
            return after == EDGE
        if name == LINE_BEGIN:
            return before in (EDGE, NEWLINE)
        if name == LINE_END:
            return after in (EDGE, NEWLINE)
        return ((before == WORD) != (after == WORD)) == (name == BOUNDARY)

    # --- construction, from the end of the pattern to its beginning -----------------------------------------------------------

    def _add(self, kind: int, operand: int, after: int) -> int:
        self.nodes.append((kind, operand, after))
        return len(self.nodes) - 1

    def _number(self, ranges: Ranges) -> int:
        return self._numbers.setdefault(ranges, len(self._numbers))

    def _emit(self, node: Node, after: int) -> int:
        """Adds the nodes of a part that continues at ``after``; returns its first node."""
        if isinstance(node, Chars):
            return self._add(READ, self._number(node.ranges), after)
        if isinstance(node, Assertion):
            self._conditions = True
            return self._add(ASSERT, _CONDITIONS.index(node.kind), after)
        if isinstance(node, Group):
            end = self._add(SAVE, 2 * node.number + 1, after)
            return self._add(SAVE, 2 * node.number, self._emit(node.body, end))
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                after = self._emit(part, after)
            return after
        if isinstance(node, Branches):
            entries = [self._emit(branch, after) for branch in node.branches]
            entry = entries.pop()
            while entries:
                entry = self._add(SPLIT, entries.pop(), entry)
            return entry
        return self._emit_repeat(node, after)

    def _emit_repeat(self, node: Repeat, after: int) -> int:
        required = node.least
        if node.most is None:
            # One repetition and an edge back to it, optional when none is required. A separate first repetition keeps the
            # priorities right where the body can be empty.
            back = self._add(SPLIT, 0, 0)
            entry = self._emit(node.body, back)
            self.nodes[back] = _choice(node.greedy, entry, after)
            after = entry if required else self._add(*_choice(node.greedy, entry, after))
            required = max(0, required - 1)
        else:
            end = after
            for _ in range(node.most - required):
                after = self._add(*_choice(node.greedy, self._emit(node.body, after), end))
        for _ in range(required):
            after = self._emit(node.body, after)
        return after


def _choice(greedy: bool, again: int, leave: int) -> tuple[int, int, int]:
    return (SPLIT, again, leave) if greedy else (SPLIT, leave, again)
