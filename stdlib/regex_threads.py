"""A regular expression matcher whose time is linear in the text whatever the pattern: all ways at once, in order of priority.

Thompson's construction run as a list of threads (Pike's way of keeping groups; as in Cox, "Regular Expression Matching: the
Virtual Machine Approach"). Each step reads one character and moves every thread; two threads at one instruction are one, the
first keeps it.
"""

from __future__ import annotations

from stdlib import char_sets
from stdlib.regex_backtracking import all_matches
from stdlib.regex_syntax import (
    BEGIN,
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

    from stdlib.char_sets import Ranges
    from stdlib.regex_syntax import Node, Tree

    Span = tuple[int, int]
    Cut = Callable[[int, int | None], str]
    Thread = tuple[int, tuple[int, ...]]

_READ, _SPLIT, _SAVE, _ASSERT, _DONE = range(5)


class ThreadsEngine:
    """A compiled pattern. May be shared between threads of the process: a search keeps its state to itself."""

    __slots__ = ("_entry", "_members", "_operations", "_sets", "_slots", "_word")

    #: As :attr:`stdlib.regex_backtracking.Backtracker.native`.
    native = None
    #: Whether long texts are best left to this engine alone.
    fast = False

    def __init__(self, tree: Tree) -> None:
        self._operations: list[tuple[int, int, int]] = []
        self._sets: list[Ranges] = []
        # For every set what was asked of it, by character; the same for the set of word characters.
        self._members: list[dict[str, bool]] = []
        self._word: dict[str, bool] = {}
        self._slots = 2 * (tree.groups + 1)
        self._entry = self._emit(tree.root, self._add(_DONE, 0, 0))

    def fits(self, text: str) -> bool:
        """Whether the whole text matches."""
        return self.search(text, 0, groups=False, whole=True) is not None

    def matches(self, text: str, groups: bool) -> tuple[Iterator[list[Span]], Cut]:
        """As :meth:`stdlib.regex_re2.Re2Engine.matches`."""
        found = all_matches(lambda at: self.search(text, at, groups=groups), len(text))
        return found, lambda low, high: text[low:high]

    def search(self, text: str, at: int, *, groups: bool, whole: bool = False) -> list[Span] | None:
        """The spans of the first match from ``at`` on, and with ``groups`` of its groups; ``whole``: of a match of all text."""
        size = self._slots if groups else 2
        unset = (-1,) * size
        marks = [-1] * len(self._operations)
        threads: list[Thread] = []
        best: tuple[int, ...] | None = None
        start = at
        while True:
            if best is None and (at == start or not whole):
                self._follow(self._entry, (at, *unset[1:]), text, at, marks, threads)
            if not threads and (best is not None or whole):
                break
            moved: list[Thread] = []
            at += 1
            for pc, saved in threads:
                kind, operand, after = self._operations[pc]
                if kind == _DONE:
                    if whole and at <= len(text):
                        continue
                    best = (saved[0], at - 1, *saved[2:])
                    break
                if at <= len(text) and self._accepts(operand, text[at - 1]):
                    self._follow(after, saved, text, at, marks, moved)
            threads = moved
            if at > len(text):
                break
        if best is None:
            return None
        return [(best[slot], best[slot + 1]) if best[slot + 1] >= 0 else (-1, -1) for slot in range(0, size, 2)]

    def _accepts(self, number: int, character: str) -> bool:
        known = self._members[number].get(character)
        if known is None:
            known = self._members[number][character] = char_sets.has(self._sets[number], ord(character))
        return known

    def _follow(self, pc: int, saved: tuple[int, ...], text: str, at: int, marks: list[int], threads: list[Thread]) -> None:
        """Adds the threads that one at ``pc`` becomes before it reads the character at ``at``, the preferred first."""
        waiting = [(pc, saved)]
        while waiting:
            pc, saved = waiting.pop()
            if marks[pc] == at:
                continue
            marks[pc] = at
            kind, operand, after = self._operations[pc]
            if kind == _SPLIT:
                waiting.append((after, saved))
                waiting.append((operand, saved))
            elif kind == _SAVE:
                if operand < len(saved):
                    saved = (*saved[:operand], at, *saved[operand + 1 :])
                waiting.append((after, saved))
            elif kind == _ASSERT:
                if self._holds(operand, text, at):
                    waiting.append((after, saved))
            else:
                threads.append((pc, saved))

    def _holds(self, kind: int, text: str, at: int) -> bool:
        name = _KINDS[kind]
        if name == BEGIN:
            return at == 0
        if name == END:
            return at == len(text)
        if name == LINE_BEGIN:
            return at == 0 or text[at - 1] == "\n"
        if name == LINE_END:
            return at == len(text) or text[at] == "\n"
        same = self._is_word(text[at - 1 : at] if at else "") == self._is_word(text[at : at + 1])
        return same == (name == NO_BOUNDARY)

    def _is_word(self, character: str) -> bool:
        known = self._word.get(character)
        if known is None:
            known = self._word[character] = character != "" and char_sets.has(char_sets.word(), ord(character))
        return known

    # --- construction, from the end of the pattern to its beginning -----------------------------------------------------------

    def _add(self, kind: int, operand: int, after: int) -> int:
        self._operations.append((kind, operand, after))
        return len(self._operations) - 1

    def _emit(self, node: Node, after: int) -> int:
        """Adds the instructions of a node that go on at ``after``; answers where they begin."""
        if isinstance(node, Chars):
            self._sets.append(node.ranges)
            self._members.append({})
            return self._add(_READ, len(self._sets) - 1, after)
        if isinstance(node, Assertion):
            return self._add(_ASSERT, _KINDS.index(node.kind), after)
        if isinstance(node, Group):
            end = self._add(_SAVE, 2 * node.number + 1, after)
            return self._add(_SAVE, 2 * node.number, self._emit(node.body, end))
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                after = self._emit(part, after)
            return after
        if isinstance(node, Branches):
            entries = [self._emit(branch, after) for branch in node.branches]
            entry = entries.pop()
            while entries:
                entry = self._add(_SPLIT, entries.pop(), entry)
            return entry
        return self._emit_repeat(node, after)

    def _emit_repeat(self, node: Repeat, after: int) -> int:
        required = node.least
        if node.most is None:
            # One round and a way back to it; optional when none is required. Entering through a round of its own, instead of
            # through the way back, keeps the priorities right where the body can be empty.
            back = self._add(_SPLIT, 0, 0)
            entry = self._emit(node.body, back)
            self._operations[back] = self._choice(node.greedy, entry, after)
            after = entry if required else self._add(*self._choice(node.greedy, entry, after))
            required = max(0, required - 1)
        else:
            end = after
            for _ in range(node.most - required):
                after = self._add(*self._choice(node.greedy, self._emit(node.body, after), end))
        for _ in range(required):
            after = self._emit(node.body, after)
        return after

    @staticmethod
    def _choice(greedy: bool, again: int, leave: int) -> tuple[int, int, int]:
        return (_SPLIT, again, leave) if greedy else (_SPLIT, leave, again)


_KINDS = (BEGIN, END, LINE_BEGIN, LINE_END, "boundary", NO_BOUNDARY)
