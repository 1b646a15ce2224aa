"""Makes nodes of Python's syntax tree, each with the position of the program's token that it stands for.

Code objects keep these positions (PEP 657). An error is located by its traceback, so nothing is tracked at run time. Columns
are counted as in the language: from 1, in code points.
"""

from __future__ import annotations

import ast
import sys
from typing import Any, TypeVar

At = tuple[int, int]
Literal = str | int | float | bool | None
Py = ast.expr
T = TypeVar("T", bound=ast.AST)

LOAD = ast.Load()
STORE = ast.Store()
NOWHERE: At = (1, 0)
#: Names that Python cannot bind. Every other name of the language can also be a name in a Python syntax tree.
TAKEN = frozenset({"None", "True", "False", "__debug__"})


def placed(node: T, at: At) -> T:
    node.lineno, node.col_offset = at  # type: ignore[attr-defined]
    return node


def name(identifier: str, at: At) -> ast.Name:
    return placed(ast.Name(identifier, LOAD), at)


def store(identifier: str, at: At) -> ast.Name:
    return placed(ast.Name(identifier, STORE), at)


def constant(value: Literal, at: At) -> ast.Constant:
    return placed(ast.Constant(value), at)


def constants(values: tuple[Any, ...], at: At) -> ast.Constant:
    """A nested tuple of literals as one constant: CPython searches all constants for each one that it folds."""
    return placed(ast.Constant(values), at)  # type: ignore[arg-type]


def call(function: Py, args: list[Py], at: At) -> ast.Call:
    return placed(ast.Call(function, args, []), at)


def runtime(function: str, args: list[Py], at: At) -> ast.Call:
    """A call of a function of the runtime; its names begin with ``·``, which no name of a program can contain."""
    return placed(ast.Call(name("·" + function, at), args, []), at)


def unit_call(method: str, args: list[Py], at: At) -> Py:
    """A call of a method of the running unit, or of one of its attributes: ``records.begin``."""
    found: Py = name("·unit", at)
    for part in method.split("."):
        found = placed(ast.Attribute(found, part, LOAD), at)
    return call(found, args, at)


def subscript(value: Py, index: Py, at: At, mark: int = 0) -> ast.Subscript:
    """A subscript. ``mark`` is the width of its position, which distinguishes a field (0), an index (1) and ``of`` (2) in a
    traceback.
    """
    node = placed(ast.Subscript(value, index, LOAD), at)
    node.end_lineno = at[0]
    node.end_col_offset = at[1] + mark
    return node


def conditional(test: Py, then: Py, otherwise: Py, at: At) -> ast.IfExp:
    return placed(ast.IfExp(test, then, otherwise), at)


def compare(left: Py, operator: ast.cmpop, right: Py, at: At) -> ast.Compare:
    return placed(ast.Compare(left, [operator], [right]), at)


def both(values: list[Py], at: At) -> ast.BoolOp:
    return placed(ast.BoolOp(ast.And(), values), at)


def either(values: list[Py], at: At) -> ast.BoolOp:
    return placed(ast.BoolOp(ast.Or(), values), at)


def is_(left: Py, identifier: str, at: At) -> ast.Compare:
    return compare(left, ast.Is(), name(identifier, at), at)


def is_not(left: Py, identifier: str, at: At) -> ast.Compare:
    return compare(left, ast.IsNot(), name(identifier, at), at)


def is_not_none(value: Py, at: At) -> ast.Compare:
    return compare(value, ast.IsNot(), constant(None, at), at)


def as_bool(test: Py, at: At) -> ast.IfExp:
    """The language's boolean for a Python condition."""
    return conditional(test, name("·T", at), name("·F", at), at)


def list_of(items: list[Py], at: At) -> ast.List:
    return placed(ast.List(items, LOAD), at)


def tuple_of(items: list[Py], at: At) -> ast.Tuple:
    return placed(ast.Tuple(items, LOAD), at)


def formatted(pieces: list[Py], at: At) -> ast.JoinedStr:
    """Texts and integers, formatted one after another."""
    values: list[Py] = [
        p if isinstance(p, ast.Constant) and isinstance(p.value, str) else placed(ast.FormattedValue(p, -1, None), at)
        for p in pieces
    ]
    return placed(ast.JoinedStr(values), at)


# ---- statements --------------------------------------------------------------------------------------------------------


def assign(identifier: str, value: Py, at: At) -> ast.Assign:
    return placed(ast.Assign([store(identifier, at)], value), at)


def expression(value: Py, at: At) -> ast.Expr:
    return placed(ast.Expr(value), at)


def returns(value: Py | None, at: At) -> ast.Return:
    return placed(ast.Return(value), at)


def raises(value: Py, at: At) -> ast.Raise:
    return placed(ast.Raise(value, None), at)


def if_(test: Py, body: list[ast.stmt], otherwise: list[ast.stmt], at: At) -> ast.If:
    return placed(ast.If(test, body or [passes(at)], otherwise), at)


def forever(body: list[ast.stmt], at: At) -> ast.While:
    return placed(ast.While(constant(True, at), body, []), at)


def breaks(at: At) -> ast.Break:
    return placed(ast.Break(), at)


def passes(at: At) -> ast.Pass:
    return placed(ast.Pass(), at)


def handler(kind: Py, identifier: str | None, body: list[ast.stmt], at: At) -> ast.ExceptHandler:
    return placed(ast.ExceptHandler(kind, identifier, body or [passes(at)]), at)


def tries(body: list[ast.stmt], handlers: list[ast.ExceptHandler], at: At, final: list[ast.stmt] | None = None) -> ast.Try:
    return placed(ast.Try(body or [passes(at)], handlers, [], final or []), at)


def function(identifier: str, params: list[str], defaults: list[Py], body: list[ast.stmt], at: At) -> ast.FunctionDef:
    arguments = ast.arguments([], [placed(ast.arg(p), at) for p in params], None, [], [], None, defaults)
    node = ast.FunctionDef(identifier, arguments, body or [passes(at)], [])
    if sys.version_info >= (3, 12):
        node.type_params = []
    return placed(node, at)


def lambda_(params: list[str], body: Py, at: At) -> ast.Lambda:
    arguments = ast.arguments([], [placed(ast.arg(p), at) for p in params], None, [], [], None, [])
    return placed(ast.Lambda(arguments, body), at)


def nonlocal_(names: list[str], at: At) -> ast.Nonlocal:
    return placed(ast.Nonlocal(names), at)
