"""Where names are defined and used, over all files of the programs that a file is part of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from lsprotocol.types import DocumentHighlight, DocumentHighlightKind, Location, Position, Range

from language.analysis.name_places import SourceRange
from language.analysis.symbols import ProgramSymbol
from language.lsp.view import View, definition_of, editor_range, same_file

_USE = re.compile(r"""^[ \t]*use[ \t]+(["'])(.*?)\1[ \t]+as[ \t]+([^\W\d]\w*)""")


def definition(view: View, position: Position) -> Location | None:
    """Where the name at a position is defined: the file for the path of a ``use`` line and for the name of its module."""
    used = _used_file(view, position)
    if used is not None:
        return Location(view.documents.uri_of(used), Range(Position(0, 0), Position(0, 0)))
    symbol = view.symbol_at(position)
    if symbol is None or not symbol.file:
        return None
    return view.location(definition_of(symbol))


def _used_file(view: View, position: Position) -> str | None:
    found = _USE.match(view.source.line(position.line))
    unit = view.program.unit(view.document.file)
    if found is None or unit is None:
        return None
    column = view.source.place(position)[1] - 1
    real = unit.imports.get(found[3])
    if real is None or not found.start(1) <= column <= found.end(3):
        return None
    return real if os.path.isabs(real) else None


def references(views: Iterable[View], position: Position, *, with_definition: bool) -> list[Location]:
    """Every use of the name at a position of the document that all views share, each once."""
    found: dict[tuple[str, int, int], Location] = {}
    for view in views:
        symbol = view.symbol_at(position)
        if symbol is None:
            continue
        for place in places_of(symbol, with_definition=with_definition):
            found.setdefault((os.path.realpath(place.file), place.line, place.column), view.location(place))
    return [found[key] for key in sorted(found)]


def highlights(view: View, position: Position) -> list[DocumentHighlight]:
    """The places of the name at a position in its own file."""
    symbol = view.symbol_at(position)
    if symbol is None:
        return []
    return [
        DocumentHighlight(editor_range(place, view.source), DocumentHighlightKind.Text)
        for place in places_of(symbol, with_definition=True)
        if same_file(place.file, view.file)
    ]


def places_of(symbol: ProgramSymbol, *, with_definition: bool) -> Iterator[SourceRange]:
    """The places of a symbol, its definition first."""
    if with_definition and symbol.file:
        yield definition_of(symbol)
    yield from symbol.references
