"""Conditions and comparisons: Python conditions that are true exactly when the language's value is truthy."""

from __future__ import annotations

import ast

from language.compiler import python_ast as py
from language.compiler.emitter import Emitter
from language.compiler.kinds import NUMERIC
from language.compiler.parts import (
    LONGEST_CHAIN,
    Part,
    all_exact,
    at_of,
    combine,
    exact_of,
    in_order,
    plain,
    region,
    settle,
    tree,
)
from language.compiler.paths import same_read
from language.compiler.python_ast import At, Py
from language.syntax import nodes

ORDER: dict[str, tuple[type[ast.cmpop], str]] = {
    "<": (ast.Lt, "lt"),
    "<=": (ast.LtE, "le"),
    ">": (ast.Gt, "gt"),
    ">=": (ast.GtE, "ge"),
}
#: Kinds for which Python's order and equality are those of the language, or are refused.
COMPARABLE = frozenset((*NUMERIC, "str", "text"))


def condition(em: Emitter, node: nodes.Expr) -> Py:
    """A Python expression that is true exactly when the language's value is truthy."""
    part = test(em, node)
    return settle(em, part, "bool", at_of(node)).native if part.risky else part.native


def test(em: Emitter, node: nodes.Expr) -> Part:
    """The same as a part."""
    match node:
        case nodes.Compare():
            return _compare(em, node)
        case nodes.BoolOp():
            return _bool_op(em, node)
        case nodes.Not(operand=operand):
            part = test(em, operand)

            def negated(form: Py) -> Py:
                return py.placed(ast.UnaryOp(ast.Not(), form), node.at)

            return Part(negated(part.native), None if part.exact is None else negated(part.exact), part.risky)
        case nodes.Bool(value=value_):
            return plain(py.constant(value_, at_of(node)))
        case _:
            return _truth(em, node)


def text_method(em: Emitter, node: nodes.Expr, result: str) -> Part | None:
    """A builtin on texts as the equivalent method of Python's ``str``; ``result`` is the kind of its value. ``None`` for other
    calls.
    """
    if not isinstance(node, nodes.Call) or not node.args or any(arg.name for arg in node.args):
        return None
    builtin = em.builtins.get(em.static_builtin(node.func) or "")
    operands = [arg.value for arg in node.args]
    if builtin is None or builtin.facts.method is None or builtin.facts.result != result:
        return None
    method = builtin.facts.method
    if not builtin.required == len(operands) == builtin.most:
        return None
    if any(em.kinds.of(operand) != "str" for operand in operands):
        return None
    parts = in_order(em, operands)
    risky = combine(em, parts, operands, False)

    def build(forms: list[Py]) -> Py:
        return py.call(py.placed(ast.Attribute(forms[0], method, py.LOAD), node.at), forms[1:], node.at)

    exact = build([exact_of(p) for p in parts]) if all_exact(parts) else None
    return Part(build([p.native for p in parts]), exact, risky)


def _truth(em: Emitter, node: nodes.Expr) -> Part:
    kind = em.kinds.of(node)
    at = at_of(node)
    method = text_method(em, node, "bool")
    if method is not None:
        return method
    part = tree(em, node)
    if kind == "bool":
        return Part(py.is_(part.native, "·T", at), None if part.exact is None else py.is_(part.exact, "·T", at), part.risky)
    if kind is not None:
        return part
    if part.risky or not isinstance(part.native, ast.Name):
        name = em.temporary("bool")
        if part.risky and part.exact is not None:
            em.emit(region([py.assign(name, part.native, at)], [py.assign(name, part.exact, at)], at))
        else:
            em.emit(py.assign(name, part.native, at))
        done = py.name(name, at)
        # The local holds a boolean afterwards and no container.
        turned = py.placed(ast.UnaryOp(ast.Not(), py.placed(ast.UnaryOp(ast.Not(), done), at)), at)
        kept = py.placed(ast.NamedExpr(py.store(name, at), turned), at)
        truth = py.either([py.is_(done, "·T", at), py.both([py.is_not(done, "·F", at), kept], at)], at)
        return plain(truth)
    read = part.native
    return plain(py.either([py.is_(read, "·T", at), py.both([py.is_not(read, "·F", at), read], at)], at))


def _bool_op(em: Emitter, node: nodes.BoolOp) -> Part:
    at = at_of(node)
    made: list[tuple[list[ast.stmt], Part]] = []
    for operand in node.operands:
        with em.buffer() as before:
            part = test(em, operand)
        made.append((before, part))
    risky = any(p.risky for _, p in made)
    whole = all(not before for before, _ in made[1:]) and not (risky and any(p.exact is None for _, p in made))
    operator = ast.And if node.op == "and" else ast.Or
    if whole and len(made) <= LONGEST_CHAIN:
        em.out.extend(made[0][0])
        native = py.placed(ast.BoolOp(operator(), [p.native for _, p in made]), at)
        exact = (
            py.placed(ast.BoolOp(operator(), [exact_of(p) for _, p in made]), at) if all_exact([p for _, p in made]) else None
        )
        return Part(native, exact, risky)
    name = em.temporary("bool")
    for index, (before, part) in enumerate(made):
        with em.buffer() as step:
            em.out.extend(before)
            if part.risky:
                em.emit(region([py.assign(name, part.native, at)], [py.assign(name, exact_of(part), at)], at))
            else:
                em.emit(py.assign(name, part.native, at))
        if index == 0:
            em.out.extend(step)
        else:
            again: Py = py.name(name, at)
            if node.op == "or":
                again = py.placed(ast.UnaryOp(ast.Not(), again), at)
            em.emit(py.if_(again, step, [], at))
    return plain(py.name(name, at))


