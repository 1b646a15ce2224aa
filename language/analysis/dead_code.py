"""Statements that nothing reaches, routes that never answer, comparisons that are never true."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from language.analysis.manifest import Problem
from language.analysis.meanings import FileMeanings, Meanings
from language.registry import Builtin
from language.serve.routes import LITERAL, parse_pattern
from language.syntax import nodes

#: What ``type_of`` gives.
TYPE_NAMES = frozenset(
    (
        *("number", "decimal", "text", "bool", "nothing", "list", "map", "task", "secret", "bytes", "complex", "array"),
        *("date", "datetime", "duration", "socket", "routes", "connection", "watch"),
    )
)


#: What holds blocks or routes, and comparisons.
_LOOKED_AT = (nodes.Program, nodes.Stmt, nodes.Arm, nodes.Route, nodes.RouteGroup, nodes.HostBlock, nodes.Compare)


def dead_code_of(meanings: Meanings) -> Iterator[Problem]:
    """The warnings, file by file."""
    for file in meanings.files.values():
        for node in file.unit.all_nodes:
            if isinstance(node, _LOOKED_AT):
                yield from _in(file, node)


def _in(file: FileMeanings, node: Any) -> Iterator[Problem]:
    for block in _blocks(node):
        yield from _unreachable(file, block)
    match node:
        case nodes.Serve(clauses=clauses) | nodes.HostBlock(clauses=clauses):
            yield from _routes(file, clauses)
        case nodes.RouteGroup(routes=routes):
            yield from _routes(file, routes)
        case nodes.Compare(first=first, links=(nodes.Link(op="==" | "!=" as op, operand=second),)):
            yield from _type_comparison(file, node, op, first, second)
        case _:
            return


def _problem(file: FileMeanings, span: nodes.Span, message: str, code: str, told: str) -> Problem:
    return Problem(file.unit.file, *span[:2], message, "warning", code, *span[2:], told)


# ---- statements ---------------------------------------------------------------------------------------------------------


def _blocks(node: Any) -> Iterator[Sequence[nodes.Stmt]]:
    """The blocks directly in a node."""
    match node:
        case nodes.When(arms=arms, otherwise=otherwise):
            yield from (block for _, block in arms)
            if otherwise is not None:
                yield otherwise
        case nodes.Try(body=body, handler=handler):
            yield body
            yield handler
        case nodes.Match(otherwise=tuple(otherwise)):
            yield otherwise
        case nodes.Program(statements=body):
            yield body
        case nodes.Stmt() | nodes.Arm() | nodes.Route():
            inner = getattr(node, "body", None)
            if isinstance(inner, tuple):
                yield inner
        case _:
            return


def _unreachable(file: FileMeanings, block: Sequence[nodes.Stmt]) -> Iterator[Problem]:
    for leaving, after in pairwise(block):
        word = _leaves(file, leaving)
        if word:
            line = leaving.span[0]
            told = f"every way through the `{word}` on line {line}" if word in ("when", "match") else f"`{word}` on line {line}"
            message = f"this line never runs: {told} leaves the block"
            yield _problem(file, after.span, message, "W0106", "Remove it, or move it before that line.")
            return


def _leaves(file: FileMeanings, statement: nodes.Stmt) -> str:
    """The word that surely leaves the block at a statement; the empty text where nothing surely does."""
    match statement:
        case nodes.Give():
            return "give"
        case nodes.Stop():
            return "stop"
        case nodes.Raise():
            return "raise"
        case nodes.ExprStmt(value=nodes.Call(func=nodes.Name(id="exit") as func)):
            return "exit" if isinstance(file.of(func), Builtin) else ""
        case nodes.Match(arms=arms) if all(arm.body and _leaves(file, arm.body[-1]) for arm in arms):
            if statement.otherwise is None:
                last = arms[-1]
                return "match" if isinstance(last.pattern, nodes.AnyPattern) and last.guard is None else ""
            return "match" if statement.otherwise and _leaves(file, statement.otherwise[-1]) else ""
        case nodes.When(arms=arms, otherwise=tuple(otherwise)):
            ends = [_leaves(file, block[-1]) if block else "" for block in (*(block for _, block in arms), otherwise)]
            return "when" if all(ends) else ""
        case _:
            return ""


# ---- routes -------------------------------------------------------------------------------------------------------------


def _routes(file: FileMeanings, clauses: Sequence[nodes.Node]) -> Iterator[Problem]:
    first: dict[tuple[str, tuple[tuple[int, str], ...]], nodes.Route] = {}
    for clause in clauses:
        if isinstance(clause, nodes.Route):
            yield from _foreign_parameters(file, clause)
            pattern = tuple((rank, text if rank == LITERAL else "") for rank, text in parse_pattern(clause.path))
            before = first.setdefault((clause.method, pattern), clause)
            if before is not clause:
                message = (
                    f'the route "{clause.method} {clause.path}" never answers: the one on line {before.span[0]} takes the same '
                    "requests"
                )
                yield _problem(file, clause.span, message, "W0108", "Remove one of the two, or give it another path.")


#: A segment that is a parameter in other frameworks: `{id}`, `<id>` and `<int:id>`.
_FOREIGN_PARAMETER = re.compile(r"\{([A-Za-z_]\w*)\}|<(?:\w+:)?([A-Za-z_]\w*)>")


def _foreign_parameters(file: FileMeanings, route: nodes.Route) -> Iterator[Problem]:
    segments = route.path.split("/")
    found = [(number, match) for number, part in enumerate(segments) if (match := _FOREIGN_PARAMETER.fullmatch(part))]
    if found:
        shown = " and ".join(f"`{match[0]}`" for _, match in found)
        for number, match in found:
            segments[number] = f":{match[1] or match[2]}"
        message = f"the path of this route holds {shown} as plain text: a parameter begins with `:`"
        yield _problem(file, route.span, message, "W0114", f'Write `route "{route.method} {"/".join(segments)}"`.')


# ---- comparisons --------------------------------------------------------------------------------------------------------


def _type_comparison(
    file: FileMeanings, node: nodes.Compare, op: str, first: nodes.Expr, second: nodes.Expr
) -> Iterator[Problem]:
    for asked, other in ((first, second), (second, first)):
        if not _asks_type(file, asked):
            continue
        always = "false" if op == "==" else "true"
        name = other.id if isinstance(other, nodes.Name) else ""
        if name in TYPE_NAMES and isinstance(file.of(other), Builtin):
            message = f"this is always {always}: type_of gives a text, and `{name}` without quotes is the builtin"
            yield _problem(file, node.span, message, "W0107", f'Write `type_of(...) {op} "{name}"`.')
        elif isinstance(other, nodes.Text) and other.value not in TYPE_NAMES:
            from language.hints import did_you_mean

            near = _OTHER_NAMES.get(other.value) or did_you_mean(other.value, sorted(TYPE_NAMES))
            told = f'Write `"{near}"`.' if near else f"The names are: {', '.join(sorted(TYPE_NAMES))}."
            yield _problem(file, node.span, f'this is always {always}: no type is called "{other.value}"', "W0107", told)


#: The types by their names in other languages.
_OTHER_NAMES = {
    **dict.fromkeys(("string", "str", "String"), "text"),
    **dict.fromkeys(("int", "integer", "float", "double"), "number"),
    **dict.fromkeys(("dict", "object", "record"), "map"),
    **dict.fromkeys(("array", "tuple"), "list"),
    **dict.fromkeys(("boolean",), "bool"),
    **dict.fromkeys(("null", "none", "nil", "undefined", "None"), "nothing"),
    **dict.fromkeys(("function", "lambda", "builtin"), "task"),
}


def _asks_type(file: FileMeanings, node: nodes.Expr) -> bool:
    match node:
        case nodes.Call(func=nodes.Name(id="type_of") as func):
            return isinstance(file.of(func), Builtin)
        case _:
            return False
