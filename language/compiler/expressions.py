"""Expressions to Python expressions.

A *part* is an expression in its two forms: native, exact (``None`` when it may be evaluated only once), and whether the native
form is risky, that is, may be refused by Python where the exact form has a result or the right error. Whoever uses a risky part
puts it into a region; see the module of the emitter.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from language import nodes
from language.compiler import functions
from language.compiler import python_ast as py
from language.compiler.emitter import Emitter
from language.compiler.kinds import Kind, arithmetic
from language.compiler.python_ast import At, Py

#: Chains longer than this are cut into statements: CPython's compiler walks expressions recursively.
LONGEST_CHAIN = 40
NUMERIC = ("int", "num")
TEXTUAL = ("str", "text")

BINARY: dict[str, tuple[type[ast.operator], str]] = {
    "+": (ast.Add, "add"),
    "-": (ast.Sub, "sub"),
    "*": (ast.Mult, "mul"),
    "/": (ast.Div, "div"),
    "//": (ast.FloorDiv, "floordiv"),
    "%": (ast.Mod, "mod"),
}
ORDER: dict[str, tuple[type[ast.cmpop], str]] = {
    "<": (ast.Lt, "lt"),
    "<=": (ast.LtE, "le"),
    ">": (ast.Gt, "gt"),
    ">=": (ast.GtE, "ge"),
}
#: Builtins that call nothing of the program and do nothing outside: evaluating one twice is evaluating it once.
PURE_FAMILIES = ("text", "mathematics")
PURE_CORE = frozenset(
    ("length", "text", "number", "int", "float", "decimal", "hex", "type_of", "get", "contains", "slice", "keys")
)


class Part(NamedTuple):
    native: Py
    exact: Py | None
    risky: bool


def at_of(node: nodes.Node) -> At:
    return node.span[:2]


# ---- the doors ---------------------------------------------------------------------------------------------------------


def value(em: Emitter, node: nodes.Expr) -> Py:
    """A Python expression for the value, to be used at once; earlier steps may have been emitted as statements."""
    part = tree(em, node)
    return settle(em, part, em.kinds.of(node), at_of(node)).native if part.risky else part.native


def values(em: Emitter, items: Sequence[nodes.Expr]) -> list[Py]:
    """The values of several expressions, evaluated left to right."""
    parts = in_order(em, items)
    if any(p.risky for p in parts):
        _settle_impure(em, parts, items)
        shared = [p.risky for p in parts]
        parts = [settle(em, p, em.kinds.of(n), at_of(n)) if risky else p for p, n, risky in zip(parts, items, shared)]
    return [p.native for p in parts]


def into(em: Emitter, node: nodes.Expr, statement: Callable[[Py], ast.stmt]) -> None:
    """Emits the statement that ``statement`` makes of the value, in a region when the value is risky."""
    part = tree(em, node)
    if part.risky and part.exact is not None:
        em.emit(region([statement(part.native)], [statement(part.exact)], at_of(node)))
    else:
        em.emit(statement(part.native))


def region(native: list[ast.stmt], exact: list[ast.stmt], at: At) -> ast.Try:
    return py.tries(native, [py.handler(py.name("·E", at), None, exact, at)], at)


def settle(em: Emitter, part: Part, kind: Kind, at: At) -> Part:
    """Evaluates a part now, into a temporary."""
    if em.is_stable(part.native):
        return part
    name = em.temporary(kind)
    if part.risky and part.exact is not None:
        em.emit(region([py.assign(name, part.native, at)], [py.assign(name, part.exact, at)], at))
    else:
        em.emit(py.assign(name, part.native, at))
    done = py.name(name, at)
    return Part(done, done, False)


def in_order(em: Emitter, items: Sequence[nodes.Expr], make: Callable[[Emitter, nodes.Expr], Part] | None = None) -> list[Part]:
    """Parts of several expressions; when a later one needs statements first, the earlier ones are evaluated before them."""
    make = make or tree
    parts: list[Part] = []
    for item in items:
        with em.buffer() as before:
            part = make(em, item)
        if before:
            for index, earlier in enumerate(parts):
                parts[index] = settle(em, earlier, em.kinds.of(items[index]), at_of(items[index]))
            em.out.extend(before)
        parts.append(part)
    return parts


def _settle_impure(em: Emitter, parts: list[Part], items: Sequence[nodes.Expr]) -> None:
    """Evaluates what may be evaluated only once, and what stands to the left of it, before a region begins."""
    last = max((i for i, p in enumerate(parts) if p.exact is None), default=-1)
    for index in range(last + 1):
        parts[index] = settle(em, parts[index], em.kinds.of(items[index]), at_of(items[index]))


def _combine(em: Emitter, parts: list[Part], items: Sequence[nodes.Expr], risky: bool) -> bool:
    """Prepares parts to stand in one expression; answers whether the whole is risky."""
    risky = risky or any(p.risky for p in parts)
    if risky:
        _settle_impure(em, parts, items)
    return risky


def _exact(part: Part) -> Py:
    assert part.exact is not None
    return part.exact


def _all_exact(parts: Sequence[Part]) -> bool:
    return all(p.exact is not None for p in parts)


def tree(em: Emitter, node: nodes.Expr) -> Part:
    """The part of any expression."""
    make = _TREES.get(type(node))
    if make is None:
        return once(functions.unavailable(em, node))
    return make(em, node)


def once(expression: Py) -> Part:
    """A part that may be evaluated only once."""
    return Part(expression, None, False)


def plain(expression: Py) -> Part:
    return Part(expression, expression, False)


def _deepened(em: Emitter, base: Part, kind: Kind, at: At) -> tuple[Part, int]:
    """A part for one more link of a chain, and how many links the Python expression has then; a long one is cut here."""
    depth: int = getattr(base.native, "links", 0) + 1
    if depth > LONGEST_CHAIN:
        return settle(em, base, kind, at), 1
    return base, depth


def _linked(part: Part, depth: int) -> Part:
    part.native.links = depth  # type: ignore[attr-defined]
    return part


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
    risky = _combine(em, parts, holes, written and "int" in kinds)
    made = iter(parts)
    pieces = [plain(py.constant(p, at)) if isinstance(p, str) else next(made) for p in node.parts]
    general: Py = py.runtime("template", [p.native for p in pieces], at)
    exact = py.runtime("template", [_exact(p) for p in pieces], at) if _all_exact(pieces) else None
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
    risky = _combine(em, parts, node.items, False)
    exact = py.list_of([_exact(p) for p in parts], at) if _all_exact(parts) else None
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
    risky = _combine(em, parts, flat, False)

    def build(forms: list[Py]) -> Py:
        entries: list[Py | None] = list(forms[::2])
        return py.placed(ast.Dict(entries, forms[1::2]), at)

    exact = build([_exact(p) for p in parts]) if _all_exact(parts) else None
    return Part(build([p.native for p in parts]), exact, risky)


# ---- arithmetic --------------------------------------------------------------------------------------------------------


def _arith(em: Emitter, node: nodes.Arith) -> Part:
    operands = [node.first, *(link.operand for link in node.links)]
    _drop_guards(em, node, operands)
    parts = in_order(em, operands)
    if len(operands) > LONGEST_CHAIN:
        parts = [settle(em, p, em.kinds.of(n), at_of(n)) for p, n in zip(parts, operands)]
    kinds = [em.kinds.of(operand) for operand in operands]
    risky = _chain_risk(node, operands, kinds)
    risky = _combine(em, parts, operands, risky)
    acc, kind = parts[0], kinds[0]
    for index, link in enumerate(node.links):
        right, right_kind = parts[index + 1], kinds[index + 1]
        guarded = id(node) not in em.unguarded
        native = _binary(em, link, acc.native, kind, right.native, right_kind, guarded)
        exact = None
        if acc.exact is not None and right.exact is not None:
            exact = py.runtime(BINARY[link.op][1], [acc.exact, right.exact], link.at)
        kind = arithmetic(link.op, kind, right_kind)
        acc = Part(native, exact, risky)
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
    """Whether an operand beside text is a name of unknown kind: its type is looked at before the operator."""
    return kind is None and isinstance(node, nodes.Name)


def _small_int(node: nodes.Expr | None) -> bool:
    return isinstance(node, nodes.Number) and isinstance(node.value, int) and abs(node.value) < 1 << 512


def _op_risk(op: str, left: Kind, left_node: nodes.Expr | None, right: Kind, right_node: nodes.Expr) -> bool:
    """Whether Python may refuse the native operator where the language has a result, or an error Python's does not tell."""
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
    """A product beside ``-`` or beside a sure number needs no guard of its own: what Python may have repeated is refused
    there."""
    sure = _surely_number(em, operands[0])
    first = node.links[0]
    if _is_product(operands[0]) and (first.op == "-" or (first.op == "+" and _surely_number(em, operands[1]))):
        em.unguarded.add(id(operands[0]))
    for link in node.links:
        if _is_product(link.operand) and (link.op == "-" or (link.op == "+" and sure)):
            em.unguarded.add(id(link.operand))
        sure = link.op != "+" or sure or _surely_number(em, link.operand)


