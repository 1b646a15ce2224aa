r"""Regular expressions as finite automata whose states are built on demand: time linear in the text, whatever the pattern.

Thompson's construction makes a graph of the pattern; its nodes read a character, choose between two ways, keep a place of a
group, or check a condition. Two automata are made from the graph; each state is built when a text first reaches it:

- the *forward* automaton is in the ordered list of all nodes that a backtracking engine would try, the preferred first. It
  finds where the leftmost match ends. A match cuts off the less preferred nodes, and with them the search for later matches;
- the *backward* automaton starts there and is in the set of all nodes from which that end can be reached. It finds where the
  match begins. Its states along the way then lead to the groups: from the beginning of the match on, the preferred node that
  is in the set is the one that the match went through (Frisch and Cardelli, "Greedy Regular Expression Matching").

A condition such as ``\b`` looks at the characters on both of its sides. A state therefore knows of which kind the last
character was, and follows the conditions when the next one is read.
"""

from __future__ import annotations

from stdlib.regex_graph import ASSERT, READ, SAVE, SPLIT, Graph
from stdlib.regex_syntax import BEGIN, Assertion, Chars, Group, Repeat, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from stdlib.regex_graph import Symbol
    from stdlib.regex_syntax import Node, Tree

    Span = tuple[int, int]
    #: A node, and the kind of the character before it.
    Place = tuple[int, int]
    #: The slots of the groups that begin or end here, and the place after the next character.
    Step = tuple[tuple[int, ...], Place]

# The most entries (8 to 100 bytes each) in the states of all patterns together; beyond that all are dropped.
_MOST_KEPT = 500_000


class Automaton:
    """A compiled pattern. Thread-safe: states are only added, and a dropped one is made again."""

    __slots__ = ("_anchored", "_backward", "_forward", "_graph", "_prefix")

    #: As :attr:`stdlib.regex_backtracking.Backtracker.native`.
    native = None

    def __init__(self, tree: Tree) -> None:
        self._graph = Graph(tree)
        self._prefix = _prefix(tree.root)[0]
        self._anchored = _is_anchored(tree.root)
        self._forward = _Forward(self._graph, self._anchored, bool(self._prefix))
        self._backward = _Backward(self._graph)

    def fits(self, text: str) -> bool:
        """Whether the whole text matches."""
        state = self._backward.start("")
        for character in reversed(text):
            state = state[character]
            if state.dead:
                return False
        return state[""].accepts

    def matches(self, text: str, groups: bool) -> Iterator[list[Span]]:
        """The matches from left to right. An empty match directly after another match is left out.

        A match is the span of its whole and, with ``groups``, of its groups; ``(-1, -1)`` for a group that took no part.
        """
        at, last = 0, -1
        while at <= len(text):
            high = self._end(text, at)
            if high < 0:
                return
            path: list[_State] | None = [] if groups else None
            low = self._begin(text, at, high, path)
            if low < high or low != last:
                yield [(low, high)] if path is None else self._spans(text, low, high, path)
            at = high if low < high else high + 1
            last = high

    def _end(self, text: str, at: int) -> int:
        """The end of the leftmost match from ``at`` on; -1 without one."""
        if self._anchored and at:
            return -1
        length = len(text)
        prefix = self._prefix
        if prefix:
            at = text.find(prefix, at)
            if at < 0:
                return -1
        state = self._forward.start(text[at - 1] if at else "")
        characters: Any = iter(text)
        characters.__setstate__(at)
        while True:
            for character in characters:
                state = state[character]
                if state.special:
                    break
            else:
                return length if state[""].accepts else -1
            if state.accepts:
                break
            if state.dead:
                return -1
            # No match has begun: continues at the next position where the pattern can begin.
            if prefix:
                at = text.find(prefix, length - characters.__length_hint__())
                if at < 0:
                    return -1
                characters.__setstate__(at)
                state = self._forward.start(text[at - 1])
        # A match ends before the character just read. A longer one may be preferred.
        while True:
            for character in characters:
                state = state[character]
                if not state.accepts:
                    break
            else:
                return length if state[""].accepts else length - 1
            end: int = length - characters.__length_hint__() - 2
            while not state.accepts:
                if state.dead:
                    return end
                for character in characters:
                    state = state[character]
                    if state.special:
                        break
                else:
                    return length if state[""].accepts else end

    def _begin(self, text: str, at: int, high: int, path: list[_State] | None) -> int:
        """The beginning of the match that ends at ``high``, at ``at`` or later. Records the states before it."""
        state = self._backward.start(text[high : high + 1])
        low = place = high
        before = text[at - 1 : high] if at else text[:high]
        for character in before[::-1]:
            if path is not None:
                path.append(state)
            state = state[character]
            if state.accepts:
                low = place
            if state.dead:
                return low
            place -= 1
        if at == 0:
            if path is not None:
                path.append(state)
            if state[""].accepts:
                low = 0
        return low

    def _spans(self, text: str, low: int, high: int, path: list[_State]) -> list[Span]:
        """The spans of a match and its groups, from the recorded states before each of its characters, last one first."""
        slots = [-1] * (2 * self._graph.groups + 2)
        slots[0], slots[1] = low, high
        at = self._graph.entry, self._backward.kind(text[low - 1] if low else "")
        place = low
        for state in path[high - low :: -1]:
            found = state.steps.get(at)
            saved, at = found or self._backward.step(state, at)
            if saved:
                for slot in saved:
                    slots[slot] = place
            place += 1
        return [(slots[i], slots[i + 1]) if slots[i + 1] >= 0 else (-1, -1) for i in range(0, len(slots), 2)]


