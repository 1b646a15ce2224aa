"""Arithmetic: Python's operators where they have the same meaning, guards where they do not, and text joined with numbers."""

from __future__ import annotations

import ast

from language.compiler import python_ast as py
from language.compiler.emitter import Emitter
from language.compiler.kinds import NUMERIC, Kind, arithmetic
from language.compiler.parts import (
    LONGEST_CHAIN,
    TEXTUAL,
    Part,
    all_exact,
    at_of,
    combine,
    deepened,
    exact_of,
    in_order,
    linked,
    plain,
    settle,
    tree,
    unguarded,
)
from language.compiler.paths import same_read
from language.compiler.python_ast import At, Py
from language.syntax import nodes

BINARY: dict[str, tuple[type[ast.operator], str]] = {
    "+": (ast.Add, "add"),
    "-": (ast.Sub, "sub"),
    "*": (ast.Mult, "mul"),
    "/": (ast.Div, "div"),
    "//": (ast.FloorDiv, "floordiv"),
    "%": (ast.Mod, "mod"),
}


def arith_chain(em: Emitter, node: nodes.Arith) -> Part:
    operands = [node.first, *(link.operand for link in node.links)]
    _drop_guards(em, node, operands)
    parts = in_order(em, operands)
    if len(operands) > LONGEST_CHAIN:
        parts = [settle(em, p, em.kinds.of(n), at_of(n)) for p, n in zip(parts, operands)]
    kinds = [em.kinds.of(operand) for operand in operands]
    risky = _chain_risk(node, operands, kinds)
    risky = combine(em, parts, operands, risky)
    acc, kind = parts[0], kinds[0]
    for index, link in enumerate(node.links):
        right, right_kind = parts[index + 1], kinds[index + 1]
        guarded = id(node) not in em.unguarded
        before = operands[0] if index == 0 else None
        native = _binary(em, link, before, acc.native, kind, right.native, right_kind, guarded)
        exact = None
        if acc.exact is not None and right.exact is not None:
            exact = py.runtime(BINARY[link.op][1], [acc.exact, right.exact], link.at)
        kind = arithmetic(link.op, kind, right_kind)
        acc = Part(native, exact, risky) if guarded else unguarded(native, exact, risky)
        if index % LONGEST_CHAIN == LONGEST_CHAIN - 1 and index + 1 < len(node.links):
            acc = settle(em, acc, kind, link.at)
    return acc


def _chain_risk(node: nodes.Arith, operands: list[nodes.Expr], kinds: list[Kind]) -> bool:
    kind = kinds[0]
    left: nodes.Expr | None = operands[0]
    for link, right_kind in zip(node.links, kinds[1:]):
        if _op_risk(link.op, kind, left, right_kind, link.operand):
            return True
        kind = arithmetic(link.op, kind, right_kind)
        left = None
    return False


def _told_by_name(kind: Kind, node: nodes.Expr | None) -> bool:
    """Whether an operand beside text is a name of unknown kind: its type is tested before the operator."""
    return kind is None and isinstance(node, nodes.Name)


def _small_int(node: nodes.Expr | None) -> bool:
    return isinstance(node, nodes.Number) and isinstance(node.value, int) and abs(node.value) < 1 << 512


def _op_risk(op: str, left: Kind, left_node: nodes.Expr | None, right: Kind, right_node: nodes.Expr) -> bool:
    """Whether Python may refuse the native operator where the language has a result or another error."""
    if op == "+" and (left in TEXTUAL or right in TEXTUAL):
        return not (
            (left in TEXTUAL and right in TEXTUAL) or _told_by_name(left, left_node) or _told_by_name(right, right_node)
        )
    if op == "+" and left == right == "list":
        return False
    literal = _small_int(left_node) or _small_int(right_node)
    if op in ("+", "*"):
        numeric = left in NUMERIC and right in NUMERIC
        return not (numeric and (literal or left == right == "int"))
    if op == "-":
        return not (literal or left == right == "int")
    if op == "/":
        return True
    nonzero = isinstance(right_node, nodes.Number) and _small_int(right_node) and right_node.value != 0
    if op == "//":
        return not nonzero
    return not (nonzero and left in NUMERIC)


def _drop_guards(em: Emitter, node: nodes.Arith, operands: list[nodes.Expr]) -> None:
    """Removes the guards of a product that is an operand of ``-`` or of an operator with a certain number: if Python repeated a
    text or list instead of multiplying, that operator refuses it.
    """
    first = node.links[0]
    if _is_product(operands[0]) and (first.op == "-" or (first.op == "+" and _surely_number(em, operands[1]))):
        em.unguarded.add(id(operands[0]))
    sure = _surely_number(em, operands[0]) or _is_guarded(em, operands[0])
    for link in node.links:
        if _is_product(link.operand) and (link.op == "-" or (link.op == "+" and sure)):
            em.unguarded.add(id(link.operand))
        sure = link.op != "+" or sure or _surely_number(em, link.operand) or _is_guarded(em, link.operand)


