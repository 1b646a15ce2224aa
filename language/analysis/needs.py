"""Which capability each operation of a program needs, as far as its source says."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from language import library
from language.analysis.checker import Checked, CheckedFile
from language.capabilities import IMPLICIT, IMPLICIT_SERVED, STRUCTURED, Capability, canonical_name
from language.capabilities.scopes import db_target, net_target, normal_path
from language.errors import RuntimeFault
from language.registry import Builtin
from language.syntax import nodes
from language.syntax.walk import children

SCOPELESS = frozenset({"time", "random", "stdout", "stdin", "llm", "sandbox_run"})
#: Capabilities whose scope is the first argument as it stands.
NAMED_BY_FIRST_ARGUMENT = frozenset({"env", "secret", "exec"})
_MODEL_OPERATIONS = frozenset((nodes.Reason, nodes.Decide, nodes.Analyze, nodes.Generate))
#: Builtins that need no capability for what they are given and give as values, only for files.
_IN_MEMORY = frozenset({"zip_create", "zip_extract", "tar_create", "tar_extract"})
#: Names of capabilities of which one is enough, where the first one is needed.
_ALSO = {"file.read": ("file",), "file.write": ("file",)}


@dataclass(frozen=True, slots=True)
class Need:
    """``node`` needs ``capability``; ``task`` is the innermost task around it, empty outside of tasks.

    ``computed``: the scope is known when the program runs. ``names`` are the capabilities, by their names, of which one is
    needed. ``tried``: a refusal is an error that the program catches. ``sandboxed`` is the line of a ``sandbox`` around it that
    takes every capability away, 0 outside of those.
    """

    node: nodes.Node
    capability: Capability
    task: str
    computed: bool
    names: tuple[str, ...]
    tried: bool = False
    sandboxed: int = 0


def implicit_in(checked: Checked, *, deployed: bool = False) -> tuple[str, ...]:
    """The capabilities that a program has without a ``require`` line: fewer where it serves, or is deployed."""
    entry = checked.entry
    if deployed or (entry is not None and entry.index.of(nodes.Serve)):
        return IMPLICIT_SERVED
    return IMPLICIT


def needs_of(unit: CheckedFile, roots: Iterable[Any], implicit: tuple[str, ...]) -> Iterator[Need]:
    """What is needed at and below these statements of a file, in the order of the source.

    ``implicit`` are the capabilities that are there without a ``require`` line. Tests are run by hand: they have what every
    such run has.
    """
    bound = unit.bound
    builtins = library().all_builtins()
    piped: dict[int, nodes.Expr] = {}
    asking = _asking(builtins, bound)
    for root in roots:
        if not any(map(asking, unit.index.below(root))):
            continue
        outside = IMPLICIT if isinstance(root, nodes.Test) else implicit
        for task, tried, sandboxed, node in _with_surroundings(root):
            given = () if sandboxed else outside
            kind = node.__class__
            if kind is nodes.Pipe:
                before = node.first
                for step in node.steps:
                    piped[id(step)] = before
                    before = step
            elif kind is nodes.Call or (kind is nodes.Name and id(node) in piped):
                called = node.func if kind is nodes.Call else node
                if called.__class__ is nodes.Name and called.id in builtins and called.id not in bound:
                    arguments = node.args if kind is nodes.Call else ()
                    if id(node) in piped:
                        arguments = (nodes.Arg(None, piped[id(node)], node.span[:2]), *arguments)
                    yield from _needed(builtins[called.id], node, arguments, task, given, tried, sandboxed)
            elif kind in _MODEL_OPERATIONS:
                if "llm" not in given:
                    yield Need(node, Capability("llm", None), task, False, ("llm",), tried, sandboxed)
            elif kind is nodes.Serve:
                if isinstance(node.port, (nodes.Number, nodes.Text)) and isinstance(node.port.value, (int, str)):
                    yield Need(node, Capability("serve", str(node.port.value).strip()), task, False, ("serve",))
            elif kind is nodes.Proxy and isinstance(node.target, nodes.Text):
                target = _canonical("net", node.target.value)
                if target is not None:
                    yield Need(node, target, task, False, ("net",))


def _asking(builtins: Mapping[str, Builtin], bound: Container[str]) -> Callable[[Any], bool]:
    """Whether a node may need something: it names a builtin with a capability, or it is a construct that has one."""

    def asks(node: Any) -> bool:
        kind = node.__class__
        if kind is nodes.Name:
            builtin = builtins.get(node.id)
            return builtin is not None and builtin.capability is not None and node.id not in bound
        return kind in _MODEL_OPERATIONS or kind is nodes.Serve or kind is nodes.Proxy

    return asks


def _with_surroundings(root: Any) -> Iterator[tuple[str, bool, int, Any]]:
    """Every node at and below ``root``, with the name of the innermost task around it, whether it stands in a ``try``, and the
    line of the ``sandbox`` that it runs in."""
    pending = [("", False, 0, root)]
    while pending:
        task, tried, sandboxed, node = pending.pop()
        yield task, tried, sandboxed, node
        inner = node.name if node.__class__ is nodes.Task else task
        inside = children(node)
        body = len(node.body) if node.__class__ is nodes.Try else 0
        if node.__class__ is nodes.Task or node.__class__ is nodes.Lambda:
            sandboxed = 0  # it may be called elsewhere
        elif node.__class__ is nodes.SandboxExpr or (node.__class__ is nodes.Sandbox and node.under is None):
            sandboxed = sandboxed or node.span[0]
        pending += [(inner, tried or at < body, sandboxed, inside[at]) for at in range(len(inside) - 1, -1, -1)]


def _needed(
    builtin: Builtin,
    node: nodes.Node,
    arguments: tuple[nodes.Arg, ...],
    task: str,
    implicit: tuple[str, ...],
    tried: bool,
    sandboxed: int,
) -> Iterator[Need]:
    name = canonical_name(builtin.capability or "")
    if not name or name in implicit or name == "stdin" or builtin.name in _IN_MEMORY:
        return
    if builtin.facts.seeded is not None and len(arguments) >= builtin.facts.seeded:
        return  # it draws from a generator that it is given
    known = _known(builtin, name, arguments)
    if builtin.name.startswith("mcp_"):  # another server is reached at a URL, or is a command
        names: tuple[str, ...] = ("net", "exec")
    else:
        names = (name, *_ALSO.get(name, ()))
    yield Need(node, known or Capability(name, None), task, known is None, names, tried, sandboxed)


def _known(builtin: Builtin, name: str, arguments: tuple[nodes.Arg, ...]) -> Capability | None:
    """The capability with its scope, as far as the arguments stand in the source; ``None`` for a computed scope."""
    if name in SCOPELESS:
        return Capability(name, None)
    if name in NAMED_BY_FIRST_ARGUMENT and arguments and isinstance(arguments[0].value, nodes.Text):
        return Capability(name, arguments[0].value.value)
    # Of the database builtins only the one that opens names its database.
    if name in STRUCTURED and (name != "db" or builtin.name == "db_open"):
        at = builtin.params.index("url") if "url" in builtin.params else 0
        if len(arguments) > at and all(argument.name is None for argument in arguments[: at + 1]):
            value = arguments[at].value
            return _canonical(name, value.value) if isinstance(value, nodes.Text) else None
    return None


def _canonical(name: str, text: str) -> Capability | None:
    try:
        if name == "net":
            return Capability(name, net_target(text, "").scope)
        return Capability(name, db_target(text).scope if name == "db" else normal_path(text))
    except RuntimeFault:
        return None  # the call itself will say so
