"""What the files of a program define: each name with its place, its kind and the part of the file in which it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from language.analysis.checker import CheckedFile
from language.analysis.name_places import SourceRange, SourceText
from language.compiler.resolution import Resolution, Scope, Variable
from language.compiler.serve_facts import HANDLER_NAMES
from language.syntax import nodes
from language.syntax.walk import descend

LONGEST_SIGNATURE = 100


@dataclass(slots=True, eq=False)
class Draft:
    """A symbol whose references are still being found."""

    name: str
    kind: str
    line: int
    column: int
    exported: bool
    documentation: str
    signature: str
    whole: SourceRange
    references: list[SourceRange]
    #: what stands behind a dot: variants of an enum, by name
    members: dict[str, Draft]
    #: parameters of a task, by name
    params: dict[str, Draft]
    #: of a module: its key in ``checked.units``
    module: str | None


class FileNames:
    """What was found in one file."""

    def __init__(self, unit: CheckedFile, resolution: Resolution) -> None:
        self.unit = unit
        self.resolution = resolution
        self.text = SourceText(unit.file, unit.source)
        self.drafts: list[Draft] = []
        self.of_variable: dict[int, Draft] = {}
        #: what is visible everywhere in the file although another one defines it
        self.outer: list[Draft] = []
        #: by the ``id`` of a scope: what a handler is given and does not read
        self.given: dict[int, list[Draft]] = {}
        #: by line: first column, end, what stands there
        self.occurrences: dict[int, list[tuple[int, int, Draft]]] = {}
        self._regions: list[tuple[tuple[int, int], tuple[int, int], int, Scope]] = []
        self._starts: list[tuple[int, int]] = []

    def define(
        self,
        name: str,
        kind: str,
        at: SourceRange | None,
        whole: nodes.Span,
        signature: str = "",
        *,
        exported: bool = False,
        documentation: str = "",
        variable: Variable | None = None,
        module: str | None = None,
    ) -> Draft:
        """A place that defines a name: of a variable that has a draft already it is one more reference."""
        known = None if variable is None else self.of_variable.get(id(variable))
        if known is not None:
            known.exported |= exported
            if at is not None:
                self.refer(known, at)
            return known
        place = at or SourceRange(self.unit.file, *whole)
        draft = Draft(
            *(name, kind, place.line, place.column, exported, documentation, signature[:LONGEST_SIGNATURE]),
            *(self.text.range(whole), [], {}, {}, module),
        )
        if variable is not None:
            self.of_variable[id(variable)] = draft
        if at is not None:
            self.drafts.append(draft)
            self._occurs(draft, at)
        return draft

    def refer(self, draft: Draft, at: SourceRange) -> None:
        draft.references.append(at)
        self._occurs(draft, at)

    def _occurs(self, draft: Draft, at: SourceRange) -> None:
        self.occurrences.setdefault(at.line, []).append((at.column, at.end_column, draft))

    def region(self, node: Any, start: tuple[int, int] | None = None) -> None:
        """The part of the file in which the scope of a node holds."""
        scope = self.resolution.scopes.get(id(node))
        if scope is not None:
            line, column, end_line, end_column = node.span
            # a lambda ends where it ends; a block goes on as far as what follows is indented
            indent = self.text.lines[line - 1][: column - 1]
            block = not isinstance(node, nodes.Lambda)
            width = len(indent) - len(indent.lstrip()) if block else 1_000_000
            self._regions.append((start or (line, column), (end_line, end_column), width, scope))

    def statement(self, node: nodes.Stmt) -> None:
        self._starts.append(node.span[:2])

    def scope_at(self, line: int, column: int) -> Scope:
        place = (line, column)
        best = self.resolution.top
        latest = (0, 0)
        for start, end, width, scope in self._regions:
            if start > place or start < latest:
                continue
            inside = place <= end or (column > width + 1 and not any(end < other <= place for other in self._starts))
            if inside:
                best, latest = scope, start
        return best


class Definitions:
    """Enters what one node defines."""

    def __init__(self, file: FileNames) -> None:
        self._file = file
        self._bound = file.resolution.bound

    def node(self, node: Any) -> None:
        file = self._file
        if isinstance(node, nodes.Stmt):
            file.statement(node)
        match node:
            case nodes.Let():
                signature = file.text.text(node.span)
                documentation = file.text.comment_above(node.span[0])
                self._statement(node, "variable", signature, exported=node.exported, documentation=documentation)
            case nodes.LetParts():
                for pattern in descend(node.pattern):
                    self._pattern(node, pattern, file.text.text(node.span), exported=node.exported)
            case nodes.Task():
                self._task(node)
            case nodes.TypeDef():
                self._type(node)
            case nodes.EnumDef():
                self._enum(node)
            case nodes.RouteGroup():
                self._statement(node, "group", f"export routes {node.name}", exported=True)
            case nodes.Use():
                module = file.unit.imports.get(node.alias)
                variable = self._bound.get((id(node), node.alias))
                signature = file.text.text(node.span)
                file.define(node.alias, "module", file.text.alias(node), node.span, signature, variable=variable, module=module)
            case nodes.Each():
                self._statement(node, "variable", f"each {node.name} in {file.text.text(node.iterable.span)}")
                file.region(node, node.iterable.span[2:])
            case nodes.Lambda():
                self._lambda(node)
            case nodes.Arm():
                for pattern in descend(node.pattern):
                    self._pattern(node, pattern)
                file.region(node)
            case nodes.Try():
                variable = self._bound.get((id(node), node.name))
                at = file.text.caught(node)
                file.define(node.name, "variable", at, node.span, f"recover {node.name}", variable=variable)
                line = file.text.recover_line(node)
                file.region(node, None if line is None else (line, 1))
            case nodes.Observe(alias=alias) | nodes.WaitFor(alias=str(alias)):
                signature = file.text.text(node.span)
                variable = self._bound.get((id(node), alias))
                file.define(alias, "variable", file.text.alias(node), node.span, signature, variable=variable)
            case nodes.Sandbox():
                file.region(node)
            case nodes.Socket():
                variable = self._bound.get((id(node), "socket"))
                file.define("socket", "variable", None, node.span, "socket", variable=variable)
                file.region(node)
            case nodes.Route():
                self._route(node)
            case nodes.Test():
                line, column = node.span[:2]
                at = SourceRange(file.unit.file, line, column, line, column + len("test"))
                self._plain(node, "test", at, f'test "{node.name}"')
                file.region(node)
            case nodes.Agent():
                at = file.text.defined(node) or file.text.range(node.span)
                self._plain(node, "agent", at, f"agent {node.name}")
            case _:
                return

    def _plain(self, node: nodes.Test | nodes.Agent, kind: str, at: SourceRange, signature: str) -> None:
        documentation = self._file.text.comment_above(node.span[0])
        self._file.define(node.name, kind, at, node.span, signature, documentation=documentation)

    def _statement(
        self, node: Any, kind: str, signature: str, *, exported: bool = False, documentation: str | None = None
    ) -> Draft:
        text = self._file.text
        return self._file.define(
            *(node.name, kind, text.defined(node), node.span, signature),
            exported=exported,
            documentation=text.comment_above(node.span[0]) if documentation is None else documentation,
            variable=self._bound.get((id(node), node.name)),
        )

    def _task(self, node: nodes.Task) -> None:
        file = self._file
        shown = [
            param.name if param.default is None else f"{param.name} = {file.text.text(param.default.span)}"
            for param in node.params
        ]
        signature = f"{node.name}({', '.join(shown)})"
        draft = self._statement(node, "task", signature, exported=node.exported)
        scope = file.resolution.scopes.get(id(node))
        for param in node.params:
            at = file.text.named(param.name, *param.at)
            variable = self._bound.get((id(scope), param.name))
            draft.params[param.name] = file.define(
                param.name, "parameter", at, (at.line, at.column, at.line, at.end_column), signature, variable=variable
            )
        file.region(node)

    def _lambda(self, node: nodes.Lambda) -> None:
        file = self._file
        scope = file.resolution.scopes.get(id(node))
        line, column, last = node.span[:3]
        signature = f"({', '.join(node.params)}) => ..."
        for param in node.params:
            at = file.text.after(param, line, column, last)
            variable = self._bound.get((id(scope), param))
            file.define(param, "parameter", at, node.span, signature, variable=variable)
            if at is not None:
                line, column = at.line, at.end_column
        file.region(node)

    def _members(self, draft: Draft, node: Any, members: list[tuple[str, str]]) -> None:
        file = self._file
        line, column, last = node.span[0] + 1, 1, node.span[2]
        for name, signature in members:
            at = file.text.after(name, line, column, last)
            if at is not None:
                draft.members[name] = file.define(
                    name, "member", at, (at.line, at.column, at.line, at.end_column), signature, exported=node.exported
                )
                line, column = at.line + 1, 1

    def _type(self, node: nodes.TypeDef) -> None:
        fields = ", ".join(f"{name}: {kind}" for name, kind in node.fields)
        draft = self._statement(node, "type", f"{node.name}({fields})", exported=node.exported)
        self._members(draft, node, [(name, f"{node.name}.{name}: {kind}") for name, kind in node.fields])

    def _enum(self, node: nodes.EnumDef) -> None:
        shown = [(name, name if fields is None else f"{name}({', '.join(fields)})") for name, fields in node.variants]
        draft = self._statement(node, "enum", f"enum {node.name}: {', '.join(s for _, s in shown)}", exported=node.exported)
        self._members(draft, node, [(name, f"{node.name}.{signature}") for name, signature in shown])

    def _pattern(self, node: nodes.Arm | nodes.LetParts, pattern: Any, signature: str = "", *, exported: bool = False) -> None:
        match pattern:
            case nodes.BindPattern(name=name):
                at: SourceRange | None = self._file.text.named(name, *pattern.span[:2])
            case nodes.SpreadPattern(name=str(name)):
                at = self._file.text.after(name, *pattern.span[:2])
            case _:
                return
        variable = self._bound.get((id(node), name))
        self._file.define(name, "variable", at, pattern.span, signature or name, variable=variable, exported=exported)

    def _route(self, node: nodes.Route) -> None:
        file = self._file
        scope = file.resolution.scopes.get(id(node))
        for name in HANDLER_NAMES:
            variable = self._bound.get((id(scope), name))
            draft = file.define(name, "parameter", None, node.span, name, variable=variable)
            if variable is None:
                file.given.setdefault(id(scope), []).append(draft)
        file.region(node)