def _is_product(node: nodes.Expr) -> bool:
    return isinstance(node, nodes.Arith) and all(link.op == "*" for link in node.links)


def _is_guarded(em: Emitter, node: nodes.Expr) -> bool:
    """Whether the value is a product with guards, which is a number or an error."""
    return _is_product(node) and id(node) not in em.unguarded


def _surely_number(em: Emitter, node: nodes.Expr) -> bool:
    """Whether the value is a number even without guards."""
    if isinstance(node, nodes.Arith):
        return all(_surely_number(em, operand) for operand in (node.first, *(link.operand for link in node.links)))
    return em.kinds.of(node) in NUMERIC


def _binary(
    em: Emitter,
    link: nodes.Link,
    left_node: nodes.Expr | None,
    left: Py,
    left_kind: Kind,
    right: Py,
    right_kind: Kind,
    guarded: bool,
) -> Py:
    """One operator in its native form. ``left_node`` is the left operand, unless that is a longer chain."""
    at = link.at
    if em.interruptible and link.op == "+" and not (left_kind in NUMERIC and right_kind in NUMERIC):
        return py.runtime("add_within", [left, right], at)
    if link.op == "+" and (left_kind in TEXTUAL) != (right_kind in TEXTUAL):
        return _text_plus(em, left, left_kind, right, right_kind, at)
    if em.interruptible and _may_be_huge(link.op, left, right):
        return py.runtime(BINARY[link.op][1], [left, right], at)
    if link.op == "*" and guarded and "nonint" not in (left_kind, right_kind):
        # Python repeats text and lists by integers: unary plus accepts numbers and refuses everything else.
        if left_kind not in NUMERIC:
            left = py.placed(ast.UnaryOp(ast.UAdd(), left), at)
        if right_kind not in NUMERIC and not (left_node is not None and same_read(left_node, link.operand)):
            right = py.placed(ast.UnaryOp(ast.UAdd(), right), at)
    elif link.op == "%" and left_kind not in NUMERIC:
        left = py.placed(ast.UnaryOp(ast.UAdd(), left), at)
    return py.placed(ast.BinOp(left, BINARY[link.op][0](), right), at)


def _may_be_huge(op: str, left: Py, right: Py) -> bool:
    """Whether the operands can be two large integers, and the operation take more than linear time."""
    return op in ("*", "//", "%") and not (_is_literal(right) or (op == "*" and _is_literal(left)))


def _is_literal(tree: Py) -> bool:
    return isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)) and abs(tree.value) < 1 << 512


def _text_plus(em: Emitter, left: Py, left_kind: Kind, right: Py, right_kind: Kind, at: At) -> Py:
    """Text and another value: an integer is formatted, the type of a name of unknown kind is tested, others Python may
    refuse.
    """
    other, other_kind = (right, right_kind) if left_kind in TEXTUAL else (left, left_kind)
    native = py.placed(ast.BinOp(left, ast.Add(), right), at)
    if other_kind == "int":
        written = py.formatted([other], at)
        sides = (left, written) if left_kind in TEXTUAL else (written, right)
        return py.placed(ast.BinOp(sides[0], ast.Add(), sides[1]), at)
    if other_kind is None and type(other) is ast.Name and em.is_stable(other):
        test = py.is_(py.call(py.name("·type", at), [other], at), "·str", at)
        return py.conditional(test, native, py.runtime("add", [left, right], at), at)
    if other_kind in ("nonint", "num", "bool", "scalar"):
        return py.runtime("add", [left, right], at)
    return native


def negate(em: Emitter, node: nodes.Negate) -> Part:
    if isinstance(node.operand, nodes.Number):
        return plain(py.constant(-node.operand.value, node.at))
    part = tree(em, node.operand)
    native = py.placed(ast.UnaryOp(ast.USub(), part.native), node.at)
    exact = None if part.exact is None else py.runtime("negate", [part.exact], node.at)
    return Part(native, exact, part.risky)


def power(em: Emitter, node: nodes.Power) -> Part:
    operands = [node.base, node.exponent]
    parts = in_order(em, operands)
    exponent, depth = deepened(em, parts[1], None, node.at)
    if exponent is not parts[1]:
        parts[0] = settle(em, parts[0], None, node.at)
    parts[1] = exponent
    risky = combine(em, parts, operands, False)
    native = py.runtime("power", [p.native for p in parts], node.at)
    exact = py.runtime("power", [exact_of(p) for p in parts], node.at) if all_exact(parts) else None
    return linked(Part(native, exact, risky), depth)
