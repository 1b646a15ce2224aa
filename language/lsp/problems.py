"""Errors and warnings of a program as the editor shows them."""

from __future__ import annotations

from lsprotocol.types import Diagnostic, DiagnosticSeverity, DiagnosticTag, Range

from language.analysis.manifest import Problem
from language.lsp.code_context import word_at
from language.lsp.document_text import DocumentText

SOURCE = "lang"
WARNING = "warning"
#: Codes of warnings that an editor shows in a way of its own: what may go is faded, what is old is struck through.
_TAGS = {
    **dict.fromkeys(("W0101", "W0102", "W0103", "W0104", "W0106", "W0108"), DiagnosticTag.Unnecessary),
    "W0111": DiagnosticTag.Deprecated,
}


def diagnostic(problem: Problem, source: DocumentText) -> Diagnostic:
    """A problem at its place in the text of its file; one without a place stands in the first line."""
    return Diagnostic(
        _range(problem, source),
        f"{problem.message}\n{problem.help}" if problem.help else problem.message,
        code=problem.code or None,
        severity=DiagnosticSeverity.Warning if problem.kind == WARNING else DiagnosticSeverity.Error,
        source=SOURCE,
        tags=[_TAGS[problem.code]] if problem.code in _TAGS else None,
    )


def _range(problem: Problem, source: DocumentText) -> Range:
    """As far as the problem says, else from its place on the word that stands there, else one character."""
    if problem.end_line and (problem.end_line, problem.end_column) > (problem.line, problem.column):
        return source.range_of(problem.line, problem.column, problem.end_line, problem.end_column)
    start = source.offset_of(problem.line, problem.column)
    word, first = word_at(source.text, start)
    if word and first == start:
        return Range(source.position(start), source.position(start + len(word)))
    position = source.position(start)
    line = source.line(position.line)
    end = source.position(start + 1)
    if line and end.line > position.line:  # the place is the end of a line: show the last character
        return Range(source.position(start - 1), position)
    return Range(position, end)
