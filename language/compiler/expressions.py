"""Compiles literals, reads and calls to Python expressions; the table of which function compiles which expression."""

from __future__ import annotations

import ast

from language.compiler import arithmetic, conditions, functions, inline
from language.compiler import python_ast as py
from language.compiler.blocks import Into, statement
from language.compiler.emitter import Emitter
from language.compiler.kinds import NUMERIC
from language.compiler.parts import (
    WRITERS,
    Part,
    all_exact,
    at_of,
    combine,
    deepened,
    exact_of,
    in_order,
    into,
    linked,
    once,
    plain,
    settle,
    tree,
    value,
    values,
)
from language.compiler.paths import same_read
from language.compiler.python_ast import At, Py
from language.syntax import nodes
from language.syntax.render_calls import literal_text

# ---- literals and names ------------------------------------------------------------------------------------------------


def _name(em: Emitter, node: nodes.Name) -> Part:
    return plain(em.read(node))


def _constant(em: Emitter, node: nodes.Number | nodes.Text) -> Part:
    return plain(py.constant(node.value, at_of(node)))


def _nothing(em: Emitter, node: nodes.Nothing) -> Part:
    return plain(py.constant(None, at_of(node)))


def _bool(em: Emitter, node: nodes.Bool) -> Part:
    return plain(py.name("·T" if node.value else "·F", at_of(node)))


def _decimal(em: Emitter, node: nodes.Decimal) -> Part:
    name = em.decimals.setdefault(node.text, f"·d{len(em.decimals)}")
    return plain(py.name(name, at_of(node)))


def _template(em: Emitter, node: nodes.Template) -> Part:
    at = at_of(node)
    holes = [part for part in node.parts if not isinstance(part, str)]
    if not holes:
        return plain(py.constant("".join(p for p in node.parts if isinstance(p, str)), at))
    parts = in_order(em, holes)
    kinds = [em.kinds.of(hole) for hole in holes]
    written = all(kind in ("int", "str") for kind in kinds)
    risky = combine(em, parts, holes, written and "int" in kinds)
    made = iter(parts)
    pieces = [plain(py.constant(p, at)) if isinstance(p, str) else next(made) for p in node.parts]
    general: Py = py.runtime("template", [p.native for p in pieces], at)
    exact = py.runtime("template", [exact_of(p) for p in pieces], at) if all_exact(pieces) else None
    if em.interruptible:
        return Part(py.runtime("template_within", [p.native for p in pieces], at), exact, risky)
    unknown = [p.native for p, kind in zip(parts, kinds) if kind not in ("int", "str")]
    if written:
        return Part(py.formatted([p.native for p in pieces], at), exact, risky)
    if len(unknown) <= 2 and "int" not in kinds and all(type(u) is ast.Name and em.is_stable(u) for u in unknown):
        tests: list[Py] = [py.is_(py.call(py.name("·type", at), [u], at), "·str", at) for u in unknown]
        test_ = tests[0] if len(tests) == 1 else py.both(tests, at)
        general = py.conditional(test_, py.formatted([p.native for p in pieces], at), general, at)
    return Part(general, exact, risky)


def _list(em: Emitter, node: nodes.ListLit) -> Part:
    at = at_of(node)
    parts = in_order(em, node.items)
    risky = combine(em, parts, node.items, False)
    exact = py.list_of([exact_of(p) for p in parts], at) if all_exact(parts) else None
    return Part(py.list_of([p.native for p in parts], at), exact, risky)


def _key(em: Emitter, node: nodes.Expr) -> Part:
    if isinstance(node, nodes.Text):
        return _constant(em, node)
    part = tree(em, node)
    at = at_of(node)
    exact = None if part.exact is None else py.runtime("key", [part.exact], at)
    return Part(py.runtime("key", [part.native], at), exact, part.risky)