def _is_product(node: nodes.Expr) -> bool:
    return isinstance(node, nodes.Arith) and all(link.op == "*" for link in node.links)


def _surely_number(em: Emitter, node: nodes.Expr) -> bool:
    """Whether the value is a number whatever guards are left out."""
    if isinstance(node, nodes.Arith):
        return all(_surely_number(em, operand) for operand in (node.first, *(link.operand for link in node.links)))
    return em.kinds.of(node) in NUMERIC


def _binary(em: Emitter, link: nodes.Link, left: Py, left_kind: Kind, right: Py, right_kind: Kind, guarded: bool) -> Py:
    at = link.at
    if link.op == "+" and (left_kind in TEXTUAL) != (right_kind in TEXTUAL):
        return _text_plus(em, left, left_kind, right, right_kind, at)
    if link.op == "*" and guarded:
        # Python repeats text and lists: a unary plus lets numbers pass and refuses everything else.
        if left_kind not in NUMERIC:
            left = py.placed(ast.UnaryOp(ast.UAdd(), left), at)
        if right_kind not in NUMERIC:
            right = py.placed(ast.UnaryOp(ast.UAdd(), right), at)
    elif link.op == "%" and left_kind not in NUMERIC:
        left = py.placed(ast.UnaryOp(ast.UAdd(), left), at)
    return py.placed(ast.BinOp(left, BINARY[link.op][0](), right), at)


