"""Compiles statements to Python statements. ``dest`` says what to do with the value of a block."""

from __future__ import annotations

import ast
from collections.abc import Callable

from language.compiler import agent_statements, assignment, conditions, functions, outline, parts, patterns, serve_blocks
from language.compiler import python_ast as py
from language.compiler.blocks import WRITERS, Dest, Into, Return, block, deliver
from language.compiler.bound_names import leaves
from language.compiler.emitter import Emitter
from language.compiler.python_ast import At, Py
from language.compiler.serve_facts import RENEWED_BY_EXPECT
from language.syntax import nodes
from language.syntax.patterns import names_of


def _expression(em: Emitter, node: nodes.ExprStmt, dest: Dest) -> None:
    at = node.span[:2]
    if isinstance(dest, Return):
        parts.into(em, node.value, lambda form: outline.returns(em, form, at))
        em.state.held = []
    elif isinstance(dest, Into):
        parts.into(em, node.value, lambda form: py.assign(dest.name, form, at))
    else:
        parts.into(em, node.value, lambda form: py.expression(form, at))


def _let(em: Emitter, node: nodes.Let, dest: Dest) -> None:
    at = node.span[:2]
    variable = em.resolution.bound.get((id(node), node.name))
    if variable is None:
        form = parts.value(em, node.value)
        em.emit(py.expression(py.unit_call("assign", [py.constant(node.name, at), form], at), at))
        if dest is not None:
            deliver(em, dest, py.unit_call("lookup", [py.constant(node.name, at)], at), at)
        return
    parts.into(em, node.value, lambda form: em.store_variable(variable, form, at))
    em.bound(variable, node.value, at)
    functions.export(em, node.name, node.exported, at)
    if dest is not None:
        em.release(at)
        em.shared(variable, at)
        deliver(em, dest, em.variable(variable, at), at)


def _let_parts(em: Emitter, node: nodes.LetParts, dest: Dest) -> None:
    at = node.span[:2]
    whole = em.save(parts.value(em, node.value), at)
    shape = py.constants(patterns.shape(node.pattern), node.pattern.span[:2])
    taken = em.save(py.runtime("taken_apart", [whole, shape], node.pattern.span[:2]), at)
    for number, name in enumerate(names_of(node.pattern)):
        part = py.subscript(taken, py.constant(number, at), at, 0)
        variable = em.resolution.bound.get((id(node), name))
        if variable is None:
            em.emit(py.expression(py.unit_call("assign", [py.constant(name, at), part], at), at))
            continue
        em.bind(variable, part, at)
        functions.export(em, name, node.exported, at)
    if dest is not None:
        deliver(em, dest, whole, at)


def _give(em: Emitter, node: nodes.Give, dest: Dest) -> None:
    at = node.span[:2]
    if not em.state.is_task:
        if node.value is not None:
            parts.into(em, node.value, lambda form: py.expression(form, at))
        em.emit(py.raises(py.runtime("outside", [], at), at))
    elif node.value is None:
        em.emit(outline.returns(em, py.constant(None, at), at))
    elif (query := _paged_query(em, node.value)) is not None:
        # Given by a route, `paged` reads only the requested page.
        builtin = py.name(em.builtin_name("paged"), at)
        forms = parts.values(em, query)
        em.emit(outline.returns(em, py.unit_call("paged", [builtin, *forms], at), at))
    else:
        parts.into(em, node.value, lambda form: outline.returns(em, form, at))
        em.state.held = []


def _paged_query(em: Emitter, value: nodes.Expr) -> list[nodes.Expr] | None:
    """The arguments of a ``paged`` call that is the whole value of a route's ``give``."""
    if not isinstance(em.state.function.node, nodes.Route) or not isinstance(value, nodes.Call):
        return None
    if em.static_builtin(value.func) != "paged" or not 1 <= len(value.args) <= 2 or any(arg.name for arg in value.args):
        return None
    return [arg.value for arg in value.args]


def _stop(em: Emitter, node: nodes.Stop, dest: Dest) -> None:
    at = node.span[:2]
    if node.value is not None:
        parts.into(em, node.value, lambda form: py.expression(form, at))
        em.release(at)
    if em.state.loops:
        em.emit(py.breaks(at))
    elif em.state.outlined and em.state.outer_loops:
        em.emit(py.returns(py.name("·BREAK", at), at))
    elif em.state.is_task:
        em.emit(py.raises(py.call(py.name("·StopLoop", at), [], at), at))
    else:
        em.emit(py.raises(py.runtime("outside", [], at), at))


