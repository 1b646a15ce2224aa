"""Inlined calls: ``apply`` and ``where`` with a literal lambda, and named arguments of a known task."""

from __future__ import annotations

import ast

from language.compiler import conditions, functions
from language.compiler import python_ast as py
from language.compiler.emitter import Emitter, FunctionState
from language.compiler.parts import Part, at_of, plain, region, tree, value, values
from language.compiler.python_ast import At, Py
from language.syntax import nodes

CONSTANT = (nodes.Number, nodes.Text, nodes.Bool, nodes.Nothing)


def comprehension(em: Emitter, node: nodes.Call, known: str) -> Part | None:
    """``apply(xs, (x) => ...)`` and ``where(xs, (x) => ...)`` as a list comprehension; ``None`` for other calls.

    The body must need no statements of its own. Where Python may refuse an operator in it, the body must also call nothing:
    the call is then made as written, and gives the result or the error.
    """
    if known not in ("apply", "where") or em.metered or len(node.args) != 2 or any(arg.name for arg in node.args):
        return None
    first, second = (arg.value for arg in node.args)
    function, items = (first, second) if isinstance(first, nodes.Lambda) else (second, first)
    if not isinstance(function, nodes.Lambda) or isinstance(items, nodes.Lambda) or len(function.params) != 1:
        return None
    scope = em.resolution.scopes[id(function)]
    param = scope.names[function.params[0]]
    if param.captured or any(v is not param for v in scope.names.values()):
        return None
    body = _body(em, function, condition=known == "where")
    if body is None:
        return None
    at = node.at
    walked, listed, is_list = _items(em, items)
    filled = known == "apply" and isinstance(function.body, CONSTANT)
    native = _fill(body.native, walked, at) if filled else _comprehension(param.python, body.native, walked, known, at)
    result = em.temporary("list")
    with em.buffer() as as_written:
        made = functions.lambda_value(em, function)
        call = py.call(py.name(em.builtin_name(known), at), [listed, made], at)
        em.emit(py.assign(result, call, at))
    fast: list[ast.stmt] = [py.assign(result, native, at)]
    if body.risky or filled:
        fast = [region(fast, as_written, at)]
    if is_list:
        em.out.extend(fast)
    else:
        test = py.is_(py.call(py.name("·type", at), [listed], at), "·list", at)
        em.emit(py.if_(test, fast, as_written, at))
    return plain(py.name(result, at))


def _body(em: Emitter, function: nodes.Lambda, *, condition: bool) -> Part | None:
    outer = em.state
    em.state = FunctionState(em.resolution.functions[id(function)], is_task=True)
    with em.buffer() as before:
        part = conditions.test(em, function.body) if condition else tree(em, function.body)
    em.state = outer
    if before or (part.risky and part.exact is None):
        return None
    return part


def _items(em: Emitter, items: nodes.Expr) -> tuple[Py, Py, bool]:
    """The iterable of the comprehension, the same as a value of the language, and whether it is certainly a list."""
    at = at_of(items)
    if isinstance(items, nodes.Call) and em.static_builtin(items.func) == "range" and len(items.args) in (1, 2):
        bounds = [arg.value for arg in items.args]
        if all(arg.name is None for arg in items.args) and all(em.kinds.of(bound) == "int" for bound in bounds):
            forms = [form if em.is_stable(form) else em.save(form, at, "int") for form in values(em, bounds)]
            walked = py.call(py.name("·range", at), forms, at)
            return walked, py.call(py.name(em.builtin_name("range"), at), forms, at), True
    form = value(em, items)
    if not em.is_stable(form):
        form = em.save(form, at, em.kinds.of(items))
    return form, form, em.kinds.of(items) == "list"


def _fill(item: Py, walked: Py, at: At) -> Py:
    """A list of one constant, as long as the items. Where Python refuses the length, the call is made as written for its
    error.
    """
    length = py.call(py.name("·len", at), [walked], at)
    return py.placed(ast.BinOp(py.list_of([item], at), ast.Mult(), length), at)


def _comprehension(param: str, body: Py, walked: Py, known: str, at: At) -> Py:
    tests = [body] if known == "where" else []
    result = py.name(param, at) if known == "where" else body
    generator = ast.comprehension(py.store(param, at), walked, tests, 0)
    return py.placed(ast.ListComp(result, [generator]), at)


def named_call(em: Emitter, node: nodes.Call) -> Py | None:
    """A call of a known task with named arguments that fit it; ``None`` when that can only be decided at run time."""
    if not isinstance(node.func, nodes.Name):
        return None
    ref = em.resolution.refs.get(id(node.func))
    if ref is None or not ref.sure:
        return None
    variable = ref.variables[0]
    task = variable.task
    if task is None or len(variable.values) != 1 or em.opens(variable):
        return None
    names = {param.name: None for param in task.params}
    in_order = list(names)
    given: dict[str, None] = {}
    named = False
    for index, arg in enumerate(node.args):
        if arg.name is None:
            if named or index >= len(names):
                return None
            given[in_order[index]] = None
        elif arg.name not in names or arg.name in given:
            return None
        else:
            named = True
            given[arg.name] = None
    if any(param.default is None and param.name not in given for param in task.params):
        return None
    forms = values(em, [node.func, *(arg.value for arg in node.args)])
    scope = em.resolution.scopes[id(task)]
    positional = [form for form, arg in zip(forms[1:], node.args) if arg.name is None]
    keywords = [
        py.placed(ast.keyword(scope.names[arg.name].python, form), node.at)
        for form, arg in zip(forms[1:], node.args)
        if arg.name is not None
    ]
    return py.placed(ast.Call(forms[0], positional, keywords), node.at)
