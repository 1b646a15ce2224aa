"""The names of a program: what each one is, where it is defined and used, and which are visible at a place.

Scopes are those of the compiler (``language.compiler.resolution``). A name that may mean several variables counts as a use of
each. What the language looks up only while a program runs (keys of maps, names in texts) is no symbol.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from language.analysis.checker import Checked
from language.analysis.definitions import Definitions, Draft, FileNames
from language.analysis.name_places import SourceRange
from language.analysis.resolutions import resolutions_of
from language.compiler.resolution import Ref, Scope
from language.syntax import nodes
from language.syntax.walk import descend


@dataclass(frozen=True, slots=True)
class ProgramSymbol:
    """One name and what it stands for.

    ``kind`` is ``variable``, ``parameter``, ``task``, ``type``, ``enum``, ``member`` (of an enum or a type), ``module``,
    ``group``, ``test``, ``agent`` or ``builtin``. ``line``, ``column`` and ``end_column`` are those of the name where it is
    defined, from 1, columns in code points, the end exclusive; a builtin has an empty ``file`` and no place. ``whole`` is the
    statement that defines it. ``references`` are all other places of the name: reads, ``set``, further ``let`` of the same
    variable.
    """

    name: str
    kind: str
    file: str
    line: int
    column: int
    end_column: int
    exported: bool
    documentation: str
    signature: str
    references: tuple[SourceRange, ...]
    whole: SourceRange


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A name that stands for nothing: no file of the program defines it, and no builtin has it."""

    name: str
    range: SourceRange


class Symbols:
    """The symbols of a checked program; made by :func:`symbols_of`."""

    def __init__(self, files: dict[str, FileNames], unresolved: list[Unresolved]) -> None:
        self._files = files
        self.unresolved = unresolved
        self._frozen: dict[int, ProgramSymbol] = {}

    def of(self, file: str) -> list[ProgramSymbol]:
        """What a file defines, in the order of the source."""
        found = self._files.get(file)
        drafts = [] if found is None else sorted(found.drafts, key=lambda draft: (draft.line, draft.column))
        return [self._symbol(draft) for draft in drafts]

    def at(self, file: str, line: int, column: int) -> ProgramSymbol | None:
        """What the name at a place stands for, be it defined or used there. The place may be just behind the name."""
        found = self._files.get(file)
        if found is None:
            return None
        near = None
        for start, end, draft in found.occurrences.get(line, ()):
            if start <= column < end:
                return self._symbol(draft)
            if column == end:
                near = draft
        return None if near is None else self._symbol(near)

    def visible(self, file: str, line: int, column: int) -> list[ProgramSymbol]:
        """The symbols that a name written at a place could stand for, the nearest first; builtins are not among them.

        A line behind the end of a block belongs to it as far as it is indented like it and the next statement follows later.
        """
        found = self._files.get(file)
        if found is None:
            return []
        seen: dict[str, ProgramSymbol] = {}
        scope: Scope | None = found.scope_at(line, column)
        function = None if scope is None else scope.function
        while scope is not None:
            for variable in scope.names.values():
                draft = found.of_variable.get(id(variable))
                if draft is None or variable.name in seen:
                    continue
                if variable.owner is function and (draft.line, draft.column) > (line, column):
                    continue  # bound later, in the function itself
                seen[variable.name] = self._symbol(draft)
            for draft in found.given.get(id(scope), ()):
                seen.setdefault(draft.name, self._symbol(draft))
            scope = scope.parent
        for draft in found.outer:
            seen.setdefault(draft.name, self._symbol(draft))
        return list(seen.values())

    def _symbol(self, draft: Draft) -> ProgramSymbol:
        symbol = self._frozen.get(id(draft))
        if symbol is None:
            references = tuple(sorted(set(draft.references), key=lambda at: (at.file, at.line, at.column)))
            symbol = self._frozen[id(draft)] = ProgramSymbol(
                draft.name,
                draft.kind,
                draft.whole.file,
                draft.line,
                draft.column,
                draft.column + len(draft.name) if draft.line else 0,
                draft.exported,
                draft.documentation,
                draft.signature,
                references,
                draft.whole,
            )
        return symbol


def symbols_of(checked: Checked) -> Symbols:
    """The symbols of a program and of its modules, found once; files that could not be read have none."""
    if checked.symbols is None:
        checked.symbols = _Collector(checked).symbols()
    return checked.symbols


_NOWHERE = SourceRange("", 0, 0, 0, 0)