def _map(em: Emitter, node: nodes.MapLit) -> Part:
    at = at_of(node)
    flat = [item for entry in node.entries for item in entry]
    keys = {id(key) for key, _ in node.entries}
    parts = in_order(em, flat, lambda e, n: _key(e, n) if id(n) in keys else tree(e, n))
    risky = combine(em, parts, flat, False)

    def build(forms: list[Py]) -> Py:
        entries: list[Py | None] = list(forms[::2])
        return py.placed(ast.Dict(entries, forms[1::2]), at)

    exact = build([exact_of(p) for p in parts]) if all_exact(parts) else None
    return Part(build([p.native for p in parts]), exact, risky)


def _record(em: Emitter, fields: tuple[str, ...], values: list[nodes.Expr], at: At) -> Part:
    """A call of a type's constructor, compiled to the map that it makes."""
    parts = in_order(em, values)
    risky = combine(em, parts, values, False)
    keys: list[Py | None] = [py.constant(field, at) for field in fields]
    exact = py.placed(ast.Dict(keys, [exact_of(p) for p in parts]), at) if all_exact(parts) else None
    return Part(py.placed(ast.Dict(keys, [p.native for p in parts]), at), exact, risky)


# ---- reads -------------------------------------------------------------------------------------------------------------


def _index(em: Emitter, node: nodes.Index) -> Part:
    if em.held_path is not None and same_read(node, em.held_path[0]):
        return plain(py.name(em.held_path[1], node.at))
    operands = [node.obj, node.index]
    parts = in_order(em, operands)
    parts[0], depth = deepened(em, parts[0], None, node.at)
    literal = isinstance(node.index, nodes.Text)
    risky = combine(em, parts, operands, not literal)
    native = py.subscript(parts[0].native, parts[1].native, node.at, 1)
    exact = py.runtime("index", [exact_of(p) for p in parts], node.at) if all_exact(parts) else None
    return linked(Part(native, exact, risky), depth)


def _field(em: Emitter, node: nodes.Field) -> Part:
    if em.held_path is not None and same_read(node, em.held_path[0]):
        return plain(py.name(em.held_path[1], node.at))
    part, depth = deepened(em, tree(em, node.obj), None, node.at)
    key = py.constant(node.name, node.at)
    exact = None if part.exact is None else py.runtime("field", [part.exact, key], node.at)
    return linked(Part(py.subscript(part.native, key, node.at), exact, part.risky), depth)


def _of(em: Emitter, node: nodes.Of) -> Part:
    key = py.constant(node.name, node.at)
    if isinstance(node.obj, nodes.Field):
        inner = node.obj
        part = tree(em, inner.obj)
        words = [py.constant(text, inner.at) for text in (inner.name, node.name, functions.source_text(inner.obj))]
        read = py.runtime("field_of", [part.native, *words], inner.at)
        exact_read = None if part.exact is None else py.runtime("field_of", [part.exact, *words], inner.at)
        part = Part(read, exact_read, part.risky)
    else:
        part = tree(em, node.obj)
    part, depth = deepened(em, part, None, node.at)
    exact = None if part.exact is None else py.runtime("field", [part.exact, key], node.at)
    return linked(Part(py.subscript(part.native, key, node.at, 2), exact, part.risky), depth)


# ---- calls -------------------------------------------------------------------------------------------------------------


def _call(em: Emitter, node: nodes.Call) -> Part:
    # Under limits the builtin itself is called: it processes a large text in pieces.
    method = None if em.interruptible else conditions.text_method(em, node, "str")
    if method is not None:
        return method
    known = em.static_builtin(node.func)
    args = [arg.value for arg in node.args]
    if any(arg.name is not None for arg in node.args):
        return once(inline.named_call(em, node) or _named_call(em, node))
    if known is not None:
        seen_through = inline.comprehension(em, node, known)
        if seen_through is not None:
            return seen_through
        builtin = em.builtins[known]
        parts = in_order(em, args)
        pure = builtin.facts.pure
        square_root = known == "sqrt" and len(args) == 1 and em.kinds.of(args[0]) in NUMERIC
        risky = combine(em, parts, args, square_root)
        if risky and not pure:
            parts = [settle(em, p, em.kinds.of(n), at_of(n)) for p, n in zip(parts, args)]
            risky = False
        native = _builtin_call(em, known, [p.native for p in parts], args, node.at)
        exact = None
        if pure and all_exact(parts):
            exact = py.call(py.name(em.builtin_name(known), node.at), [exact_of(p) for p in parts], node.at)
        return Part(native, exact, risky)
    fields = em.record(node.func, len(args))
    if fields is not None:
        return _record(em, fields, args, node.at)
    forms = values(em, [node.func, *args])
    callee, depth = deepened(em, once(forms[0]), None, node.at)
    if em.flat:
        return plain(em.save(py.call(callee.native, forms[1:], node.at), node.at))
    return linked(once(py.call(callee.native, forms[1:], node.at)), depth)


