"""Reads the manifest of a program off its source: nothing is run, and no file is opened that was not given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from language.analysis.checker import Checked, CheckedFile, check_program
from language.analysis.manifest import (
    DeclaredGate,
    DeclaredJob,
    DeclaredRoute,
    DeclaredTool,
    Manifest,
    Problem,
    Reading,
    Requirement,
)
from language.analysis.problems import problems_of
from language.analysis.reachability import reached
from language.analysis.tool_sets import LOOP, TaskReach, declared_tools
from language.capabilities import Capability, declared
from language.capabilities.require_lines import requires, scope_text
from language.capabilities.widening import surely_covers
from language.errors import LimitExceeded
from language.host.files import GivenFiles
from language.runtime.limits import Limits, run_within
from language.runtime.modules import EXTENSION, BundledSources
from language.syntax import nodes
from language.syntax.render_calls import literal_text

DEFAULT_ENTRY = "main.lang"


def inspect(
    program: str | Mapping[str, str | bytes],
    *,
    entry: str | None = None,
    limits: Mapping[str, int] | None = None,
    deployed: bool = False,
) -> Manifest:
    """Reads what a program declares, reads, asks, serves and schedules, without running it.

    ``program`` is the text of its one file, or maps paths (relative, with ``/``) to the contents of its files: modules,
    templates, data. ``entry`` is the path of the entry file. Without it that is ``main.lang``, else the only ``.lang`` file
    that lies in no folder, else the only file.

    ``deployed`` says that the program is to run under a ceiling made of its ``require`` lines, as on the platform. There is a
    warning for what it uses without a line and would have by itself elsewhere.

    ``limits`` bounds the work: ``time_ms`` in milliseconds, ``memory_bytes`` in bytes beyond what the process has taken.

    Faults of the program are in ``errors`` of the manifest, and so is a limit that was passed. Raises ``ValueError`` where the
    entry file is not known or not there, or a limit is invalid, and ``TypeError`` for a wrong argument.
    """
    bounds = _bounds(limits)
    if isinstance(program, str):
        name = entry or DEFAULT_ENTRY
        files: dict[str, bytes] = {name: program.encode("utf-8", "replace")}
    elif isinstance(program, Mapping):
        files = {path: _bytes(path, content) for path, content in program.items()}
        name = _entry(files, entry)
    else:
        raise TypeError(f"program must be text or a mapping from paths to contents, not {type(program).__name__}")
    try:
        source = files[name].decode("utf-8")
    except UnicodeDecodeError:
        return _unusable(name, (Problem(name, 0, 0, "the file is not UTF-8", "syntax", "E0101"),))
    sources = BundledSources({path: data.decode("utf-8", "replace") for path, data in files.items()})
    _load_for_any_program()
    found: list[Manifest] = []
    try:
        run_within(
            bounds,
            lambda: found.append(manifest_of(check_program(source, name, sources, GivenFiles(files)), name, deployed=deployed)),
        )
    except LimitExceeded as error:
        return _unusable(name, (Problem(name, 0, 0, str(error), "resources", "E0903"),))
    return found[0]


def _load_for_any_program() -> None:
    """Loads what the first program of a process would load, so that this does not count for the limits of that program."""
    from language import library
    from language.syntax.table_reading import tables

    tables()
    library().all_builtins()


def _bounds(limits: Mapping[str, int] | None) -> Limits:
    for name in limits or ():
        if name not in ("time_ms", "memory_bytes"):
            raise ValueError(f"limits: {name!r} does not bound an inspection. Known: time_ms, memory_bytes")
    return Limits.parse(limits)


def _bytes(path: object, content: object) -> bytes:
    if not isinstance(path, str):
        raise TypeError(f"the path of a file must be text, not {type(path).__name__}")
    if isinstance(content, str):
        return content.encode("utf-8", "replace")
    if isinstance(content, bytes):
        return content
    raise TypeError(f"{path!r} must be text or bytes, not {type(content).__name__}")


def _entry(files: Mapping[str, bytes], named: str | None) -> str:
    if named is not None:
        if named not in files:
            raise ValueError(f"there is no file {named!r}")
        return named
    if DEFAULT_ENTRY in files:
        return DEFAULT_ENTRY
    top = [path for path in files if path.endswith(EXTENSION) and "/" not in path]
    for candidates in (top, list(files)):
        if len(candidates) == 1:
            return candidates[0]
    raise ValueError(f"which file is the entry? There is no {DEFAULT_ENTRY}: name one")


# ---- the manifest of a checked program -----------------------------------------------------------------------------------


def manifest_of(checked: Checked, name: str, *, deployed: bool = False) -> Manifest:
    """The manifest of a checked program; ``name`` is the one to show for its entry file."""
    problems = problems_of(checked, deployed=deployed)
    if problems.refusals or checked.entry is None:
        return _unusable(name, problems.errors)
    found = _Findings(checked)
    serves = [node for node in found.nodes[""] if isinstance(node, nodes.Serve)]
    return Manifest(
        entry=name,
        kind="web" if serves else "worker",
        port=next((port for serve in serves if (port := _number(serve.port)) is not None), None),
        errors=(),
        faults=problems.faults,
        warnings=problems.warnings,
        files=tuple(unit.file for unit in checked.units.values()),
        templates=tuple(sorted(checked.templates)),
        requires=_requirements(checked),
        secrets=tuple(found.readings("secret")),
        env=tuple(found.readings("env")),
        routes=tuple(found.routes()),
        gates=tuple(found.gates()),
        cron=tuple(found.jobs()),
        agents=tuple(node.name for unit, node in found.each(nodes.Agent)),
        tools=tuple(dict.fromkeys(found.tools(checked))),
    )


def _unusable(name: str, errors: tuple[Problem, ...]) -> Manifest:
    return Manifest(name, "worker", None, errors, (), (), (), (), (), (), (), (), (), (), ())


def _requirements(checked: Checked) -> tuple[Requirement, ...]:
    importers: dict[str, str] = {}
    for unit in checked.units.values():
        for real in unit.imports.values():
            importers.setdefault(real, unit.file)
    own: list[Capability] = []
    lines = []
    for real, unit in checked.units.items():
        for line in requires(unit.program):
            capability = declared(line.capability, scope_text(line.scope))
            if not real:
                own.append(capability)
            covered = not real or any(surely_covers(grant, capability) for grant in own)
            lines.append(Requirement(capability, unit.file, line.span[0], bool(real), importers.get(real), covered))
    return tuple(lines)


class _Findings:
    """Collects what is written literally in the statements that can come to run."""

    def __init__(self, checked: Checked) -> None:
        self._units = checked.units
        #: by the key of each file the nodes of those statements, without tests
        self.nodes: dict[str, list[Any]] = {
            key: [
                node
                for statement in statements
                if not isinstance(statement, nodes.Test)
                for node in checked.units[key].index.below(statement)
            ]
            for key, statements in reached(checked).items()
        }

    def each(self, kind: type[Any]) -> Iterator[tuple[CheckedFile, Any]]:
        for key, unit in self._units.items():
            for node in self.nodes[key]:
                if isinstance(node, kind):
                    yield unit, node

    def _calls(self, *builtins: str) -> Iterator[tuple[CheckedFile, str, nodes.Node, list[nodes.Expr | None]]]:
        """The calls of builtins by their names, also through a pipe: the file, the name, the place, the arguments."""
        for key, unit in self._units.items():
            for name, node, arguments in _calls_in(self.nodes[key]):
                if name in builtins and name not in unit.bound:
                    yield unit, name, node, arguments

    def readings(self, builtin: str) -> Iterator[Reading]:
        for unit, _, node, arguments in self._calls(builtin):
            name = _text(arguments[0]) if arguments else None
            if name is not None:
                yield Reading(name, len(arguments) > 1, unit.file, *node.span[:2])

    def gates(self) -> Iterator[DeclaredGate]:
        for unit, node in self.each(nodes.Gate):
            yield DeclaredGate(node.kind, _text(node.message), unit.file, *node.span[:2])

    def tools(self, checked: Checked) -> Iterator[DeclaredTool]:
        keys = {id(unit): key for key, unit in self._units.items()}
        reach: TaskReach | None = None
        for unit, _, _, arguments in self._calls(LOOP, "mcp_reply"):
            if len(arguments) > 1 and arguments[1] is not None:
                reach = reach or TaskReach(checked)
                yield from declared_tools(reach, keys[id(unit)], unit, arguments[1])

    def jobs(self) -> Iterator[DeclaredJob]:
        for unit, name, node, arguments in self._calls("cron_every", "cron_after"):
            when, task = [*arguments, None, None][:2]
            schedule = _text(when)
            seconds = None if schedule is not None else _number(when)
            if seconds is not None:
                schedule = f"{'every' if name == 'cron_every' else 'after'} {seconds}s"
            named = task.id if isinstance(task, nodes.Name) else _text(task)
            yield DeclaredJob(schedule, named, unit.file, *node.span[:2])

    def routes(self) -> Iterator[DeclaredRoute]:
        groups = {(unit.file, node.name): (unit, node) for unit, node in self.each(nodes.RouteGroup)}
        for unit, serve in self.each(nodes.Serve):
            yield from self._routes(unit, serve.clauses, "", groups)

    def _routes(
        self,
        unit: CheckedFile,
        clauses: Iterable[nodes.Node],
        host: str,
        groups: Mapping[tuple[str, str], tuple[CheckedFile, nodes.RouteGroup]],
    ) -> Iterator[DeclaredRoute]:
        for clause in clauses:
            match clause:
                case nodes.Route():
                    yield _route(unit, clause, host, "")
                case nodes.HostBlock(name=name, clauses=inner):
                    yield from self._routes(unit, inner, _text(name) or "", groups)
                case nodes.Clause(kind="mount", operands=operands):
                    prefix = next((_text(value) for word, value in operands if word == "at"), "")
                    named = self._group(unit, operands[0][1])
                    if named in groups:
                        owner, group = groups[named]
                        for route in group.routes:
                            yield _route(owner, route, host, (prefix or "").rstrip("/"))
                case _:
                    continue

    def _group(self, unit: CheckedFile, value: nodes.Expr) -> tuple[str, str]:
        """The file and name of the group of routes that a ``mount`` clause names."""
        match value:
            case nodes.Field(obj=nodes.Name(id=alias), name=name) | nodes.Of(obj=nodes.Name(id=alias), name=name):
                module = self._units.get(unit.imports.get(alias, ""))
                return ("" if module is None else module.file, name)
            case nodes.Name(id=name):
                return (unit.file, name)
            case _:
                return ("", "")


def _route(unit: CheckedFile, route: nodes.Route, host: str, prefix: str) -> DeclaredRoute:
    path = route.path if not prefix or route.path != "/" else ""
    return DeclaredRoute(route.method, prefix + path, host, route.requires_auth, unit.file, *route.span[:2])


def _calls_in(found: Iterable[Any]) -> Iterator[tuple[str, nodes.Node, list[nodes.Expr | None]]]:
    """Every call by a name among these nodes, also through a pipe: the name, the place, the arguments, ``None`` for the value
    that a further step of a pipe gets from the one before."""
    steps: set[int] = set()
    for node in found:
        match node:
            case nodes.Call(func=nodes.Name(id=name), args=args) if id(node) not in steps:
                yield name, node, [argument.value for argument in args]
            case nodes.Pipe(first=first):
                piped: nodes.Expr | None = first
                for step in node.steps:
                    steps.add(id(step))
                    match step:
                        case nodes.Name(id=name):
                            yield name, node, [piped]
                        case nodes.Call(func=nodes.Name(id=name), args=args):
                            yield name, node, [piped, *(argument.value for argument in args)]
                        case _:
                            pass
                    piped = None
            case _:
                continue


def _text(value: nodes.Expr | None) -> str | None:
    """The text that an expression writes out in full; ``None`` for a computed one."""
    return None if value is None else literal_text(value)


def _number(value: nodes.Expr | None) -> Any:
    """The number that an expression writes out; ``None`` for any other."""
    return value.value if isinstance(value, nodes.Number) else None
