"""``serve`` blocks: every route body becomes a Python function, and the block a call that passes the whole table.

The table is a tuple of tuples, made when the statement runs: ``("route", (line, column), {...constants}, function,
values...)`` and ``(clause kind, (line, column), ((operand, value), ...))``; ``language.serve.table`` reads it.
"""

from __future__ import annotations

import ast
from typing import Any

from language.compiler import functions, parts
from language.compiler import python_ast as py
from language.compiler.blocks import block
from language.compiler.emitter import Emitter
from language.compiler.python_ast import At, Py
from language.compiler.serve_facts import (
    block_values,
    deferred_values,
    handler_names,
    proxied,
    request_fields,
)
from language.syntax import nodes
from language.syntax.render_calls import literal_render
from language.syntax.walk import descend, descend_with_task


def serve(em: Emitter, node: nodes.Serve) -> None:
    at = node.span[:2]
    functions_of = _functions(em, node.clauses)
    wanted = [node.port, *block_values(node.clauses)]
    forms = dict(zip(map(id, wanted), parts.values(em, wanted)))
    table = [_row(em, clause, forms, functions_of) for clause in node.clauses]
    em.emit(py.expression(py.unit_call("serve", [forms[id(node.port)], py.tuple_of(table, at)], at), at))


def route_group(em: Emitter, node: nodes.RouteGroup) -> None:
    at = node.span[:2]
    functions_of = _functions(em, node.routes)
    wanted = block_values(node.routes)
    forms = dict(zip(map(id, wanted), parts.values(em, wanted)))
    table = [_row(em, route, forms, functions_of) for route in node.routes]
    made = py.unit_call("route_group", [py.constant(node.name, at), py.tuple_of(table, at)], at)
    variable = em.resolution.bound.get((id(node), node.name))
    if variable is None:
        em.emit(py.expression(py.unit_call("assign", [py.constant(node.name, at), made], at), at))
    else:
        em.bind(variable, made, at)
        functions.export(em, node.name, True, at)


def _functions(em: Emitter, clauses: Any) -> dict[int, str]:
    """Emits the functions of all routes and of deferred lookups. Returns their Python names by ``id`` of the node."""
    found: dict[int, str] = {}
    for clause in clauses:
        if isinstance(clause, nodes.HostBlock):
            found |= _functions(em, clause.clauses)
        elif isinstance(clause, nodes.Route) and proxied(clause) is None:
            found[id(clause)] = _handler(em, clause)
        for value in deferred_values(clause):
            found[id(value)] = functions.default_thunk(em, value, value.span[:2])
    return found


def _handler(em: Emitter, route: nodes.Route) -> str:
    at = route.span[:2]
    scope = em.resolution.scopes[id(route)]
    params = [scope.names[name].python for name in handler_names(route)]
    identifier = f"route {route.method} {route.path}"

    def body() -> None:
        block(em, route.body, None)

    for statement in functions.define(em, route, identifier, params, [], body, at):
        em.emit(statement)
    # Two routes may have one name, but a function's name is a Python local of the code around it.
    return em.save(py.name(identifier, at), at, "task").id  # type: ignore[attr-defined,no-any-return]


def _row(em: Emitter, clause: nodes.Node, forms: dict[int, Py], functions_of: dict[int, str]) -> Py:
    at = clause.span[:2]

    def value(node: nodes.Expr | None) -> Py:
        if node is None:
            return py.constant(None, at)
        if id(node) in functions_of:
            return py.name(functions_of[id(node)], at)
        return forms[id(node)]

    match clause:
        case nodes.Route():
            return _route_row(em, clause, functions_of, value, at)
        case nodes.HostBlock(name=name, clauses=clauses):
            rows = [_row(em, inner, forms, functions_of) for inner in clauses]
            return py.tuple_of([py.constant("host", at), _place(at), value(name), py.tuple_of(rows, at)], at)
        case nodes.RateLimit(amount=amount, window=window):
            given = [] if amount is None else [("amount", value(amount)), ("window", py.constant(window, at))]
            return _clause_row("rate_limit", at, given)
        case nodes.RouteTimeout(seconds=seconds):
            return _clause_row("timeout", at, [] if seconds is None else [("seconds", value(seconds))])
        case nodes.Clause(kind=kind, operands=operands):
            return _clause_row(kind, at, [(word, value(operand)) for word, operand in operands])
        case _:
            raise AssertionError(clause)


def _place(at: At) -> Py:
    """Line and column, for the errors of the table."""
    return py.constants(at, at)


def _clause_row(kind: str, at: At, operands: list[tuple[str, Py]]) -> Py:
    pairs: list[Py] = [py.tuple_of([py.constant(word, at), form], at) for word, form in operands]
    return py.tuple_of([py.constant(kind, at), _place(at), py.tuple_of(pairs, at)], at)


