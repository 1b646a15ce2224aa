"""What a program declares, read off its source: the ``require`` lines, and what stops it before its first statement."""

from __future__ import annotations

from collections.abc import Iterator

from language import nodes
from language.capability import INERT_NAMES, NAMES, canonical_name


def requires(program: nodes.Program) -> Iterator[nodes.Require]:
    """Every ``require`` line of the file, wherever it stands, in the order of the source."""
    pending: list[object] = [*reversed(program.statements)]
    while pending:
        node = pending.pop()
        if isinstance(node, nodes.Require):
            yield node
        elif isinstance(node, tuple):
            pending.extend(reversed(node))
        elif isinstance(node, (nodes.Stmt, nodes.Arm, nodes.Route, nodes.HostBlock, nodes.BlockValue)):
            pending.extend(getattr(node, name) for name in reversed(node.__dataclass_fields__) if name != "span")


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


def startup_refusal(program: nodes.Program, *, module: bool) -> tuple[str, int, int] | None:
    """The first error that must show before anything runs: message, line and column; the message of a module lacks its path."""
    if module:
        for statement in program.statements:
            if isinstance(statement, nodes.Serve):
                return "must not contain a 'serve' block", 0, 0
        for statement in program.statements:
            if isinstance(statement, nodes.Require):
                return "must not have a top-level 'require'", 0, 0
    for line in requires(program):
        row, column = line.span[:2]
        if canonical_name(line.capability) not in NAMES and line.capability not in INERT_NAMES:
            known = ", ".join(NAMES)
            return f"Unknown capability type: '{line.capability}'. Known: [{known}]", row, column
        if line.scope is not None and not is_literal(line.scope):
            return (
                f"the scope of `require {line.capability}` must be a literal text or number: what a program may do is read off its source",
                row,
                column,
            )
    return None
