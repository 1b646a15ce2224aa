"""The declarations in a program's source: its ``require`` lines, and the errors that stop it before its first statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from language.capabilities import INERT_NAMES, NAMES, canonical_name, declared, unknown_name
from language.capabilities.grants import ALL_SECRETS
from language.syntax import nodes

MEMORY_NAME_LENGTH = 64
_SERVE_IN_A_MODULE = "the `serve` block stands in the file that is started; a module exports tasks or `routes` for it"
_REQUIRE_IN_A_MODULE = (
    "a module has no such line at its top: move it to the top of the program that uses the module, the file that is started"
)
#: Capabilities whose scope is a name, for which the quotes are easily forgotten.
_SCOPED_BY_NAME = frozenset(("env", "memory", "reveal", "secret", "sign"))


def requires(program: nodes.Program) -> Iterator[nodes.Require]:
    """Every ``require`` line of the file at any depth, in source order."""
    return (node for node in _statements(program) if isinstance(node, nodes.Require))


def _statements(program: nodes.Program) -> Iterator[nodes.Stmt]:
    """Every statement of the file, outer before inner, in the order of the source."""
    pending: list[object] = [*reversed(program.statements)]
    while pending:
        node = pending.pop()
        if isinstance(node, nodes.Stmt):
            yield node
        if isinstance(node, tuple):
            pending.extend(reversed(node))
        elif isinstance(node, (nodes.Stmt, nodes.Arm, nodes.Route, nodes.HostBlock, nodes.BlockValue)):
            pending.extend(getattr(node, name) for name in reversed(node.__dataclass_fields__) if name != "span")


def declared_sets(program: nodes.Program) -> dict[str, tuple[tuple[str, str | None], ...]]:
    """For each task that begins with ``require`` lines their declarations, by ``name@line`` of the task.

    Under ``ALL_SECRETS`` the secrets of every ``require`` line of the file, at any depth, executed or not.
    """
    sets: dict[str, tuple[tuple[str, str | None], ...]] = {}
    lines = list(requires(program))
    if not lines:
        return sets
    secrets = dict.fromkeys(("secret", scope_text(line.scope)) for line in lines if line.capability == "secret")
    if secrets:
        sets[ALL_SECRETS] = tuple(secrets)
    for node in _statements(program):
        if isinstance(node, nodes.Task):
            leading = takewhile(lambda statement: isinstance(statement, nodes.Require), node.body)
            lines = [line for line in leading if isinstance(line, nodes.Require)]
            if lines:
                sets[f"{node.name}@{node.span[0]}"] = tuple(
                    (canonical_name(line.capability), scope_text(line.scope)) for line in lines
                )
    return sets


def scope_text(scope: nodes.Expr | None) -> str | None:
    """The scope of a ``require`` line as text; ``None`` when it has none. The scope must be a literal."""
    match scope:
        case nodes.Text(value=value):
            return value
        case nodes.Template(parts=parts):
            return "".join(part for part in parts if isinstance(part, str))
        case nodes.Number(value=value):
            return str(value)
        case _:
            return None


def is_literal(scope: nodes.Expr) -> bool:
    match scope:
        case nodes.Text():
            return True
        case nodes.Template(parts=parts):
            return all(isinstance(part, str) for part in parts)
        case nodes.Number(value=value):
            return isinstance(value, int)
        case _:
            return False


#: An error that is reported before anything runs: message, line, column and help.
Refusal = tuple[str, int, int, str]


def startup_refusal(program: nodes.Program, *, module: bool) -> Refusal | None:
    """The first error that must be reported before anything runs. The message of a module lacks its path."""
    return next(refusals(program, module=module), None)


def refusals(program: nodes.Program, *, module: bool, lines: Iterable[nodes.Require] | None = None) -> Iterator[Refusal]:
    """All errors that must be reported before anything runs. Those without a line concern a module as a whole. ``lines`` are
    those of ``requires``, if they are known already.
    """
    if module:
        kinds = {type(statement) for statement in program.statements}
        if nodes.Serve in kinds:
            yield "must not contain a 'serve' block", 0, 0, _SERVE_IN_A_MODULE
        elif nodes.Require in kinds:
            yield "must not have a top-level 'require'", 0, 0, _REQUIRE_IN_A_MODULE
    memories: list[str] = []
    for line in requires(program) if lines is None else lines:
        name = canonical_name(line.capability)
        if name not in NAMES and name not in INERT_NAMES:
            message, help_ = unknown_name(line.capability)
            yield message, *line.span[:2], help_
            continue
        problem = _problem(line, memories)
        if problem is not None:
            yield problem, *line.span[:2], _scope_help(line)


def _problem(line: nodes.Require, memories: list[str]) -> str | None:
    name = canonical_name(line.capability)
    if line.scope is not None and not is_literal(line.scope):
        return (
            f"what stands in the parentheses of `require {line.capability}` must be a literal text or number: "
            "it is read before the program runs"
        )
    scope = scope_text(line.scope)
    if name != "memory":
        return _scope_problem(name, scope)
    if scope is None:
        return 'require memory needs a name: require memory("notes")'
    if not 0 < len(scope) <= MEMORY_NAME_LENGTH or not all(c.isascii() and (c.isalnum() or c in "-_") for c in scope):
        return f"Invalid memory name: '{scope}' (letters, digits, '-' and '_', at most {MEMORY_NAME_LENGTH})"
    if memories and scope not in memories:
        return f'Multiple memory declarations: require memory("{memories[0]}") and require memory("{scope}")'
    memories.append(scope)
    return None


def _scope_help(line: nodes.Require) -> str:
    """The help on how to write a scope that lacks its quotes; empty if the intended scope cannot be determined."""
    words: list[str] = []
    part: object = line.scope
    while isinstance(part, nodes.Field):
        words.insert(0, part.name)
        part = part.obj
    if not isinstance(part, nodes.Name):
        return ""
    text = ".".join([part.id, *words])
    if not words and line.capability not in _SCOPED_BY_NAME:
        return (
            f'write the text that `{text}` stands for in quotes, `require {line.capability}("...")`: no variable has a value '
            "before the program runs"
        )
    return f'write it in quotes: `require {line.capability}("{text}")`'


def _scope_problem(name: str, scope: str | None) -> str | None:
    try:
        declared(name, scope)
    except ValueError as error:
        return f"require {name}: {error}"
    return None
