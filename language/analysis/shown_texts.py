"""Texts that do not show what they were written for: a name in braces between quotes, a text among the nodes of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from language.analysis.manifest import Problem
from language.analysis.meanings import FileMeanings, Meanings
from language.registry import Builtin
from language.syntax import nodes
from language.syntax.walk import bindings_among, children, descend

#: A hole as a template has it, with nothing in it but a name, or a path that begins with one.
_HOLE = re.compile(r"(?<![\\{])\{([A-Za-z_]\w*)(?:\.[A-Za-z_]\w*|\[[^][{}]*\])*\}(?!\})")
#: Builtins that show, send or keep a text as it is given. Not those of SQL and HTML: a value belongs into neither without more.
_SHOWING = frozenset(
    (
        *("print", "eprint", "raise", "prose", "heading", "link", "code", "ok", "created", "fail", "not_found", "respond"),
        *("redirect", "fetch", "http_get", "http_post", "http_put", "http_delete", "read_file", "write_file", "append_file"),
        *("remember", "llm_chat", "ws_send", "ws_broadcast"),
    )
)
#: Builtins with which a program itself may put values into a text with braces.
_FILLING = frozenset(("fmt", "replace", "regex_replace", "split", "markdown", "render"))
#: Builtins whose list of nodes leaves out what is none.
_HOLDING_NODES = frozenset(("page", "section"))


def shown_texts_of(meanings: Meanings) -> Iterator[Problem]:
    """The warnings, file by file."""
    for file in meanings.files.values():
        yield from _names_in_quotes(file)
        for node in file.index.of(nodes.Call):
            yield from _left_out(file, node)


def names_in_braces(value: str) -> Iterator[str]:
    """The names that stand in braces in a text, as if it were a template."""
    return (match[1] for match in _HOLE.finditer(value))


# ---- names in braces ----------------------------------------------------------------------------------------------------


def _names_in_quotes(file: FileMeanings) -> Iterator[Problem]:
    if not any(_HOLE.search(node.value) for node in file.index.of(nodes.Text)):
        return
    fills = any(node.id in _FILLING for node in file.index.of(nodes.Name))
    for visible, node in _with_names(file):
        for text in _shown(file, node, fills=fills):
            holes = [match for match in _HOLE.finditer(text.value) if match[1] in visible]
            if holes:
                shown = " and ".join(dict.fromkeys(f"`{match[0]}`" for match in holes))
                message = f"{shown} in quotes is plain text: values are put only into texts in backticks"
                yield Problem(
                    file.unit.file, *text.span[:2], message, "warning", "W0115", *text.span[2:], _template(text, visible)
                )


def _template(text: nodes.Text, visible: frozenset[str]) -> str:
    """What to write in place of a text; in general words where the text holds what means another thing between backticks."""
    value = text.value
    plain = len(value) <= 80 and value.isprintable() and not any(sign in value for sign in "`\\$")
    names = list(names_in_braces(value))
    if plain and len(names) == value.count("{") and visible.issuperset(names):
        return f"Write `{value}`, with backticks."
    dollar = " Leave out the `$` before a `{` if none is to be shown." if "${" in value else ""
    return f"Write the text between backticks in place of the quotes. A `{{` that is to stay is written `\\{{` there.{dollar}"


def _with_names(file: FileMeanings) -> Iterator[tuple[frozenset[str], Any]]:
    """Every node, with the names that variables around it have: those of the file and of the tasks around the node."""
    top = file.unit.program
    pending: list[tuple[frozenset[str], Any]] = [(_variables(top.statements), top)]
    while pending:
        visible, node = pending.pop()
        yield visible, node
        if isinstance(node, nodes.Task):
            visible = visible | _variables((node.params, node.body))
        elif isinstance(node, nodes.Lambda):
            visible = visible | frozenset(node.params)
        pending += [(visible, child) for child in reversed(children(node))]


def _variables(root: object) -> frozenset[str]:
    """The names of the values that are bound at and below a block, without those inside of its tasks and lambdas."""
    found = descend(root, closed=(nodes.Task, nodes.Lambda))
    defining = (nodes.Task, nodes.Lambda, nodes.TypeDef, nodes.EnumDef, nodes.RouteGroup, nodes.Agent, nodes.Use)
    return frozenset(name for name, node in bindings_among(found) if not isinstance(node, defining))


def _shown(file: FileMeanings, node: Any, *, fills: bool) -> Iterator[nodes.Text]:
    """The texts in quotes that a node shows as they stand. With ``fills`` the program may still put values into those that it
    keeps."""
    match node:
        case nodes.Call(func=nodes.Name(id=name) as func, args=args) if name in _SHOWING:
            if isinstance(file.of(func), Builtin):
                for arg in args:
                    yield from _joined(arg.value)
        case nodes.Raise(value=value) | nodes.Gate(message=value):
            yield from _joined(value)
        case nodes.Let(value=value) | nodes.Set(value=value) | nodes.Give(value=value) if not fills:
            yield from (text for text in _joined(value) if not text.value.startswith("/"))
        case _:
            return


def _joined(value: Any) -> Iterator[nodes.Text]:
    """A text, or the texts that are joined with ``+``."""
    parts = (value.first, *(link.operand for link in value.links)) if isinstance(value, nodes.Arith) else (value,)
    return (part for part in parts if isinstance(part, nodes.Text))


# ---- nodes of a page ----------------------------------------------------------------------------------------------------


def _left_out(file: FileMeanings, call: nodes.Call) -> Iterator[Problem]:
    match call:
        case nodes.Call(func=nodes.Name(id=name) as func, args=(nodes.Arg(value=nodes.ListLit(items=items)), *_)):
            if name not in _HOLDING_NODES or not isinstance(file.of(func), Builtin):
                return
        case _:
            return
    for item in items:
        kind = _KINDS.get(type(item))
        if kind is not None:
            message = f"{name}() leaves this {kind} out: it is no node"
            told = "Write `prose(...)` around it for a paragraph, or `heading(2, ...)` for a heading."
            yield Problem(file.unit.file, *item.span[:2], message, "warning", "W0116", *item.span[2:], told)


#: What is surely no node, and how it is called.
_KINDS: dict[type, str] = {
    nodes.Text: "text",
    nodes.Template: "text",
    nodes.Number: "number",
    nodes.Decimal: "number",
    nodes.Bool: "bool",
    nodes.ListLit: "list",
    nodes.MapLit: "map",
}
