"""What the editor proposes as the next word."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from lsprotocol.types import (
    CompletionItem,
    CompletionItemKind,
    CompletionItemTag,
    MarkupContent,
    MarkupKind,
    Position,
    Range,
    TextEdit,
)

from language import library
from language.analysis.symbols import ProgramSymbol
from language.capabilities import NAMES
from language.lsp.code_context import CodeContext, context_at
from language.lsp.hover import symbol_text
from language.lsp.keywords import KEYWORDS, STATEMENTS, keyword_text
from language.lsp.manual import CAPABILITIES, REQUEST_FIELDS, builtin_text, constant_text, request_field_text
from language.lsp.view import View
from language.runtime.modules import extensions
from language.syntax import nodes

#: A line whose next word is a new name: nothing is to be proposed.
_NEW_NAME = re.compile(r"^\s*(?:export\s+)?(?:let|task|type|enum|agent|each|routes)\s+$|\bas\s+$|^\s*recover\s+$")
_SPAWN = re.compile(r"^\s*spawn\s+$")
_REQUIRE = re.compile(r"^\s*require\s+(?:\w+\s*\.\s*)?$")
_USE = re.compile(r"""^\s*use\s+["']""")
#: The most files of a folder that are proposed.
MOST_FILES = 200

#: Fields of a request, and what `expect` calls them.
_EXPECTED = {"json": "body", "form": "form", "query": "query"}
_ROUTE_PARAMETER = re.compile(r"[:*]([A-Za-z_]\w*)")
_KINDS = {
    "variable": CompletionItemKind.Variable,
    "parameter": CompletionItemKind.Variable,
    "task": CompletionItemKind.Function,
    "type": CompletionItemKind.Class,
    "enum": CompletionItemKind.Enum,
    "member": CompletionItemKind.EnumMember,
    "module": CompletionItemKind.Module,
    "group": CompletionItemKind.Module,
    "agent": CompletionItemKind.Class,
}


def completions(view: View, position: Position) -> list[CompletionItem]:
    """The proposals at a position. The editor leaves out those that do not match what is written already."""
    offset = view.source.offset(position)
    context = context_at(view.text, offset)
    if context.inside == "comment":
        return []
    if context.inside == "text":
        return list(_modules(view, context, position, offset))
    if _REQUIRE.match(context.line):
        return list(_capabilities(context))
    if context.chain:
        return list(_fields(view, context, position))
    if _NEW_NAME.search(context.line) or context.line.endswith("."):  # behind the dot of a value that has no name
        return []
    if _SPAWN.search(context.line):
        return [_item(symbol) for symbol in _agents(view)]
    found = {item.label: item for item in _all(view, context, position)}
    return list(found.values())


def resolved(item: CompletionItem) -> CompletionItem:
    """The proposal with the text of the manual, where it is a word of the language."""
    if isinstance(item.data, dict) and isinstance(name := item.data.get("word"), str):
        builtin = library().all_builtins().get(name)
        told = builtin_text(builtin) if builtin is not None else constant_text(name) or keyword_text(name)
        if told:
            item.documentation = MarkupContent(MarkupKind.Markdown, told)
    return item


def _all(view: View, context: CodeContext, position: Position) -> Iterator[CompletionItem]:
    """Later ones of the same name replace earlier ones."""
    words = STATEMENTS | KEYWORDS if not context.line.strip() else KEYWORDS
    for word in sorted(words):
        yield CompletionItem(word, kind=CompletionItemKind.Keyword, sort_text=f"4{word}", data={"word": word})
    for name in library().all_constants():
        yield CompletionItem(name, kind=CompletionItemKind.Constant, sort_text=f"3{name}", data={"word": name})
    for name, builtin in library().all_builtins().items():
        old = [CompletionItemTag.Deprecated] if builtin.alias_of is not None else None
        yield CompletionItem(
            name,
            kind=CompletionItemKind.Function,
            detail=builtin.signature,
            sort_text=f"{'5' if old else '3'}{name}",
            tags=old,
            data={"word": name},
        )
    for symbol in reversed(view.visible(position)):
        yield _item(symbol, "1" if symbol.kind == "parameter" else "2")
    yield from _named_arguments(view, context, position)


def _item(symbol: ProgramSymbol, rank: str = "2") -> CompletionItem:
    return CompletionItem(
        symbol.name,
        kind=_KINDS.get(symbol.kind, CompletionItemKind.Variable),
        detail=symbol.signature or symbol.kind,
        sort_text=f"{rank}{symbol.name}",
        documentation=MarkupContent(MarkupKind.Markdown, symbol_text(symbol)),
    )


def _named_arguments(view: View, context: CodeContext, position: Position) -> Iterator[CompletionItem]:
    """The arguments that the open call takes by name, and does not have yet."""
    if not context.calls or context.opener != "(" or context.calls[-1].keyword:
        return
    call = context.calls[-1]
    symbol = view.named(tuple(call.name.split(".")), position)
    names: Iterable[str] = ()
    if symbol is not None:
        names = re.findall(r"[(,]\s*(\w+)", symbol.signature) if symbol.kind in ("task", "type", "parameter") else ()
    elif call.name in library().all_builtins():
        names = library().all_builtins()[call.name].named
    for name in names:
        if name not in call.named:
            yield CompletionItem(f"{name} =", kind=CompletionItemKind.Field, insert_text=f"{name} = ", sort_text=f"0{name}")


# ---- behind a dot ------------------------------------------------------------------------------------------------------