def _is_anchored(node: Node) -> bool:
    """Whether a match can only begin at the beginning of the text."""
    if isinstance(node, Sequence):
        return any(_is_anchored(part) for part in node.parts[:1])
    if isinstance(node, Group):
        return _is_anchored(node.body)
    return isinstance(node, Assertion) and node.kind == BEGIN


def _prefix(node: Node) -> tuple[str, bool]:
    """The text that every match begins with, and whether it is the whole match."""
    if isinstance(node, Chars) and len(node.ranges) == 1 and node.ranges[0][0] == node.ranges[0][1]:
        return chr(node.ranges[0][0]), True
    if isinstance(node, Group):
        return _prefix(node.body)
    if isinstance(node, Repeat) and node.least:
        text, complete = _prefix(node.body)
        return text, complete and node.least == node.most == 1
    if not isinstance(node, Sequence):
        return "", False
    prefix = ""
    for part in node.parts:
        text, complete = _prefix(part)
        prefix += text
        if not complete:
            return prefix, False
    return prefix, True


# --- states -----------------------------------------------------------------------------------------------------------------


class _State(dict[str, "_State"]):
    """A state of the automaton. The next state for each character is made when it is first needed; the empty text stands for
    the beginning or the end.
    """

    __slots__ = ("_by_symbol", "_owner", "accepts", "dead", "kind", "nodes", "special", "steps")

    def __init__(self, owner: _States, nodes: tuple[int, ...], kind: int, accepts: bool) -> None:
        self._owner = owner
        #: the nodes of this state, before conditions are followed
        self.nodes = nodes
        #: the kind of the last character read
        self.kind = kind
        #: whether a match ends (backward: begins) before the last character read
        self.accepts = accepts
        #: Whether nothing further can match.
        self.dead = not nodes
        #: whether a search must stop here for a check
        self.special = accepts or self.dead or nodes == owner.idle
        self._by_symbol: dict[Symbol, _State] = {}
        #: the preferred next steps
        self.steps: dict[Place, Step] = {}

    def __missing__(self, character: str) -> _State:
        owner = self._owner
        symbol = owner.graph.symbol(character)
        found = self._by_symbol.get(symbol)
        if found is None:
            found = owner.after(self, symbol)
            self._by_symbol[symbol] = found
        _spend(owner, 1)
        self[character] = found
        return found

    def forget(self) -> None:
        """Drops everything that can be made again."""
        self.clear()
        self._by_symbol.clear()
        self.steps.clear()