def _raise(em: Emitter, node: nodes.Raise, dest: Dest) -> None:
    at = node.span[:2]
    parts.into(em, node.value, lambda form: py.raises(py.runtime("raised", [form], at), at))
    em.state.held = []


def _task(em: Emitter, node: nodes.Task, dest: Dest) -> None:
    functions.task(em, node)
    _deliver_bound(em, node, node.name, dest)


def _type(em: Emitter, node: nodes.TypeDef, dest: Dest) -> None:
    functions.type_definition(em, node)


def _enum(em: Emitter, node: nodes.EnumDef, dest: Dest) -> None:
    functions.enum_definition(em, node)
    _deliver_bound(em, node, node.name, dest)


def _deliver_bound(em: Emitter, node: nodes.Stmt, name: str, dest: Dest) -> None:
    if dest is not None:
        at = node.span[:2]
        variable = em.resolution.bound.get((id(node), name))
        form = py.unit_call("lookup", [py.constant(name, at)], at) if variable is None else em.variable(variable, at)
        deliver(em, dest, form, at)


def _when(em: Emitter, node: nodes.When, dest: Dest) -> None:
    _arms(em, node.arms, node.otherwise, dest)


def _arms(em: Emitter, arms: tuple[tuple[nodes.Expr, nodes.Block], ...], otherwise: nodes.Block | None, dest: Dest) -> None:
    now, later = arms[: parts.LONGEST_CHAIN], arms[parts.LONGEST_CHAIN :]
    outer = em.out
    at = arms[0][0].span[:2]
    flag = em.temporary("bool") if later else ""
    if later:
        em.emit(py.assign(flag, py.constant(False, at), at))
    ends: list[set[str]] = []
    for test, body in now:
        form = settled_condition(em, test)
        before = set(em.state.owned)
        with em.buffer() as then:
            block(em, body, dest)
        if not leaves(body):
            ends.append(em.state.owned)
        em.state.owned = before
        tail: list[ast.stmt] = []
        em.emit(py.if_(form, then, tail, test.span[:2]))
        em.out = tail
    if later:
        # CPython compiles nested ``else`` branches recursively: a long chain is continued after them.
        em.emit(py.assign(flag, py.constant(True, at), at))
        em.out = outer
        with em.buffer() as rest:
            _arms(em, later, otherwise, dest)
        em.emit(py.if_(py.name(flag, at), rest, [], at))
    elif otherwise is not None:
        block(em, otherwise, dest)
    if otherwise is None or not leaves(otherwise):
        ends.append(em.state.owned)
    em.out = outer
    em.state.owned = set.intersection(*ends) if ends and not later else set()


def settled_condition(em: Emitter, node: nodes.Expr) -> Py:
    """A condition after which no temporary holds a container while the branch runs."""
    form = conditions.condition(em, node)
    if em.state.held:
        at = node.span[:2]
        form = em.save(form, at, "bool")
        em.release(at)
    return form


# ---- loops -------------------------------------------------------------------------------------------------------------


def _each(em: Emitter, node: nodes.Each, dest: Dest) -> None:
    at = node.span[:2]
    scope = em.resolution.scopes[id(node)]
    variable = em.resolution.bound[id(node), node.name]
    iterable = _iterable(em, node)
    if em.state.held:
        iterable = em.save(iterable, at)
    target = variable.python
    if variable.boxed:
        target = em.temporary("none")
    result, inner = _loop_result(em, node.body, dest, at)

    def write() -> None:
        em.state.owned = set()
        if variable.boxed:
            em.emit(py.assign(variable.python, py.list_of([py.name(target, at)], at), at))
        functions.start_scope(em, scope, at, skip=(node.name,))
        em.bound(variable, None, at)
        block(em, node.body, inner)

    body = _loop_body(em, node.body, write, inner, result, at)
    em.emit(py.placed(ast.For(py.store(target, at), iterable, body, []), at))
    _loop_end(em, dest, result, at)


def _iterable(em: Emitter, node: nodes.Each) -> Py:
    at = node.span[:2]
    source = node.iterable
    if isinstance(source, nodes.Call) and em.static_builtin(source.func) == "range" and 1 <= len(source.args) <= 3:
        items = [arg.value for arg in source.args]
        if all(arg.name is None for arg in source.args):
            forms = parts.values(em, items)
            if all(em.kinds.of(item) == "int" for item in items) and len(items) < 3:
                return py.call(py.name("·range", at), forms, at)
            return py.runtime("irange", forms, source.at)
    form = parts.value(em, source)
    if em.kinds.of(source) in ("list", "map"):
        return form
    return py.runtime("iter", [form], at)


