"""Compiles patterns to tests: statements that compute a Python boolean and bind names."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from language.compiler import parts
from language.compiler import python_ast as py
from language.compiler.emitter import Emitter
from language.compiler.python_ast import At, Py
from language.syntax import nodes
from language.syntax.patterns import shown


def test(em: Emitter, arm: nodes.Arm, pattern: nodes.Pattern, subject: Py) -> Py:
    """Emits the test of a pattern and returns the Python expression of its result. ``subject`` is a name that is not
    rebound.
    """
    at = pattern.span[:2]
    match pattern:
        case nodes.AnyPattern():
            return py.constant(True, at)
        case nodes.BindPattern(name=name):
            em.bind(em.resolution.bound[id(arm), name], subject, at)
            return py.constant(True, at)
        case nodes.ValuePattern(value=value):
            return _same(em, subject, value, at)
        case nodes.ListPattern(items=items):
            return _list(em, arm, items, subject, at)
        case nodes.MapPattern(fields=fields):
            return _map(em, arm, fields, subject, at)
        case nodes.VariantPattern():
            return _variant(em, arm, pattern, subject, at)
        case _:
            raise AssertionError(pattern)


def shape(pattern: nodes.Pattern) -> tuple[Any, ...]:
    """A pattern of ``let`` as :func:`language.runtime.destructuring.taken_apart` reads it: its source in one line, what it is,
    and each of its parts: the shape of another pattern, or whether the value there is bound."""
    match pattern:
        case nodes.ListPattern(items=items):
            spread = next((i for i, item in enumerate(items) if isinstance(item, nodes.SpreadPattern)), -1)
            return shown(pattern), "list", spread, tuple(_part(item) for item in items)
        case nodes.MapPattern(fields=fields):
            return shown(pattern), "map", tuple(key for key, _ in fields), tuple(_part(item) for _, item in fields)
        case _:
            raise AssertionError(pattern)


def _part(pattern: nodes.Pattern) -> tuple[Any, ...] | bool:
    if isinstance(pattern, (nodes.ListPattern, nodes.MapPattern)):
        return shape(pattern)
    return isinstance(pattern, (nodes.BindPattern, nodes.SpreadPattern)) and pattern.name is not None


def _same(em: Emitter, subject: Py, value: nodes.Expr, at: At) -> Py:
    if isinstance(value, nodes.Text) or (isinstance(value, nodes.Number) and isinstance(value.value, int)):
        return py.compare(subject, ast.Eq(), parts.value(em, value), at)
    if isinstance(value, nodes.Nothing):
        return py.compare(subject, ast.Is(), py.constant(None, at), at)
    return py.runtime("match_eq", [subject, parts.value(em, value)], at)


def _all(em: Emitter, first: Py, steps: Sequence[tuple[nodes.Arm, nodes.Pattern, Py]], at: At) -> Py:
    """``first``, then each step's test on a part of the subject, until one fails."""
    if not steps:
        return first
    name = em.temporary("bool")
    em.emit(py.assign(name, first, at))
    for arm, pattern, part in steps:
        with em.buffer() as step:
            if isinstance(pattern, nodes.BindPattern):
                em.bind(em.resolution.bound[id(arm), pattern.name], part, at)
            else:
                piece = em.save(part, at)
                em.emit(py.assign(name, test(em, arm, pattern, piece), at))
        em.emit(py.if_(py.name(name, at), step, [], at))
    return py.name(name, at)


def _list(em: Emitter, arm: nodes.Arm, items: tuple[nodes.Pattern, ...], subject: Py, at: At) -> Py:
    spread = next((i for i, item in enumerate(items) if isinstance(item, nodes.SpreadPattern)), None)
    count = len(items) if spread is None else len(items) - 1
    is_list = py.is_(py.call(py.name("·type", at), [subject], at), "·list", at)
    size = py.call(py.name("·len", at), [subject], at)
    enough = py.compare(size, ast.Eq() if spread is None else ast.GtE(), py.constant(count, at), at)
    steps: list[tuple[nodes.Arm, nodes.Pattern, Py]] = []
    for index, item in enumerate(items):
        if isinstance(item, nodes.AnyPattern):
            continue
        if isinstance(item, nodes.SpreadPattern):
            if item.name is not None:
                end = index - count
                lower = py.constant(index, at)
                upper = py.constant(end, at) if end else None
                part: Py = py.placed(ast.Subscript(subject, py.placed(ast.Slice(lower, upper), at), py.LOAD), at)
                steps.append((arm, nodes.BindPattern(item.span, item.name), part))
            continue
        position = index if spread is None or index < spread else index - len(items)
        steps.append((arm, item, py.placed(ast.Subscript(subject, py.constant(position, at), py.LOAD), at)))
    return _all(em, py.both([is_list, enough], at), steps, at)


def _map(em: Emitter, arm: nodes.Arm, fields: tuple[tuple[str, nodes.Pattern], ...], subject: Py, at: At) -> Py:
    tests: list[Py] = [py.is_(py.call(py.name("·type", at), [subject], at), "·dict", at)]
    tests += [py.compare(py.constant(key, at), ast.In(), subject, at) for key, _ in fields]
    first = tests[0] if len(tests) == 1 else py.both(tests, at)
    steps = [
        (arm, item, py.placed(ast.Subscript(subject, py.constant(key, at), py.LOAD), at))
        for key, item in fields
        if not isinstance(item, nodes.AnyPattern)
    ]
    return _all(em, first, steps, at)


def _variant(em: Emitter, arm: nodes.Arm, pattern: nodes.VariantPattern, subject: Py, at: At) -> Py:
    """Whether the path is an enum variant is decided at run time. If it is not, it is an expression that is compared by
    value.
    """
    path = em.save(parts.value(em, pattern.path), at)
    tag = em.save(py.runtime("variant_tag", [path], at), at, "text")
    name = em.temporary("bool")
    with em.buffer() as as_variant:
        is_map = py.is_(py.call(py.name("·type", at), [subject], at), "·dict", at)
        has_tag = py.call(py.placed(ast.Attribute(subject, "get", py.LOAD), at), [py.constant("__variant", at)], at)
        first = py.both([is_map, py.compare(has_tag, ast.Eq(), tag, at)], at)
        if pattern.args is None:
            em.emit(py.assign(name, first, at))
        else:
            em.emit(py.assign(name, first, at))
            count = py.constant(len(pattern.args), at)
            with em.buffer() as inside:
                payload = em.save(py.runtime("payload", [subject, count], at), at)
                steps = [
                    (arm, item, py.placed(ast.Subscript(payload, py.constant(i, at), py.LOAD), at))
                    for i, item in enumerate(pattern.args)
                    if not isinstance(item, nodes.AnyPattern)
                ]
                em.emit(py.assign(name, _all(em, py.constant(True, at), steps, at), at))
            em.emit(py.if_(py.name(name, at), inside, [], at))
    with em.buffer() as as_value:
        compared = path if pattern.value is pattern.path else parts.value(em, pattern.value)
        em.emit(py.assign(name, py.runtime("match_eq", [subject, compared], at), at))
    em.emit(py.if_(py.is_not_none(tag, at), as_variant, as_value, at))
    return py.name(name, at)
