"""What ``lang check`` warns about: programs that are correct and probably not meant so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from language import library
from language.analysis.checker import Checked, CheckedFile
from language.analysis.manifest import Problem
from language.analysis.reachability import reached
from language.capabilities import IMPLICIT, STRUCTURED, Capability, canonical_name, declared
from language.capabilities.require_lines import scope_text
from language.capabilities.scopes import db_target, net_target, normal_path
from language.errors import RuntimeFault
from language.registry import Builtin
from language.syntax import nodes
from language.syntax.walk import bound_names, descend, descend_with_task

SCOPELESS = frozenset({"time", "random", "stdout", "stdin", "llm", "sandbox_run"})
#: Capabilities whose scope is the first argument as it stands.
NAMED_BY_FIRST_ARGUMENT = frozenset({"env", "secret", "exec"})
#: So often a use is held against a ``require`` line in one file. What is left then is not warned of: no other part of the check
#: takes time in the product of two counts.
MOST_COMPARISONS = 200_000


def warnings_of(checked: Checked) -> list[Problem]:
    """All warnings, file by file, in the order of the source."""
    builtins = library().all_builtins()
    grants = []
    for line in checked.requires:
        with suppress(ValueError):  # a scope that can never be meant: an error already
            grants.append(declared(line.capability, line.scope))
    warnings = []
    runs = reached(checked)
    for key, unit in checked.units.items():
        # The tests of a module run where it is the entry file, with what they require there.
        running = unit.program.statements
        if unit is not checked.entry:
            running = tuple(statement for statement in running if not isinstance(statement, nodes.Test))
        own = [
            *_scoped_scopeless(unit),
            *_aliases(unit, checked),
            *_old_names(unit, running, builtins),
            *_ungranted(unit, runs[key], builtins, grants),
            *_lost_writes(unit),
        ]
        warnings += sorted(own, key=lambda warning: (warning.line, warning.column))
    return warnings


def _finding(unit: CheckedFile, node: Any, message: str) -> Problem:
    return Problem(unit.file, node.span[0], node.span[1], message, "warning")


def _scoped_scopeless(unit: CheckedFile) -> Iterator[Problem]:
    for node in descend(unit.program):
        if isinstance(node, nodes.Require):
            name = canonical_name(node.capability)
            scope = scope_text(node.scope)
            if name in SCOPELESS and scope is not None:
                yield _finding(
                    unit, node, f'require {name}("{scope}") (line {node.span[0]}) grants nothing: {name} has no scope'
                )


def _aliases(unit: CheckedFile, checked: Checked) -> Iterator[Problem]:
    bound = Counter(bound_names(unit.program))
    exports: dict[str, set[str]] = {}
    for node in descend(unit.program):
        match node:
            case nodes.Use(alias=alias) if bound[alias] > 1:
                yield _finding(
                    unit, node, f"the name '{alias}' of the module (line {node.span[0]}) is also bound to something else"
                )
            case nodes.Field(obj=nodes.Name(id=alias), name=name) if alias in unit.imports and bound[alias] == 1:
                module = checked.units.get(unit.imports[alias])
                if module is not None and alias not in exports:
                    exports[alias] = _exports(module)
                if module is not None and name not in exports[alias]:
                    yield _finding(unit, node, f"'{alias}.{name}' (line {node.span[0]}): the module has no export '{name}'")
            case _:
                continue


def _exports(unit: CheckedFile) -> set[str]:
    return {
        node.name
        for node in unit.program.statements
        if isinstance(node, nodes.RouteGroup)
        or (isinstance(node, (nodes.Let, nodes.Task, nodes.TypeDef, nodes.EnumDef)) and node.exported)
    }


def _old_names(unit: CheckedFile, running: tuple[Any, ...], builtins: dict[str, Any]) -> Iterator[Problem]:
    bound = set(bound_names(unit.program))
    for node in descend(running):
        if isinstance(node, nodes.Name) and node.id in builtins and node.id not in bound:
            alias_of = builtins[node.id].alias_of
            if alias_of is not None:
                yield _finding(unit, node, f"'{node.id}' (line {node.span[0]}) is an old name of {alias_of}")


def _ungranted(
    unit: CheckedFile, running: tuple[Any, ...], builtins: dict[str, Any], grants: list[Capability]
) -> Iterator[Problem]:
    """Gated operations that can come to run and that no ``require`` of the entry file covers."""
    bound = set(bound_names(unit.program))
    comparisons = 0
    for task, node in descend_with_task(running):
        needed = None
        if isinstance(node, nodes.Call) and isinstance(node.func, nodes.Name) and node.func.id not in bound:
            builtin = builtins.get(node.func.id)
            needed = None if builtin is None else _needed(builtin, node)
        elif isinstance(node, nodes.Serve) and unit.program.statements is running:  # in a module it is an error
            needed = _port(node.port)
        elif isinstance(node, nodes.Proxy) and isinstance(node.target, nodes.Text):
            needed = _canonical("net", node.target.value)
        if needed is None:
            continue
        comparisons += len(grants)
        if comparisons > MOST_COMPARISONS:
            return
        if not any(grant.covers(needed) for grant in grants):
            user = f"used by {task}" if task else "used"
            yield _finding(unit, node, f"{needed} is {user} (line {node.span[0]}) but no require grants it")


def _port(value: nodes.Expr) -> Capability | None:
    """What a ``serve`` block asks for whose port stands in the source."""
    match value:
        case nodes.Number(value=int() as port) | nodes.Text(value=str() as port):
            return Capability("serve", str(port).strip())
        case _:
            return None


def _needed(builtin: Builtin, call: nodes.Call) -> Capability | None:
    """The capability a call is known to need; ``None`` when it needs none, has it anyway, or its scope is computed."""
    name = builtin.capability
    if name is None or name in IMPLICIT or name == "stdin":
        return None
    if name in SCOPELESS:
        return Capability(name, None)
    if name in NAMED_BY_FIRST_ARGUMENT and call.args and isinstance(call.args[0].value, nodes.Text):
        return Capability(name, call.args[0].value.value)
    # Of the database builtins only the one that opens names its database.
    if name in STRUCTURED and (name != "db" or builtin.name == "db_open"):
        at = builtin.params.index("url") if "url" in builtin.params else 0
        if len(call.args) > at and all(argument.name is None for argument in call.args[: at + 1]):
            given = call.args[at].value
            return _canonical(name, given.value) if isinstance(given, nodes.Text) else None
    return None


def _canonical(name: str, text: str) -> Capability | None:
    try:
        if name == "net":
            return Capability(name, net_target(text, "").scope)
        return Capability(name, db_target(text).scope if name == "db" else normal_path(text))
    except RuntimeFault:
        return None  # the call itself will say so


def _lost_writes(unit: CheckedFile) -> Iterator[Problem]:
    """Writes into a parameter or a loop variable that nothing reads: both are values of their own, not the caller's."""
    # A block is looked through for the names alone that something in the file writes into.
    written = {name for node in descend(unit.program) if isinstance(node, nodes.Set) for name in _written_into(node.target)}
    for node in descend(unit.program) if written else ():
        if isinstance(node, nodes.Task):
            for param in node.params:
                if param.name in written:
                    yield from _lost(unit, param.name, node.body, f"the task '{node.name}' writes into its parameter")
        elif isinstance(node, nodes.Each) and node.name in written:
            yield from _lost(unit, node.name, node.body, "the loop writes into its variable")


def _written_into(target: nodes.Expr) -> tuple[str, ...]:
    """The name of the variable that a path leads into; none for a plain name and for what is no path."""
    deep = False
    while isinstance(target, (nodes.Field, nodes.Index, nodes.Of)):
        target, deep = target.obj, True
    return (target.id,) if deep and isinstance(target, nodes.Name) else ()


def _lost(unit: CheckedFile, name: str, body: nodes.Block, subject: str) -> Iterator[Problem]:
    writes = []
    roots = set()
    for node in descend(body):
        if isinstance(node, nodes.Set):
            target, deep = node.target, False
            while isinstance(target, (nodes.Field, nodes.Index, nodes.Of)):
                target, deep = target.obj, True
            if isinstance(target, nodes.Name) and target.id == name:
                if not deep:
                    return  # the variable gets another value: what is written then is the task's own affair
                writes.append(node)
                roots.add(id(target))
    if not writes or name in bound_names(body):
        return
    if not any(isinstance(node, nodes.Name) and node.id == name and id(node) not in roots for node in descend(body)):
        message = f"{subject} '{name}' (line {writes[0].span[0]}), which changes a copy that nothing reads"
        yield _finding(unit, writes[0], message)
