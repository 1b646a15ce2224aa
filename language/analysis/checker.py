"""What is wrong with a program before it runs: it and everything it imports, parsed and validated, nothing executed."""

from __future__ import annotations

import os.path
from dataclasses import dataclass, field

from language import library
from language.capabilities import canonical_name
from language.capabilities.require_lines import refusals, requires, scope_text
from language.errors import LanguageError, RuntimeFault
from language.syntax import nodes
from language.syntax.parser import parse
from language.syntax.render_calls import literal_render
from language.syntax.walk import bound_names, descend
from language.templates import check_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from language.errors import ErrorKind
    from language.host.files import Files
    from language.runtime.modules import Sources


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """One parsed file: the entry or a module. ``imports`` maps each alias to the real path of its file."""

    file: str
    program: nodes.Program
    imports: dict[str, str]
    source: str


@dataclass(frozen=True, slots=True)
class Declared:
    """A ``require`` line; ``capability`` in its canonical spelling, ``scope`` is ``None`` for the bare name."""

    capability: str
    scope: str | None
    line: int


@dataclass(slots=True)
class Checked:
    """The result: the errors with their places, the entry's ``require`` lines, the pages and the files that parsed.

    ``units`` has the entry first, under the empty text, then the modules by their real path.
    """

    errors: list[LanguageError] = field(default_factory=list)
    requires: list[Declared] = field(default_factory=list)
    templates: set[str] = field(default_factory=set)
    units: dict[str, CheckedFile] = field(default_factory=dict)

    @property
    def entry(self) -> CheckedFile | None:
        return self.units.get("")

    @property
    def modules(self) -> int:
        """How many modules were read."""
        return len(self.units) - ("" in self.units)


def check_program(source: str, filename: str, sources: Sources, files: Files | None = None) -> Checked:
    """Parses the entry file and, through ``sources``, what it imports; validates imports and capability declarations.

    Where ``files`` are given, so are the pages that are rendered by their literal paths. Runs nothing and raises nothing:
    every fault is in ``errors``.
    """
    checked = Checked()
    _Reader(sources, checked).entry(source, filename)
    if files is not None:
        _check_templates(files, filename, checked)
    return checked


class _Reader:
    """Follows ``use`` lines: each module once, knowing which files are being read."""

    def __init__(self, sources: Sources, checked: Checked) -> None:
        self._sources = sources
        self._checked = checked
        self._loading: list[str] = []

    def entry(self, source: str, filename: str) -> None:
        self._loading.append(os.path.realpath(filename))
        self._unit(source, filename, "")

    def _unit(self, source: str, file: str, real: str) -> None:
        try:
            program = parse(source, file)
        except LanguageError as error:
            self._checked.errors.append(error)
            return
        unit = self._checked.units[real] = CheckedFile(file, program, {}, source)
        if not real:
            declared = [Declared(canonical_name(r.capability), scope_text(r.scope), r.span[0]) for r in requires(program)]
            self._checked.requires = declared
        for node in descend(program):
            if isinstance(node, nodes.Use):
                self._use(node, unit)
        for message, line, column in refusals(program, module=bool(real)):
            if line:
                self._checked.errors.append(_fault(message, "capability", file, line, column))
        self._checked.errors += _unknown_in_clauses(program, file)

    def _use(self, node: nodes.Use, unit: CheckedFile) -> None:
        line, column = node.span[:2]
        try:
            real, shown = self._sources.resolve(node.path, os.path.dirname(unit.file), from_entry=unit is self._checked.entry)
            if real in self._loading:
                raise RuntimeFault(f"circular import: module '{node.path}' is already being loaded", kind="name")
            if real not in self._checked.units:
                text = self._sources.read(real, node.path)
                self._loading.append(real)
                self._unit(text, shown, real)
                self._loading.pop()
        except RuntimeFault as fault:
            self._checked.errors.append(_fault(fault.message, fault.kind, unit.file, line, column))
            return
        unit.imports[node.alias] = real
        module = self._checked.units.get(real)
        if module is not None:
            for message, at, _ in refusals(module.program, module=True):
                if not at:
                    self._checked.errors.append(
                        _fault(f"module '{node.path}' {message}", "capability", unit.file, line, column)
                    )


def _check_templates(files: Files, filename: str, checked: Checked) -> None:
    folder = None if filename.startswith("<") else os.path.dirname(filename)
    named: set[str] = set()
    for unit in checked.units.values():
        calls = [call for node in descend(unit.program) if (call := literal_render(node)) is not None]
        if not calls or "render" in bound_names(unit.program):
            continue  # a name that the file gives a meaning of its own
        for _, path, (line, column) in calls:
            if path in named:
                continue
            named.add(path)
            try:
                checked.templates |= check_page(files, folder, path)
            except RuntimeFault as fault:
                checked.errors.append(_fault(fault.message, fault.kind, unit.file, line, column))


def _unknown_in_clauses(program: nodes.Program, file: str) -> list[LanguageError]:
    """Clauses of ``serve`` that name a task (``auth with check``) which nothing in the file defines."""
    named = [
        operand
        for node in descend(program)
        if isinstance(node, nodes.Clause) and node.kind in ("auth", "errors")
        for _, operand in node.operands
        if isinstance(operand, nodes.Name)
    ]
    if not named:
        return []
    known = {*bound_names(program), *library().all_builtins()}
    return [_fault(f"Undefined variable: '{name.id}'", "name", file, *name.span[:2]) for name in named if name.id not in known]


def _fault(message: str, kind: ErrorKind, file: str, line: int, column: int) -> RuntimeFault:
    fault = RuntimeFault(message, located=True, kind=kind)
    fault.file, fault.line, fault.column = file, line, column
    return fault
