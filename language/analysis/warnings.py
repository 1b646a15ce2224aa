"""What ``lang check`` warns about: code that is allowed and probably a mistake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from language import library
from language.analysis.checker import Checked, CheckedFile
from language.analysis.manifest import Problem
from language.analysis.name_places import SourceRange, SourceText
from language.analysis.needs import SCOPELESS, Need, implicit_in, needs_of
from language.analysis.reachability import reached
from language.analysis.tool_sets import dangerous_sets
from language.capabilities import Capability, canonical_name, declared
from language.capabilities.require_lines import scope_text
from language.syntax import nodes
from language.syntax.walk import bound_names, descend

#: A scope of each capability, for an example of its line.
_SCOPES = {
    "net": "api.example.com",
    "db": "app.db",
    "file.read": "data/*",
    "file.write": "data/*",
    "env": "NAME",
    "secret": "NAME",
    "reveal": "NAME",
    "exec": "git",
    "memory": "my-agent",
}
#: What those are, as the cure calls them.
_NOUNS = {
    "net": "host",
    "db": "database",
    "file.read": "path",
    "file.write": "path",
    "exec": "command",
    **dict.fromkeys(("env", "secret", "reveal", "memory"), "name"),
}
#: The most comparisons of a use with a ``require`` line in one file; there is no warning for uses that are left after them. No
#: other part of the check takes time in proportion to the product of two counts.
MOST_COMPARISONS = 200_000


@dataclass(frozen=True, slots=True)
class _Declarations:
    """What the whole program declares: the names of its ``require`` lines, those that are told at their line already, what
    it has without any, and whether it is a module: what a module uses is declared by the programs that use it.
    """

    names: frozenset[str]
    told: frozenset[str]
    implicit: tuple[str, ...]
    is_module: bool


def warnings_of(checked: Checked, *, deployed: bool = False) -> list[Problem]:
    """All warnings, file by file, in the order of the source. ``deployed`` as in :func:`problems_of`."""
    builtins = library().all_builtins()
    grants = []
    for line in checked.requires:
        with suppress(ValueError):  # a scope that can never be meant: an error already
            grants.append(declared(line.capability, line.scope))
    # A `require` line of one of these with a scope grants nothing: that is told at the line, and not again at each use.
    meant = {
        name for line in checked.requires if line.scope is not None and (name := canonical_name(line.capability)) in SCOPELESS
    }
    statements = () if checked.entry is None else checked.entry.program.statements
    ctx = _Declarations(
        frozenset(canonical_name(line.capability) for line in checked.requires),
        frozenset(meant),
        implicit_in(checked, deployed=deployed),
        any(getattr(statement, "exported", False) or isinstance(statement, nodes.RouteGroup) for statement in statements),
    )
    warnings = []
    runs = reached(checked)
    loops: dict[str, list[Problem]] = {}
    for key, problem in dangerous_sets(checked):
        loops.setdefault(key, []).append(problem)
    unread = frozenset().union(*(unit.unread for unit in checked.units.values()))
    for key, unit in checked.units.items():
        # The tests of a module run where it is the entry file, with what they require there.
        running = unit.program.statements
        if unit is not checked.entry:
            running = tuple(statement for statement in running if not isinstance(statement, nodes.Test))
        own = [
            *_scoped_scopeless(unit),
            *_aliases(unit),
            *_old_names(unit, running, builtins),
            *_lost_writes(unit),
            *loops.get(key, ()),
        ]
        if "require" not in unread:  # else a line that grants it may be among what could not be read
            own += _ungranted(unit, runs[key], grants, ctx)
        warnings += sorted(own, key=lambda warning: (warning.line, warning.column))
    return warnings


def _finding(unit: CheckedFile, node: Any, message: str, code: str, told: str = "") -> Problem:
    line, column, end_line, end_column = node.span
    return Problem(unit.file, line, column, message, "warning", code, end_line, end_column, told)


def _scoped_scopeless(unit: CheckedFile) -> Iterator[Problem]:
    for node in unit.index.of(nodes.Require):
        name = canonical_name(node.capability)
        scope = scope_text(node.scope)
        if name in SCOPELESS and scope is not None:
            line = f'require {name}("{scope}") (line {node.span[0]})'
            message = f"{line} grants nothing: `{name}` takes nothing in parentheses"
            yield _finding(unit, node, message, "W0109", f"Write `require {name}`.")


def _aliases(unit: CheckedFile) -> Iterator[Problem]:
    if not unit.index.of(nodes.Use):
        return
    text = SourceText(unit.file, unit.source)
    for name, same in unit.bound.items():
        module = next((node for node in same if isinstance(node, nodes.Use)), None)
        other = next((node for node in same if node is not module), None)
        if module is not None and other is not None:
            place = _name_of(text, other, name)
            message = f"the name '{name}' is also that of the module on line {module.span[0]}"
            ends = place.end_line, place.end_column
            cure = "Give one of the two another name: where both are visible, one hides the other."
            yield Problem(unit.file, place.line, place.column, message, "warning", "W0110", *ends, cure)


def _name_of(text: SourceText, node: nodes.Node | nodes.Param, name: str) -> SourceRange:
    """Where the name stands that a node binds."""
    match node:
        case nodes.Param(at=at):
            return text.named(name, *at)
        case nodes.Use():
            return text.alias(node)
        case nodes.Try():
            found = text.caught(node)
        case _:
            found = text.after(name, *node.span[:3])
    return found or text.range(node.span)


def _old_names(unit: CheckedFile, running: tuple[Any, ...], builtins: dict[str, Any]) -> Iterator[Problem]:
    bound = unit.bound
    tests = {id(node) for test in _left_out(unit, running) for node in unit.index.below(test)}
    for node in unit.index.of(nodes.Name):
        if node.id in builtins and node.id not in bound and id(node) not in tests:
            alias_of = builtins[node.id].alias_of
            if alias_of is not None:
                message = f"'{node.id}' (line {node.span[0]}) is an old name of {alias_of}"
                yield _finding(unit, node, message, "W0111", f"Write `{alias_of}`.")


def _left_out(unit: CheckedFile, running: tuple[Any, ...]) -> list[Any]:
    """The statements at the top of a file that are not among those that run."""
    if running is unit.program.statements:
        return []
    kept = set(map(id, running))
    return [statement for statement in unit.program.statements if id(statement) not in kept]


def _ungranted(unit: CheckedFile, running: tuple[Any, ...], grants: list[Capability], ctx: _Declarations) -> Iterator[Problem]:
    """Gated operations that can come to run and that no ``require`` of the entry file covers."""
    comparisons = 0
    for need in needs_of(unit, running, ctx.implicit):
        if need.sandboxed:
            if need.tried:
                continue
        elif need.computed:
            if need.tried or ctx.is_module or not ctx.names.isdisjoint(need.names):
                continue
        else:
            if isinstance(need.node, nodes.Serve) and unit.program.statements is not running:
                continue  # in a module it is an error
            comparisons += len(grants)
            if comparisons > MOST_COMPARISONS:
                return
            if need.capability.name in ctx.told or any(grant.covers(need.capability) for grant in grants):
                continue
        needed = need.capability.written
        if need.sandboxed:
            message = f"the sandbox on line {need.sandboxed} takes the capability `{needed}` away: this is refused"
            told = (
                "Take the line out of the sandbox, or make the value before it. `sandbox under {...}` keeps some capabilities."
            )
            yield _finding(unit, need.node, message, "W0122", told)
            continue
        user = f"the task `{need.task}` uses" if need.task else "the program uses"
        message = f"{user} the capability `{needed}`, and no `require` line grants it"
        yield _finding(unit, need.node, message, "W0105", _cure(need))


def _cure(need: Need) -> str:
    name = need.capability.name
    if name == "llm":
        return "Add `require llm` at the top of the program. Without it, a served or deployed program may not ask a model."
    if not need.computed:
        return f"Add `{need.capability.require_line}` at the top of the program."
    example = Capability(name, _SCOPES.get(name, "...")).require_line
    scope = _SCOPES.get(name, "...")
    return (
        f"Add `{example}` at the top of the program, with the {_NOUNS.get(name, 'scope')} that it uses in place of `{scope}`."
    )


def _lost_writes(unit: CheckedFile) -> Iterator[Problem]:
    """Writes into a parameter or a loop variable that nothing reads: both are values of their own, not the caller's."""
    # A block is looked through for the names alone that something in the file writes into.
    written = {name for node in unit.index.of(nodes.Set) for name in _written_into(node.target)}
    for node in unit.index.of(nodes.Task, nodes.Each) if written else ():
        if isinstance(node, nodes.Task):
            for param in node.params:
                if param.name in written and param.name not in unit.unread:
                    subject = f"the task '{node.name}' writes into its parameter"
                    cure = f"Give the changed value back, `give {param.name}`, and keep it: `set x to {node.name}(x)`."
                    yield from _lost(unit, param.name, node.body, subject, cure)
        elif isinstance(node, nodes.Each) and node.name in written and node.name not in unit.unread:
            of = node.iterable.id if isinstance(node.iterable, nodes.Name) else "xs"
            cure = (
                f"Write into the list itself: make the loop `each i in range(length({of}))`, and write `{of}[i]` in place of "
                f"`{node.name}` in its lines. Or collect a new list."
            )
            yield from _lost(unit, node.name, node.body, "the loop writes into its variable", cure)


def _written_into(target: nodes.Expr) -> tuple[str, ...]:
    """The name of the variable that a path leads into; none for a plain name and for what is no path."""
    deep = False
    while isinstance(target, (nodes.Field, nodes.Index, nodes.Of)):
        target, deep = target.obj, True
    return (target.id,) if deep and isinstance(target, nodes.Name) else ()


def _lost(unit: CheckedFile, name: str, body: nodes.Block, subject: str, cure: str) -> Iterator[Problem]:
    writes = []
    roots = set()
    for node in descend(body):
        if isinstance(node, nodes.Set):
            target, deep = node.target, False
            while isinstance(target, (nodes.Field, nodes.Index, nodes.Of)):
                target, deep = target.obj, True
            if isinstance(target, nodes.Name) and target.id == name:
                if not deep:
                    return  # the variable gets another value: later writes do not look like writes into the caller's
                writes.append(node)
                roots.add(id(target))
    if not writes or name in bound_names(body):
        return
    if not any(isinstance(node, nodes.Name) and node.id == name and id(node) not in roots for node in descend(body)):
        message = f"{subject} '{name}' (line {writes[0].span[0]}), which changes a copy that nothing reads"
        yield _finding(unit, writes[0], message, "W0112", cure)
