"""Where names are defined and used, over all files of the programs that a file is part of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from lsprotocol.types import DocumentHighlight, DocumentHighlightKind, Location, Position, Range

from language.analysis.name_places import SourceRange
from language.analysis.symbols import ProgramSymbol
from language.lsp.program_analysis import ProgramAnalysis
from language.lsp.view import View, definition_of, editor_range, same_file

#: A real path (the name of a document that is no file), line and column.
Place = tuple[str, int, int]

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


def references(view: View, programs: Sequence[ProgramAnalysis], position: Position, *, with_definition: bool) -> list[Location]:
    """Every use of the name at a position in these programs, each once."""
    found: dict[Place, Location] = {}
    for _, symbol in related_symbols(programs, place_at(view, position)):
        for place in places_of(symbol, with_definition=with_definition):
            found.setdefault(place_key(place), view.location(place))
    return [found[key] for key in sorted(found)]


def place_at(view: View, position: Position) -> Place:
    """The place in a program that a position of its document stands for."""
    return (real_file(view.document.file), *view.source.place(position))


def place_key(place: SourceRange) -> Place:
    """Where a name begins."""
    return real_file(place.file), place.line, place.column


def real_file(file: str) -> str:
    """The real path of a file; the name of a document that is no file as it stands."""
    return os.path.realpath(file) if os.path.isabs(file) else file


def related_symbols(programs: Sequence[ProgramAnalysis], start: Place) -> list[tuple[ProgramAnalysis, ProgramSymbol]]:
    """What the name at a place stands for in each program, and what shares a place with one of these: a module of two programs
    may read a variable that each of them defines."""
    units = [{real_file(unit.file): unit.file for unit in program.checked.units.values()} for program in programs]
    found: list[tuple[ProgramAnalysis, ProgramSymbol]] = []
    met: set[tuple[str, Place]] = set()
    known = {start}
    pending = [start]
    while pending:
        file, line, column = pending.pop()
        for program, files in zip(programs, units, strict=True):
            symbol = program.symbols.at(files[file], line, column) if file in files else None
            if symbol is None:
                continue
            own = (program.entry, place_key(definition_of(symbol)) if symbol.file else (symbol.name, 0, 0))
            if own in met:
                continue
            met.add(own)
            found.append((program, symbol))
            places = {place_key(place) for place in places_of(symbol, with_definition=True)} if symbol.file else set()
            pending += places - known
            known |= places
    return found


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