def _text_plus(em: Emitter, left: Py, left_kind: Kind, right: Py, right_kind: Kind, at: At) -> Py:
    """Text and something else: an integer is written out, a name of unknown kind is looked at, the rest Python may refuse."""
    other, other_kind = (right, right_kind) if left_kind in TEXTUAL else (left, left_kind)
    native = py.placed(ast.BinOp(left, ast.Add(), right), at)
    if other_kind == "int":
        written = py.formatted([other], at)
        sides = (left, written) if left_kind in TEXTUAL else (written, right)
        return py.placed(ast.BinOp(sides[0], ast.Add(), sides[1]), at)
    if other_kind is None and type(other) is ast.Name and em.is_stable(other):
        test = py.is_(py.call(py.name("·type", at), [other], at), "·str", at)
        return py.conditional(test, native, py.runtime("add", [left, right], at), at)
    if other_kind in ("num", "bool", "scalar"):
        return py.runtime("add", [left, right], at)
    return native


def _negate(em: Emitter, node: nodes.Negate) -> Part:
    if isinstance(node.operand, nodes.Number):
        return plain(py.constant(-node.operand.value, node.at))
    part = tree(em, node.operand)
    native = py.placed(ast.UnaryOp(ast.USub(), part.native), node.at)
    exact = None if part.exact is None else py.runtime("negate", [part.exact], node.at)
    return Part(native, exact, part.risky)


