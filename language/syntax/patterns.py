"""Patterns are parsed as expressions; here they become patterns, by where they stand."""

from __future__ import annotations

from collections.abc import Iterator

from language.syntax import nodes
from language.syntax.nodes import Expr, Pattern
from language.syntax.tokens import WORD_TYPES


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


def parts_of(pattern: Pattern) -> Iterator[Pattern]:
    """The patterns that stand for one value each in a pattern of ``let``, from left to right: what binds, what does not."""
    pending = [pattern]
    while pending:
        part = pending.pop()
        if isinstance(part, nodes.ListPattern):
            pending.extend(reversed(part.items))
        elif isinstance(part, nodes.MapPattern):
            pending.extend(item for _, item in reversed(part.fields))
        else:
            yield part


def names_of(pattern: Pattern) -> list[str]:
    """The names that a pattern of ``let`` binds, from left to right."""
    parts = parts_of(pattern)
    return [part.name for part in parts if isinstance(part, (nodes.BindPattern, nodes.SpreadPattern)) and part.name]


def shown(pattern: Pattern) -> str:
    """A pattern of ``let`` as messages show it: its source in one line."""
    match pattern:
        case nodes.BindPattern(name=name):
            return name
        case nodes.SpreadPattern(name=name):
            return f"...{name or ''}"
        case nodes.ListPattern(items=items):
            return f"[{', '.join(map(shown, items))}]"
        case nodes.MapPattern(fields=fields):
            return f"{{{', '.join(map(_shown_field, fields))}}}"
        case _:
            return "_"


def _shown_field(field: tuple[str, Pattern]) -> str:
    key, pattern = field
    if WORD_TYPES.get(key, "IDENTIFIER") != "IDENTIFIER" or not key.isidentifier():
        key = f'"{key}"'
    return key if isinstance(pattern, nodes.BindPattern) and pattern.name == key else f"{key}: {shown(pattern)}"


def _argument(value: Expr) -> Pattern:
    if isinstance(value, nodes.Name):
        return nodes.AnyPattern(value.span) if value.id == "_" else nodes.BindPattern(value.span, value.id)
    return nodes.ValuePattern(value.span, value)


def _is_variant_path(path: nodes.Field) -> bool:
    """``E.v`` or ``alias.E.v``."""
    obj = path.obj
    return isinstance(obj, nodes.Name) or (isinstance(obj, nodes.Field) and isinstance(obj.obj, nodes.Name))
