"""Inlay hints: after each call the capability that it needs."""

from __future__ import annotations

from lsprotocol.types import InlayHint, MarkupContent, MarkupKind, Range

from language.lsp.capability_needs import grants_of, missing, needs_of
from language.lsp.view import View


def inlay_hints(view: View, span: Range) -> list[InlayHint]:
    """The hints inside of a range."""
    unit = view.program.unit(view.document.file)
    if unit is None:
        return []
    grants = grants_of(view.program.checked)
    hints = []
    for need in needs_of(view.program.checked, unit):
        at = view.source.position_of(*need.span[2:])
        if not (span.start.line <= at.line <= span.end.line):
            continue
        if need.computed:
            label = f"needs {need.capability.name}(...)"
            told = "The scope is known when the program runs."
        elif missing(need, grants):
            label = f"needs {need.capability}"
            told = f"Not declared: add `{need.capability.require_line}`."
        else:
            label = f"needs {need.capability}"
            told = "Declared by the program."
        hints.append(InlayHint(at, label, tooltip=MarkupContent(MarkupKind.Markdown, told), padding_left=True))
    return hints