def _route_row(em: Emitter, route: nodes.Route, functions_of: dict[int, str], value: Any, at: At) -> Py:
    rate, timeout, target = route.rate_limit, route.timeout, proxied(route)
    body = list(descend(route.body))
    facts: dict[str, Any] = {
        "method": route.method,
        "path": route.path,
        "auth": route.requires_auth,
        "kind": _kind(route),
        "names": handler_names(route),
        "fields": request_fields(body),
        "expect": _expected(route),
        "gives": _gives(em, route),
        "templates": _literal_templates(em, body),
        "tools": any(isinstance(node, nodes.Name) and node.id == "mcp_reply" for node in body),
        "uses": em.capabilities_used.by(body),
        "limited": None if rate is None else ("none" if rate.amount is None else rate.window),
        "timed": None if timeout is None else ("none" if timeout.seconds is None else "seconds"),
    }
    return py.tuple_of(
        [
            py.constant("route", at),
            _place(at),
            _constant(facts, at),
            py.name(functions_of[id(route)], at) if target is None else py.constant(None, at),
            value(None if rate is None else rate.amount),
            value(None if timeout is None else timeout.seconds),
            value(target),
        ],
        at,
    )


def _expected(route: nodes.Route) -> tuple[tuple[str, tuple[tuple[str, str, bool], ...]], ...]:
    """The declarations that a route requires of every request; of several for one place the first."""
    found: dict[str, tuple[tuple[str, str, bool], ...]] = {}
    for node in route.body:
        if isinstance(node, nodes.Expect):
            found.setdefault(node.place, node.fields)
    return tuple(found.items())


def _constant(fact: Any, at: At) -> Py:
    if isinstance(fact, dict):
        keys: list[Py | None] = [py.constant(key, at) for key in fact]
        return py.placed(ast.Dict(keys, [_constant(value, at) for value in fact.values()]), at)
    return py.constants(fact, at) if isinstance(fact, tuple) else py.constant(fact, at)


def _kind(route: nodes.Route) -> str:
    if proxied(route) is not None:
        return "proxy"
    for node in route.body:
        if isinstance(node, nodes.Stream):
            return "stream"
        if isinstance(node, nodes.Socket):
            return "socket"
    return "handler"


def _gives(em: Emitter, route: nodes.Route) -> str:
    """The distinct forms of reply that the ``give`` statements of a route make, separated by blanks.

    Each is ``json``, ``html``, ``content`` (negotiated), ``redirect`` or a literal media type, followed by ``@`` and the
    status where that is not 200. Errors are not included: all have one form.
    """
    found: dict[str, None] = {}
    for task, node in descend_with_task(route.body):
        if isinstance(node, nodes.Give) and not task:
            found.update(dict.fromkeys(_forms_of(em, node.value)))
    return " ".join(found) or "json"


def _forms_of(em: Emitter, given: nodes.Expr | None, status: str = "") -> list[str]:
    while isinstance(given, nodes.Call) and isinstance(given.func, nodes.Name):
        args = given.args
        builtin = em.builtins.get(given.func.id)
        reply = None if builtin is None else builtin.facts.reply
        if reply is None:
            break
        if reply == "failure":
            return []
        if reply.startswith("typed "):
            types = _written_type(args[1].value) if len(args) > 1 else [reply.removeprefix("typed ")]
            return [found + (status or _written_status(args[2].value if len(args) > 2 else None)) for found in types]
        if not reply.startswith("wraps"):
            return [reply + (status if reply != "redirect" else "")]
        status = status or reply.removeprefix("wraps")
        given = args[0].value if args else None
    if isinstance(given, nodes.WhenExpr):
        ends = [end for _, end in given.arms] + ([] if given.otherwise is None else [given.otherwise])
        return [form for end in ends for form in _forms_of(em, end, status)]
    return [f"json{status}" if status != "@200" else "json"]


def _written_status(value: nodes.Expr | None) -> str:
    if value is None:
        return ""
    return f"@{value.value}" if isinstance(value, nodes.Number) and value.value.__class__ is int else "@2XX"


def _written_type(value: nodes.Expr) -> list[str]:
    """The media type of a literal without its parameters; a wildcard where the program computes it."""
    if isinstance(value, nodes.Text):
        written = value.value.partition(";")[0].strip().lower()
        if "/" in written and " " not in written:
            return [written]
    return ["*/*"]


def _literal_templates(em: Emitter, body: list[Any]) -> tuple[str, ...]:
    calls = [call for node in body if (call := literal_render(node)) is not None]
    return tuple(path for name, path, _ in calls if em.static_builtin(name) == "render")