def _compare(em: Emitter, node: nodes.Compare) -> Part:
    at = node.links[0].at
    operands = [node.first, *(link.operand for link in node.links)]
    if len(node.links) > 1:
        return _compare_chain(em, node, operands)
    parts = in_order(em, operands)
    link = node.links[0]
    known = {em.kinds.of(n) for n in operands} & COMPARABLE
    local = None
    if link.op in ORDER and not known and not any(type(p.native) is ast.Name and em.is_stable(p.native) for p in parts):
        # One operand in a local: its type decides whether Python's own order is that of the language.
        parts[0] = settle(em, parts[0], "scalar", at)
        local = parts[0].native if isinstance(parts[0].native, ast.Name) else None
        if not same_read(operands[1], operands[1]):
            # It is used twice, which only a path may be.
            parts[1] = settle(em, parts[1], em.kinds.of(operands[1]), at)
    risky = combine(em, parts, operands, False)
    native = _pair(em, link.op, parts[0].native, operands[0], parts[1].native, operands[1], at, local)
    exact = None
    if all_exact(parts):
        exact = _left_in(local, _exact_pair(link.op, exact_of(parts[0]), exact_of(parts[1]), at), at)
    return Part(native, exact, risky)


def _left_in(local: ast.Name | None, truth: Py, at: At) -> Py:
    """A condition whose result the local holds afterwards in place of an operand, so that it keeps no reference to a
    container.
    """
    return truth if local is None else py.placed(ast.NamedExpr(py.store(local.id, at), truth), at)


def _compare_chain(em: Emitter, node: nodes.Compare, operands: list[nodes.Expr]) -> Part:
    at = node.links[0].at
    made: list[tuple[list[ast.stmt], Part]] = []
    for operand in operands:
        with em.buffer() as before:
            part = tree(em, operand)
        made.append((before, part))
    if len(operands) <= LONGEST_CHAIN and all(not before and em.is_stable(p.native) for before, p in made):
        pairs = [
            _pair(em, link.op, made[i][1].native, operands[i], made[i + 1][1].native, operands[i + 1], at)
            for i, link in enumerate(node.links)
        ]
        exacts = [_exact_pair(link.op, exact_of(made[i][1]), exact_of(made[i + 1][1]), at) for i, link in enumerate(node.links)]
        return Part(py.both(pairs, at), py.both(exacts, at), False)
    name = em.temporary("bool")
    em.out.extend(made[0][0])
    left = settle(em, made[0][1], em.kinds.of(operands[0]), at)
    for index, link in enumerate(node.links):
        with em.buffer() as step:
            before, part = made[index + 1]
            em.out.extend(before)
            right = settle(em, part, em.kinds.of(operands[index + 1]), at)
            em.emit(
                py.assign(name, _pair(em, link.op, left.native, operands[index], right.native, operands[index + 1], at), at)
            )
        if index == 0:
            em.out.extend(step)
        else:
            em.emit(py.if_(py.name(name, at), step, [], at))
        left = right
    return plain(py.name(name, at))