def _builtin_call(em: Emitter, known: str, args: list[Py], args_nodes: list[nodes.Expr], at: At) -> Py:
    if known == "render" and 1 <= len(args) <= 2:
        return _render(args, args_nodes[0], at)
    if known == "sqrt" and len(args) == 1 and em.kinds.of(args_nodes[0]) in NUMERIC:
        return py.call(py.name("·sqrt", at), args, at)
    if known == "length" and len(args) == 1:
        return py.call(py.name("·len", at), args, at)
    if known == "append" and len(args) == 2 and em.kinds.of(args_nodes[0]) == "list":
        return py.list_of([py.placed(ast.Starred(args[0], py.LOAD), at), args[1]], at)
    if known == "get" and len(args) == 3 and em.kinds.of(args_nodes[0]) == "map" and em.is_stable(args[1]):
        looked_up = py.call(py.placed(ast.Attribute(args[0], "get", py.LOAD), at), args[1:], at)
        if em.kinds.of(args_nodes[1]) == "str" or (isinstance(args[1], ast.Name) and args[1].id == em.text_local):
            return looked_up
        is_text = py.is_(py.call(py.name("·type", at), [args[1]], at), "·str", at)
        return py.conditional(is_text, looked_up, py.call(py.name(em.builtin_name(known), at), args, at), at)
    return py.call(py.name(em.builtin_name(known), at), args, at)


def _render(args: list[Py], path: nodes.Expr, at: At) -> Py:
    """A page: rendered by the unit, whose globals it can use. A file named by a literal is part of the program."""
    data = args[1] if len(args) == 2 else py.constant(None, at)
    return py.unit_call("render", [args[0], data, py.constant(literal_text(path) is not None, at)], at)


def _named_call(em: Emitter, node: nodes.Call) -> Py:
    forms = values(em, [node.func, *(arg.value for arg in node.args)])
    names: list[Py] = [py.constant(arg.name, node.at) for arg in node.args]
    return py.runtime("call_named", [forms[0], py.tuple_of(forms[1:], node.at), py.tuple_of(names, node.at)], node.at)


def _pipe(em: Emitter, node: nodes.Pipe) -> Part:
    at = node.at
    acc = tree(em, node.first)
    kind = em.kinds.of(node.first)
    for step in node.steps:
        acc = settle(em, acc, kind, at)
        kind = None
        if isinstance(step, nodes.Call):
            known = em.static_builtin(step.func)
            named = any(arg.name is not None for arg in step.args)
            forms = values(em, [step.func, *(arg.value for arg in step.args)])
            if named:
                names: list[Py] = [py.constant(None, at), *(py.constant(arg.name, at) for arg in step.args)]
                passed = py.tuple_of([acc.native, *forms[1:]], at)
                made: Py = py.runtime("call_named", [forms[0], passed, py.tuple_of(names, at)], at)
            elif known == "render" and len(forms) <= 2:
                made = _render([acc.native, *forms[1:]], node.first, at)
            elif known is not None:
                made = py.call(py.name(em.builtin_name(known), at), [acc.native, *forms[1:]], at)
            else:
                made = py.call(forms[0], [acc.native, *forms[1:]], at)
        else:
            made = py.runtime("call_loose", [value(em, step), acc.native], at)
        acc = once(made)
    return acc


def _lambda(em: Emitter, node: nodes.Lambda) -> Part:
    return plain(functions.lambda_value(em, node))


