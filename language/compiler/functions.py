"""Tasks, lambdas, constructors: Python functions with the same parameters, so that a call is a Python call.

A closure made in a loop must keep the variables of its own round. Such variables are boxes. The function is then made by a
small factory that takes the boxes as arguments, because a Python closure would share the local that holds the box.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable

from language.compiler import parts
from language.compiler import python_ast as py
from language.compiler.blocks import RETURN, block
from language.compiler.emitter import Emitter, FunctionState
from language.compiler.python_ast import At, Py
from language.compiler.resolution import Scope
from language.syntax import nodes

LITERALS = (nodes.Number, nodes.Text, nodes.Nothing)


def start_scope(em: Emitter, scope: Scope, at: At, *, skip: tuple[str, ...] = ()) -> None:
    """Begins a scope: new boxes, and the unbound mark for variables whose reads are checked."""
    for variable in scope.names.values():
        if variable.name in skip or variable.is_param:
            continue
        if variable.boxed:
            em.emit(py.assign(variable.python, py.list_of([py.name("·UNSET", at)], at), at))
        elif variable.checked:
            em.emit(py.assign(variable.python, py.name("·UNSET", at), at))


def define(
    em: Emitter,
    node: object,
    identifier: str,
    params: list[str],
    defaults: list[Py],
    write_body: Callable[[], None],
    at: At,
    *,
    extra: tuple[str, ...] = (),
    is_task: bool = True,
) -> list[ast.stmt]:
    """The statements that define a Python function named ``identifier``. ``extra`` are further locals whose current values it
    keeps.
    """
    function = em.resolution.functions[id(node)]
    outer_state, em.state = em.state, FunctionState(function, is_task=is_task)
    outer_known, (em.held_path, em.text_local) = (em.held_path, em.text_local), (None, None)
    with em.buffer() as body:
        scope = em.resolution.scopes[id(node)]
        start_scope(em, scope, at)
        for variable in scope.names.values():
            if variable.is_param:
                em.bound(variable, None, at)
        if em.metered:
            em.emit(py.expression(py.runtime("enter", [], at), at))
        write_body()
    em.state = outer_state
    em.held_path, em.text_local = outer_known
    outer_names = sorted({v.python for v in function.assigned_outer if not v.boxed})
    if outer_names:
        body.insert(0, py.nonlocal_(outer_names, at))
    if em.metered:
        body = metered_body(body, outer_names, at)
    made = py.function(identifier, params, defaults, body, at)
    boxes = sorted({v.python for v in function.uses if v.lent}) + list(extra)
    if not boxes:
        return [made]
    factory = "·factory"
    inside: list[ast.stmt] = [made, py.returns(py.name(identifier, at), at)]
    arguments: list[Py] = [py.name(box, at) for box in boxes]
    return [
        py.function(factory, boxes, [], inside, at),
        py.assign(identifier, py.call(py.name(factory, at), arguments, at), at),
    ]


def metered_body(body: list[ast.stmt], outer_names: list[str], at: At) -> list[ast.stmt]:
    """Counts the call when it begins and ends."""
    head = body[: 1 if outer_names else 0]
    rest = body[len(head) :]
    return [*head, rest[0], py.tries(rest[1:], [], at, [py.expression(py.runtime("leave", [], at), at)])]


def task(em: Emitter, node: nodes.Task) -> None:
    """Emits the definition of a task and binds its name."""
    at = node.span[:2]
    variable = em.resolution.bound.get((id(node), node.name))
    params: list[str] = []
    defaults: list[Py] = []
    fillers: list[tuple[str, Py | None, str]] = []
    thunks: list[str] = []
    scope = em.resolution.scopes[id(node)]
    for param in node.params:
        python = scope.names[param.name].python
        params.append(python)
        if param.default is None:
            if defaults:
                defaults.append(py.name("·REQUIRED", at))
                fillers.append((python, None, param.name))
        elif isinstance(param.default, LITERALS):
            value = param.default.value if isinstance(param.default, (nodes.Number, nodes.Text)) else None
            defaults.append(py.constant(value, param.at))
        elif isinstance(param.default, nodes.Bool):
            defaults.append(py.name("·T" if param.default.value else "·F", param.at))
        else:
            thunk = default_thunk(em, param.default, param.at)
            thunks.append(thunk)
            defaults.append(py.name("·MISSING", at))
            fillers.append((python, py.call(py.name(thunk, param.at), [], param.at), param.name))

    def body() -> None:
        for python, filler, name in fillers:
            mark = "·MISSING" if filler is not None else "·REQUIRED"
            if filler is not None:
                action: ast.stmt = py.assign(python, filler, at)
            else:
                action = py.raises(py.runtime("missing", [py.constant(node.name, at), py.constant(name, at)], at), at)
            em.emit(py.if_(py.is_(py.name(python, at), mark, at), [action], [], at))
        block(em, node.body, RETURN)

    identifier = variable.python if variable is not None and not variable.boxed else f"{node.name}·task"
    for statement in define(em, node, identifier, params, defaults, body, at, extra=tuple(thunks)):
        em.emit(statement)
    made = py.name(identifier, at)
    if variable is None:
        em.emit(py.expression(py.unit_call("assign", [py.constant(node.name, at), made], at), at))
    elif variable.boxed:
        em.bind(variable, made, at)
    export(em, node.name, node.exported, at)


def default_thunk(em: Emitter, default: nodes.Expr, at: At) -> str:
    """A default is evaluated at call time in the scope of the task's definition: it becomes a small function of its own."""
    em.state.temporaries += 1
    name = f"·default{len(em.out)}·{em.state.temporaries}·{at[0]}·{at[1]}"

    def body() -> None:
        parts.into(em, default, lambda form: py.returns(form, at))

    for statement in define(em, default, name, [], [], body, at):
        em.emit(statement)
    return name


