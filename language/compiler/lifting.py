"""Moves inner functions out of a function that has very many names and very many inner functions.

CPython searches all names of a function once for each function inside it, which takes many seconds for a program of ten
thousand tasks. In that case every inner function is made at the top level of the module, by a function of its own that has
only the names it uses::

def ·lifted1():
total = None
def add(n): nonlocal total; ...
return add

The outer function then binds its own variables to it: ``add = ·lifted(·lifted1, ·cells)``. ``·cells`` is one inner function
that uses all of these names, so its closure holds the variables.
"""

from __future__ import annotations

import ast
from typing import Any

from language.compiler import python_ast as py
from language.compiler.python_ast import At

#: From this product of names and inner functions on it is done. Below, CPython takes about a tenth of a second.
WORTH = 2_000_000
CELLS = "·cells"


def lift(main: ast.FunctionDef, at: At) -> list[ast.stmt]:
    """Moves the functions out of ``main``. Returns the functions that make them, which must stand before it in the module."""
    made: list[ast.stmt] = []
    pending: list[tuple[ast.FunctionDef, set[str]]] = [(main, set())]
    while pending:
        around, outer = pending.pop()
        scan = _Scan(around)
        visible = outer | scan.bound
        if len(scan.functions) * len(visible) <= WORTH:
            pending += [(function, visible) for function in scan.functions if isinstance(function, ast.FunctionDef)]
            continue
        used_by_any: set[str] = set()
        moved: dict[int, ast.AST] = {}
        for function in scan.functions:
            used = _identifiers(function) & visible
            used_by_any |= used
            identifier = f"·lifted{len(made)}"
            moved[id(function)] = _replacement(function, identifier, at)
            definition = function if isinstance(function, ast.FunctionDef) else _defined(function, at)
            body: list[ast.stmt] = [definition, py.returns(py.name(definition.name, at), at)]
            if used:
                targets: list[py.Py] = [py.store(name, at) for name in sorted(used)]
                body.insert(0, py.placed(ast.Assign(targets, py.constant(None, at)), at))
            made.append(py.function(identifier, [], [], body, at))
            pending.append((definition, used))
        _replace(around, moved)
        reads: list[ast.stmt] = [py.expression(py.name(name, at), at) for name in sorted(used_by_any)]
        around.body.insert(_after_declarations(around.body), py.function(CELLS, [], [], reads, at))
    return made


class _Scan:
    """The names that a function binds, and the functions directly inside it."""

    def __init__(self, around: ast.FunctionDef) -> None:
        self.bound = {argument.arg for argument in around.args.args}
        self.functions: list[ast.FunctionDef | ast.Lambda] = []
        pending: list[Any] = list(around.body)
        seen: set[int] = set()
        while pending:
            node = pending.pop()
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                if id(node) in seen:
                    continue  # one expression may occur in two forms of a statement
                seen.add(id(node))
                self.functions.append(node)
                if isinstance(node, ast.FunctionDef):
                    self.bound.add(node.name)
                pending.extend(node.args.defaults)
                continue
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self.bound.add(node.id)
            pending.extend(ast.iter_child_nodes(node))


def _identifiers(function: ast.AST) -> set[str]:
    """Every name in a function that may mean a name of the outer function."""
    found: set[str] = set()
    pending: list[ast.AST] = [function]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Nonlocal):
            found.update(node.names)
        pending.extend(ast.iter_child_nodes(node))
    return found


def _replacement(function: ast.FunctionDef | ast.Lambda, identifier: str, at: At) -> ast.AST:
    """Takes the place of a function: binds the outer variables and evaluates the defaults there."""
    arguments: list[py.Py] = [py.name(identifier, at), py.name(CELLS, at), py.tuple_of(function.args.defaults, at)]
    function.args.defaults = []
    made = py.runtime("lifted", arguments, at)
    return py.assign(function.name, made, at) if isinstance(function, ast.FunctionDef) else made


def _defined(function: ast.Lambda, at: At) -> ast.FunctionDef:
    names = [argument.arg for argument in function.args.args]
    place = (function.lineno, function.col_offset)
    return py.function("<lambda>", names, [], [py.returns(function.body, place)], place)


def _replace(around: ast.FunctionDef, moved: dict[int, ast.AST]) -> None:
    pending: list[ast.AST] = [around]
    while pending:
        node = pending.pop()
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                value[:] = [moved.get(id(item), item) for item in value]
                pending.extend(item for item in value if isinstance(item, ast.AST))
            elif isinstance(value, ast.AST):
                new = moved.get(id(value), value)
                setattr(node, field, new)
                pending.append(new)


def _after_declarations(body: list[ast.stmt]) -> int:
    return next((number for number, statement in enumerate(body) if not isinstance(statement, ast.Nonlocal)), 0)
