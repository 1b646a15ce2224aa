"""Walking the syntax tree without recursion: trees may be deep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from language.syntax import nodes


def descend(root: object) -> Iterator[Any]:
    """Every node at and below ``root`` (a node or a tuple of nodes), in the order of the source."""
    return (node for _, node in descend_with_task(root))


def descend_with_task(root: object) -> Iterator[tuple[str, Any]]:
    """The same, each with the name of the innermost task around it, empty outside of tasks."""
    pending: list[tuple[str, object]] = [("", root)]
    while pending:
        task, node = pending.pop()
        if isinstance(node, tuple):
            pending.extend((task, part) for part in reversed(node))
        elif is_dataclass(node):
            yield task, node
            inner = node.name if isinstance(node, nodes.Task) else task
            pending.extend((inner, getattr(node, part.name)) for part in reversed(fields(node)))


def bound_names(root: object) -> Iterator[str]:
    """Every name that anything at or below ``root`` binds, wherever it is visible."""
    for node in descend(root):
        match node:
            case nodes.Let(name=name) | nodes.Task(name=name) | nodes.TypeDef(name=name) | nodes.EnumDef(name=name):
                yield name
            case nodes.Each(name=name) | nodes.Try(name=name) | nodes.BindPattern(name=name) | nodes.Param(name=name):
                yield name
            case nodes.RouteGroup(name=name) | nodes.SpreadPattern(name=str(name)):
                yield name
            case nodes.Use(alias=name) | nodes.Observe(alias=name) | nodes.WaitFor(alias=str(name)):
                yield name
            case nodes.Lambda(params=params):
                yield from params
            case _:
                continue