def lambda_value(em: Emitter, node: nodes.Lambda) -> Py:
    """The function of a lambda: a Python lambda when its body is one expression, else a definition before the statement."""
    at = node.span[:2]
    scope = em.resolution.scopes[id(node)]
    params = [scope.names[p].python for p in node.params]

    def body() -> None:
        parts.into(em, node.body, lambda form: py.returns(form, node.body.span[:2]))

    made = define(em, node, "<lambda>", params, [], body, at)
    first = made[0]
    if len(made) == 1 and isinstance(first, ast.FunctionDef) and len(first.body) == 1:
        only = first.body[0]
        if isinstance(only, ast.Return) and only.value is not None:
            return py.lambda_(params, only.value, at)
    for statement in made:
        em.emit(statement)
    return em.save(py.name("<lambda>", at), at, "task")


def export(em: Emitter, name: str, exported: bool, at: At) -> None:
    if exported and em.is_module:
        fixed = len(em.resolution.top.names[name].values) == 1
        em.emit(py.expression(py.unit_call("export", [py.constant(name, at), py.constant(fixed, at)], at), at))


def _bind_statement(em: Emitter, node: nodes.TypeDef | nodes.EnumDef, value: Py) -> None:
    at = node.span[:2]
    variable = em.resolution.bound.get((id(node), node.name))
    if variable is None:
        em.emit(py.expression(py.unit_call("assign", [py.constant(node.name, at), value], at), at))
    else:
        em.bind(variable, value, at)
    export(em, node.name, node.exported, at)


def constructor(em: Emitter, code_name: str, fields: tuple[str, ...], tag: str | None, at: At) -> Py:
    """A function of exactly these fields that returns a map. Its code name holds its name, position and number of fields."""
    code_name += f"#{len(fields)}"
    times = Counter(fields)
    params = [f if times[f] == 1 and f not in py.TAKEN else f"{f}·{i}" for i, f in enumerate(fields)]
    entries: list[Py | None] = [py.constant(field, at) for field in fields]
    forms: list[Py] = [py.name(p, at) for p in params]
    if tag is not None:
        entries.insert(0, py.constant("__variant", at))
        forms.insert(0, py.constant(tag, at))
    record = py.placed(ast.Dict(entries, forms), at)
    em.emit(py.function(code_name, params, [], [py.returns(record, at)], at))
    return py.name(code_name, at)


def type_definition(em: Emitter, node: nodes.TypeDef) -> None:
    at = node.span[:2]
    fields = tuple(name for name, _ in node.fields)
    variable = em.resolution.bound.get((id(node), node.name))
    if variable is not None and len(variable.values) == 1 and len(set(fields)) == len(fields) and not em.opens(variable):
        em.records[variable] = fields
    _bind_statement(em, node, constructor(em, f"type:{node.name}@{at[0]}:{at[1]}", fields, None, at))


def enum_definition(em: Emitter, node: nodes.EnumDef) -> None:
    at = node.span[:2]
    entries: list[Py | None] = [py.constant("__enum", at)]
    forms: list[Py] = [py.constant(node.name, at)]
    for variant, payload in node.variants:
        tag = f"{node.name}.{variant}"
        entries.append(py.constant(variant, at))
        if payload is None:
            forms.append(py.placed(ast.Dict([py.constant("__variant", at)], [py.constant(tag, at)]), at))
        else:
            forms.append(constructor(em, f"variant:{tag}@{at[0]}:{at[1]}", payload, tag, at))
    _bind_statement(em, node, py.placed(ast.Dict(entries, forms), at))


def sandboxed(em: Emitter, inside: Callable[[], None], at: At, *, under: Py | None = None) -> None:
    """The statements that ``inside`` emits, run with every capability denied except ``under``; restored on every exit."""
    em.emit(py.expression(py.unit_call("enter_sandbox", [] if under is None else [under], at), at))
    em.state.blocks += 1
    with em.buffer() as body:
        inside()
    em.state.blocks -= 1
    em.emit(py.tries(body, [], at, [py.expression(py.unit_call("leave_sandbox", [], at), at)]))


def source_text(node: nodes.Expr) -> str:
    """The short source form of a path, for the note about ``of``."""
    match node:
        case nodes.Name(id=name):
            return name
        case nodes.Field(obj=obj, name=name):
            return f"{source_text(obj)}.{name}"
        case nodes.Of(name=name, obj=obj):
            return f"{name} of {source_text(obj)}"
        case _:
            return "…"
