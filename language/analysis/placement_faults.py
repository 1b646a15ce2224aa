"""Statements that surely fail where they stand: ``give`` and ``stop`` with nothing to leave, a ``spawn`` of no agent, and what
a ``serve`` block uses before it is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from language.analysis.literal_faults import Fault
from language.analysis.meanings import FileMeanings, Meanings
from language.compiler.resolution import Variable
from language.errors import RuntimeFault
from language.hints import did_you_mean
from language.runtime.intrinsics import outside, undefined_text
from language.syntax import nodes
from language.syntax.walk import descend, statements_inside

#: The most agents that a name is compared with, and the most names for which that is done.
_MOST_AGENTS = 50


def placement_faults(file: FileMeanings, meanings: Meanings) -> Iterator[Fault]:
    """Those of a file."""
    yield from _nothing_to_leave(file)
    yield from _no_agent(file, meanings)
    if not file.key:
        yield from _made_too_late(file)


# ---- give and stop ------------------------------------------------------------------------------------------------------


def _nothing_to_leave(file: FileMeanings) -> Iterator[Fault]:
    if not file.index.of(nodes.Give, nodes.Stop):
        return
    tests = [statement for statement in file.unit.program.statements if isinstance(statement, nodes.Test)]
    # Loops, tasks, routes and agents leave by `give` or `stop`: of loops `stop` alone.
    pending: list[tuple[Any, bool]] = [(statement, False) for statement in file.unit.program.statements]
    pending += [(statement, False) for test in tests for statement in test.body]
    while pending:
        node, looped = pending.pop()
        if isinstance(node, nodes.Give) or (isinstance(node, nodes.Stop) and not looped):
            error = outside()
            error.help = _cure(node)
            word = "give" if isinstance(node, nodes.Give) else "stop"
            line, column = node.span[:2]
            yield node, error, (line, column, line, column + len(word))
        elif not isinstance(node, (nodes.Task, nodes.Agent, nodes.Serve, nodes.RouteGroup, nodes.Test)):
            inside = looped or isinstance(node, (nodes.Each, nodes.While))
            pending += [(statement, inside) for statement in statements_inside(node)]


def _cure(node: nodes.Give | nodes.Stop) -> str:
    if isinstance(node, nodes.Stop):
        return "`stop` leaves a loop. To end the program here, write `exit()`."
    return "`give` leaves a task. To end the program here, write `exit()`; to show a value, write `print(...)`."


# ---- agents -------------------------------------------------------------------------------------------------------------


def _no_agent(file: FileMeanings, meanings: Meanings) -> Iterator[Fault]:
    spawned = file.index.of(nodes.Spawn)
    if not spawned:
        return
    agents = {node.name for other in meanings.files.values() for node in other.index.of(nodes.Agent)}
    known = sorted(agents)[:_MOST_AGENTS]
    suggestions = _MOST_AGENTS
    for node in spawned:
        if node.agent in agents or node.agent in meanings.unread:
            continue
        error = RuntimeFault(f"No agent defined with name '{node.agent}'", kind="name")
        suggestions -= 1
        near = did_you_mean(node.agent, known) if suggestions >= 0 else ""
        if near:
            error.help = f"Did you mean `{near}`?"
        else:
            error.help = f"Make it above this line: `agent {node.agent}`, its statements indented below."
        yield node, error, node.span


# ---- what a serve block uses --------------------------------------------------------------------------------------------


def _made_too_late(file: FileMeanings) -> Iterator[Fault]:
    """Names in routes, and in the tasks that these call, which are made below the ``serve`` block: requests start with what was
    there when the block ran."""
    statements = file.unit.program.statements
    at = next((number for number, statement in enumerate(statements) if isinstance(statement, nodes.Serve)), None)
    if at is None or any(isinstance(statement, nodes.Serve) for statement in statements[at + 1 :]):
        return
    serve = statements[at]
    late: dict[int, int] = {}
    for name, makers in _makers(file, statements).items():
        variable = file.resolution.top.names.get(name)
        numbers = [number for number, _ in makers]
        if variable is not None and min(numbers) > at and len(variable.values) == len(makers):
            late[id(variable)] = makers[0][1].span[0]
    if not late:
        return
    for node in _run_by_requests(file, serve, statements):
        ref = file.ref(node)
        if ref is None or len(ref.variables) != 1 or ref.sure or ref.outside != "undefined":
            continue
        line = late.get(id(ref.variables[0]))
        if line is not None:
            told = f"`{node.id}` is made on line {line}, below the `serve` block: move it above line {serve.span[0]}."
            yield node, RuntimeFault(undefined_text(node.id), kind="name", help=told), node.span


def _makers(file: FileMeanings, statements: nodes.Block) -> dict[str, list[tuple[int, Any]]]:
    """By the name of each variable of the file the statements at its top that make it, with their numbers."""
    found: dict[str, list[tuple[int, Any]]] = {}
    for number, statement in enumerate(statements):
        if isinstance(statement, (nodes.Let, nodes.Task, nodes.TypeDef, nodes.EnumDef)):
            found.setdefault(statement.name, []).append((number, statement))
    return found


def _run_by_requests(file: FileMeanings, serve: Any, statements: nodes.Block) -> Iterator[nodes.Name]:
    """The names in the routes of a block and in the tasks at the top of the file that they name, also through other tasks."""
    tasks: dict[int, nodes.Task] = {}
    for statement in statements:
        if isinstance(statement, nodes.Task):
            variable = file.resolution.bound.get((id(statement), statement.name))
            if variable is not None and len(variable.values) == 1:
                tasks[id(variable)] = statement
    pending: list[Any] = []
    for node in file.index.below(serve):
        if isinstance(node, nodes.Route):
            pending.append(node.body)
        elif isinstance(node, nodes.Clause) and node.kind == "auth":
            pending += [value for _, value in node.operands if isinstance(value, nodes.Name)]
    while pending:
        for node in descend(pending.pop()):
            if not isinstance(node, nodes.Name):
                continue
            yield node
            ref = file.ref(node)
            variable = _only(ref.variables) if ref is not None else None
            task = None if variable is None else tasks.pop(id(variable), None)
            if task is not None and task.span < serve.span:
                pending.append(task.body)


def _only(variables: tuple[Variable, ...]) -> Variable | None:
    return variables[0] if len(variables) == 1 else None