def _power(em: Emitter, node: nodes.Power) -> Part:
    operands = [node.base, node.exponent]
    parts = in_order(em, operands)
    exponent, depth = _deepened(em, parts[1], None, node.at)
    if exponent is not parts[1]:
        parts[0] = settle(em, parts[0], None, node.at)
    parts[1] = exponent
    risky = _combine(em, parts, operands, False)
    native = py.runtime("power", [p.native for p in parts], node.at)
    exact = py.runtime("power", [_exact(p) for p in parts], node.at) if _all_exact(parts) else None
    return _linked(Part(native, exact, risky), depth)


# ---- reads -------------------------------------------------------------------------------------------------------------


def _index(em: Emitter, node: nodes.Index) -> Part:
    operands = [node.obj, node.index]
    parts = in_order(em, operands)
    parts[0], depth = _deepened(em, parts[0], None, node.at)
    literal = isinstance(node.index, nodes.Text)
    risky = _combine(em, parts, operands, not literal)
    native = py.subscript(parts[0].native, parts[1].native, node.at, 1)
    exact = py.runtime("index", [_exact(p) for p in parts], node.at) if _all_exact(parts) else None
    return _linked(Part(native, exact, risky), depth)


def _field(em: Emitter, node: nodes.Field) -> Part:
    part, depth = _deepened(em, tree(em, node.obj), None, node.at)
    key = py.constant(node.name, node.at)
    exact = None if part.exact is None else py.runtime("field", [part.exact, key], node.at)
    return _linked(Part(py.subscript(part.native, key, node.at), exact, part.risky), depth)


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
    part, depth = _deepened(em, part, None, node.at)
    exact = None if part.exact is None else py.runtime("field", [part.exact, key], node.at)
    return _linked(Part(py.subscript(part.native, key, node.at, 2), exact, part.risky), depth)


# ---- conditions --------------------------------------------------------------------------------------------------------


def condition(em: Emitter, node: nodes.Expr) -> Py:
    """A Python expression whose truth is the truth of the language's value."""
    part = test(em, node)
    return settle(em, part, "bool", at_of(node)).native if part.risky else part.native


def test(em: Emitter, node: nodes.Expr) -> Part:
    """The part of a truth: Python-true exactly when the value is truthy."""
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


#: Builtins on texts that are a method of Python's: told by their kinds, they are called directly.
_TEXT_TESTS = {"starts_with": "startswith", "ends_with": "endswith"}
_TEXT_METHODS = {"upper": "upper", "lower": "lower"}


def _text_method(em: Emitter, node: nodes.Expr, methods: dict[str, str]) -> Part | None:
    """A builtin on texts as the method of Python's that does the same; ``None`` when the call is none."""
    if not isinstance(node, nodes.Call) or not node.args or any(arg.name for arg in node.args):
        return None
    method = methods.get(em.static_builtin(node.func) or "")
    operands = [arg.value for arg in node.args]
    if method is None or len(operands) != (2 if methods is _TEXT_TESTS else 1):
        return None
    if any(em.kinds.of(operand) != "str" for operand in operands):
        return None
    parts = in_order(em, operands)
    risky = _combine(em, parts, operands, False)

    def build(forms: list[Py]) -> Py:
        return py.call(py.placed(ast.Attribute(forms[0], method, py.LOAD), node.at), forms[1:], node.at)

    exact = build([_exact(p) for p in parts]) if _all_exact(parts) else None
    return Part(build([p.native for p in parts]), exact, risky)


def _truth(em: Emitter, node: nodes.Expr) -> Part:
    kind = em.kinds.of(node)
    at = at_of(node)
    method = _text_method(em, node, _TEXT_TESTS)
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
        # The local is left holding a truth and not a container.
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
            py.placed(ast.BoolOp(operator(), [_exact(p) for _, p in made]), at) if _all_exact([p for _, p in made]) else None
        )
        return Part(native, exact, risky)
    name = em.temporary("bool")
    for index, (before, part) in enumerate(made):
        with em.buffer() as step:
            em.out.extend(before)
            if part.risky:
                em.emit(region([py.assign(name, part.native, at)], [py.assign(name, _exact(part), at)], at))
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
    known = {em.kinds.of(n) for n in operands} & {"int", "num", "str", "text"}
    if link.op in ORDER and not known and not any(type(p.native) is ast.Name and em.is_stable(p.native) for p in parts):
        # One side in a local: its type tells whether Python's own order is the language's.
        parts = [settle(em, p, em.kinds.of(n), at) for p, n in zip(parts, operands)]
    risky = _combine(em, parts, operands, False)
    native = _pair(em, link.op, parts[0].native, operands[0], parts[1].native, operands[1], at)
    exact = _exact_pair(link.op, _exact(parts[0]), _exact(parts[1]), at) if _all_exact(parts) else None
    return Part(native, exact, risky)


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
        exacts = [_exact_pair(link.op, _exact(made[i][1]), _exact(made[i + 1][1]), at) for i, link in enumerate(node.links)]
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


