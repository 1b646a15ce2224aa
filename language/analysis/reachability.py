"""Which tasks of imported modules a program can get to, found by names: perhaps too many, never too few."""

from __future__ import annotations

from typing import Any

from language.analysis.checker import Checked, CheckedFile
from language.syntax import nodes

#: What a module defines without running it.
Definition = nodes.Task | nodes.RouteGroup


def reached(checked: Checked) -> dict[str, tuple[Any, ...]]:
    """The statements of each file, by its key in ``checked.units``, that can come to run when the entry file does.

    Of the entry file that is all. Of a module it is what runs when it is loaded, and those of its tasks and groups of routes
    that are named: plainly within the file, or behind its alias. Where an alias stands for itself, or is bound twice, all of
    them count: values go anywhere.
    """
    if checked.entry is None or len(checked.units) == 1:
        return {key: unit.program.statements for key, unit in checked.units.items()}
    return _Reach(checked).found()


class _Reach:
    def __init__(self, checked: Checked) -> None:
        self._units = checked.units
        self._defined = {key: _definitions(unit) for key, unit in self._units.items()}
        self._live: set[tuple[str, str]] = set()
        self._pending: list[tuple[str, Any]] = []

    def found(self) -> dict[str, tuple[Any, ...]]:
        for key, unit in self._units.items():
            for statement in unit.program.statements:
                if not key or not isinstance(statement, Definition | nodes.Test):
                    self._pending.append((key, statement))
            for alias, module in unit.imports.items():
                if len(unit.bound.get(alias, ())) > 1:
                    self._reach_all(module)
        while self._pending:
            key, node = self._pending.pop()
            self._follow(key, self._units[key], node)
        return {key: self._statements(key, unit) for key, unit in self._units.items()}

    def _statements(self, key: str, unit: CheckedFile) -> tuple[Any, ...]:
        if not key:
            return unit.program.statements
        return tuple(
            statement
            for statement in unit.program.statements
            if not isinstance(statement, nodes.Test)
            and (not isinstance(statement, Definition) or (key, statement.name) in self._live)
        )

    def _follow(self, key: str, unit: CheckedFile, root: Any) -> None:
        qualified: set[int] = set()
        # A name that a module does not have is one of the entry file.
        imports = {**self._units[""].imports, **unit.imports}
        for node in unit.index.below(root):
            match node:
                case nodes.Field(obj=nodes.Name(id=alias) as name, name=wanted) if alias in imports:
                    qualified.add(id(name))
                    self._reach(imports[alias], wanted)
                case nodes.Of(obj=nodes.Name(id=alias) as name, name=wanted) if alias in imports:
                    qualified.add(id(name))
                    self._reach(imports[alias], wanted)
                case nodes.Name(id=alias) if alias in imports and id(node) not in qualified:
                    self._reach_all(imports[alias])
                case nodes.Name(id=wanted):
                    self._reach(key, wanted)
                case _:
                    continue

    def _reach(self, key: str, name: str) -> None:
        if (key, name) not in self._live:
            for definition in self._defined.get(key, {}).get(name, ()):
                self._live.add((key, name))
                self._pending.append((key, definition))

    def _reach_all(self, key: str) -> None:
        for name in self._defined.get(key, {}):
            self._reach(key, name)


def _definitions(unit: CheckedFile) -> dict[str, list[Definition]]:
    found: dict[str, list[Definition]] = {}
    for statement in unit.program.statements:
        if isinstance(statement, Definition):
            found.setdefault(statement.name, []).append(statement)
    return found
