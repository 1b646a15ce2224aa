"""What the tools that a program hands to a model can come to use, and the warning where one set of them can do too much."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from language import library
from language.analysis.checker import Checked, CheckedFile
from language.analysis.manifest import DeclaredTool, Problem
from language.capabilities import canonical_name
from language.capabilities.tool_effects import ToolEffects
from language.errors import RuntimeFault
from language.syntax import nodes
from language.syntax.walk import descend
from language.values import to_bool
from language.values.json_encoding import encode
from language.values.schemas import object_schema, params_of

#: The builtin whose second argument is a map of tools for a model.
LOOP = "tool_loop"
#: The builtin that gives tools of another server.
TOOLSET = "mcp_toolset"
_MODEL_STATEMENTS = (nodes.Reason, nodes.Decide, nodes.Analyze, nodes.Generate)


class TaskReach:
    """Which capabilities a task can come to use when a model calls it: those that its own leading ``require`` lines declare, as
    far as it, or a task that it can get to, names a builtin that needs them.

    A task can get to every definition of the program that it names. That may be too many, never too few.
    """

    def __init__(self, checked: Checked) -> None:
        self._units = checked.units
        self._builtins = library().all_builtins()
        self._definitions: dict[str, dict[str, list[Any]]] = {}
        for key, unit in self._units.items():
            found: dict[str, list[Any]] = {}
            for node in unit.index.of(nodes.Task, nodes.Let, nodes.Set):
                if isinstance(node, nodes.Task | nodes.Let):
                    found.setdefault(node.name, []).append(node)
                elif isinstance(node, nodes.Set) and isinstance(node.target, nodes.Name):
                    found.setdefault(node.target.id, []).append(node)
            self._definitions[key] = found

    def definitions(self, key: str, name: str) -> list[Any]:
        """What a name of a file may stand for: tasks, and statements that set a variable."""
        return self._definitions.get(key, {}).get(name, [])

    def of(self, key: str, task: nodes.Task) -> frozenset[str]:
        """The capabilities of a task of the file ``key``, by their names."""
        declared = set()
        for statement in task.body:
            if not isinstance(statement, nodes.Require):
                break
            declared.add(canonical_name(statement.capability))
        if "file" in declared:
            declared |= {"file.read", "file.write"}
        return frozenset(self._used(key, task) & declared)

    def _used(self, key: str, root: Any) -> set[str]:
        used: set[str] = set()
        pending = [(key, root)]
        seen = {id(root)}
        while pending:
            at, node = pending.pop()
            for part in descend(node):
                if isinstance(part, _MODEL_STATEMENTS):
                    used.add("llm")
                for place, name in self._named(at, part):
                    builtin = self._builtins.get(name)
                    if builtin is not None:
                        used.add(canonical_name(builtin.capability or ""))
                        if builtin.name.startswith("mcp_"):
                            used |= {"net", "exec"}
                    for definition in self.definitions(place, name):
                        if id(definition) not in seen:
                            seen.add(id(definition))
                            pending.append((place, definition))
        return used

    def _named(self, key: str, node: Any) -> Iterator[tuple[str, str]]:
        """The names in other files and in this one that a node stands for."""
        imports = self._units[key].imports
        match node:
            case nodes.Field(obj=nodes.Name(id=alias), name=name) | nodes.Of(obj=nodes.Name(id=alias), name=name):
                if alias in imports:
                    yield imports[alias], name
            case nodes.Name(id=name) if name in imports:
                for other in self._definitions.get(imports[name], {}):
                    yield imports[name], other
            case nodes.Name(id=name):
                yield key, name
            case _:
                return


def dangerous_sets(checked: Checked) -> Iterator[tuple[str, Problem]]:
    """A warning, with the key of its file, for each ``tool_loop`` whose tools together read text from outside, read private
    data and act outside.
    """
    if not any(LOOP in _names(unit) for unit in checked.units.values()):
        return
    reach = TaskReach(checked)
    for key, unit in checked.units.items():
        if LOOP in unit.bound:
            continue
        for node in unit.index.of(nodes.Call):
            if isinstance(node.func, nodes.Name) and node.func.id == LOOP and len(node.args) > 1:
                problem = _problem(reach, key, unit, node)
                if problem is not None:
                    yield key, problem


def _names(unit: CheckedFile) -> set[str]:
    return {node.id for node in unit.index.of(nodes.Name)}


def _problem(reach: TaskReach, key: str, unit: CheckedFile, call: nodes.Call) -> Problem | None:
    outside, private, acting = [], [], []
    for name, effects, overrides in _tools(reach, key, unit, call.args[1].value):
        if overrides.get("outside", effects.reads_outside_text):
            outside.append(name)
        if effects.reads_private_data:
            private.append(name)
        if overrides.get("acts", effects.acts_outside):
            acting.append(name)
    if not (outside and private and acting):
        return None
    line, column, end_line, end_column = call.span
    told = (
        f"read text from outside ({_listed(outside)}), read private data ({_listed(private)}), act outside ({_listed(acting)})"
    )
    message = f"the tools of this loop (line {line}) together {told}"
    cure = "Give the model tools of two of the three kinds, or ask a person before those that act (`confirm`)."
    return Problem(unit.file, line, column, message, "warning", "W0113", end_line, end_column, cure)


def _listed(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _tools(
    reach: TaskReach, key: str, unit: CheckedFile, value: nodes.Expr
) -> Iterator[tuple[str, ToolEffects, dict[str, bool]]]:
    """The tools in an expression and in what its names stand for: their names, effects, and what their entries say of them."""
    for node in _nodes(reach, key, value):
        if isinstance(node, nodes.MapLit):
            yield from _entries(reach, key, unit, node)
        elif isinstance(node, nodes.Call) and isinstance(node.func, nodes.Name) and node.func.id == TOOLSET:
            yield TOOLSET, ToolEffects(("net",)), {}


def _nodes(reach: TaskReach, key: str, value: nodes.Expr) -> Iterator[Any]:
    """The parts of an expression and of what its names stand for, without the bodies of tasks."""
    pending: list[Any] = [value]
    seen: set[int] = set()
    while pending:
        root = pending.pop()
        for node in descend(root, closed=(nodes.Task,)):
            yield node
            if isinstance(node, nodes.Name):
                for definition in reach.definitions(key, node.id):
                    if not isinstance(definition, nodes.Task) and id(definition) not in seen:
                        seen.add(id(definition))
                        pending.append(definition.value)


def _entries(
    reach: TaskReach, key: str, unit: CheckedFile, tools: nodes.MapLit
) -> Iterator[tuple[str, ToolEffects, dict[str, bool]]]:
    """The tools that a map writes out: values that are maps with a ``run``."""
    for name, entry in tools.entries:
        if not isinstance(entry, nodes.MapLit):
            continue
        fields = {_key(field): given for field, given in entry.entries}
        overrides = {field: given.value for field, given in fields.items() if isinstance(given, nodes.Bool)}
        match fields.get("run"):
            case nodes.Name(id=task):
                where, wanted = key, task
            case nodes.Field(obj=nodes.Name(id=alias), name=task) if alias in unit.imports:
                where, wanted = unit.imports[alias], task
            case _:
                continue
        for definition in reach.definitions(where, wanted):
            if isinstance(definition, nodes.Task):
                yield _key(name) or wanted, ToolEffects(reach.of(where, definition)), overrides


def declared_tools(reach: TaskReach, key: str, unit: CheckedFile, value: nodes.Expr) -> Iterator[DeclaredTool]:
    """The tools that an expression of the file ``key``, or what its names stand for, writes out."""
    for node in _nodes(reach, key, value):
        for name, entry in node.entries if isinstance(node, nodes.MapLit) else ():
            if isinstance(entry, nodes.MapLit) and _key(name):
                fields = {_key(field): given for field, given in entry.entries}
                if not isinstance(fields.get("run"), (nodes.MapLit, type(None))):  # that of an argument is a map
                    yield _declared(reach, key, unit, _key(name), entry, fields)


def _declared(
    reach: TaskReach, key: str, unit: CheckedFile, name: str, entry: nodes.MapLit, fields: dict[str, nodes.Expr]
) -> DeclaredTool:
    where, task = _task_of(key, unit, fields["run"])
    held: set[str] = set()
    for definition in reach.definitions(where, task or ""):
        if isinstance(definition, nodes.Task):
            held |= reach.of(where, definition)
    described = fields.get("description")
    try:
        given = {} if "params" not in fields else _literal(fields["params"])
        schema = json.loads(encode(object_schema(params_of("", given)), "inspect"))
    except (_Computed, RuntimeFault):
        schema = None
    text = described.value if isinstance(described, nodes.Text) else None
    return DeclaredTool(name, text, schema, tuple(sorted(held)), task, unit.file, *entry.span[:2])


def _task_of(key: str, unit: CheckedFile, run: nodes.Expr) -> tuple[str, str | None]:
    """The file and the name of the task that an entry runs; no name for a lambda."""
    match run:
        case nodes.Name(id=task):
            return key, task
        case nodes.Field(obj=nodes.Name(id=alias), name=task) if alias in unit.imports:
            return unit.imports[alias], task
        case _:
            return key, None


class _Computed(Exception):
    """A part of an expression is not written out."""


def _literal(value: nodes.Expr) -> Any:
    """The value that an expression writes out. Raises ``_Computed``."""
    match value:
        case nodes.Text(value=text):
            return text
        case nodes.Number(value=number):
            return number
        case nodes.Bool(value=truth):
            return to_bool(truth)
        case nodes.Nothing():
            return None
        case nodes.ListLit(items=items):
            return [_literal(item) for item in items]
        case nodes.MapLit(entries=entries):
            return {_key(name): _literal(given) for name, given in entries}
        case _:
            raise _Computed


def _key(expression: Any) -> str:
    match expression:
        case nodes.Text(value=value):
            return value
        case nodes.Name(id=name):
            return name
        case _:
            return ""