def _pair(em: Emitter, op: str, left: Py, left_node: nodes.Expr, right: Py, right_node: nodes.Expr, at: At) -> Py:
    """One comparison in its native form, with a guard where Python's rule differs."""
    left_kind, right_kind = em.kinds.of(left_node), em.kinds.of(right_node)
    if op in ORDER:
        operator = ORDER[op][0]()
        native = py.compare(left, operator, right, at)
        if {left_kind, right_kind} & {"int", "num", "str", "text"}:
            return native
        guard = next((side for side in (left, right) if type(side) is ast.Name and em.is_stable(side)), None)
        exact = py.runtime(ORDER[op][1], [left, right], at)
        if guard is None:
            return exact
        # Beside a number Python orders numbers and refuses the rest.
        kind_of = py.call(py.name("·type", at), [guard], at)
        is_number = py.either([py.is_(kind_of, "·int", at), py.is_(kind_of, "·float", at)], at)
        return py.conditional(is_number, native, exact, at)
    if op in ("==", "!="):
        if isinstance(right_node, nodes.Nothing) or isinstance(left_node, nodes.Nothing):
            other = left if isinstance(right_node, nodes.Nothing) else right
            identity = ast.Is() if op == "==" else ast.IsNot()
            return py.compare(other, identity, py.constant(None, at), at)
        if {left_kind, right_kind} & {"int", "num", "str", "text"}:
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
        test_ = py.both(
            [
                py.is_(py.call(py.name("·type", at), [right], at), "·dict", at),
                py.is_(py.call(py.name("·type", at), [left], at), "·str", at),
            ],
            at,
        )
        return py.conditional(test_, py.compare(left, member, right, at), found, at)
    return found


def _exact_pair(op: str, left: Py, right: Py, at: At) -> Py:
    if op in ORDER:
        return py.runtime(ORDER[op][1], [left, right], at)
    if op in ("==", "!="):
        return py.runtime("eq" if op == "==" else "ne", [left, right], at)
    found = py.runtime("member", [left, right], at)
    return found if op == "in" else py.placed(ast.UnaryOp(ast.Not(), found), at)


def _boolean(em: Emitter, node: nodes.Expr) -> Part:
    part = test(em, node)
    at = at_of(node)
    return Part(py.as_bool(part.native, at), None if part.exact is None else py.as_bool(part.exact, at), part.risky)


def _when(em: Emitter, node: nodes.WhenExpr) -> Part:
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
    if not statements and len(steps) <= LONGEST_CHAIN and not (risky and not _all_exact(parts)):
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
        # CPython walks nested ``else`` branches recursively: a long chain goes on beside them.
        em.emit(py.assign(flag, py.constant(True, at), at))
        em.out = outer
        with em.buffer() as rest:
            _when_statements(em, node, name, later, before_last, last)
        em.emit(py.if_(py.name(flag, at), rest, [], at))
    else:
        em.out.extend(before_last)
        em.emit(store(last))
    em.out = outer


# ---- calls -------------------------------------------------------------------------------------------------------------


