"""What a ``serve`` block evaluates where it stands, and what its handlers use. Several passes of the compiler need this."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from language.syntax import nodes
from language.syntax.walk import descend

#: Names that exist only inside handlers. A handler's Python function has those that its body reads as parameters, in this
#: order.
HANDLER_NAMES = ("request", "query", "params", "read_body", "read_body_bytes")
#: Those that `expect` assigns again, with checked fields of the declared types.
RENEWED_BY_EXPECT = ("request", "query")


def handler_names(route: nodes.Route) -> tuple[str, ...]:
    """The names of the request that the body of a route reads."""
    read = {node.id for node in descend(route.body) if isinstance(node, nodes.Name)}
    return tuple(name for name in HANDLER_NAMES if name in read)


def request_fields(body: Iterable[Any]) -> tuple[str, ...] | None:
    """The fields of ``request`` that a body reads, if it uses ``request`` in no other way; else ``None``."""
    read: dict[str, None] = {}
    plain = 0
    for node in body:
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


class CapabilitiesUsed:
    """The capabilities that the routes of a file may need, also through its tasks. ``gates`` maps builtins to their
    capabilities.

    Calls are found by name, so a variable named like a builtin may add one too many. Each task is analysed once.
    """

    def __init__(self, program: nodes.Program, gates: dict[str, str]) -> None:
        self._tasks = {task.name: task for task in program.statements if isinstance(task, nodes.Task)}
        self._gates = gates
        self._of_tasks: dict[str, frozenset[str]] | None = None

    def by(self, body: Iterable[Any]) -> tuple[str, ...]:
        """The capabilities of the route whose body has these nodes, sorted."""
        found, called = self._read(body)
        if called:
            if self._of_tasks is None:
                self._of_tasks = self._through_tasks()
            found = found.union(*[self._of_tasks[name] for name in called])
        return tuple(sorted(found))

    def _read(self, body: Iterable[Any]) -> tuple[frozenset[str], frozenset[str]]:
        """The capabilities that a body uses directly, and the tasks that it names."""
        found: set[str] = set()
        called: set[str] = set()
        for node in body:
            match node:
                case nodes.Name(id=name):
                    if name in self._tasks:
                        called.add(name)
                    elif name in self._gates:
                        found.add(self._gates[name])
                case nodes.Reason() | nodes.Decide() | nodes.Analyze() | nodes.Generate():
                    found.add("llm")
                case _:
                    continue
        return frozenset(found), frozenset(called)

    def _through_tasks(self) -> dict[str, frozenset[str]]:
        """The capabilities of each task, including those of the tasks that it names (a fixed point)."""
        callers: dict[str, list[str]] = {name: [] for name in self._tasks}
        used: dict[str, set[str]] = {}
        for name, task in self._tasks.items():
            found, called = self._read(descend(task.body))
            used[name] = set(found)
            for other in called:
                callers[other].append(name)
        pending = [(name, capability) for name, found in used.items() for capability in found]
        while pending:
            name, capability = pending.pop()
            for caller in callers[name]:
                if capability not in used[caller]:
                    used[caller].add(capability)
                    pending.append((caller, capability))
        return {name: frozenset(found) for name, found in used.items()}


def proxied(route: nodes.Route) -> nodes.Expr | None:
    """Where a route forwards its requests, when it does nothing else and the target does not depend on the request."""
    if len(route.body) == 1 and isinstance(route.body[0], nodes.Proxy) and not handler_names(route):
        return route.body[0].target
    return None


def clause_values(clause: nodes.Node) -> list[nodes.Expr]:
    """The expressions that a clause or route evaluates when the block runs, in source order."""
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
    """A task of ``auth with`` may not be defined yet. Every request is refused then, but the block itself is no error."""
    return kind == "auth" and isinstance(value, nodes.Name)


def deferred_values(clause: nodes.Node) -> list[nodes.Expr]:
    """The values that are looked up in a small function of their own, so that an unbound name is no error of the block."""
    if not isinstance(clause, nodes.Clause):
        return []
    return [value for _, value in clause.operands if _deferred(clause.kind, value)]


def routes(clauses: Sequence[nodes.Node]) -> Iterator[nodes.Route]:
    """The routes of a block, including those of its ``host`` blocks."""
    for clause in clauses:
        if isinstance(clause, nodes.HostBlock):
            yield from routes(clause.clauses)
        elif isinstance(clause, nodes.Route):
            yield clause


def block_values(clauses: Sequence[nodes.Node]) -> list[nodes.Expr]:
    """All expressions of a block in the order of evaluation."""
    found: list[nodes.Expr] = []
    for clause in clauses:
        if isinstance(clause, nodes.HostBlock):
            found += [clause.name, *block_values(clause.clauses)]
        else:
            found += clause_values(clause)
    return found
