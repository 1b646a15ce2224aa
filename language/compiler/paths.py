"""Paths into variables, ``a.b[i]``: their steps, whether two are the same, and the effects of evaluating an expression."""

from __future__ import annotations

from language.syntax import nodes

Step = nodes.Index | nodes.Field | nodes.Of


def reads(node: nodes.Expr, name: str) -> bool:
    """Whether an operand may read the variable of that name: true unless it is another name, a literal or a path of these."""
    match node:
        case nodes.Name(id=other):
            return other == name
        case nodes.Text() | nodes.Number():
            return False
        case nodes.Index(obj=obj, index=index):
            return reads(obj, name) or reads(index, name)
        case nodes.Field(obj=obj):
            return reads(obj, name)
        case nodes.Template(parts=parts):
            return any(reads(part, name) for part in parts if not isinstance(part, str))
        case _:
            return True


def same_path(left: nodes.Expr, right: nodes.Expr) -> bool:
    """Whether two expressions are the same variable or the same path, with names and literals as indices."""
    match left, right:
        case nodes.Name(id=a), nodes.Name(id=b):
            return a == b
        case nodes.Field(obj=a, name=m), nodes.Field(obj=b, name=n):
            return m == n and same_path(a, b)
        case nodes.Index(obj=a, index=i), nodes.Index(obj=b, index=j):
            return same_path(a, b) and same_index(i, j)
        case _:
            return False


def same_index(left: nodes.Expr, right: nodes.Expr) -> bool:
    match left, right:
        case nodes.Name(id=a), nodes.Name(id=b):
            return a == b
        case (nodes.Text(value=a), nodes.Text(value=b)) | (nodes.Number(value=a), nodes.Number(value=b)):
            return type(a) is type(b) and a == b
        case _:
            return False


def calls_nothing(node: nodes.Expr) -> bool:
    """Whether evaluating an expression runs none of the program's tasks and no builtin."""
    match node:
        case nodes.Name() | nodes.Text() | nodes.Number() | nodes.Decimal() | nodes.Bool() | nodes.Nothing() | nodes.Lambda():
            return True
        case nodes.Index(obj=obj, index=index):
            return calls_nothing(obj) and calls_nothing(index)
        case nodes.Field(obj=obj) | nodes.Of(obj=obj):
            return calls_nothing(obj)
        case nodes.Arith(first=first, links=links) | nodes.Compare(first=first, links=links):
            return calls_nothing(first) and all(calls_nothing(link.operand) for link in links)
        case nodes.Template(parts=parts):
            return all(isinstance(part, str) or calls_nothing(part) for part in parts)
        case nodes.ListLit(items=items):
            return all(calls_nothing(item) for item in items)
        case nodes.MapLit(entries=entries):
            return all(calls_nothing(key) and calls_nothing(value) for key, value in entries)
        case _:
            return False


def steps_of(target: nodes.Expr) -> tuple[list[Step], nodes.Expr]:
    """The steps of a path, outermost first, and its root."""
    steps: list[Step] = []
    while isinstance(target, (nodes.Index, nodes.Field, nodes.Of)):
        steps.append(target)
        target = target.obj
    steps.reverse()
    return steps, target


def same_read(left: nodes.Expr, right: nodes.Expr) -> bool:
    """Whether two expressions of one statement are the same path: variables, fields, and paths and literals as indices."""
    match left, right:
        case nodes.Name(id=a), nodes.Name(id=b):
            return a == b
        case (nodes.Text(value=a), nodes.Text(value=b)) | (nodes.Number(value=a), nodes.Number(value=b)):
            return type(a) is type(b) and a == b
        case nodes.Field(obj=a, name=m), nodes.Field(obj=b, name=n):
            return m == n and same_read(a, b)
        case nodes.Index(obj=a, index=i), nodes.Index(obj=b, index=j):
            return same_read(a, b) and same_read(i, j)
        case _:
            return False
