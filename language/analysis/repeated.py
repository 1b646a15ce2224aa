"""What is written twice and counts once: keys of a map, tasks and agents of one name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from language.analysis.manifest import Problem
from language.analysis.meanings import FileMeanings, Meanings
from language.syntax import nodes


def repeated_of(meanings: Meanings) -> Iterator[Problem]:
    """The warnings, file by file."""
    for file in meanings.files.values():
        for node in file.index.of(nodes.MapLit):
            yield from _keys(file, node)
        second = [pair for block in _blocks(file) for pair in _second(block)]
        used = _uses(file) if second else {}
        for first, again in second:
            if not _is_used_between(used.get(_key(file, first), []), first, again):
                yield _defined_again(file, first, again)


def _keys(file: FileMeanings, node: nodes.MapLit) -> Iterator[Problem]:
    seen: dict[str, nodes.Span] = {}
    for key, _ in node.entries:
        if not isinstance(key, nodes.Text):
            continue
        before = seen.get(key.value)
        seen[key.value] = key.span
        if before is not None:
            where = "already" if before[0] == key.span[0] else f"already on line {before[0]}"
            message = f'the key "{key.value}" stands {where} in this map: only the last value counts'
            told = "Remove one of the two, or give it another name."
            yield Problem(file.unit.file, *key.span[:2], message, "warning", "W0120", *key.span[2:], told)


def _blocks(file: FileMeanings) -> Iterator[Sequence[nodes.Stmt]]:
    """The blocks in which tasks are defined for what follows."""
    if len(file.index.of(nodes.Task, nodes.Agent)) > 1:
        yield file.unit.program.statements
        for node in file.index.of(nodes.Task):
            yield node.body


def _second(block: Sequence[nodes.Stmt]) -> Iterator[tuple[Any, Any]]:
    """Definitions of a task or agent, each with the earlier one of the same name in the same block."""
    seen: dict[tuple[type, str], Any] = {}
    for statement in block:
        if isinstance(statement, (nodes.Task, nodes.Agent)):
            first = seen.get((type(statement), statement.name))
            seen[type(statement), statement.name] = statement
            if first is not None:
                yield first, statement


def _uses(file: FileMeanings) -> dict[int | str, list[nodes.Span]]:
    """By the key of each task and agent the places that use it, in the order of the source."""
    found: dict[int | str, list[nodes.Span]] = {}
    for node in file.index.of(nodes.Name, nodes.Spawn):
        if isinstance(node, nodes.Spawn):
            found.setdefault(node.agent, []).append(node.span)
            continue
        ref = file.ref(node)
        for variable in ref.variables if ref is not None else ():
            found.setdefault(id(variable), []).append(node.span)
    for spans in found.values():
        spans.sort()
    return found


def _key(file: FileMeanings, node: Any) -> int | str:
    """The name of an agent; the ``id`` of the variable that holds a task."""
    return node.name if isinstance(node, nodes.Agent) else id(file.resolution.bound.get((id(node), node.name)))


def _is_used_between(places: list[nodes.Span], first: Any, again: Any) -> bool:
    """Whether the first of two definitions is used before the second one is made."""
    at = bisect_left(places, (*first.span[2:], 0, 0))
    return at < len(places) and places[at] < again.span


def _defined_again(file: FileMeanings, first: Any, again: Any) -> Problem:
    word = "task" if isinstance(first, nodes.Task) else "agent"
    line, column = again.span[:2]
    message = f"this replaces the {word} '{again.name}' of line {first.span[0]}, which nothing uses before"
    told = "Give one of the two another name, or remove it."
    return Problem(file.unit.file, line, column, message, "warning", "W0121", line, column + len(word), told)
