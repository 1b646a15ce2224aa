"""Walking the syntax tree without recursion: trees may be deep.

``children`` is the one place that knows where a node holds other nodes; every walk over the whole tree uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
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
    while pending:
        node = pending.pop()
        yield node
        if node.__class__ not in closed:
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


def bindings_among(found: Iterable[Any]) -> Iterator[tuple[str, nodes.Node | nodes.Param]]:
    """What each of these nodes binds, without looking below it."""
    for node in found:
        match node:
            case nodes.Let(name=name) | nodes.Task(name=name) | nodes.TypeDef(name=name) | nodes.EnumDef(name=name):
                yield name, node
            case nodes.Each(name=name) | nodes.Try(name=name) | nodes.BindPattern(name=name) | nodes.Param(name=name):
                yield name, node
            case nodes.RouteGroup(name=name) | nodes.Agent(name=name) | nodes.SpreadPattern(name=str(name)):
                yield name, node
            case nodes.Use(alias=name) | nodes.Observe(alias=name) | nodes.WaitFor(alias=str(name)):
                yield name, node
            case nodes.Lambda(params=params):
                yield from ((param, node) for param in params)
            case _:
                continue
