"""Walking the syntax tree without recursion: trees may be deep.

``children`` is the one place that knows where a node holds other nodes; every walk over the whole tree uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from language.syntax import nodes

#: Words in the type of a field that stand for plain values. A field whose type has another word holds nodes.
_PLAIN = frozenset(("str", "int", "float", "bool", "None", "tuple", "Span", "At"))
_WORD = re.compile(r"\w+")


class _HoldingFields(dict[type, tuple[str, ...]]):
    """The names of the fields of each node class that can hold nodes, in the order of the source."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        names = tuple(field.name for field in fields(kind) if not _PLAIN.issuperset(_WORD.findall(str(field.type))))
        self[kind] = names
        return names


_HOLDING = _HoldingFields()


def holding(kind: type) -> tuple[str, ...]:
    """The names of the fields of a node class that can hold nodes, in the order of the source."""
    return _HOLDING[kind]


@cache
def leaves() -> frozenset[type]:
    """The classes of nodes that never hold others: more than half of the nodes of a tree."""
    kinds = [kind for kind in vars(nodes).values() if isinstance(kind, type) and is_dataclass(kind)]
    return frozenset(kind for kind in kinds if not _HOLDING[kind])


def children(node: Any) -> list[Any]:
    """The nodes directly inside ``node``, in the order of the source."""
    found: list[Any] = []
    for name in _HOLDING[node.__class__]:
        value = getattr(node, name)
        if value.__class__ is tuple:
            _flatten(value, found)
        elif value is not None:
            found.append(value)
    return found


def _flatten(values: tuple[Any, ...], found: list[Any]) -> None:
    """Adds the nodes in ``values`` and in the tuples in it to ``found``, and passes over names and texts between them."""
    for value in values:
        if value.__class__ is tuple:
            _flatten(value, found)
        elif value is not None and value.__class__ is not str:
            found.append(value)


def descend(root: object, *, closed: tuple[type, ...] = ()) -> Iterator[Any]:
    """Every node at and below ``root`` (a node or a tuple of nodes), in the order of the source.

    Nodes of the classes ``closed`` are given, what is inside them is not.
    """
    pending = _roots(root)
    passed = leaves().union(closed) if closed else leaves()
    while pending:
        node = pending.pop()
        yield node
        if node.__class__ not in passed:
            inside = children(node)
            inside.reverse()
            pending += inside


def descend_with_task(root: object) -> Iterator[tuple[str, Any]]:
    """Every node at and below ``root``, each with the name of the innermost task around it, empty outside of tasks."""
    pending = [("", node) for node in _roots(root)]
    while pending:
        task, node = pending.pop()
        yield task, node
        inner = node.name if node.__class__ is nodes.Task else task
        inside = children(node)
        inside.reverse()
        pending += [(inner, child) for child in inside]


def statements_inside(node: nodes.Stmt) -> list[nodes.Stmt]:
    """The statements of the blocks of ``node``, without those inside them: the block that is its value is one of them."""
    found: list[nodes.Stmt] = []
    pending = children(node)
    pending.reverse()
    while pending:
        part = pending.pop()
        if isinstance(part, nodes.Stmt):
            found.append(part)
        elif isinstance(part, nodes.BlockValue) or not isinstance(part, nodes.Expr):
            inside = children(part)
            inside.reverse()
            pending += inside
    return found


def _roots(root: object) -> list[Any]:
    """What a walk begins with, the last first."""
    found: list[Any] = []
    _flatten((root,), found)
    found.reverse()
    return found


def bound_names(root: object) -> Iterator[str]:
    """Every name that anything at or below ``root`` binds, wherever it is visible."""
    return (name for name, _ in bindings(root))


def bindings(root: object) -> Iterator[tuple[str, nodes.Node | nodes.Param]]:
    """The same, each with the node that binds it."""
    return bindings_among(descend(root))


#: The field with the name that a node binds, by the class of the node.
_BINDING: dict[type, str] = {
    **dict.fromkeys((nodes.Let, nodes.Task, nodes.TypeDef, nodes.EnumDef, nodes.Each, nodes.Try, nodes.Param), "name"),
    **dict.fromkeys((nodes.BindPattern, nodes.SpreadPattern, nodes.RouteGroup, nodes.Agent), "name"),
    **dict.fromkeys((nodes.Use, nodes.Observe, nodes.WaitFor), "alias"),
}


def bindings_among(found: Iterable[Any]) -> Iterator[tuple[str, nodes.Node | nodes.Param]]:
    """What each of these nodes binds, without looking below it."""
    for node in found:
        kind = node.__class__
        field = _BINDING.get(kind)
        if field is not None:
            name = getattr(node, field)
            if name is not None:  # a pattern `...` or a `wait_for` without a name
                yield name, node
        elif kind is nodes.Lambda:
            yield from ((param, node) for param in node.params)