def _sandbox(em: Emitter, node: nodes.SandboxExpr) -> Part:
    at = at_of(node)
    name = em.temporary(em.kinds.of(node.body))

    def inside() -> None:
        into(em, node.body, lambda form: py.assign(name, form, at))

    functions.sandboxed(em, inside, at)
    return plain(py.name(name, at))


def _block_value(em: Emitter, node: nodes.BlockValue) -> Part:
    at = at_of(node)
    name = em.temporary("none")  # recorded only afterwards: the statements inside clear the recorded temporaries at their ends
    em.emit(py.assign(name, py.constant(None, at), at))
    statement(em, node.stmt, Into(name))
    em.state.held.append(name)
    return plain(py.name(name, at))


def _show(em: Emitter, node: nodes.Show) -> Part:
    items = [node.value] if node.label is None else [node.value, node.label]
    forms = values(em, items)
    label = forms[1] if node.label is not None else py.constant(None, at_of(node))
    return once(py.unit_call("show", [forms[0], label], at_of(node)))


SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _gate(em: Emitter, node: nodes.Gate) -> Part:
    at = at_of(node)
    items = [node.message] if node.options is None else [node.message, node.options]
    forms = values(em, items)
    options = forms[1] if node.options is not None else py.constant(None, at)
    seconds = None if node.within is None else float(node.within.amount) * SECONDS[node.within.unit]
    return once(py.unit_call("gate", [py.constant(node.kind, at), forms[0], options, py.constant(seconds, at)], at))


def _llm(em: Emitter, name: str, at: At, operands: list[nodes.Expr | str | bool | None]) -> Part:
    """One LLM operation. The capability is checked first: if it is denied, no operand is evaluated."""
    operation = em.save(py.unit_call("llm", [py.constant(name, at)], at), at, "task")
    forms = iter(values(em, [operand for operand in operands if isinstance(operand, nodes.Expr)]))
    arguments = [next(forms) if isinstance(operand, nodes.Expr) else py.constant(operand, at) for operand in operands]
    return once(py.call(operation, arguments, at))


def _reason(em: Emitter, node: nodes.Reason) -> Part:
    return _llm(em, "reason", at_of(node), [node.topic, node.with_name, node.with_value])


def _decide(em: Emitter, node: nodes.Decide) -> Part:
    return _llm(em, "decide", at_of(node), [node.options, node.given])


def _analyze(em: Emitter, node: nodes.Analyze) -> Part:
    return _llm(em, "analyze", at_of(node), [node.subject, node.purpose or ""])


def _generate(em: Emitter, node: nodes.Generate) -> Part:
    operands: list[nodes.Expr | str | bool | None] = [node.what, node.given is not None, node.given, node.with_name]
    operands.append(node.with_value)
    return _llm(em, "generate", at_of(node), operands)


def install() -> None:
    """Registers the function that compiles each kind of expression."""
    WRITERS.update(
        {
            nodes.Name: _name,
            nodes.Number: _constant,
            nodes.Text: _constant,
            nodes.Nothing: _nothing,
            nodes.Bool: _bool,
            nodes.Decimal: _decimal,
            nodes.Template: _template,
            nodes.ListLit: _list,
            nodes.MapLit: _map,
            nodes.Arith: arithmetic.arith_chain,
            nodes.Negate: arithmetic.negate,
            nodes.Power: arithmetic.power,
            nodes.Index: _index,
            nodes.Field: _field,
            nodes.Of: _of,
            nodes.Compare: conditions.boolean,
            nodes.BoolOp: conditions.boolean,
            nodes.Not: conditions.boolean,
            nodes.WhenExpr: conditions.inline_when,
            nodes.Call: _call,
            nodes.Pipe: _pipe,
            nodes.Lambda: _lambda,
            nodes.SandboxExpr: _sandbox,
            nodes.BlockValue: _block_value,
            nodes.Gate: _gate,
            nodes.Show: _show,
            nodes.Reason: _reason,
            nodes.Decide: _decide,
            nodes.Analyze: _analyze,
            nodes.Generate: _generate,
        }
    )
