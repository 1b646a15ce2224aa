"""What a ``serve`` block evaluates where it stands, and what its handlers take: facts of the tree that several passes need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from language.syntax import nodes
from language.syntax.walk import descend

#: Names that exist only inside handlers. A handler's Python function takes those that its body reads, in this order.
HANDLER_NAMES = ("request", "query", "params", "read_body", "read_body_bytes")


def handler_names(route: nodes.Route) -> tuple[str, ...]:
    """The names of the request that the body of a route reads."""
    read = {node.id for node in descend(route.body) if isinstance(node, nodes.Name)}
    return tuple(name for name in HANDLER_NAMES if name in read)


def request_fields(route: nodes.Route) -> tuple[str, ...] | None:
    """The fields of ``request`` that a body reads, when reading fields is all that it does with it; else ``None``."""
    read: dict[str, None] = {}
    plain = 0
    for node in descend(route.body):
        match node:
            case nodes.Field(obj=nodes.Name(id="request"), name=field) | nodes.Of(obj=nodes.Name(id="request"), name=field):
                read[field] = None
                plain += 1
            case nodes.Name(id="request"):
                plain -= 1
            case nodes.Set(target=target):
                while isinstance(target, (nodes.Index, nodes.Field, nodes.Of)):
                    target = target.obj
                if isinstance(target, nodes.Name) and target.id == "request":
                    return None
            case _:
                continue
    return tuple(read) if plain == 0 else None


def capabilities_used(route: nodes.Route, program: nodes.Program, gates: dict[str, str]) -> tuple[str, ...]:
    """The capabilities that a route may ask for, through the tasks of its file too, sorted. ``gates`` maps builtins to theirs.

    By name, so it may name one too many where a variable is called like a builtin.
    """
    tasks = {task.name: task for task in program.statements if isinstance(task, nodes.Task)}
    found: set[str] = set()
    pending: list[object] = [route.body]
    seen: set[str] = set()
    while pending:
        for node in descend(pending.pop()):
            match node:
                case nodes.Name(id=name) if name in tasks and name not in seen:
                    seen.add(name)
                    pending.append(tasks[name].body)
                case nodes.Name(id=name) if name in gates:
                    found.add(gates[name])
                case nodes.Reason() | nodes.Decide() | nodes.Analyze() | nodes.Generate():
                    found.add("llm")
                case _:
                    continue
    return tuple(sorted(found))


def proxied(route: nodes.Route) -> nodes.Expr | None:
    """Where a route sends its requests on, when that is all that it does."""
    if len(route.body) == 1 and isinstance(route.body[0], nodes.Proxy):
        return route.body[0].target
    return None


def clause_values(clause: nodes.Node) -> list[nodes.Expr]:
    """The expressions that a clause or route evaluates when the block runs, in the order of the source."""
    match clause:
        case nodes.Clause(kind=kind, operands=operands):
            return [value for _, value in operands if not _deferred(kind, value)]
        case nodes.RateLimit(amount=nodes.Expr() as value) | nodes.RouteTimeout(seconds=nodes.Expr() as value):
            return [value]
        case nodes.Route(rate_limit=rate, timeout=timeout):
            target = proxied(clause)
            found = [value for limit in (rate, timeout) if limit is not None for value in clause_values(limit)]
            return found if target is None else [*found, target]
        case _:
            return []


def _deferred(kind: str, value: nodes.Expr) -> bool:
    """A task for ``auth with`` may not be defined yet: then nobody is let in, which is no error of the block."""
    return kind == "auth" and isinstance(value, nodes.Name)


def deferred_values(clause: nodes.Node) -> list[nodes.Expr]:
    """Those that are looked up in a small function of their own, so that an unbound name does not end the block."""
    if not isinstance(clause, nodes.Clause):
        return []
    return [value for _, value in clause.operands if _deferred(clause.kind, value)]


def routes(clauses: Sequence[nodes.Node]) -> Iterator[nodes.Route]:
    """The routes of a block, those of its ``host`` blocks included."""
    for clause in clauses:
        if isinstance(clause, nodes.HostBlock):
            yield from routes(clause.clauses)
        elif isinstance(clause, nodes.Route):
            yield clause


def block_values(clauses: Sequence[nodes.Node]) -> list[nodes.Expr]:
    """All expressions of a block, in the order in which they are evaluated."""
    found: list[nodes.Expr] = []
    for clause in clauses:
        if isinstance(clause, nodes.HostBlock):
            found += [clause.name, *block_values(clause.clauses)]
        else:
            found += clause_values(clause)
    return found