def _while(em: Emitter, node: nodes.While, dest: Dest) -> None:
    at = node.span[:2]
    result, inner = _loop_result(em, node.body, dest, at)
    em.state.owned = set()
    with em.buffer() as head:
        em.let_out(node.condition, at)
        part = conditions.test(em, node.condition)
        place = node.condition.span[:2]

        def leave(form: Py) -> ast.stmt:
            return py.if_(py.placed(ast.UnaryOp(ast.Not(), form), place), [py.breaks(place)], [], place)

        if em.state.held:
            part = parts.settle(em, part, "bool", place)
            em.release(place)
        if part.risky and part.exact is not None:
            em.emit(parts.region([leave(part.native)], [leave(part.exact)], place))
        else:
            em.emit(leave(part.native))
    body = _loop_body(em, node.body, lambda: block(em, node.body, inner), inner, result, at)
    em.emit(py.forever(head + body, at))
    _loop_end(em, dest, result, at)


def _loop_result(em: Emitter, body: nodes.Block, dest: Dest, at: At) -> tuple[str, Dest]:
    """The value of a loop is that of its last complete round: where to keep it, and where a round's own value goes.

    Without a ``stop`` inside, every round is complete, and one local is enough. It is cleared when a round begins, so that a
    container of the previous round can still be written in place.
    """
    if dest is None:
        return "", None
    name = dest.name if isinstance(dest, Into) else em.temporary("none")
    em.emit(py.assign(name, py.constant(None, at), at))
    return name, Into(em.temporary("none") if outline.contains_stop(body) else name)


def _loop_end(em: Emitter, dest: Dest, result: str, at: At) -> None:
    if isinstance(dest, Return):
        deliver(em, dest, py.name(result, at), at)


def _loop_body(em: Emitter, body: nodes.Block, write: Callable[[], None], inner: Dest, result: str, at: At) -> list[ast.stmt]:
    state = em.state
    state.loops += 1
    state.blocks += 1
    catches = em.loop_catches and outline.contains_call(body)
    state.blocks += catches
    with em.buffer() as out:
        if isinstance(inner, Into):
            em.emit(py.assign(inner.name, py.constant(None, at), at))
        if em.metered:
            em.emit(py.expression(py.runtime("tick", [], at), at))
        outline.nested(em, write, at)
        if isinstance(inner, Into) and inner.name != result:
            em.emit(py.assign(result, py.name(inner.name, at), at))
    state.blocks -= 1 + catches
    state.loops -= 1
    state.owned = set()
    if catches:
        return [py.tries(out, [py.handler(py.name("·StopLoop", at), None, [py.breaks(at)], at)], at)]
    return out or [py.passes(at)]


# ---- match, try, sandbox -----------------------------------------------------------------------------------------------


def _match(em: Emitter, node: nodes.Match, dest: Dest) -> None:
    at = node.span[:2]
    subject = parts.value(em, node.subject)
    if not em.is_stable(subject):
        subject = em.save(subject, at, em.kinds.of(node.subject))
    _match_arms(em, node.arms, node.otherwise, subject, dest, at)


def _match_arms(
    em: Emitter, arms: tuple[nodes.Arm, ...], otherwise: nodes.Block | None, subject: Py, dest: Dest, at: At
) -> None:
    now, later = arms[: parts.LONGEST_CHAIN], arms[parts.LONGEST_CHAIN :]
    outer = em.out
    flag = em.temporary("bool") if later else ""
    if later:
        em.emit(py.assign(flag, py.constant(False, at), at))
    for arm in now:
        functions.start_scope(em, em.resolution.scopes[id(arm)], at)
        matched = patterns.test(em, arm, arm.pattern, subject)
        if arm.guard is not None:
            name = em.temporary("bool")
            em.emit(py.assign(name, matched, at))
            with em.buffer() as guarded:
                em.emit(py.assign(name, conditions.condition(em, arm.guard), at))
            em.emit(py.if_(py.name(name, at), guarded, [], at))
            matched = py.name(name, at)
        before = set(em.state.owned)
        with em.buffer() as then:
            block(em, arm.body, dest)
        em.state.owned = before
        tail: list[ast.stmt] = []
        em.emit(py.if_(matched, then, tail, arm.span[:2]))
        em.out = tail
    if later:
        em.emit(py.assign(flag, py.constant(True, at), at))
        em.out = outer
        with em.buffer() as rest:
            _match_arms(em, later, otherwise, subject, dest, at)
        em.emit(py.if_(py.name(flag, at), rest, [], at))
    elif otherwise is not None:
        block(em, otherwise, dest)
    em.out = outer
    em.state.owned = set()