class _States:
    """The states of an automaton, each once."""

    __slots__ = ("_found", "_starts", "beginning", "graph", "idle")

    def __init__(self, graph: Graph, beginning: tuple[int, ...]) -> None:
        self.graph = graph
        #: the nodes in which a search begins
        self.beginning = beginning
        #: the nodes of a state in which no match has begun, where a search may continue at another position
        self.idle: tuple[int, ...] | None = None
        self._found: dict[tuple[tuple[int, ...], int, bool], _State] = {}
        self._starts: dict[str, _State] = {}

    def start(self, beside: str) -> _State:
        """The state in which a search begins next to this character; the empty text stands for the beginning or the end."""
        found = self._starts.get(beside)
        if found is None:
            _spend(self, 1)
            found = self._starts[beside] = self.state(self.beginning, self.kind(beside))
        return found

    def after(self, state: _State, symbol: Symbol) -> _State:
        """The state that follows when a character is read."""
        raise NotImplementedError

    def kind(self, character: str) -> int:
        """The kind of a character; the empty text is the beginning or the end."""
        return self.graph.symbol(character).kind

    def state(self, nodes: tuple[int, ...], kind: int, accepts: bool = False) -> _State:
        """The state with these nodes."""
        key = nodes, kind, accepts
        found = self._found.get(key)
        if found is None:
            _spend(self, 8 + len(nodes))
            found = self._found[key] = _State(self, nodes, kind, accepts)
        return found

    def forget(self) -> None:
        """Drops all states. Those in use stay valid, but have no next states."""
        states = list(self._found.values())
        self._found.clear()
        self._starts.clear()
        for state in states:
            state.forget()


_spent = 0
_holders: set[_States] = set()


def _spend(holder: _States, count: int) -> None:
    """Counts what an automaton is about to store. Beyond the limit, all automata drop their states."""
    global _spent
    _spent += count
    if _spent > _MOST_KEPT:
        _spent = count
        for other in [*_holders]:
            _holders.discard(other)
            other.forget()
    _holders.add(holder)


class _Forward(_States):
    """The ordered nodes that a backtracking engine would try. Finds the end of the leftmost match."""

    __slots__ = ()

    def __init__(self, graph: Graph, anchored: bool, idle: bool) -> None:
        super().__init__(graph, (graph.entry if anchored else graph.restart,))
        if idle:
            self.idle = self.beginning

    def after(self, state: _State, symbol: Symbol) -> _State:
        """The state that follows when a character is read."""
        nodes, holds = self.graph.nodes, self.graph.holds
        met: set[int] = set()
        reached: dict[int, None] = {}
        waiting = [*reversed(state.nodes)]
        accepts = False
        while waiting:
            number = waiting.pop()
            if number in met:
                continue
            met.add(number)
            kind, operand, following = nodes[number]
            if kind == READ:
                if operand in symbol.sets:
                    reached[following] = None
            elif kind == SPLIT:
                waiting.append(following)
                waiting.append(operand)
            elif kind == SAVE:
                waiting.append(following)
            elif kind == ASSERT:
                if holds(operand, state.kind, symbol.kind):
                    waiting.append(following)
            else:
                # Nodes that are less preferred than a match are dropped.
                accepts = True
                break
        return self.state(tuple(reached), symbol.kind, accepts)


class _Backward(_States):
    """All nodes about to read from which the end of a match can be reached. Finds the beginning of the match, and its
    groups.
    """

    __slots__ = ()

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, (graph.done,))

    def after(self, state: _State, symbol: Symbol) -> _State:
        """The state that follows when the character before is read."""
        graph = self.graph
        nodes, into, holds = graph.nodes, graph.into, graph.holds
        met: set[int] = set()
        reading: set[int] = set()
        waiting = [*state.nodes]
        while waiting:
            number = waiting.pop()
            if number in met:
                continue
            met.add(number)
            for before in into[number]:
                kind, operand, _ = nodes[before]
                if kind == READ:
                    if operand in symbol.sets:
                        reading.add(before)
                elif kind != ASSERT or holds(operand, symbol.kind, state.kind):
                    waiting.append(before)
        return self.state(tuple(sorted(reading)), symbol.kind, graph.entry in met)

    def step(self, state: _State, at: Place) -> Step:
        """The preferred next step to one of the nodes of the state."""
        nodes, holds = self.graph.nodes, self.graph.holds
        ends = {*state.nodes}
        met: set[int] = set()
        waiting: list[tuple[int, tuple[int, ...]]] = [(at[0], ())]
        while True:
            number, saved = waiting.pop()
            if number in met:
                continue
            met.add(number)
            kind, operand, following = nodes[number]
            if number in ends:
                break
            if kind == SPLIT:
                waiting.append((following, saved))
                waiting.append((operand, saved))
            elif kind == SAVE:
                waiting.append((following, (*saved, operand)))
            elif kind == ASSERT and holds(operand, at[1], state.kind):
                waiting.append((following, saved))
        _spend(self, 8 + len(saved))
        step = state.steps[at] = saved, (following, state.kind)
        return step
