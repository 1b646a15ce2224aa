"""What a request of the editor is answered from: a document and the program that it is part of, as they stood together."""

from __future__ import annotations

import os
from dataclasses import dataclass

from lsprotocol.types import Location, Position, Range

from language.analysis.name_places import SourceRange
from language.analysis.symbols import ProgramSymbol
from language.lsp.document_text import DocumentText
from language.lsp.documents import Document, Documents
from language.lsp.program_analysis import ProgramAnalysis


@dataclass(frozen=True, slots=True)
class View:
    """``file`` is the name of the document's file in the program's analysis."""

    document: Document
    program: ProgramAnalysis
    documents: Documents

    @property
    def file(self) -> str:
        unit = self.program.unit(self.document.file)
        return self.document.file if unit is None else unit.file

    @property
    def source(self) -> DocumentText:
        return self.document.source

    @property
    def text(self) -> str:
        return self.document.source.text

    def symbol_at(self, position: Position) -> ProgramSymbol | None:
        """What the name at a position stands for."""
        line, column = self.source.place(position)
        return self.program.symbols.at(self.file, line, column)

    def visible(self, position: Position) -> list[ProgramSymbol]:
        """What a name at a position could stand for, the nearest first."""
        line, column = self.source.place(position)
        return self.program.symbols.visible(self.file, line, column)

    def named(self, path: tuple[str, ...], position: Position) -> ProgramSymbol | None:
        """What a dotted name would stand for at a position; ``None`` for what is no symbol."""
        found = next((symbol for symbol in self.visible(position) if symbol.name == path[0]), None) if path else None
        for name in path[1:]:
            found = next((symbol for symbol in self.members(found) if symbol.name == name), None) if found else None
        return found

    def members(self, symbol: ProgramSymbol) -> list[ProgramSymbol]:
        """What stands behind a dot after a symbol: what a module exports, the variants of an enum."""
        symbols = self.program.symbols
        if symbol.kind == "module":
            unit = self.program.unit(symbol.file)
            real = unit.imports.get(symbol.name) if unit is not None else None
            module = self.program.checked.units.get(real) if real is not None else None
            return [s for s in symbols.of(module.file) if s.exported and s.kind != "member"] if module is not None else []
        if symbol.kind == "enum":
            whole = symbol.whole
            return [
                member
                for member in symbols.of(symbol.file)
                if member.kind == "member" and whole.line <= member.line <= whole.end_line
            ]
        return []

    def location(self, place: SourceRange) -> Location:
        """A range of the program as the editor names it."""
        return location(place, self.documents)


def definition_of(symbol: ProgramSymbol) -> SourceRange:
    """The place of the name where a symbol is defined."""
    return SourceRange(symbol.file, symbol.line, symbol.column, symbol.line, symbol.end_column)


def location(place: SourceRange, documents: Documents) -> Location:
    """A range of the language as the editor names it: in the document that is open, else in the file on the disk."""
    return Location(documents.uri_of(place.file), editor_range(place, documents.source_of(place.file)))


def editor_range(place: SourceRange, source: DocumentText) -> Range:
    """A range of the language in positions of a text."""
    return source.range_of(place.line, place.column, place.end_line, place.end_column)


def same_file(left: str, right: str) -> bool:
    """Whether two paths lead to one file."""
    return left == right or (os.path.isabs(left) and os.path.isabs(right) and os.path.realpath(left) == os.path.realpath(right))
