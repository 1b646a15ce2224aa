"""Copies of a task with variables of its own, for workers.

Requests, jobs and the items of ``parallel_map`` start with the values of the program's globals. What they write stays in
their own copy. The variables of a program are the cells of its closures, so the copy of a task has the same code and new
cells. Every task that those variables hold is copied in the same way. Lists and maps are not copied: the first write to a
shared one copies it.
"""

from __future__ import annotations

from types import CellType, FunctionType, MethodType

from language.errors import FILE_MARK
from language.runtime.context import Context
from language.values import Module, Secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def isolate(task: Any, context: Context, *, redacted: bool = False, plain: dict[int, Any] | None = None) -> Any:
    """A copy of the task with copies of all variables that it can reach; its builtins are bound to ``context``.

    With ``redacted`` the copy holds the names of secrets without their values. ``plain`` collects, for calls with the same
    ``redacted``, the lists and maps that were searched and need no copy: later calls do not search them again. The reference in
    ``plain`` also prevents writes to them in place.
    """
    return _Copier(context, redacted, {} if plain is None else plain).value(task)


def isolate_with_cells(tasks: list[Any], context: Context) -> tuple[list[Any], list[CellType]]:
    """Copies of the tasks as :func:`isolate` makes them, and all variables of the copies. Tasks go on sharing their
    variables.
    """
    copier = _Copier(context, False, {})
    copies = [copier.value(task) for task in tasks]
    return copies, copier.cells


class _Copier:
    """Copies everything that is reachable from a value. An object that is reached twice is copied once."""

    def __init__(self, context: Context, redacted: bool, plain: dict[int, Any]) -> None:
        self._context = context
        self._redacted = redacted
        self._plain = plain
        #: by ``id`` of the original: the original, which is kept alive so that its ``id`` stays unique, and its copy
        self._known: dict[int, tuple[Any, Any]] = {}

    @property
    def cells(self) -> list[CellType]:
        """The variables made so far."""
        return [copy for _, copy in self._known.values() if type(copy) is CellType]

    def value(self, value: Any) -> Any:
        kind = type(value)
        if kind is FunctionType:
            return self._function(value) if FILE_MARK in value.__globals__ else value
        if kind is MethodType:
            return MethodType(value.__func__, self._context) if isinstance(value.__self__, Context) else value
        if kind is list or kind is dict:
            return value if id(value) in self._plain else self._container(value)
        if kind is Module:
            return self._module(value)
        if hasattr(kind, "isolated"):
            return self._unit(value)
        if kind is Secret and self._redacted:
            return value.emptied()
        if hasattr(kind, "rebuilt"):  # an object that contains other values: a reply, a node of content
            return value.rebuilt(self.value)
        return value

    def _function(self, function: FunctionType) -> FunctionType:
        known = self._known.get(id(function))
        if known is not None:
            return known[1]  # type: ignore[no-any-return]
        cells = function.__closure__ or ()
        fresh = tuple(self._cell(cell) for cell in cells)
        copy = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, fresh or None)
        copy.__qualname__ = function.__qualname__
        self._known[id(function)] = function, copy
        return copy

    def _cell(self, cell: CellType) -> CellType:
        known = self._known.get(id(cell))
        if known is not None:
            return known[1]  # type: ignore[no-any-return]
        fresh = CellType()
        # Registered before its content is copied: a task can reach itself.
        self._known[id(cell)] = cell, fresh
        try:
            content = cell.cell_contents
        except ValueError:
            return fresh  # not bound yet
        fresh.cell_contents = self.value(content)
        return fresh

    def _container(self, original: Any) -> Any:
        known = self._known.get(id(original))
        if known is not None:
            return known[1]
        items = original if type(original) is list else original.values()
        copies = [self.value(item) for item in items]
        if any(copy is not item for copy, item in zip(copies, items)):
            copy = copies if type(original) is list else dict(zip(original, copies))
            self._known[id(original)] = original, copy
            return copy
        self._plain[id(original)] = original
        return original

    def _module(self, module: Module) -> Module:
        known = self._known.get(id(module))
        if known is not None:
            return known[1]  # type: ignore[no-any-return]
        copy = Module(module.path, module.hides)
        self._known[id(module)] = module, copy
        for name in module.order:
            copy.export(name, self._cell(module.cells[name]), fixed=dict.__contains__(module, name))
        return copy

    def _unit(self, unit: Any) -> Any:
        known = self._known.get(id(unit))
        if known is not None:
            return known[1]
        copy = unit.isolated(self._instance(unit.instance))
        self._known[id(unit)] = unit, copy
        for name, cell in unit.cells.items():
            copy.cells[name] = self._cell(cell)
        return copy

    def _instance(self, instance: Any) -> Any:
        known = self._known.get(id(instance))
        if known is not None:
            return known[1]
        copy = instance.isolated(self._context)
        self._known[id(instance)] = instance, copy
        for name, cell in instance.globals.items():
            copy.globals[name] = self._cell(cell)
        for name, agent in instance.agents.items():
            copy.agents[name] = type(agent)(name, agent.names, self._function(agent.function))
        return copy