def _fields(view: View, context: CodeContext, position: Position) -> Iterator[CompletionItem]:
    if context.chain == ("request",):
        for name in REQUEST_FIELDS:
            told = MarkupContent(MarkupKind.Markdown, request_field_text(name))
            yield CompletionItem(name, kind=CompletionItemKind.Field, detail="request", documentation=told)
        return
    owner = view.named(context.chain, position)
    if owner is not None and owner.kind in ("module", "enum"):
        yield from (_item(symbol) for symbol in view.members(owner))
        return
    known = _known_fields(view, context.chain, owner, position.line + 1)
    for name in sorted(known or _used_fields(view)):
        yield CompletionItem(name, kind=CompletionItemKind.Field)


def _agents(view: View) -> list[ProgramSymbol]:
    units = view.program.checked.units.values()
    return [symbol for unit in units for symbol in view.program.symbols.of(unit.file) if symbol.kind == "agent"]


def _known_fields(view: View, chain: tuple[str, ...], owner: ProgramSymbol | None, line: int) -> set[str]:
    """The fields that a value is seen to have: maps and types that its variable is given, what a route takes and expects."""
    found: set[str] = set()
    unit = view.program.unit(view.document.file)
    if unit is None:
        return found
    taken = chain[1:] if chain[0] == "request" else chain
    if taken == ("params",):
        routes = [route for route in unit.index.of(nodes.Route) if route.span[0] <= line]
        return set(_ROUTE_PARAMETER.findall(routes[-1].path)) if routes else found
    if taken in (("query",), ("json",), ("form",)) and (chain[0] == "request" or taken == ("query",)):
        expected = unit.index.of(nodes.Expect)
        return {name for node in expected if _EXPECTED[taken[0]] == node.place for name, *_ in node.fields}
    if owner is None or len(chain) > 1:
        return found
    types = {node.name: node for node in unit.index.of(nodes.TypeDef)}
    for node in unit.index.of(nodes.Let, nodes.Set, nodes.Each):
        match node:
            case nodes.Let(name=name, value=value) | nodes.Set(target=nodes.Name(id=name), value=value) if name == chain[0]:
                found |= _fields_of(value, types)
            case nodes.Each(name=name, iterable=nodes.ListLit(items=items)) if name == chain[0]:
                found |= {field for item in items for field in _fields_of(item, types)}
            case _:
                continue
    return found


def _fields_of(value: nodes.Expr, types: dict[str, nodes.TypeDef]) -> set[str]:
    match value:
        case nodes.MapLit(entries=entries):
            return {key.value for key, _ in entries if isinstance(key, nodes.Text) and key.value.isidentifier()}
        case nodes.Call(func=nodes.Name(id=name)) if name in types:
            return {field for field, _ in types[name].fields}
        case _:
            return set()


def _used_fields(view: View) -> set[str]:
    """Every field that any file of the program reads or writes."""
    found: set[str] = set()
    for unit in view.program.checked.units.values():
        for node in unit.index.of(nodes.Field, nodes.Of, nodes.MapLit, nodes.TypeDef):
            match node:
                case nodes.Field(name=name) | nodes.Of(name=name):
                    found.add(name)
                case nodes.MapLit():
                    found |= _fields_of(node, {})
                case nodes.TypeDef(fields=fields):
                    found |= {name for name, _ in fields}
                case _:
                    continue
    return found


# ---- capabilities and modules --------------------------------------------------------------------------------------------


def _capabilities(context: CodeContext) -> Iterator[CompletionItem]:
    prefix = f"{context.chain[-1]}." if context.chain else ""
    for name in NAMES:
        if name.startswith(prefix):
            told = MarkupContent(MarkupKind.Markdown, CAPABILITIES[name])
            yield CompletionItem(name.removeprefix(prefix), kind=CompletionItemKind.Constant, documentation=told)


def _modules(view: View, context: CodeContext, position: Position, offset: int) -> Iterator[CompletionItem]:
    """The files that a ``use`` line may name: those in the folder that is written so far, below that of the program."""
    line_start = view.text.rfind("\n", 0, context.start) + 1
    if not _USE.match(view.text[line_start : context.start + 1]) or not os.path.isabs(view.document.file):
        return
    written = view.text[context.start + 1 : offset]
    home = os.path.dirname(view.document.file)
    root = os.path.realpath(os.path.dirname(view.program.entry))
    folder = os.path.realpath(os.path.join(home, os.path.dirname(written)))
    if "\0" in written or not (folder == root or folder.startswith(root.rstrip(os.sep) + os.sep)):
        return
    try:
        names = sorted(os.listdir(folder))[:MOST_FILES]
    except OSError:
        return
    start = "" if "/" in written else "./"
    # What is written is replaced as a whole: what an editor takes for the word in front of the cursor differs.
    place = Range(view.source.position(context.start + 1), position)
    begins = written[: written.rfind("/") + 1] or start
    for name in names:
        path = os.path.join(folder, name)
        if name.startswith(".") or path == os.path.realpath(view.document.file):
            continue
        if os.path.isdir(path):
            edit = TextEdit(place, f"{begins}{name}/")
            yield CompletionItem(f"{start}{name}/", kind=CompletionItemKind.Folder, filter_text=edit.new_text, text_edit=edit)
        elif name.endswith(extensions()):
            edit = TextEdit(place, f"{begins}{name}")
            yield CompletionItem(f"{start}{name}", kind=CompletionItemKind.File, filter_text=edit.new_text, text_edit=edit)
