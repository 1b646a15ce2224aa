"""What each name is, for editors that colour names by that."""

from __future__ import annotations

from lsprotocol.types import SemanticTokens, SemanticTokensLegend

from language import library
from language.lsp.navigation import places_of
from language.lsp.view import View, editor_range
from language.syntax import nodes

TYPES = ("namespace", "type", "enum", "enumMember", "class", "parameter", "variable", "property", "function")
MODIFIERS = ("declaration", "defaultLibrary")
LEGEND = SemanticTokensLegend(list(TYPES), list(MODIFIERS))

_OF_KIND = {
    "module": "namespace",
    "type": "type",
    "enum": "enum",
    "member": "enumMember",
    "agent": "class",
    "parameter": "parameter",
    "variable": "variable",
    "task": "function",
    "group": "namespace",
}
_DECLARATION, _LIBRARY = 1, 2


def semantic_tokens(view: View) -> SemanticTokens:
    """The names of a file that its program defines, and those of builtins, in the encoding of the protocol."""
    unit = view.program.unit(view.document.file)
    if unit is None:
        return SemanticTokens([])
    found: dict[tuple[int, int], tuple[int, int, int]] = {}
    symbols = view.program.symbols
    for other in view.program.checked.units.values():
        for symbol in symbols.of(other.file):
            kind = _OF_KIND.get(symbol.kind)
            if kind is None:
                continue
            for number, place in enumerate(places_of(symbol, with_definition=True)):
                if place.file == unit.file and place.line == place.end_line:
                    span = editor_range(place, view.source)
                    length = span.end.character - span.start.character
                    modifier = 0 if number else _DECLARATION
                    if length > 0:
                        found[span.start.line, span.start.character] = (length, TYPES.index(kind), modifier)
    builtins = library().all_builtins()
    for node in unit.index.of(nodes.Name):
        if node.id in builtins:
            span = view.source.range_of(*node.span)
            at = (span.start.line, span.start.character)
            found.setdefault(at, (span.end.character - span.start.character, TYPES.index("function"), _LIBRARY))
    data: list[int] = []
    line = column = 0
    for (at_line, at_column), (length, kind_number, modifiers) in sorted(found.items()):
        data += [at_line - line, at_column if at_line != line else at_column - column, length, kind_number, modifiers]
        line, column = at_line, at_column
    return SemanticTokens(data)
