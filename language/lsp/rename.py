"""Renaming, where that surely changes nothing else.

Names that the language looks up while a program runs are out of reach of any analysis: keys of maps, names in texts, what pages
read. Where such a use is possible the renaming is refused, and so is one after which any name of the program would mean
something else: the changed program is analysed before it is offered.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from lsprotocol.types import (
    OptionalVersionedTextDocumentIdentifier,
    Position,
    Range,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)

from language import library
from language.analysis.name_places import SourceRange
from language.analysis.symbols import ProgramSymbol
from language.lsp.code_context import NAME
from language.lsp.documents import text_on_disk
from language.lsp.navigation import places_of
from language.lsp.program_analysis import ProgramAnalysis, analyse
from language.lsp.view import View, definition_of, editor_range
from language.syntax import nodes
from language.syntax.tokens import GATE_WORDS, HARD_KEYWORDS

#: Kinds of symbols whose every use is known.
RENAMED = frozenset({"variable", "parameter", "task", "type", "enum", "module"})

Place = tuple[str, int, int]


class CannotRename(Exception):
    """The reason why a name stays as it is, in one sentence."""


def renamed_range(view: View, position: Position) -> Range:
    """The name at a position that can be renamed. Raises :class:`CannotRename`."""
    symbol = _symbol(view, position)
    line, column = view.source.place(position)
    for place in places_of(symbol, with_definition=True):
        if place.file == view.file and place.line == line and place.column <= column <= place.end_column:
            return editor_range(place, view.source)
    raise CannotRename("there is no name here")


def rename(views: Sequence[View], position: Position, new: str) -> WorkspaceEdit:
    """The changes that give the name at a position another name in all programs of ``views``, which share the document.

    Raises :class:`CannotRename`.
    """
    if NAME.fullmatch(new) is None or new in HARD_KEYWORDS or new == "_":
        raise CannotRename(f"'{new}' cannot be a name")
    known = library()
    if new in GATE_WORDS or new in known.all_builtins() or new in known.all_constants():
        raise CannotRename(f"'{new}' is a word of the language, which the new name would hide")
    changes: dict[str, dict[tuple[int, int], SourceRange]] = {}
    for view in views:
        symbol = _symbol(view, position)
        if symbol.name == new:
            raise CannotRename(f"that is the name already: '{new}'")
        _refuse_unseen_uses(view.program, symbol)
        _refuse_keys(view.program, symbol)
        for place in places_of(symbol, with_definition=True):
            real = _real(place.file)
            changes.setdefault(real, {})[place.line, place.column] = place
    for view in views:
        _refuse_other_meanings(view, position, changes, new)
    return _edit(views, changes, new)


def _symbol(view: View, position: Position) -> ProgramSymbol:
    faulty = [problem for problem in view.program.problems if problem.kind == "syntax"]
    if faulty:
        raise CannotRename(f"there is an error in {os.path.basename(faulty[0].file)}, line {faulty[0].line}: correct it first")
    symbol = view.symbol_at(position)
    if symbol is None:
        raise CannotRename("only names that a program defines can be renamed")
    if symbol.kind == "builtin":
        raise CannotRename(f"'{symbol.name}' is a builtin")
    if symbol.kind not in RENAMED:
        raise CannotRename(f"a {symbol.kind} is also found by its name while a program runs")
    if not symbol.line or symbol.column == symbol.end_column:
        raise CannotRename(f"'{symbol.name}' is given by the language")
    return symbol


def _refuse_unseen_uses(program: ProgramAnalysis, symbol: ProgramSymbol) -> None:
    """Raises where the name may also be looked up by a text: in calls by name, agents, shared values and pages."""
    name = symbol.name
    for unit in program.checked.units.values():
        for node in unit.index.of(nodes.Text):
            if node.value == name and symbol.kind in ("task", "type", "enum"):
                raise CannotRename(f'the text "{name}" in {os.path.basename(unit.file)}, line {node.span[0]}, may mean it')
    if symbol.kind == "parameter" or not program.checked.templates:
        return
    word = re.compile(rf"\b{re.escape(name)}\b")
    folder = os.path.dirname(program.entry)
    for page in sorted(program.checked.templates):
        text = text_on_disk(os.path.join(folder, page))
        if text is None or word.search(text):
            raise CannotRename(f"the page {page} may read it by its name")


def _refuse_keys(program: ProgramAnalysis, symbol: ProgramSymbol) -> None:
    """Raises where the name is a key or the name of an argument at the same time."""
    places = {(place.file, place.line, place.column) for place in places_of(symbol, with_definition=True)}
    for unit in program.checked.units.values():
        for node in unit.index.of(nodes.MapPattern, nodes.Call):
            match node:
                case nodes.MapPattern(fields=fields):
                    for key, part in fields:
                        at = (unit.file, *part.span[:2])
                        if isinstance(part, nodes.BindPattern) and part.name == key == symbol.name and at in places:
                            raise CannotRename(f"the pattern in line {part.span[0]} takes the key of that name")
                case nodes.Call(func=nodes.Name(id=called), args=args) if called not in library().all_builtins():
                    for argument in args:
                        unknown = (unit.file, *argument.at) not in places
                        if argument.name == symbol.name and symbol.kind == "parameter" and unknown:
                            raise CannotRename(f"the call in line {argument.at[0]} may give it by its name")
                case _:
                    continue


# ---- the program as it would be ------------------------------------------------------------------------------------------


def _refuse_other_meanings(
    view: View, position: Position, changes: Mapping[str, Mapping[tuple[int, int], SourceRange]], new: str
) -> None:
    """Raises where a name of the changed program would stand for another symbol than before, or stand for none."""
    program = view.program
    old = _symbol(view, position)
    texts = {_real(file): text for file, text in program.texts.items()}
    for file, places in changes.items():
        if file in texts:
            texts[file] = _replaced(texts[file], places, new)
    changed = analyse(program.entry, texts)
    before, after = _meanings(program), _meanings(changed)
    moved = {_moved(at, changes, len(new)): _moved(meant, changes, len(new)) for at, meant in before.items()}
    if moved != after or _errors(program) != _errors(changed):
        raise CannotRename(f"'{new}' already means something where '{old.name}' is used")


def _meanings(program: ProgramAnalysis) -> dict[Place, frozenset[Place] | Place]:
    """Each place of a name, and where what it stands for is defined."""
    found: dict[Place, set[Place]] = {}
    for unit in program.checked.units.values():
        for symbol in program.symbols.of(unit.file):
            start = definition_of(symbol)
            home = (_real(start.file), start.line, start.column)
            for place in places_of(symbol, with_definition=True):
                found.setdefault((_real(place.file), place.line, place.column), set()).add(home)
    return {at: frozenset(homes) for at, homes in found.items()}


def _moved(
    at: Place | frozenset[Place], changes: Mapping[str, Mapping[tuple[int, int], SourceRange]], length: int
) -> Place | frozenset[Place]:
    """A place as it is counted after the changes: what stands behind a changed name on its line moves."""
    if isinstance(at, frozenset):
        return frozenset(_shifted(place, changes, length) for place in at)
    return _shifted(at, changes, length)


def _shifted(at: Place, changes: Mapping[str, Mapping[tuple[int, int], SourceRange]], length: int) -> Place:
    file, line, column = at
    before = [place for place in changes.get(file, {}).values() if place.line == line and place.column < column]
    return file, line, column + sum(length - (place.end_column - place.column) for place in before)


def _errors(program: ProgramAnalysis) -> int:
    return len(program.problems)


def _replaced(text: str, places: Mapping[tuple[int, int], SourceRange], new: str) -> str:
    from language.lsp.document_text import DocumentText

    source = DocumentText(text)
    for _, place in sorted(places.items(), reverse=True):
        start, end = (source.offset_of(place.line, column) for column in (place.column, place.end_column))
        text = text[:start] + new + text[end:]
    return text


def _edit(views: Sequence[View], changes: Mapping[str, Mapping[tuple[int, int], SourceRange]], new: str) -> WorkspaceEdit:
    documents = views[0].documents
    edits: list[TextDocumentEdit] = []
    for file in sorted(changes):
        source = documents.source_of(file)
        known = documents.of_file(file)
        identifier = OptionalVersionedTextDocumentIdentifier(documents.uri_of(file), known.version if known else None)
        listed = [TextEdit(editor_range(place, source), new) for _, place in sorted(changes[file].items())]
        edits.append(TextDocumentEdit(identifier, list(listed)))
    return WorkspaceEdit(document_changes=list(edits))


def _real(file: str) -> str:
    return os.path.realpath(file) if os.path.isabs(file) else file