def _pair(
    em: Emitter,
    op: str,
    left: Py,
    left_node: nodes.Expr,
    right: Py,
    right_node: nodes.Expr,
    at: At,
    local: ast.Name | None = None,
) -> Py:
    """One comparison in its native form, with a guard where Python's rule differs.

    ``local`` holds an operand of an order. Compared natively that is a number; otherwise the local holds the result
    afterwards.
    """
    left_kind, right_kind = em.kinds.of(left_node), em.kinds.of(right_node)
    if op in ORDER:
        operator = ORDER[op][0]()
        native = py.compare(left, operator, right, at)
        if {left_kind, right_kind} & COMPARABLE:
            return native
        guard = next((side for side in (left, right) if type(side) is ast.Name and em.is_stable(side)), None)
        exact = py.runtime(ORDER[op][1], [left, right], at)
        if guard is None:
            return exact
        # Beside a number Python orders numbers and refuses all else.
        kind_of = py.call(py.name("·type", at), [guard], at)
        is_number = py.either([py.is_(kind_of, "·int", at), py.is_(kind_of, "·float", at)], at)
        return py.conditional(is_number, native, _left_in(local, exact, at), at)
    if op in ("==", "!="):
        if isinstance(right_node, nodes.Nothing) or isinstance(left_node, nodes.Nothing):
            other = left if isinstance(right_node, nodes.Nothing) else right
            identity = ast.Is() if op == "==" else ast.IsNot()
            return py.compare(other, identity, py.constant(None, at), at)
        if {left_kind, right_kind} & COMPARABLE:
            return py.compare(left, ast.Eq() if op == "==" else ast.NotEq(), right, at)
        exact = py.runtime("eq" if op == "==" else "ne", [left, right], at)
        guard = next((side for side in (left, right) if type(side) is ast.Name and em.is_stable(side)), None)
        if guard is None:
            return exact
        kind_of = py.call(py.name("·type", at), [guard], at)
        is_plain = py.either([py.is_(kind_of, "·str", at), py.is_(kind_of, "·int", at)], at)
        native = py.compare(left, ast.Eq() if op == "==" else ast.NotEq(), right, at)
        return py.conditional(is_plain, native, exact, at)
    member = ast.In() if op == "in" else ast.NotIn()
    if left_kind == "str":
        return py.compare(left, member, right, at)
    found = _exact_pair(op, left, right, at)
    if em.is_stable(left) and em.is_stable(right) and type(right) is ast.Name and type(left) is ast.Name:
        tests: list[Py] = [py.is_(py.call(py.name("·type", at), [left], at), "·str", at)]
        if em.kinds.of(right_node) != "map":
            tests.insert(0, py.is_(py.call(py.name("·type", at), [right], at), "·dict", at))
        test_ = py.both(tests, at) if len(tests) > 1 else tests[0]
        return py.conditional(test_, py.compare(left, member, right, at), found, at)
    return found


def _exact_pair(op: str, left: Py, right: Py, at: At) -> Py:
    if op in ORDER:
        return py.runtime(ORDER[op][1], [left, right], at)
    if op in ("==", "!="):
        return py.runtime("eq" if op == "==" else "ne", [left, right], at)
    found = py.runtime("member", [left, right], at)
    return found if op == "in" else py.placed(ast.UnaryOp(ast.Not(), found), at)


def boolean(em: Emitter, node: nodes.Expr) -> Part:
    part = test(em, node)
    at = at_of(node)
    return Part(py.as_bool(part.native, at), None if part.exact is None else py.as_bool(part.exact, at), part.risky)


def inline_when(em: Emitter, node: nodes.WhenExpr) -> Part:
    at = at_of(node)
    steps: list[tuple[list[ast.stmt], Part, list[ast.stmt], Part, nodes.Expr]] = []
    for cond, result in node.arms:
        with em.buffer() as before_test:
            tested = test(em, cond)
        with em.buffer() as before:
            part = tree(em, result)
        steps.append((before_test, tested, before, part, result))
    with em.buffer() as before_last:
        last = plain(py.constant(None, at)) if node.otherwise is None else tree(em, node.otherwise)
    parts = [p for _, tested, _, part, _ in steps for p in (tested, part)] + [last]
    statements = before_last or any(before for _, _, before, _, _ in steps) or any(s[0] for s in steps[1:])
    risky = any(p.risky for p in parts)
    if not statements and len(steps) <= LONGEST_CHAIN and not (risky and not all_exact(parts)):
        em.out.extend(steps[0][0])
        native, exact = last.native, last.exact
        for _, tested, _, part, _ in reversed(steps):
            native = py.conditional(tested.native, part.native, native, at)
            if exact is not None and tested.exact is not None and part.exact is not None:
                exact = py.conditional(tested.exact, part.exact, exact, at)
            else:
                exact = None
        return Part(native, exact, risky)
    name = em.temporary(em.kinds.of(node))
    _when_statements(em, node, name, steps, before_last, last)
    return plain(py.name(name, at))


def _when_statements(
    em: Emitter,
    node: nodes.WhenExpr,
    name: str,
    steps: list[tuple[list[ast.stmt], Part, list[ast.stmt], Part, nodes.Expr]],
    before_last: list[ast.stmt],
    last: Part,
) -> None:
    at = at_of(node)

    def store(part: Part) -> ast.stmt:
        if part.risky and part.exact is not None:
            return region([py.assign(name, part.native, at)], [py.assign(name, part.exact, at)], at)
        return py.assign(name, part.native, at)

    now, later = steps[:LONGEST_CHAIN], steps[LONGEST_CHAIN:]
    outer = em.out
    flag = em.temporary("bool") if later else ""
    if later:
        em.emit(py.assign(flag, py.constant(False, at), at))
    for before_test, tested, before, part, _ in now:
        em.out.extend(before_test)
        chosen = settle(em, tested, "bool", at) if tested.risky else tested
        otherwise: list[ast.stmt] = []
        em.emit(py.if_(chosen.native, [*before, store(part)], otherwise, at))
        em.out = otherwise
    if later:
        # CPython compiles nested ``else`` branches recursively: a long chain is continued after them.
        em.emit(py.assign(flag, py.constant(True, at), at))
        em.out = outer
        with em.buffer() as rest:
            _when_statements(em, node, name, later, before_last, last)
        em.emit(py.if_(py.name(flag, at), rest, [], at))
    else:
        em.out.extend(before_last)
        em.emit(store(last))
    em.out = outer
