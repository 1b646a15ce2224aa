"""Parts: an expression in its two forms, and how parts are combined in the order of evaluation.

A *part* holds the native form of an expression, its exact form (``None`` when it may be evaluated only once), and whether
the native form is risky. A risky form may be refused by Python where the exact form has the result or the right error. A
risky part must be put into a region; see the module ``emitter``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from language.compiler import python_ast as py
from language.compiler.emitter import Emitter
from language.compiler.kinds import Kind
from language.compiler.python_ast import At, Py
from language.compiler.unavailable import unavailable
from language.syntax import nodes

#: Longer chains are divided into statements: CPython compiles expressions recursively.
LONGEST_CHAIN = 40
TEXTUAL = ("str", "text")


class Part(NamedTuple):
    native: Py
    exact: Py | None
    risky: bool


#: By kind of expression, the function that compiles it. Filled in by the modules that define them.
WRITERS: dict[type[nodes.Expr], Callable[[Emitter, Any], Part]] = {}


def at_of(node: nodes.Node) -> At:
    return node.span[:2]


# ---- the doors ---------------------------------------------------------------------------------------------------------


def value(em: Emitter, node: nodes.Expr) -> Py:
    """A Python expression for the value, to be used at once. Earlier steps may have been emitted as statements."""
    part = tree(em, node)
    return settle(em, part, em.kinds.of(node), at_of(node)).native if part.risky else part.native


def values(em: Emitter, items: Sequence[nodes.Expr]) -> list[Py]:
    """The values of several expressions, evaluated left to right."""
    parts = in_order(em, items)
    if any(p.risky for p in parts):
        settle_impure(em, parts, items)
        shared = [p.risky for p in parts]
        parts = [settle(em, p, em.kinds.of(n), at_of(n)) if risky else p for p, n, risky in zip(parts, items, shared)]
    return [p.native for p in parts]


def into(em: Emitter, node: nodes.Expr, statement: Callable[[Py], ast.stmt]) -> None:
    """Emits the statement that ``statement`` makes of the value, in a region when the part is risky."""
    part = tree(em, node)
    if part.risky and part.exact is not None:
        em.emit(region([statement(part.native)], [statement(part.exact)], at_of(node)))
    else:
        em.emit(statement(part.native))


def region(native: list[ast.stmt], exact: list[ast.stmt], at: At) -> ast.Try:
    return py.tries(native, [py.handler(py.name("·E", at), None, exact, at)], at)


def settle(em: Emitter, part: Part, kind: Kind, at: At) -> Part:
    """Evaluates a part into a temporary, at this point."""
    if em.is_stable(part.native):
        return part
    name = em.temporary(kind)
    if part.risky and part.exact is not None:
        native = part.native
        if getattr(native, "unguarded", False):
            native = py.placed(ast.UnaryOp(ast.UAdd(), native), at)
        em.emit(region([py.assign(name, native, at)], [py.assign(name, part.exact, at)], at))
    else:
        em.emit(py.assign(name, part.native, at))
    done = py.name(name, at)
    return Part(done, done, False)


def in_order(em: Emitter, items: Sequence[nodes.Expr], make: Callable[[Emitter, nodes.Expr], Part] | None = None) -> list[Part]:
    """The parts of several expressions. When a later one needs statements, the earlier ones are evaluated before those."""
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


def settle_impure(em: Emitter, parts: list[Part], items: Sequence[nodes.Expr]) -> None:
    """Evaluates parts that may be evaluated only once, and all to the left of them, before a region begins."""
    last = max((i for i, p in enumerate(parts) if p.exact is None), default=-1)
    for index in range(last + 1):
        parts[index] = settle(em, parts[index], em.kinds.of(items[index]), at_of(items[index]))


def combine(em: Emitter, parts: list[Part], items: Sequence[nodes.Expr], risky: bool) -> bool:
    """Prepares parts for use in one expression. Returns whether the whole is risky."""
    risky = risky or any(p.risky for p in parts)
    if risky:
        settle_impure(em, parts, items)
    return risky


def exact_of(part: Part) -> Py:
    assert part.exact is not None
    return part.exact


def all_exact(parts: Sequence[Part]) -> bool:
    return all(p.exact is not None for p in parts)


def tree(em: Emitter, node: nodes.Expr) -> Part:
    """The part of any expression."""
    make = WRITERS.get(type(node))
    if make is None:
        return once(unavailable(node))
    return make(em, node)


def once(expression: Py) -> Part:
    """A part that may be evaluated only once."""
    return Part(expression, None, False)


def unguarded(native: Py, exact: Py | None, risky: bool) -> Part:
    """A part of a product that the outer operator guards. If it is evaluated without that operator, it gets a guard of
    its own.
    """
    native.unguarded = True  # type: ignore[attr-defined]
    return Part(native, exact, risky)


def plain(expression: Py) -> Part:
    return Part(expression, expression, False)


def deepened(em: Emitter, base: Part, kind: Kind, at: At) -> tuple[Part, int]:
    """The part with one more link of a chain, and how many links the Python expression then has. A long one is divided here."""
    depth: int = getattr(base.native, "links", 0) + 1
    if depth > LONGEST_CHAIN:
        return settle(em, base, kind, at), 1
    return base, depth


def linked(part: Part, depth: int) -> Part:
    part.native.links = depth  # type: ignore[attr-defined]
    return part
