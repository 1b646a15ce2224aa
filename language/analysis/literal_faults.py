"""Operators, positions, keys and loops that surely fail because of the kinds and values of what they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from language.analysis.meanings import FileMeanings
from language.compiler.kinds import arithmetic
from language.errors import LanguageError, RuntimeFault
from language.hints import did_you_mean
from language.runtime.intrinsics import iterate
from language.syntax import nodes
from language.values import Bool, operators

#: A fault: the node that fails, the error, the place of that.
Fault = tuple[Any, LanguageError, nodes.Span]

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
    "/": operators.div,
    "//": operators.floordiv,
    "%": operators.mod,
}
_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}
#: A value of each kind whose type is known.
_SAMPLES: dict[str, Any] = {"int": 1, "str": "", "list": [], "map": {}, "bool": Bool(1), "none": None}
_UNKNOWN: Any = object()
#: The most keys or positions that are looked at, and the most suggestions of a file.
_MOST_KEYS = 10
_MOST_SUGGESTIONS = 20


def literal_faults(file: FileMeanings) -> Iterator[Fault]:
    """Those of a file. The order is not that of the source."""
    targets = _targets(file)
    for node in file.index.of(nodes.Arith):
        yield from _arithmetic(file, node)
    for node in file.index.of(nodes.Compare):
        link = node.links[0]
        if link.op in _ORDER:
            left, right = _sample(file, node.first), _sample(file, link.operand)
            yield from _failing(node, link.at, _ORDER[link.op], left, right)
    for node in file.index.of(nodes.Each):
        yield from _loop(file, node)
    suggestions = _MOST_SUGGESTIONS
    known: dict[int, Any] = {}
    for node in file.index.of(nodes.Index):
        if id(node) in targets:
            continue
        fault = _index(file, node, known)
        if fault is not None:
            if suggestions > 0:
                suggestions -= 1
                _suggest(fault)
            yield node, fault, (*node.at, *node.span[2:])


def _targets(file: FileMeanings) -> set[int]:
    """What ``set`` writes into."""
    return {id(node.target) for node in file.index.of(nodes.Set)}


def _failing(node: Any, at: nodes.At, operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Iterator[Fault]:
    """The fault of an operator of a node, if it fails because of the types of its operands."""
    if left is _UNKNOWN or right is _UNKNOWN:
        return
    try:
        operation(left, right)
    except RuntimeFault as error:
        if error.code == "E0304":
            yield node, error, (*at, *node.span[2:])


def _sample(file: FileMeanings, node: nodes.Expr) -> Any:
    """A value of the type that an expression surely has; ``_UNKNOWN`` where that is not known."""
    if isinstance(node, nodes.Number):
        return 1
    return _SAMPLES.get(file.kind(node) or "", _UNKNOWN)


def _arithmetic(file: FileMeanings, node: nodes.Arith) -> Iterator[Fault]:
    kind, left = file.kind(node.first), _sample(file, node.first)
    for link in node.links:
        right = _sample(file, link.operand)
        found = list(_failing(node, link.at, _ARITHMETIC[link.op], left, right))
        if found:
            if link.op == "+" and isinstance(left, list):
                found[0][1].help = "`+` joins two lists. To add one item write `append(list, item)`, or put it in brackets."
            yield from found
            return
        kind = arithmetic(link.op, kind, file.kind(link.operand))
        left = _SAMPLES.get(kind or "", _UNKNOWN)


def _loop(file: FileMeanings, node: nodes.Each) -> Iterator[Fault]:
    value = _sample(file, node.iterable)
    if value is _UNKNOWN:
        return
    try:
        iterate(value)
    except RuntimeFault as error:
        error.code = error.code or "E0301"
        if isinstance(node.iterable, (nodes.Number, nodes.Name)):
            shown = node.iterable.id if isinstance(node.iterable, nodes.Name) else str(node.iterable.value)
            if value == 1:
                error.help = f"To count, write `each {node.name} in range({shown})`."
        line, column = node.span[:2]
        yield node, error, (line, column, line, column + len("each"))


# ---- positions and keys -------------------------------------------------------------------------------------------------


def _index(file: FileMeanings, node: nodes.Index, known: dict[int, Any]) -> RuntimeFault | None:
    position = _position(node.index)
    owner = None if position is None else file.of(node.obj)
    if not isinstance(owner, (nodes.ListLit, nodes.MapLit, nodes.Text)):
        return None
    value = known.get(id(owner), _UNKNOWN)
    if value is _UNKNOWN:
        value = known[id(owner)] = _value(owner)
    if value is None or (isinstance(value, dict) and not isinstance(position, str)):
        return None
    try:
        operators.index(value, position)
    except RuntimeFault as error:
        error.code = error.code or "E0401"
        return error
    return None


def _position(node: nodes.Expr) -> str | int | None:
    match node:
        case nodes.Text(value=value):
            return value
        case nodes.Number(value=int(whole)):
            return whole
        case nodes.Negate(operand=nodes.Number(value=int(whole))):
            return -whole
        case _:
            return None


def _value(owner: nodes.ListLit | nodes.MapLit | nodes.Text) -> Any:
    """A container with as many items, or with the keys, of a literal; ``None`` where a key is computed."""
    match owner:
        case nodes.ListLit(items=items):
            return [None] * len(items)
        case nodes.Text(value=value):
            return value
        case nodes.MapLit(entries=entries):
            keys = [key.value for key, _ in entries if isinstance(key, nodes.Text)]
            return dict.fromkeys(keys) if len(keys) == len(entries) else None


def _suggest(fault: RuntimeFault) -> None:
    if fault.help or not fault.sought:
        return
    keys: Iterable[str] = fault.known
    near = did_you_mean(fault.sought, sorted(keys))
    shown = [f"`{key}`" for key in islice(keys, _MOST_KEYS + 1) if len(key) <= 60]
    more = " and others" if len(shown) > _MOST_KEYS else ""
    if near:
        fault.help = f"Did you mean `{near}`?"
    elif shown:
        fault.help = f"It has {', '.join(shown[:_MOST_KEYS])}{more}."
