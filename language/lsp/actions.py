"""Corrections that the editor offers at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol.types import CodeAction, CodeActionKind, Diagnostic, Position, Range, TextEdit, WorkspaceEdit

from language import library
from language.capabilities import Capability
from language.hints import did_you_mean
from language.lsp.capability_needs import grants_of, missing, needs_of
from language.lsp.document_text import DocumentText
from language.lsp.view import View, editor_range, same_file
from language.syntax import nodes
from language.syntax.foreign_lines import is_line, line_without_comment

#: Warnings of a line that stands alone: a module that nothing uses, a `require` line that nothing needs.
REMOVABLE = ("W0103", "W0104")
#: Errors whose message ends with the whole line as it is to be: another word at its beginning, `=` for `be` and `to`, a method.
REWRITTEN = ("E0111", "E0112", "E0305", "E0401")
_METHODS = ("E0305", "E0401")
#: The most names of a range that are compared with those that are known, which takes time in the product of the two counts.
MOST_NAMES = 50
_WRITTEN = re.compile(r"[Ww]rite `([^`]+)`\.?$")


def code_actions(view: View, span: Range, shown: list[Diagnostic]) -> list[CodeAction]:
    """What can be put right on the lines of a range: missing ``require`` lines, misspelt names, lines of no use, lines that are
    written as in another language.

    ``shown`` are the diagnostics there: each correction names those that it cures.
    """
    return [
        *_missing_requires(view, span, shown),
        *_misspelt_names(view, span, shown),
        *_lines_of_no_use(view, span, shown),
        *_rewritten_lines(view, span, shown),
    ]


def _missing_requires(view: View, span: Range, shown: list[Diagnostic]) -> Iterator[CodeAction]:
    unit = view.program.unit(view.document.file)
    entry = view.program.checked.entry
    if unit is None or entry is None:
        return
    grants = grants_of(view.program.checked)
    offered: set[Capability] = set()
    for need in needs_of(view.program.checked, unit):
        place = view.source.range_of(*need.span)
        if not _touches(place, span) or not missing(need, grants) or need.capability in offered:
            continue
        offered.add(need.capability)
        line = need.capability.require_line
        source = view.source if entry is unit else view.documents.source_of(entry.file)
        edit = _insertion(line, entry.program, source)
        yield CodeAction(
            f"Add `{line}`",
            kind=CodeActionKind.QuickFix,
            diagnostics=[d for d in shown if _touches(d.range, place)],
            edit=WorkspaceEdit(changes={view.documents.uri_of(entry.file): [edit]}),
            is_preferred=True,
        )


def _insertion(line: str, program: nodes.Program, source: DocumentText) -> TextEdit:
    """A new ``require`` line behind the last one at the top level, else before the first statement."""
    end = "\r\n" if "\r\n" in source.text else "\n"
    present = [statement for statement in program.statements if isinstance(statement, nodes.Require)]
    if present:
        at = source.position_of(present[-1].span[2] + 1, 1)
        behind_last = present[-1].span[2] >= source.line_count
        return TextEdit(Range(at, at), f"{end}{line}" if behind_last else f"{line}{end}")
    first = next((statement for statement in program.statements if not isinstance(statement, nodes.Intent)), None)
    number = first.span[0] if first is not None else 1
    while number > 1 and source.line(number - 2).startswith("--"):  # the comment above a statement stays with it
        number -= 1
    at = Position(number - 1, 0)
    return TextEdit(Range(at, at), f"{line}{end}{end}" if source.line(number - 1).strip() else f"{line}{end}")


def _misspelt_names(view: View, span: Range, shown: list[Diagnostic]) -> Iterator[CodeAction]:
    left = MOST_NAMES
    for unknown in view.program.symbols.unresolved:
        if not left:
            return
        if not same_file(unknown.range.file, view.file):
            continue
        place = editor_range(unknown.range, view.source)
        if not _touches(place, span):
            continue
        left -= 1
        known = [symbol.name for symbol in view.visible(place.start)]
        likely = did_you_mean(unknown.name, [*known, *library().all_builtins(), *library().all_constants()])
        if likely:
            yield CodeAction(
                f"Change to `{likely}`",
                kind=CodeActionKind.QuickFix,
                diagnostics=[d for d in shown if _touches(d.range, place)],
                edit=WorkspaceEdit(changes={view.document.uri: [TextEdit(place, likely)]}),
                is_preferred=True,
            )


def _lines_of_no_use(view: View, span: Range, shown: list[Diagnostic]) -> Iterator[CodeAction]:
    """`use` and `require` lines that nothing needs can go as they are."""
    for problem in view.program.problems:
        if problem.code not in REMOVABLE or not same_file(problem.file, view.file):
            continue
        line = problem.line - 1
        place = Range(Position(line, 0), Position(line + 1, 0))
        if _touches(Range(Position(line, 0), view.source.position_of(problem.line, 1 + len(view.source.line(line)))), span):
            yield CodeAction(
                f"Remove `{view.source.line(line).strip()}`",
                kind=CodeActionKind.QuickFix,
                diagnostics=[d for d in shown if d.range.start.line == line and d.code == problem.code],
                edit=WorkspaceEdit(changes={view.document.uri: [TextEdit(place, "")]}),
            )


def _rewritten_lines(view: View, span: Range, shown: list[Diagnostic]) -> Iterator[CodeAction]:
    """Lines in the grammar of another language, as the message says that they are written here."""
    for problem in view.program.problems:
        if problem.code not in REWRITTEN or not same_file(problem.file, view.file):
            continue
        line = view.source.line(problem.line - 1)
        code = line_without_comment(line)
        first = len(code) - len(code.lstrip())
        told = _WRITTEN.search(problem.help or problem.message)
        if told is None or (problem.code == "E0111" and problem.column != first + 1) or not is_line(told[1]):
            continue
        if problem.code in _METHODS and not told[1].startswith("set "):
            continue  # a value, which is a part of its line
        ends = view.source.position_of(problem.line, 1 + len(code))
        place = Range(view.source.position_of(problem.line, 1 + first), ends)
        if _touches(place, span):
            yield CodeAction(
                f"Change to `{told[1]}`",
                kind=CodeActionKind.QuickFix,
                diagnostics=[d for d in shown if d.range.start.line == problem.line - 1 and d.code == problem.code],
                edit=WorkspaceEdit(changes={view.document.uri: [TextEdit(place, told[1])]}),
                is_preferred=True,
            )


def _touches(left: Range, right: Range) -> bool:
    return _key(left.start) <= _key(right.end) and _key(right.start) <= _key(left.end)


def _key(position: Position) -> tuple[int, int]:
    return position.line, position.character