def _try(em: Emitter, node: nodes.Try, dest: Dest) -> None:
    """The handler's code stands after the ``try`` statement: the traceback, and the objects it keeps alive, are gone by
    then.
    """
    at = node.span[:2]
    failed = em.temporary("text")
    em.emit(py.assign(failed, py.constant(None, at), at))
    em.state.blocks += 2
    with em.buffer() as body:
        outline.nested(em, lambda: block(em, node.body, dest), at)
    em.state.blocks -= 2
    em.state.owned = set()
    caught = py.assign(failed, py.runtime("caught", [py.name("·error", at)], at), at)
    em.emit(py.tries(body, [py.handler(py.name("·Exception", at), "·error", [caught], at)], at))
    scope = em.resolution.scopes[id(node)]
    variable = em.resolution.bound[id(node), node.name]
    with em.buffer() as handler:
        if variable.boxed:
            em.emit(py.assign(variable.python, py.list_of([py.name(failed, at)], at), at))
        else:
            em.emit(py.assign(variable.python, py.name(failed, at), at))
        functions.start_scope(em, scope, at, skip=(node.name,))
        block(em, node.handler, dest)
    em.emit(py.if_(py.is_not_none(py.name(failed, at), at), handler, [], at))
    em.state.owned = set()


def _sandbox(em: Emitter, node: nodes.Sandbox, dest: Dest) -> None:
    at = node.span[:2]
    under = None if node.under is None else parts.value(em, node.under)

    def inside() -> None:
        functions.start_scope(em, em.resolution.scopes[id(node)], at)
        outline.nested(em, lambda: block(em, node.body, dest), at)

    functions.sandboxed(em, inside, at, under=under)
    em.state.owned = set()


def _trace(em: Emitter, node: nodes.Trace, dest: Dest) -> None:
    """Runs the block in the scope around it, between the two calls that record when it began and how it ended."""
    at = node.span[:2]
    begun = em.temporary("int")
    named: list[Py] = [py.constant(node.kind, at), py.constant(node.label, at), py.constant(at[0], at)]
    em.emit(py.assign(begun, py.unit_call("records.begin", named, at), at))
    em.state.blocks += 1
    with em.buffer() as body:
        outline.nested(em, lambda: block(em, node.body, dest), at)
    em.state.blocks -= 1
    end = py.expression(py.unit_call("records.end", [py.name(begun, at)], at), at)
    em.emit(py.tries(body, [], at, [end]))
    em.state.owned = set()


# ---- simple statements of the running unit -----------------------------------------------------------------------------


def _unit(em: Emitter, method: str, items: list[nodes.Expr | str | None], dest: Dest, at: At) -> None:
    given = [item for item in items if isinstance(item, nodes.Expr)]
    forms = iter(parts.values(em, given))
    args = [next(forms) if isinstance(item, nodes.Expr) else py.constant(item, at) for item in items]
    made = py.unit_call(method, args, at)
    if dest is None:
        em.emit(py.expression(made, at))
    else:
        deliver(em, dest, made, at)


def _log(em: Emitter, node: nodes.Log, dest: Dest) -> None:
    _unit(em, "log", [node.value], dest, node.span[:2])


def _checkpoint(em: Emitter, node: nodes.Checkpoint, dest: Dest) -> None:
    at = node.span[:2]
    form = parts.value(em, node.value)
    em.emit(py.expression(py.unit_call("records.checkpoint", [form, py.constant(at[0], at)], at), at))


def _require(em: Emitter, node: nodes.Require, dest: Dest) -> None:
    _unit(em, "require", [node.capability, node.scope], None, node.span[:2])


def _intent(em: Emitter, node: nodes.Intent, dest: Dest) -> None:
    at = node.span[:2]
    preamble = py.constant(id(node) in em.preamble, at)
    em.emit(py.expression(py.unit_call("intent", [py.constant(node.text, at), preamble], at), at))


