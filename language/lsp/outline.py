"""The parts of a file for the editor's outline, the names of a workspace, and what of a file can be folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lsprotocol.types import (
    DocumentSymbol,
    FoldingRange,
    FoldingRangeKind,
    Location,
    SymbolKind,
    WorkspaceSymbol,
)
from lsprotocol.types import Range as EditorRange

from language.lsp.document_text import DocumentText
from language.lsp.view import View
from language.syntax import nodes

#: The most names of a workspace in one answer.
MOST_NAMES = 500


def document_symbols(view: View) -> list[DocumentSymbol]:
    """What a file defines, as a tree: tasks, types and enums with their parts, variables, tests, services with their routes."""
    unit = view.program.unit(view.document.file)
    return [] if unit is None else list(_symbols(unit.program.statements, view.source))


def _symbols(statements: Iterable[object], source: DocumentText) -> Iterator[DocumentSymbol]:
    for node in statements:
        match node:
            case nodes.Task(name=name, params=params):
                detail = f"({', '.join(param.name for param in params)})"
                inner = (part for part in node.body if isinstance(part, nodes.Task))
                yield _symbol(node, name, SymbolKind.Function, source, detail, list(_symbols(inner, source)))
            case nodes.TypeDef(name=name, fields=fields):
                yield _symbol(node, name, SymbolKind.Struct, source, ", ".join(f"{n}: {kind}" for n, kind in fields))
            case nodes.EnumDef(name=name, variants=variants):
                yield _symbol(node, name, SymbolKind.Enum, source, ", ".join(variant for variant, _ in variants))
            case nodes.Let(name=name):
                yield _symbol(node, name, SymbolKind.Variable, source)
            case nodes.Use(alias=name, path=path):
                yield _symbol(node, name, SymbolKind.Module, source, path)
            case nodes.Test(name=name):
                yield _symbol(node, f"test {name}", SymbolKind.Method, source)
            case nodes.Agent(name=name):
                yield _symbol(node, name, SymbolKind.Class, source, "agent")
            case nodes.RouteGroup(name=name, routes=routes):
                yield _symbol(node, name, SymbolKind.Interface, source, "routes", list(_symbols(routes, source)))
            case nodes.Serve(clauses=clauses):
                yield _symbol(node, "serve", SymbolKind.Interface, source, "", list(_symbols(clauses, source)))
            case nodes.HostBlock(clauses=clauses):
                yield _symbol(node, "host", SymbolKind.Interface, source, "", list(_symbols(clauses, source)))
            case nodes.Route(method=method, path=path):
                yield _symbol(node, f"{method} {path}", SymbolKind.Event, source)
            case _:
                continue


def _symbol(
    node: nodes.Node,
    name: str,
    kind: SymbolKind,
    source: DocumentText,
    detail: str = "",
    children: list[DocumentSymbol] | None = None,
) -> DocumentSymbol:
    whole = source.range_of(*node.span)
    line, column, end_line, _ = node.span
    first = source.line(line - 1)
    at = re.compile(rf"\b{re.escape(name)}\b").search(first, column - 1)
    head = (
        source.range_of(line, at.start() + 1, line, at.end() + 1)
        if at is not None and end_line >= line
        else EditorRange(whole.start, whole.start)
    )
    return DocumentSymbol(name or "(empty)", kind, whole, head, detail=detail or None, children=children)


# ---- names of a workspace --------------------------------------------------------------------------------------------------

_DEFINITION = re.compile(r"^(?:export[ \t]+)?(task|type|enum|agent|routes|let)[ \t]+([^\W\d]\w*)", re.MULTILINE)
_KINDS = {
    "task": SymbolKind.Function,
    "type": SymbolKind.Struct,
    "enum": SymbolKind.Enum,
    "agent": SymbolKind.Class,
    "routes": SymbolKind.Interface,
    "let": SymbolKind.Variable,
}


def workspace_symbols(files: Iterable[tuple[str, DocumentText]], query: str) -> list[WorkspaceSymbol]:
    """What the files define at their top level whose name has the characters of ``query`` in their order.

    ``files`` are URIs and texts. Read off the text, so that files with mistakes are found too.
    """
    wanted = query.casefold()
    found: list[WorkspaceSymbol] = []
    for uri, source in files:
        for definition in _DEFINITION.finditer(source.text):
            if _fits(wanted, definition[2].casefold()):
                span = EditorRange(source.position(definition.start(2)), source.position(definition.end(2)))
                found.append(WorkspaceSymbol(Location(uri, span), definition[2], _KINDS[definition[1]]))
                if len(found) >= MOST_NAMES:
                    return found
    return found


def _fits(wanted: str, name: str) -> bool:
    position = 0
    for character in wanted:
        position = name.find(character, position) + 1
        if not position:
            return False
    return True


# ---- folding -------------------------------------------------------------------------------------------------------------


def folding_ranges(source: DocumentText) -> list[FoldingRange]:
    """Blocks by their indentation, brackets over several lines among them, and runs of comments; read off the text."""
    widths = [_width(source.line(number)) for number in range(source.line_count)]
    found = [*_blocks(widths), *_comments(source)]
    return sorted(found, key=lambda fold: (fold.start_line, fold.end_line))


def _blocks(widths: list[int | None]) -> Iterator[FoldingRange]:
    open_lines: list[tuple[int, int]] = []  # number and width of the lines that may begin a block
    last = 0
    for number, width in enumerate([*widths, 0]):
        if width is None:
            continue
        while open_lines and open_lines[-1][1] >= width:
            start, _ = open_lines.pop()
            if last > start:
                yield FoldingRange(start, last)
        if number < len(widths):
            open_lines.append((number, width))
            last = number


def _comments(source: DocumentText) -> Iterator[FoldingRange]:
    start: int | None = None
    for number in range(source.line_count + 1):
        if source.line(number).lstrip().startswith("--"):
            start = number if start is None else start
        else:
            if start is not None and number - start > 1:
                yield FoldingRange(start, number - 1, kind=FoldingRangeKind.Comment)
            start = None


def _width(line: str) -> int | None:
    stripped = line.strip()
    if not stripped:
        return None
    return sum(4 if character == "\t" else 1 for character in line[: len(line) - len(line.lstrip())])
