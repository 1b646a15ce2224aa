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
from language.lsp.documents import Documents, text_on_disk
from language.lsp.navigation import Place, place_at, places_of, real_file, related_symbols
from language.lsp.program_analysis import ProgramAnalysis, analyse
from language.lsp.view import View, definition_of, editor_range
from language.syntax import nodes
from language.syntax.lexer import normalised
from language.syntax.render_calls import literal_render
from language.syntax.tokens import GATE_WORDS, HARD_KEYWORDS

#: Kinds of symbols whose every use is known.
RENAMED = frozenset({"variable", "parameter", "task", "type", "enum", "module"})

#: Builtins that call a task with arguments given by their names, in a map.
_GIVING_BY_NAME = frozenset({"call", "call_tool", "tool_loop", "mcp_reply", "llm_step", "llm_chat"})


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


def rename(
    view: View, programs: Sequence[ProgramAnalysis], position: Position, new: str, *, with_versions: bool = True
) -> WorkspaceEdit:
    """The changes that give the name at a position another name in all these programs: those that the name stands in.

    ``with_versions``: the editor takes edits of documents with their versions. Raises :class:`CannotRename`.
    """
    if NAME.fullmatch(new) is None or new in HARD_KEYWORDS or new == "_":
        raise CannotRename(f"'{new}' cannot be a name")
    known = library()
    if new in GATE_WORDS or new in known.all_builtins() or new in known.all_constants():
        raise CannotRename(f"'{new}' is a word of the language, which the new name would hide")
    old = _symbol(view, position).name
    if old == new:
        raise CannotRename(f"that is the name already: '{new}'")
    changes: dict[str, dict[tuple[int, int], SourceRange]] = {}
    for program, symbol in related_symbols(programs, place_at(view, position)):
        _refuse_kind(program, symbol)
        _refuse_unseen_uses(program, symbol)
        _refuse_names_of_arguments(program, symbol)
        _refuse_uses_of_the_module(program, symbol)
        for place in places_of(symbol, with_definition=True):
            changes.setdefault(real_file(place.file), {})[place.line, place.column] = place
    for program in programs:
        _refuse_other_meanings(program, changes, old, new)
    return _edit(view.documents, changes, new, with_versions=with_versions)


def _symbol(view: View, position: Position) -> ProgramSymbol:
    symbol = view.symbol_at(position)
    if symbol is None:
        raise CannotRename("only names that a program defines can be renamed")
    _refuse_kind(view.program, symbol)
    return symbol


def _refuse_kind(program: ProgramAnalysis, symbol: ProgramSymbol) -> None:
    """Raises where not every use of the symbol can be known."""
    faulty = [problem for problem in program.problems if problem.kind == "syntax"]
    if faulty:
        raise CannotRename(f"there is an error in {os.path.basename(faulty[0].file)}, line {faulty[0].line}: correct it first")
    if symbol.kind == "builtin":
        raise CannotRename(f"'{symbol.name}' is a builtin")
    if symbol.kind not in RENAMED:
        raise CannotRename(f"a {symbol.kind} is also found by its name while a program runs")
    if not _stands_there(program, symbol):
        raise CannotRename(f"'{symbol.name}' is given by the language")


def _stands_there(program: ProgramAnalysis, symbol: ProgramSymbol) -> bool:
    """Whether the name is written where the symbol is defined: names of handlers are not."""
    unit = program.unit(symbol.file)
    lines = normalised(unit.source).split("\n") if unit is not None else []
    line = lines[symbol.line - 1] if 0 < symbol.line <= len(lines) else ""
    return line[symbol.column - 1 : symbol.end_column - 1] == symbol.name


def _refuse_unseen_uses(program: ProgramAnalysis, symbol: ProgramSymbol) -> None:
    """Raises where the name may also be looked up by a text: in calls by name, agents, shared values and pages."""
    name = symbol.name
    units = program.checked.units.values()
    by_name = symbol.kind in ("task", "type", "enum")
    if symbol.kind == "parameter":
        by_name = any(node.id in _GIVING_BY_NAME for unit in units for node in unit.index.of(nodes.Name))
    for unit in units:
        for node in unit.index.of(nodes.Text) if by_name else ():
            if node.value == name:
                raise CannotRename(f'the text "{name}" in {os.path.basename(unit.file)}, line {node.span[0]}, may mean it')
        for spawn in unit.index.of(nodes.Spawn):
            if any(given == name for given, _ in spawn.args):
                raise CannotRename(
                    f"`spawn` in {os.path.basename(unit.file)}, line {spawn.span[0]}, gives it to an agent by its name"
                )
    if symbol.kind == "parameter":
        return
    _refuse_pages(program, name)


def _refuse_pages(program: ProgramAnalysis, name: str) -> None:
    for unit in program.checked.units.values():
        literal = [call[0] for node in unit.index.of(nodes.Call, nodes.Pipe) if (call := literal_render(node)) is not None]
        known = set(map(id, literal))
        for node in unit.index.of(nodes.Name) if "render" not in unit.bound else ():
            if node.id == "render" and id(node) not in known:
                where = f"{os.path.basename(unit.file)}, line {node.span[0]}"
                raise CannotRename(
                    f"a page may read it by its name: which one is rendered in {where} is known when the program runs"
                )
    word = re.compile(rf"\b{re.escape(name)}\b")
    folder = os.path.dirname(program.entry)
    for page in sorted(program.checked.templates):
        text = text_on_disk(os.path.join(folder, page))
        if text is None or word.search(text):
            raise CannotRename(f"the page {page} may read it by its name")


