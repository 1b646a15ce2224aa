"""What is wrong with a program before it runs: it and everything it imports, parsed and validated, nothing executed."""

from __future__ import annotations

import os.path
from dataclasses import dataclass, field

from language import library
from language.capabilities import canonical_name
from language.capabilities.require_lines import refusals, scope_text
from language.errors import LanguageError, RuntimeFault
from language.hints import CIRCULAR
from language.syntax import nodes
from language.syntax.recovery import recovered
from language.syntax.render_calls import literal_render
from language.templates import check_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.analysis.symbols import Symbols
    from language.compiler.resolution import Resolution
    from language.errors import ErrorKind
    from language.host.files import Files
    from language.runtime.modules import Sources
    from language.syntax.node_index import NodeIndex
    from language.syntax.recovery import Recovered


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """One file: the entry or a module. ``imports`` maps each alias to the real path of its file.

    ``unread`` are the words in statements that could not be read: they may be what such a statement defines.
    """

    file: str
    program: nodes.Program
    imports: dict[str, str]
    source: str
    unread: frozenset[str]
    index: NodeIndex

    @property
    def all_nodes(self) -> list[Any]:
        """Every node of the program, in the order of the source."""
        return self.index.nodes

    @property
    def bound(self) -> dict[str, list[Any]]:
        """Every name that anything in the file binds, wherever it is visible, with the nodes that bind it."""
        return self.index.bound


@dataclass(frozen=True, slots=True)
class Declared:
    """A ``require`` line; ``capability`` in its canonical spelling, ``scope`` is ``None`` for the bare name."""

    capability: str
    scope: str | None
    line: int


@dataclass(slots=True)
class Checked:
    """The result: the errors with their places, the entry's ``require`` lines, the pages and the files.

    ``units`` has the entry first, under the empty text, then the modules by their real path; of a file with errors the
    statements that could be read.
    """

    errors: list[LanguageError] = field(default_factory=list)
    requires: list[Declared] = field(default_factory=list)
    templates: set[str] = field(default_factory=set)
    units: dict[str, CheckedFile] = field(default_factory=dict)
    #: the names of each of them, resolved when somebody asks (``language.analysis.resolutions``)
    resolutions: dict[str, Resolution] = field(default_factory=dict)
    #: what ``language.analysis.symbols.symbols_of`` found when it was asked first
    symbols: Symbols | None = None

    @property
    def entry(self) -> CheckedFile | None:
        return self.units.get("")

    @property
    def modules(self) -> int:
        """How many modules were read."""
        return len(self.units) - ("" in self.units)


def check_program(
    source: str,
    filename: str,
    sources: Sources,
    files: Files | None = None,
    read: Callable[[str, str], Recovered] = recovered,
) -> Checked:
    """Parses the entry file and, through ``sources``, what it imports; validates imports and capability declarations.

    Where ``files`` are given, so are the pages that are rendered by their literal paths. Runs nothing and raises nothing:
    every fault is in ``errors``. ``read`` gives the tree of a file from its text and name; who checks a program again and again
    can keep the trees of files that did not change.
    """
    checked = Checked()
    _Reader(sources, checked, read).entry(source, filename)
    if files is not None:
        _check_templates(files, filename, checked)
    return checked


class _Reader:
    """Follows ``use`` lines: each module once, knowing which files are being read."""

    def __init__(self, sources: Sources, checked: Checked, read: Callable[[str, str], Recovered]) -> None:
        self._sources = sources
        self._read = read
        self._checked = checked
        self._loading: list[str] = []

    def entry(self, source: str, filename: str) -> None:
        self._loading.append(os.path.realpath(filename))
        self._unit(source, filename, "")

    def _unit(self, source: str, file: str, real: str) -> None:
        program, errors, words, index = self._read(source, file)
        self._checked.errors += errors
        unit = self._checked.units[real] = CheckedFile(file, program, {}, source, words, index)
        if not real:
            lines = index.of(nodes.Require)
            declared = [Declared(canonical_name(line.capability), scope_text(line.scope), line.span[0]) for line in lines]
            self._checked.requires = declared
        for node in index.of(nodes.Use):
            self._use(node, unit)
        for message, line, column, help_ in refusals(program, module=bool(real), lines=index.of(nodes.Require)):
            if line:
                self._checked.errors.append(_fault(message, "capability", file, line, column, help_, "E0207"))
        self._checked.errors += _unknown_in_clauses(unit)

    def _use(self, node: nodes.Use, unit: CheckedFile) -> None:
        line, column = node.span[:2]
        try:
            real, shown = self._sources.resolve(node.path, os.path.dirname(unit.file), from_entry=unit is self._checked.entry)
            if real in self._loading:
                message = f"circular import: module '{node.path}' is already being loaded"
                raise RuntimeFault(message, kind="name", code="E0205", help=CIRCULAR)
            if real not in self._checked.units:
                text = self._sources.read(real, node.path)
                self._loading.append(real)
                self._unit(text, shown, real)
                self._loading.pop()
        except RuntimeFault as fault:
            self._checked.errors.append(_fault(fault.message, fault.kind, unit.file, line, column, fault.help, fault.code))
            return
        unit.imports[node.alias] = real
        module = self._checked.units.get(real)
        if module is not None:
            for message, at, _, help_ in refusals(module.program, module=True):
                if not at:
                    said = f"module '{node.path}' {message}"
                    self._checked.errors.append(_fault(said, "capability", unit.file, line, column, help_, "E0207"))


def _check_templates(files: Files, filename: str, checked: Checked) -> None:
    folder = None if filename.startswith("<") else os.path.dirname(filename)
    named: set[str] = set()
    for unit in checked.units.values():
        calls = [call for node in unit.index.of(nodes.Call, nodes.Pipe) if (call := literal_render(node)) is not None]
        if not calls or "render" in unit.bound:
            continue  # a name that the file gives a meaning of its own
        for _, path, (line, column) in calls:
            if path in named:
                continue
            named.add(path)
            try:
                checked.templates |= check_page(files, folder, path)
            except RuntimeFault as fault:
                checked.errors.append(_fault(fault.message, fault.kind, unit.file, line, column, fault.help, fault.code))


def _unknown_in_clauses(unit: CheckedFile) -> list[LanguageError]:
    """Clauses of ``serve`` that name a task (``auth with check``) which nothing in the file defines."""
    named = [
        operand
        for node in unit.index.of(nodes.Clause)
        if node.kind in ("auth", "errors")
        for _, operand in node.operands
        if isinstance(operand, nodes.Name)
    ]
    if not named:
        return []
    known = {*unit.bound, *library().all_builtins(), *unit.unread}
    unknown = (name for name in named if name.id not in known)
    return [_fault(f"Undefined variable: '{name.id}'", "name", unit.file, *name.span[:2]) for name in unknown]


def _fault(message: str, kind: ErrorKind, file: str, line: int, column: int, help: str = "", code: str = "") -> RuntimeFault:
    fault = RuntimeFault(message, kind=kind, help=help, code=code)
    fault.file, fault.line, fault.column = file, line, column
    return fault
