"""Patterns of ``match`` and conditions: variants that an enum has not, arms that nothing reaches, values joined with ``or``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from language.analysis.literal_faults import Fault
from language.analysis.manifest import Problem
from language.analysis.meanings import FileMeanings, Meanings
from language.analysis.name_places import SourceText
from language.errors import RuntimeFault
from language.syntax import nodes

#: The longest line that a cure repeats.
_LONGEST = 100


def pattern_faults(file: FileMeanings) -> Iterator[Fault]:
    """The patterns of a file that bind another number of values than the variant has."""
    variants: dict[int, dict[str, tuple[str, ...] | None]] = {}
    for node in file.index.of(nodes.VariantPattern):
        owner = None if node.args is None else file.of(node.path.obj)
        if not isinstance(owner, nodes.EnumDef):
            continue
        if id(owner) not in variants:
            variants[id(owner)] = dict(owner.variants)
        if node.path.name not in variants[id(owner)]:
            continue
        fields = variants[id(owner)][node.path.name] or ()
        count = len(set(fields))
        if count != len(node.args):
            name = f"{owner.name}.{node.path.name}"
            shown = f"{name}({', '.join(fields)})" if fields else name
            message = f"variant {name} binds {count} fields, got {len(node.args)}"
            yield node, RuntimeFault(message, kind="type", code="E0302", help=f"Write `is {shown}`."), node.span


def pattern_warnings(meanings: Meanings) -> Iterator[Problem]:
    """The warnings, file by file."""
    for file in meanings.files.values():
        text = SourceText(file.unit.file, file.unit.source) if file.index.of(nodes.Match, nodes.BoolOp) else None
        if text is None:
            continue
        for node in file.index.of(nodes.Match):
            yield from _unreached(file, node)
            for arm in node.arms:
                yield from _joined_pattern(file, text, node, arm)
        for node in file.index.of(nodes.BoolOp):
            yield from _joined_condition(file, text, node)


def _problem(file: FileMeanings, span: nodes.Span, message: str, code: str, told: str) -> Problem:
    return Problem(file.unit.file, *span[:2], message, "warning", code, *span[2:], told)


# ---- arms that nothing reaches ------------------------------------------------------------------------------------------


def _unreached(file: FileMeanings, node: nodes.Match) -> Iterator[Problem]:
    """The first arm, or ``otherwise``, below one that takes every value, and arms for a value that an earlier one takes."""
    taken: dict[tuple[type, Any], int] = {}
    for number, arm in enumerate(node.arms):
        value = _literal(arm.pattern)
        if value is not None:
            before = taken.get(value)
            if before is not None:
                message = f"this arm is never reached: the one on line {before} takes the same value"
                yield _problem(file, arm.pattern.span, message, "W0106", "Remove one of the two, or give it another value.")
            elif arm.guard is None:
                taken[value] = arm.span[0]
        if isinstance(arm.pattern, nodes.AnyPattern) and arm.guard is None:
            after: Any = node.arms[number + 1] if number + 1 < len(node.arms) else None
            place = after.pattern.span if after is not None else node.otherwise[0].span if node.otherwise else None
            if place is not None:
                what = "this arm is" if after is not None else "`otherwise` is"
                message = f"{what} never reached: `is _` on line {arm.span[0]} takes every value"
                yield _problem(file, place, message, "W0106", "Move `is _` to the end, or remove what stands below it.")
            return


def _literal(pattern: nodes.Pattern) -> tuple[type, Any] | None:
    match pattern:
        case nodes.ValuePattern(value=nodes.Text(value=value)):
            return str, value
        case nodes.ValuePattern(value=nodes.Number(value=value)):
            return float, value
        case _:
            return None


# ---- values joined with or ----------------------------------------------------------------------------------------------


def _joined_pattern(file: FileMeanings, text: SourceText, node: nodes.Match, arm: nodes.Arm) -> Iterator[Problem]:
    match arm.pattern:
        case nodes.ValuePattern(value=nodes.BoolOp(op=op, operands=operands)) if all(map(_is_value, operands)):
            message = f"this arm takes true or false alone: `{op}` does not join values"
            told = "Write one arm for each value"
            values = _listed(text, operands)
            if arm.guard is None and values and isinstance(node.subject, nodes.Name):
                told += f", or `is _ when {node.subject.id} in {values}`"
            yield _problem(file, arm.pattern.span, message, "W0118", f"{told}.")
        case _:
            return


def _joined_condition(file: FileMeanings, text: SourceText, node: nodes.BoolOp) -> Iterator[Problem]:
    """``x == "a" or "b"``, which is true whatever ``x`` is, and ``x != "a" and "b"``."""
    compares = "==" if node.op == "or" else "!="
    match node.operands:
        case (nodes.Compare(first=first, links=(nodes.Link(op=op, operand=operand),)), *rest) if op == compares:
            if not _is_value(operand) or not all(map(_is_value, rest)):
                return
        case _:
            return
    shown = text.text(rest[0].span)
    holds = "is always true" if node.op == "or" else "asks for the first value alone"
    message = f"this {holds}: `{shown}` is not compared with anything"
    values = _listed(text, (operand, *rest))
    asked = text.text(first.span) if first.span[0] == first.span[2] else ""
    word = "in" if node.op == "or" else "not in"
    told = f"Write `{asked} {word} {values}`." if values and asked else f"Write `x {word} [...]` with all the values."
    yield _problem(file, node.span, message, "W0118", told)


def _is_value(node: nodes.Expr) -> bool:
    """Whether it is a literal that is true as a condition."""
    return isinstance(node, (nodes.Text, nodes.Number)) and bool(node.value)


def _listed(text: SourceText, operands: tuple[nodes.Expr, ...]) -> str:
    """The list of some literals as it is written; empty where that is long."""
    if any(node.span[0] != node.span[2] for node in operands):
        return ""
    shown = f"[{', '.join(text.text(node.span) for node in operands)}]"
    return shown if len(shown) <= _LONGEST else ""