def _invariant(em: Emitter, node: nodes.Invariant, dest: Dest) -> None:
    at = node.span[:2]
    form = conditions.condition(em, node.condition)
    message = py.constant("Invariant violation: " + ("unnamed invariant" if node.text is None else node.text), at)
    fails = py.raises(py.runtime("raised", [message, py.constant("assertion", at)], at), at)
    em.emit(py.if_(py.placed(ast.UnaryOp(ast.Not(), form), at), [fails], [], at))
    deliver(em, dest, py.name("·T", at), at)


def _use(em: Emitter, node: nodes.Use, dest: Dest) -> None:
    at = node.span[:2]
    made = py.unit_call("use", [py.constant(node.path, at)], at)
    variable = em.resolution.bound.get((id(node), node.alias))
    if variable is None:
        em.emit(py.expression(py.unit_call("assign", [py.constant(node.alias, at), made], at), at))
    else:
        em.bind(variable, made, at)
    _deliver_bound(em, node, node.alias, dest)


def _serve(em: Emitter, node: nodes.Serve, dest: Dest) -> None:
    serve_blocks.serve(em, node)


def _route_group(em: Emitter, node: nodes.RouteGroup, dest: Dest) -> None:
    serve_blocks.route_group(em, node)


def _expect(em: Emitter, node: nodes.Expect, dest: Dest) -> None:
    at = node.span[:2]
    em.emit(py.expression(py.unit_call("expect", [py.constant(node.place, at), py.constants(node.fields, at)], at), at))
    for name in RENEWED_BY_EXPECT:
        variable = em.resolution.bound.get((id(node), name))
        if variable is not None:
            renewed = py.unit_call("expected", [py.constant(name, at), em.variable(variable, at)], at)
            em.bind(variable, renewed, at)
            em.bound(variable, None, at)


def _stream(em: Emitter, node: nodes.Stream, dest: Dest) -> None:
    block(em, node.body, None)


def _socket(em: Emitter, node: nodes.Socket, dest: Dest) -> None:
    at = node.span[:2]
    em.bind(em.resolution.bound[id(node), "socket"], py.unit_call("socket", [], at), at)
    functions.start_scope(em, em.resolution.scopes[id(node)], at, skip=("socket",))
    block(em, node.body, None)


def _send(em: Emitter, node: nodes.Send, dest: Dest) -> None:
    _unit(em, "send", [node.value, node.event], None, node.span[:2])


def _proxy(em: Emitter, node: nodes.Proxy, dest: Dest) -> None:
    at = node.span[:2]
    route = em.state.function.node
    if isinstance(route, nodes.Route) and not any(isinstance(part, (nodes.Stream, nodes.Socket)) for part in route.body):
        form = parts.value(em, node.target)
        em.emit(outline.returns(em, py.unit_call("proxied", [form], at), at))
        em.state.held = []
    else:
        _unit(em, "proxy", [node.target], None, at)


def _test(em: Emitter, node: nodes.Test, dest: Dest) -> None:
    """Runs in test mode only; placed at the end of the unit."""


def install() -> None:
    """Registers the function that compiles each kind of statement."""
    WRITERS.update(
        {
            nodes.ExprStmt: _expression,
            nodes.Let: _let,
            nodes.LetParts: _let_parts,
            nodes.Set: assignment.write,
            nodes.Give: _give,
            nodes.Stop: _stop,
            nodes.Raise: _raise,
            nodes.Task: _task,
            nodes.TypeDef: _type,
            nodes.EnumDef: _enum,
            nodes.When: _when,
            nodes.Each: _each,
            nodes.While: _while,
            nodes.Match: _match,
            nodes.Try: _try,
            nodes.Sandbox: _sandbox,
            nodes.Trace: _trace,
            nodes.Log: _log,
            nodes.Checkpoint: _checkpoint,
            nodes.Require: _require,
            nodes.Intent: _intent,
            nodes.Invariant: _invariant,
            nodes.Use: _use,
            nodes.Serve: _serve,
            nodes.RouteGroup: _route_group,
            nodes.Expect: _expect,
            nodes.Stream: _stream,
            nodes.Socket: _socket,
            nodes.Send: _send,
            nodes.Proxy: _proxy,
            nodes.Test: _test,
            nodes.Agent: agent_statements.agent,
            nodes.Spawn: agent_statements.spawn,
            nodes.Share: agent_statements.share,
            nodes.Observe: agent_statements.observe,
            nodes.Signal: agent_statements.signal,
            nodes.WaitFor: agent_statements.wait_for,
        }
    )
