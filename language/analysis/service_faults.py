"""What routes read of a request and it has not, and tasks of a ``serve`` block with a wrong number of parameters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from language.analysis.literal_faults import Fault
from language.analysis.manifest import Problem
from language.analysis.meanings import FileMeanings, Meanings
from language.analysis.name_places import SourceText
from language.compiler.resolution import Variable
from language.errors import RuntimeFault
from language.hints import did_you_mean
from language.serve.routes import LITERAL, parse_pattern
from language.syntax import nodes
from language.syntax.walk import descend
from language.values.operators import missing_key

#: The fields of ``request``.
REQUEST_FIELDS = (
    *("method", "path", "body", "body_file", "json", "headers", "cookies", "query", "params", "form", "ip", "user"),
)
_OF_REQUEST = dict.fromkeys(REQUEST_FIELDS)
#: The most names that are compared or listed, and the most suggestions of a file.
_MOST_SHOWN = 20
#: The tasks of clauses: how many parameters they may have, and how that is said.
_TASKS = {
    "auth": ((1, 2), "1 (token) or 2 (token, request) parameters"),
    "errors": ((3,), "3 parameters (status, message, request)"),
}
_FORMS = {"auth": "(token) => ...", "errors": "(status, message, request) => ..."}


def service_faults(file: FileMeanings) -> Iterator[Fault]:
    """Those of a file."""
    for node in file.index.of(nodes.Clause):
        if node.kind in _TASKS:
            yield from _wrong_parameters(file, node)
    of_requests = _Requests(file)
    if of_requests.any:
        yield from of_requests.faults()


def service_warnings(meanings: Meanings) -> Iterator[Problem]:
    """Fields that ``expect`` does not declare, and changes of variables that end with the request."""
    for file in meanings.files.values():
        of_requests = _Requests(file)
        if of_requests.any:
            yield from of_requests.undeclared()
        if not file.key:
            yield from _changed_for_one_request(file)


# ---- tasks of clauses ---------------------------------------------------------------------------------------------------


def _wrong_parameters(file: FileMeanings, clause: nodes.Clause) -> Iterator[Fault]:
    task = next((value for word, value in clause.operands if word == "with"), None)
    meaning = None if task is None else file.of(task)
    if task is None or not isinstance(meaning, (nodes.Task, nodes.Lambda)):
        return
    counts, expected = _TASKS[clause.kind]
    got = len(meaning.params)
    if got not in counts:
        message = f"{clause.kind} task must take {expected}, got {got}"
        name = f"task {meaning.name}" if isinstance(meaning, nodes.Task) else ""
        form = _FORMS[clause.kind]
        told = f"Write `{name}{form.partition(' =>')[0]}`." if name else f"Write `{form}`."
        yield clause, RuntimeFault(message, code="E0702", help=told), task.span


# ---- what a request has -------------------------------------------------------------------------------------------------


class _Requests:
    """The reads of fields of what handlers are given, in one file."""

    def __init__(self, file: FileMeanings) -> None:
        self._file = file
        #: by the ``id`` of a handler's variable: its name and its route
        self._given: dict[int, tuple[str, nodes.Route]] = {}
        self._in_groups: set[int] = set()
        self._params: dict[int, dict[str, None]] = {}
        self._suggestions = _MOST_SHOWN
        for group in file.index.of(nodes.RouteGroup):
            self._in_groups.update(id(route) for route in group.routes)
        for route in file.index.of(nodes.Route):
            scope = file.resolution.scopes.get(id(route))
            for name in ("request", "query", "params") if scope is not None else ():
                variable = scope.names.get(name) if scope is not None else None
                if variable is not None and _only_given(variable):
                    self._given[id(variable)] = name, route

    @property
    def any(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self._given)

    def faults(self) -> Iterator[Fault]:
        """Reads that surely fail."""
        targets = {id(node.target) for node in self._file.index.of(nodes.Set)}
        for node, owner, key in self._reads():
            found = None if id(node) in targets else self._given_at(owner)
            if found is None:
                continue
            name, route = found
            if name == "request":
                known = _OF_REQUEST
                told = f"`request` has {_listed(known)}."
            elif name == "params" and id(route) not in self._in_groups:
                known = self._params_of(route)
                told = f"The path `{route.path}` has {_listed(known) if known else f'no `:{key}`'}."
            else:
                continue
            if key not in known:
                fault = missing_key(key)
                fault.code, fault.help = "E0401", self._near(key, known) or told
                yield node, fault, (*node.at, *node.span[2:])

    def _params_of(self, route: nodes.Route) -> dict[str, None]:
        if id(route) not in self._params:
            segments = parse_pattern(route.path)
            self._params[id(route)] = dict.fromkeys(text for rank, text in segments if rank != LITERAL)
        return self._params[id(route)]

    def undeclared(self) -> Iterator[Problem]:
        """Reads of fields of ``query``, ``request.json`` and ``request.form`` that the route's ``expect`` does not name."""
        if not self._file.index.of(nodes.Expect):
            return
        declared: dict[int, dict[str, tuple[int, dict[str, None]]]] = {}
        for node, owner, key in self._reads():
            place, found = "", None
            match owner:
                case nodes.Name():
                    found, place = self._given_at(owner), "query"
                    if found is not None and found[0] != "query":
                        continue
                case nodes.Field(obj=nodes.Name() as obj, name="json" | "form" | "query" as part):
                    found, place = self._given_at(obj), "body" if part == "json" else part
                    if found is not None and found[0] != "request":
                        continue
            if found is None:
                continue
            route = found[1]
            if id(route) not in declared:
                declared[id(route)] = _declared(route)
            line, fields = declared[id(route)].get(place, (0, {}))
            if line and key not in fields:
                near = self._near(key, fields)
                told = near or f'Add `{key}` to that line, or read it with `get({self._shown(owner)}, "{key}", default)`.'
                message = f"`expect {place}` on line {line} does not declare the field `{key}`: it may be missing"
                span: nodes.Span = (*node.at, *node.span[2:])
                yield Problem(self._file.unit.file, *span[:2], message, "warning", "W0123", *span[2:], told)

    def _reads(self) -> Iterator[tuple[Any, nodes.Expr, str]]:
        """The fields that are read by a name that is written out: the node, whose field it is, the name."""
        for node in self._file.index.of(nodes.Field, nodes.Of, nodes.Index):
            match node:
                case nodes.Field(obj=obj, name=name) | nodes.Of(obj=obj, name=name):
                    yield node, obj, name
                case nodes.Index(obj=obj, index=nodes.Text(value=name)):
                    yield node, obj, name
                case _:
                    continue

    def _given_at(self, node: nodes.Expr) -> tuple[str, nodes.Route] | None:
        ref = self._file.ref(node) if isinstance(node, nodes.Name) else None
        return self._given.get(id(ref.variables[0])) if ref is not None and len(ref.variables) == 1 else None

    def _near(self, key: str, known: dict[str, None]) -> str:
        self._suggestions -= 1
        near = did_you_mean(key, list(islice(known, _MOST_SHOWN))) if self._suggestions >= 0 else ""
        return f"Did you mean `{near}`?" if near else ""

    @staticmethod
    def _shown(owner: nodes.Expr) -> str:
        return f"request.{owner.name}" if isinstance(owner, nodes.Field) else "query"


