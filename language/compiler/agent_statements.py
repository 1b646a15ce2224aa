"""Compiles the statements of agents: a definition is a function of the values that ``spawn`` hands over."""

from __future__ import annotations

from language.compiler import functions, parts
from language.compiler import python_ast as py
from language.compiler.blocks import Dest, block, deliver
from language.compiler.emitter import Emitter
from language.compiler.python_ast import At, Py
from language.syntax import nodes


def agent(em: Emitter, node: nodes.Agent, dest: Dest) -> None:
    """The body is a task whose parameters are the names that a ``spawn`` may give; one that is not given is unbound."""
    at = node.span[:2]
    scope = em.resolution.scopes[id(node)]
    given = [variable for variable in scope.names.values() if variable.is_param]
    identifier = f"{node.name}·agent"

    def body() -> None:
        block(em, node.body, None)

    unset: list[Py] = [py.name("·UNSET", at) for _ in given]
    for statement in functions.define(em, node, identifier, [v.python for v in given], unset, body, at):
        em.emit(statement)
    names = py.constants(tuple(variable.name for variable in given), at)
    made = py.unit_call("agents.agent", [py.constant(node.name, at), names, py.name(identifier, at)], at)
    _bind(em, node, node.name, made, dest)


def spawn(em: Emitter, node: nodes.Spawn, dest: Dest) -> None:
    at = node.span[:2]
    values = parts.values(em, [value for _, value in node.args])
    names = py.constants(tuple(name for name, _ in node.args), at)
    _run(em, py.unit_call("agents.spawn", [py.constant(node.agent, at), names, *values], at), dest, at)


def share(em: Emitter, node: nodes.Share, dest: Dest) -> None:
    at = node.span[:2]
    _run(em, py.unit_call("agents.share", parts.values(em, [node.value, node.name]), at), dest, at)


def observe(em: Emitter, node: nodes.Observe, dest: Dest) -> None:
    at = node.span[:2]
    _bind(em, node, node.alias, py.unit_call("agents.observe", parts.values(em, [node.name]), at), dest)


def signal(em: Emitter, node: nodes.Signal, dest: Dest) -> None:
    at = node.span[:2]
    operands = [node.name] if node.payload is None else [node.name, node.payload]
    _run(em, py.unit_call("agents.signal", parts.values(em, operands), at), dest, at)


def wait_for(em: Emitter, node: nodes.WaitFor, dest: Dest) -> None:
    at = node.span[:2]
    operands = [node.name] if node.timeout is None else [node.name, node.timeout]
    made = py.unit_call("agents.wait_for", parts.values(em, operands), at)
    if node.alias is None:
        _run(em, made, dest, at)
    else:
        _bind(em, node, node.alias, made, dest)


def _run(em: Emitter, made: Py, dest: Dest, at: At) -> None:
    if dest is None:
        em.emit(py.expression(made, at))
    else:
        deliver(em, dest, made, at)


def _bind(em: Emitter, node: nodes.Stmt, name: str, made: Py, dest: Dest) -> None:
    """Binds a name to a value, which is that of the statement."""
    at = node.span[:2]
    variable = em.resolution.bound.get((id(node), name))
    if variable is None:
        em.emit(py.expression(py.unit_call("assign", [py.constant(name, at), made], at), at))
    else:
        em.bind(variable, made, at)
        em.bound(variable, None, at)
    if dest is not None:
        form = py.unit_call("lookup", [py.constant(name, at)], at) if variable is None else em.variable(variable, at)
        deliver(em, dest, form, at)
