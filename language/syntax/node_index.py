"""The nodes of one tree in the order of its source, found once for all that look through them."""

from __future__ import annotations

from typing import Any

from language.syntax import nodes
from language.syntax.walk import bindings_among, children, descend, leaves


class NodeIndex:
    """Walks the tree of ``program`` when it is first asked, and keeps what it found: the tree does not change."""

    __slots__ = ("_bound", "_by_kind", "_nodes", "_starts", "program")

    def __init__(self, program: nodes.Program) -> None:
        self.program = program
        self._nodes: list[Any] | None = None
        #: where each statement at the top begins in ``_nodes``, by its ``id``, and where it ends
        self._starts: dict[int, tuple[int, int]] = {}
        self._by_kind: dict[tuple[type, ...], list[Any]] = {}
        self._bound: dict[str, list[Any]] | None = None

    @property
    def nodes(self) -> list[Any]:
        """Every node, a node before what is inside it."""
        if self._nodes is None:
            self._nodes = self._walked()
        return self._nodes

    def of(self, *kinds: type) -> list[Any]:
        """The nodes of exactly these classes."""
        found = self._by_kind.get(kinds)
        if found is None:
            if len(kinds) == 1:
                found = [node for node in self.nodes if node.__class__ is kinds[0]]
            else:
                found = [node for node in self.nodes if node.__class__ in kinds]
            self._by_kind[kinds] = found
        return found

    def below(self, root: Any) -> list[Any]:
        """Every node at and below ``root``."""
        if root is self.program:
            return self.nodes
        found = self.nodes
        place = self._starts.get(id(root))
        return list(descend(root)) if place is None else found[place[0] : place[1]]

    @property
    def bound(self) -> dict[str, list[Any]]:
        """Every name that anything in the tree binds, wherever it is visible, with the nodes that bind it."""
        if self._bound is None:
            self._bound = {}
            for name, node in bindings_among(self.nodes):
                self._bound.setdefault(name, []).append(node)
        return self._bound

    def _walked(self) -> list[Any]:
        found: list[Any] = [self.program]
        add = found.append
        without = leaves()
        for statement in self.program.statements:
            start = len(found)
            pending = [statement]
            while pending:
                node = pending.pop()
                add(node)
                if node.__class__ not in without:
                    inside = children(node)
                    inside.reverse()
                    pending += inside
            self._starts[id(statement)] = start, len(found)
        return found