def _refuse_names_of_arguments(program: ProgramAnalysis, symbol: ProgramSymbol) -> None:
    """Raises where the name is a key of a pattern or the name of an argument at the same time."""
    places = {(place.file, place.line, place.column) for place in places_of(symbol, with_definition=True)}
    builtins = library().all_builtins()
    for unit in program.checked.units.values():
        for node in unit.index.of(nodes.MapPattern, nodes.Call):
            match node:
                case nodes.MapPattern(fields=fields):
                    for key, part in fields:
                        at = (unit.file, *part.span[:2])
                        if isinstance(part, nodes.BindPattern) and part.name == key == symbol.name and at in places:
                            raise CannotRename(f"the pattern in line {part.span[0]} takes the key of that name")
                case nodes.Call(func=func, args=args) if symbol.kind == "parameter":
                    if isinstance(func, nodes.Name) and func.id in builtins and func.id not in unit.bound:
                        continue
                    for argument in args:
                        unknown = argument.name == symbol.name and (unit.file, *argument.at) not in places
                        if unknown and _may_be_called(program, unit.file, func, symbol):
                            raise CannotRename(f"the call in line {argument.at[0]} may give it by its name")
                case _:
                    continue


def _may_be_called(program: ProgramAnalysis, file: str, func: nodes.Expr, parameter: ProgramSymbol) -> bool:
    """Whether a call may be one of the task or lambda that has the parameter: it is no call of another task."""
    if not isinstance(func, (nodes.Name, nodes.Field)):
        return True
    column = func.span[1] if isinstance(func, nodes.Name) else func.at[1] + 1
    called = program.symbols.at(file, func.span[0] if isinstance(func, nodes.Name) else func.at[0], column)
    if called is None or called.kind != "task":
        return True
    return (called.file, called.whole) == (parameter.file, parameter.whole)


def _refuse_uses_of_the_module(program: ProgramAnalysis, symbol: ProgramSymbol) -> None:
    """Raises where the module that exports the name is used as a value: its names are then the keys of a map."""
    if not symbol.exported:
        return
    home = real_file(symbol.file)
    for unit in program.checked.units.values():
        modules = {alias: program.checked.units.get(key) for alias, key in unit.imports.items()}
        aliases = {alias for alias, module in modules.items() if module is not None and real_file(module.file) == home}
        if not aliases:
            continue
        behind = {id(node.obj) for node in unit.index.of(nodes.Field, nodes.Of)}
        for node in unit.index.of(nodes.Name):
            if node.id in aliases and id(node) not in behind:
                where = f"{os.path.basename(unit.file)}, line {node.span[0]}"
                raise CannotRename(f"the module is used as a value in {where}, so the name may be looked up by a text")


# ---- the program as it would be ------------------------------------------------------------------------------------------


def _refuse_other_meanings(
    program: ProgramAnalysis, changes: Mapping[str, Mapping[tuple[int, int], SourceRange]], old: str, new: str
) -> None:
    """Raises where a name of the changed program would stand for another symbol than before, or stand for none."""
    texts = {real_file(file): text for file, text in program.texts.items()}
    for file, places in changes.items():
        if file in texts:
            texts[file] = _replaced(texts[file], places, new)
    changed = analyse(program.entry, texts)
    before, after = _meanings(program), _meanings(changed)
    moved = {_moved(at, changes, len(new)): _moved(meant, changes, len(new)) for at, meant in before.items()}
    if moved != after or _errors(program) != _errors(changed):
        if any(
            new in unit.bound or any(node.id == new for node in unit.index.of(nodes.Name))
            for unit in program.checked.units.values()
        ):
            raise CannotRename(f"'{new}' already means something where '{old}' is used")
        raise CannotRename(f"not every use of '{old}' in {os.path.basename(program.entry)} could be changed with it")


def _meanings(program: ProgramAnalysis) -> dict[Place, frozenset[Place] | Place]:
    """Each place of a name, and where what it stands for is defined."""
    found: dict[Place, set[Place]] = {}
    for unit in program.checked.units.values():
        for symbol in program.symbols.of(unit.file):
            start = definition_of(symbol)
            home = (real_file(start.file), start.line, start.column)
            for place in places_of(symbol, with_definition=True):
                found.setdefault((real_file(place.file), place.line, place.column), set()).add(home)
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


def _edit(
    documents: Documents, changes: Mapping[str, Mapping[tuple[int, int], SourceRange]], new: str, *, with_versions: bool
) -> WorkspaceEdit:
    edits: list[TextDocumentEdit] = []
    plain: dict[str, list[TextEdit]] = {}
    for file in sorted(changes):
        source = documents.source_of(file)
        known = documents.of_file(file)
        identifier = OptionalVersionedTextDocumentIdentifier(documents.uri_of(file), known.version if known else None)
        listed = [TextEdit(editor_range(place, source), new) for _, place in sorted(changes[file].items())]
        edits.append(TextDocumentEdit(identifier, list(listed)))
        plain[identifier.uri] = listed
    return WorkspaceEdit(document_changes=list(edits)) if with_versions else WorkspaceEdit(changes=plain)