def _call(em: Emitter, node: nodes.Call) -> Part:
    method = _text_method(em, node, _TEXT_METHODS)
    if method is not None:
        return method
    known = em.static_builtin(node.func)
    args = [arg.value for arg in node.args]
    if any(arg.name is not None for arg in node.args):
        return once(_named_call(em, node))
    if known is not None:
        builtin = em.builtins[known]
        parts = in_order(em, args)
        pure = not builtin.context and (builtin.family in PURE_FAMILIES or known in PURE_CORE)
        risky = _combine(em, parts, args, False)
        if risky and not pure:
            parts = [settle(em, p, em.kinds.of(n), at_of(n)) for p, n in zip(parts, args)]
            risky = False
        native = _builtin_call(em, known, [p.native for p in parts], args, node.at)
        exact = None
        if pure and _all_exact(parts):
            exact = py.call(py.name(em.builtin_name(known), node.at), [_exact(p) for p in parts], node.at)
        return Part(native, exact, risky)
    forms = values(em, [node.func, *args])
    callee, depth = _deepened(em, once(forms[0]), None, node.at)
    return _linked(once(py.call(callee.native, forms[1:], node.at)), depth)


def _builtin_call(em: Emitter, known: str, args: list[Py], args_nodes: list[nodes.Expr], at: At) -> Py:
    if known == "length" and len(args) == 1:
        return py.call(py.name("·len", at), args, at)
    if known == "append" and len(args) == 2 and em.kinds.of(args_nodes[0]) == "list":
        return py.list_of([py.placed(ast.Starred(args[0], py.LOAD), at), args[1]], at)
    if known == "get" and len(args) == 3 and em.kinds.of(args_nodes[0]) == "map" and em.is_stable(args[1]):
        looked_up = py.call(py.placed(ast.Attribute(args[0], "get", py.LOAD), at), args[1:], at)
        if em.kinds.of(args_nodes[1]) == "str":
            return looked_up
        is_text = py.is_(py.call(py.name("·type", at), [args[1]], at), "·str", at)
        return py.conditional(is_text, looked_up, py.call(py.name(em.builtin_name(known), at), args, at), at)
    return py.call(py.name(em.builtin_name(known), at), args, at)


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
    from language.compiler import statements

    at = at_of(node)
    name = em.temporary("none")  # held only afterwards: the statements inside release what is held at their ends
    em.emit(py.assign(name, py.constant(None, at), at))
    statements.statement(em, node.stmt, statements.Into(name))
    em.state.held.append(name)
    return plain(py.name(name, at))


def _show(em: Emitter, node: nodes.Show) -> Part:
    items = [node.value] if node.label is None else [node.value, node.label]
    forms = values(em, items)
    label = forms[1] if node.label is not None else py.constant(None, at_of(node))
    return once(functions.unit_call("show", [forms[0], label], at_of(node)))


_TREES: dict[type[nodes.Expr], Callable[[Emitter, nodes.Expr], Part]] = {
    nodes.Name: _name,  # type: ignore[dict-item]
    nodes.Number: _constant,  # type: ignore[dict-item]
    nodes.Text: _constant,  # type: ignore[dict-item]
    nodes.Nothing: _nothing,  # type: ignore[dict-item]
    nodes.Bool: _bool,  # type: ignore[dict-item]
    nodes.Decimal: _decimal,  # type: ignore[dict-item]
    nodes.Template: _template,  # type: ignore[dict-item]
    nodes.ListLit: _list,  # type: ignore[dict-item]
    nodes.MapLit: _map,  # type: ignore[dict-item]
    nodes.Arith: _arith,  # type: ignore[dict-item]
    nodes.Negate: _negate,  # type: ignore[dict-item]
    nodes.Power: _power,  # type: ignore[dict-item]
    nodes.Index: _index,  # type: ignore[dict-item]
    nodes.Field: _field,  # type: ignore[dict-item]
    nodes.Of: _of,  # type: ignore[dict-item]
    nodes.Compare: _boolean,
    nodes.BoolOp: _boolean,
    nodes.Not: _boolean,
    nodes.WhenExpr: _when,  # type: ignore[dict-item]
    nodes.Call: _call,  # type: ignore[dict-item]
    nodes.Pipe: _pipe,  # type: ignore[dict-item]
    nodes.Lambda: _lambda,  # type: ignore[dict-item]
    nodes.SandboxExpr: _sandbox,  # type: ignore[dict-item]
    nodes.BlockValue: _block_value,  # type: ignore[dict-item]
    nodes.Show: _show,  # type: ignore[dict-item]
}
