"""Patterns are parsed as expressions; here they become patterns, by where they stand."""

from __future__ import annotations

from language.syntax import nodes
from language.syntax.nodes import Expr, Pattern


def pattern_of(part: Expr | Pattern, *, inside: bool) -> Pattern:
    """The pattern that an expression is: ``inside`` a list or map pattern a bare name binds, after ``is`` it compares."""
    if isinstance(part, Pattern):
        return part
    if inside and isinstance(part, nodes.Name):
        return nodes.BindPattern(part.span, part.id)
    if isinstance(part, nodes.Field) and _is_variant_path(part):
        return nodes.VariantPattern(part.span, part, None, part)
    if isinstance(part, nodes.Call) and isinstance(part.func, nodes.Field) and _is_variant_path(part.func):
        args = tuple(_argument(argument.value) for argument in part.args if argument.name is None)
        if len(args) == len(part.args):
            return nodes.VariantPattern(part.span, part.func, args, part)
    return nodes.ValuePattern(part.span, part)


def _argument(value: Expr) -> Pattern:
    if isinstance(value, nodes.Name):
        return nodes.AnyPattern(value.span) if value.id == "_" else nodes.BindPattern(value.span, value.id)
    return nodes.ValuePattern(value.span, value)


def _is_variant_path(path: nodes.Field) -> bool:
    """``E.v`` or ``alias.E.v``."""
    obj = path.obj
    return isinstance(obj, nodes.Name) or (isinstance(obj, nodes.Field) and isinstance(obj.obj, nodes.Name))