class _Collector:
    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        resolutions = resolutions_of(checked)
        self._files = {key: FileNames(unit, resolutions[key]) for key, unit in checked.units.items() if key in resolutions}
        self._builtins: dict[str, Draft] = {}

    def symbols(self) -> Symbols:
        for file in self._files.values():
            definitions = Definitions(file)
            for node in file.unit.all_nodes:
                definitions.node(node)
        outer = self._entry_names()
        for key, file in self._files.items():
            if key:
                file.outer += outer
        unresolved: list[Unresolved] = []
        for key, file in self._files.items():
            unresolved += self._references(key, file)
        return Symbols({file.unit.file: file for file in self._files.values()}, unresolved)

    def _entry_names(self) -> list[Draft]:
        """What the entry file defines at its top, which its modules see."""
        entry = self._files.get("")
        if entry is None:
            return []
        found = (entry.of_variable.get(id(variable)) for variable in entry.resolution.top.names.values())
        return [draft for draft in found if draft is not None]

    def _references(self, key: str, file: FileNames) -> Iterator[Unresolved]:
        entry = self._files.get("") if key else None
        refs = file.resolution.refs
        tentative: set[int] = set()
        #: names that a pattern binds
        bound: set[int] = set()
        for node in file.unit.index.of(nodes.VariantPattern, nodes.Name, nodes.Field, nodes.Of, nodes.Call, nodes.Spawn):
            match node:
                case nodes.VariantPattern(path=path, value=value) if value is not path:
                    # an expression only where the path is no variant of an enum; its names bind otherwise
                    inside = {id(inner) for inner in descend(value)}
                    tentative |= inside
                    variant = self._value(file, entry, path)
                    if variant is not None and variant.kind == "member":
                        bound |= inside - {id(inner) for inner in descend(path)}
                case nodes.Name() if id(node) in bound:
                    continue
                case nodes.Spawn(agent=name):
                    at = file.text.after(name, node.span[0], node.span[1] + len("spawn"))
                    agent = next((draft for draft in file.drafts if draft.kind == "agent" and draft.name == name), None)
                    if at is not None and agent is not None:
                        file.refer(agent, at)
                case nodes.Name(id=name) if id(node) in refs:
                    at = file.text.range(node.span)
                    for draft in self._meant(file, entry, name, refs[id(node)]):
                        file.refer(draft, at)
                    if id(node) not in tentative and not self._known(entry, name, refs[id(node)]):
                        yield Unresolved(name, at)
                case nodes.Field(obj=obj, name=name, at=(line, column)):
                    self._member(file, self._value(file, entry, obj), name, line, column + 1)
                case nodes.Of(obj=obj, name=name):
                    self._member(file, self._value(file, entry, obj), name, *node.span[:2])
                case nodes.Call(func=func, args=args) if any(arg.name is not None for arg in args):
                    called = self._value(file, entry, func)
                    for arg in args if called is not None else ():
                        param = called.params.get(arg.name or "") if called is not None else None
                        if param is not None:
                            file.refer(param, file.text.named(param.name, *arg.at))
                case _:
                    continue

    def _meant(self, file: FileNames, entry: FileNames | None, name: str, ref: Ref) -> Iterator[Draft]:
        """What a name may stand for."""
        found = False
        for variable in ref.variables:
            draft = file.of_variable.get(id(variable))
            if draft is not None:
                found = True
                yield draft
        if not found and ref.outside == "builtin":
            yield self._builtin(name)
        elif not found and ref.outside == "entry" and entry is not None:
            global_one = entry.resolution.top.names.get(name)
            draft = None if global_one is None else entry.of_variable.get(id(global_one))
            if draft is not None:
                yield draft

    @staticmethod
    def _known(entry: FileNames | None, name: str, ref: Ref) -> bool:
        if ref.variables or ref.outside in ("none", "builtin"):
            return True
        return ref.outside == "entry" and (entry is None or name in entry.resolution.top.names)

    def _builtin(self, name: str) -> Draft:
        draft = self._builtins.get(name)
        if draft is None:
            from language import library

            declared = library().all_builtins().get(name)
            signature, doc = (name, "") if declared is None else (declared.signature, declared.doc)
            draft = Draft(name, "builtin", 0, 0, False, doc, signature, _NOWHERE, [], {}, {}, None)
            self._builtins[name] = draft
        return draft

    def _value(self, file: FileNames, entry: FileNames | None, node: nodes.Expr) -> Draft | None:
        """What an expression surely stands for: a name, or a member of a module or an enum."""
        path: list[str] = []
        while isinstance(node, (nodes.Field, nodes.Of)):
            path.append(node.name)
            node = node.obj
        if not isinstance(node, nodes.Name) or id(node) not in file.resolution.refs:
            return None
        found = list(self._meant(file, entry, node.id, file.resolution.refs[id(node)]))
        draft = found[0] if len(found) == 1 else None
        while path and draft is not None:
            draft = self._inside(draft, path.pop())
        return draft

    def _inside(self, draft: Draft, name: str) -> Draft | None:
        if draft.module is None:
            return draft.members.get(name)
        module = self._files.get(draft.module)
        variable = None if module is None else module.resolution.top.names.get(name)
        return None if module is None or variable is None else module.of_variable.get(id(variable))

    def _member(self, file: FileNames, owner: Draft | None, name: str, line: int, column: int) -> None:
        draft = None if owner is None else self._inside(owner, name)
        at = None if draft is None else file.text.after(name, line, column)
        if draft is not None and at is not None:
            file.refer(draft, at)
