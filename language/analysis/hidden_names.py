"""Names that mean something else at a place than was meant there: made inside of a block, or hiding a builtin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from language import library
from language.analysis.manifest import Problem
from language.analysis.meanings import FileMeanings, Meanings
from language.compiler.resolution import FRESH, FUNCTION, Scope, Variable
from language.syntax import nodes

#: Values that are no task, by the class of the expression that gives them.
_DATA: dict[type, Any] = {
    **dict.fromkeys((nodes.Number, nodes.Arith, nodes.Negate, nodes.Power), 0),
    **dict.fromkeys((nodes.Text, nodes.Template), ""),
    **dict.fromkeys((nodes.Bool, nodes.Compare, nodes.BoolOp, nodes.Not), None),
    nodes.ListLit: [],
    nodes.MapLit: {},
    nodes.Nothing: None,
    nodes.Decimal: 0,
}
#: What begins a scope that ends with its block.
_BLOCKS = (nodes.Each, nodes.Arm, nodes.Try, nodes.Sandbox, nodes.Socket)


# ---- names that are made inside of a block ------------------------------------------------------------------------------


def made_inside(file: FileMeanings, node: nodes.Name) -> str:
    """The help for an undefined name that a block above it makes for itself alone; the empty text where none does."""
    found = [made for made in file.index.bound.get(node.id, ()) if getattr(made, "span", None) and made.span < node.span]
    function = None
    for made in reversed(found):
        variable = _variable(file, made, node.id)
        if variable is None or variable.scope.kind != FRESH:
            continue
        block = _block_of(file, variable.scope)
        if function is None:
            function = _function_around(file, node)
        if block is not None and variable.owner is function:
            return _told(file, node.id, block, made)
    return ""


def _variable(file: FileMeanings, made: Any, name: str) -> Variable | None:
    """The variable that a node binds; for a part of a pattern that of its arm."""
    variable = file.resolution.bound.get((id(made), name))
    if variable is not None or not isinstance(made, (nodes.BindPattern, nodes.SpreadPattern)):
        return variable
    arms = (arm for arm in file.index.of(nodes.Arm) if arm.span[:2] <= made.span[:2] and made.span[2:] <= arm.span[2:])
    arm = max(arms, key=lambda arm: arm.span, default=None)
    return None if arm is None else file.resolution.bound.get((id(arm), name))


def _block_of(file: FileMeanings, scope: Scope) -> Any:
    scopes = file.resolution.scopes
    return next((node for node in file.index.of(*_BLOCKS) if scopes.get(id(node)) is scope), None)


def _function_around(file: FileMeanings, node: nodes.Node) -> Any:
    """The function in whose body a node stands."""
    best, scope = (0, 0), file.resolution.top
    for outer in file.index.of(nodes.Task, nodes.Lambda, nodes.Route, nodes.Agent, nodes.Test):
        inside = outer.span[:2] <= node.span[:2] and node.span[2:] <= outer.span[2:] and outer.span[:2] >= best
        own = file.resolution.scopes.get(id(outer)) if inside else None
        if own is not None and own.kind == FUNCTION:
            best, scope = outer.span[:2], own
    return scope.function


def _told(file: FileMeanings, name: str, block: Any, made: Any) -> str:
    line = block.span[0]
    if made is block and isinstance(block, nodes.Each):
        return f"`{name}` is the variable of the loop on line {line} and is known only inside of it."
    if made is block and isinstance(block, nodes.Try):
        return f"`{name}` is known only in the `recover` block of the `try` on line {line}."
    if isinstance(made, (nodes.BindPattern, nodes.SpreadPattern)):
        return f"`{name}` is bound by the pattern on line {line} and is known only in that arm."
    outermost = line
    lines = [made.span[0]]
    if isinstance(block, nodes.Arm):
        match = next((m for m in file.index.of(nodes.Match) if any(arm is block for arm in m.arms)), None)
        if match is not None:
            outermost = match.span[0]
            bodies = (*(arm.body for arm in match.arms), match.otherwise or ())
            lines = [let.span[0] for body in bodies for let in body if isinstance(let, nodes.Let) and let.name == name] or lines
    places = f"line {lines[0]}" if len(lines) == 1 else f"the lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"
    return (
        f"`{name}` is made only inside of a block, on {places}: make it before line {outermost}, `let {name} be nothing`, and "
        f"write `set {name} to ...` on {places}."
    )


def made_on_one_way(meanings: Meanings) -> Iterator[Problem]:
    """Reads of a name that ``try`` makes for the lines below it, and its ``recover`` for itself alone; the same of the
    ``otherwise`` of a ``match`` and its arms."""
    for file in meanings.files.values():
        made: dict[int, tuple[str, Any, Any]] = {}
        for node in file.index.of(nodes.Try, nodes.Match):
            if isinstance(node, nodes.Try):
                word, outside, inside = "the `try`", node.body, (node.handler,)
            else:
                word, outside, inside = "`otherwise`", node.otherwise or (), tuple(arm.body for arm in node.arms)
            within = {let.name: let for block in inside for let in block if isinstance(let, nodes.Let)} if outside else {}
            for let in outside if within else ():
                if not isinstance(let, nodes.Let) or let.name not in within:
                    continue
                variable = file.resolution.bound.get((id(let), let.name))
                if variable is not None and len(variable.values) == 1:
                    made[id(variable)] = word, node, (let, within[let.name])
        for name in file.index.of(nodes.Name) if made else ():
            ref = file.ref(name)
            if ref is None or ref.sure or len(ref.variables) != 1 or ref.outside not in ("undefined", "entry"):
                continue
            word, node, lets = made.get(id(ref.variables[0]), ("", None, ()))
            if node is not None and node.span[2:] <= name.span[:2]:
                yield _on_one_way(file, name, word, node, *lets)


def _on_one_way(file: FileMeanings, name: nodes.Name, word: str, node: Any, outer: nodes.Let, inner: nodes.Let) -> Problem:
    if isinstance(node, nodes.Try):
        message = f"after an error `{name.id}` is not known here: the one of line {inner.span[0]} ends with its block"
    else:
        only = f"`{name.id}` is known here only after {word} (line {outer.span[0]})"
        message = f"{only}: the one of line {inner.span[0]} ends with its block"
    told = (
        f"Make it before line {node.span[0]}, `let {name.id} be nothing`, and write `set {name.id} to ...` on the lines "
        f"{outer.span[0]} and {inner.span[0]}."
    )
    return Problem(file.unit.file, *name.span[:2], message, "warning", "E0201", *name.span[2:], told)


# ---- names that hide a builtin ------------------------------------------------------------------------------------------


class HidingNames:
    """The variables of a file that have the name of a builtin and surely hold something else."""

    def __init__(self, file: FileMeanings) -> None:
        self._file = file
        self._builtins = library().all_builtins()
        self._top = {id(statement) for statement in file.unit.program.statements}
        #: by the ``id`` of a variable the first ``let`` that surely makes it, and a value like all of its values
        self._first: dict[int, nodes.Let | None] = {}
        self._values: dict[int, Any] = {}

    def line(self, func: nodes.Expr) -> int:
        """The line of the ``let`` above a call that surely makes the variable which is called; 0 where there is none."""
        variable = self._called(func)
        if variable is None:
            return 0
        if id(variable) not in self._first:
            self._first[id(variable)] = self._made(variable)
        first = self._first[id(variable)]
        return 0 if first is None or first.span > func.span else first.span[0]

    def value(self, func: nodes.Expr) -> Any:
        """A value like that which the variable surely holds where it is called; ``None`` where it may be a task."""
        variable = self._called(func)
        if variable is None or not self.line(func):
            return None
        if id(variable) not in self._values:
            given = variable.values
            if variable in self._file.resolution.prebound:
                given = given[1:]  # the builtin, which is there before the first line
            known = all(value == "path" or type(value) in _DATA for value in given)
            data = (_DATA[type(value)] for value in given if type(value) in _DATA)
            self._values[id(variable)] = next(data, None) if known else None
        return self._values[id(variable)]

    def _called(self, func: nodes.Expr) -> Variable | None:
        ref = self._file.ref(func) if isinstance(func, nodes.Name) and func.id in self._builtins else None
        if ref is None or not ref.sure or ref.variables[0].is_param:
            return None
        return ref.variables[0]

    def _made(self, variable: Variable) -> nodes.Let | None:
        for node in self._file.index.bound.get(variable.name, ()):
            if isinstance(node, nodes.Let) and self._file.resolution.bound.get((id(node), variable.name)) is variable:
                return node if variable.scope.parent is not None or id(node) in self._top else None
        return None