def _only_given(variable: Variable) -> bool:
    """Whether nothing but the server, and ``expect``, gives a variable its value."""
    return all(value is None for value in variable.values)


def _listed(names: dict[str, None]) -> str:
    return ", ".join(f"`{name}`" for name in islice(names, _MOST_SHOWN))


def _declared(route: nodes.Route) -> dict[str, tuple[int, dict[str, None]]]:
    """By place the line of the first ``expect`` of a route for it, and the fields of all."""
    found: dict[str, tuple[int, dict[str, None]]] = {}
    for node in descend(route.body, closed=(nodes.Expr,)):
        if isinstance(node, nodes.Expect):
            _, fields = found.setdefault(node.place, (node.span[0], {}))
            fields.update((name, None) for name, _, _ in node.fields)
    return found


# ---- changes that end with the request ----------------------------------------------------------------------------------


def _changed_for_one_request(file: FileMeanings) -> Iterator[Problem]:
    """``set hits to hits + 1`` in a route, where ``hits`` is a variable of the file."""
    text: SourceText | None = None
    for serve in file.index.of(nodes.Serve):
        for node in file.index.below(serve):
            if not isinstance(node, nodes.Set):
                continue
            target = node.target
            while isinstance(target, (nodes.Field, nodes.Index, nodes.Of)):
                target = target.obj
            ref = file.ref(target) if isinstance(target, nodes.Name) else None
            if ref is None or len(ref.variables) != 1 or ref.variables[0].scope.parent is not None:
                continue
            assert isinstance(target, nodes.Name)
            if not any(_reads(file, inner, ref.variables[0]) for inner in descend(node.value)):
                continue
            name = target.id
            message = f"each request begins with its own copy of `{name}`: this change is undone after the reply"
            text = text or SourceText(file.unit.file, file.unit.source)
            told = _kept(text, node, name)
            yield Problem(file.unit.file, *node.span[:2], message, "warning", "W0119", *node.span[2:], told)


def _reads(file: FileMeanings, node: Any, variable: Variable) -> bool:
    ref = file.ref(node) if isinstance(node, nodes.Name) else None
    return ref is not None and ref.variables == (variable,)


def _kept(text: SourceText, node: nodes.Set, name: str) -> str:
    """How to keep the value for later requests, with the names of the program."""
    if not isinstance(node.target, nodes.Name):
        return _in_general(name)
    match node.value:
        case nodes.Arith(first=nodes.Name(id=first), links=(nodes.Link(op="+", operand=nodes.Number(value=step)),)) if (
            first == name
        ):
            by = "" if step == 1 else f", {step}"
            return f'Count in the shared state: `let {name} be state_incr("{name}"{by})`, or keep it in a database.'
        case nodes.Call(func=nodes.Name(id="append"), args=(_, nodes.Arg(value=item))) if item.span[0] == item.span[2]:
            shown = text.text(item.span)
            if len(shown) <= 60:
                made = f'state_set("{name}", append(state_get("{name}", []), {shown}))'
                return f"Keep it in the shared state: `let {name} be {made}`, or in a database."
    return _in_general(name)


def _in_general(name: str) -> str:
    return f'Keep it in the shared state, `state_set("{name}", ...)` and `state_get("{name}")`, or in a database.'
