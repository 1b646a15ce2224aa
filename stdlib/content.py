"""Pages as content trees, which are served as HTML, Markdown or JSON."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import as_map, type_of
from language.values.display import display
from language.values.operators import is_decimal
from stdlib.content_nodes import ContentNode, ContentValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

family = Family("content", "Content")


@family.builtin("content(tree)", reply="content")
def content(tree: Any) -> ContentValue:
    """Marks a node, normally a `page`, for negotiation: a route that gives it answers in HTML, in Markdown or in JSON, as the
    `Accept` header or a suffix `.md`, `.json`, `.html` of the path asks. A node given without it is plain JSON.

    Error: `content(tree): tree must be a node, got text`.
    """
    if tree.__class__ is ContentValue:
        return tree
    if tree.__class__ is not ContentNode:
        raise RuntimeFault(f"content(tree): tree must be a node, got {type_of(tree)}", kind="type")
    return ContentValue(tree)


@family.builtin("page(nodes, meta?)")
def page(nodes: Any, meta: Any = None) -> ContentNode:
    """A whole document. `meta` is a map of texts: `title`, `description`, `lang` (the language, such as `"ar"`; without it
    `"en"`), `stylesheet` (a URL, `""` for none; without it the service gives the page its own), `class` (of the element around
    the nodes, `prose` without it), `header` and `footer` (raw HTML around the nodes); other keys appear in the JSON only.

    Values in `nodes` that are not nodes are left out.
    """
    entries = {} if meta is None else as_map(meta)
    if entries is None:
        raise RuntimeFault(f"page(nodes, meta): meta must be a map, got {type_of(meta)}", kind="type")
    texts = {name: display(value) for name, value in entries.items() if value is not None}
    return ContentNode("page", {"meta": texts, "nodes": _nodes(nodes)})


@family.builtin("section(nodes)")
def section(nodes: Any) -> ContentNode:
    """A group of nodes. Values that are not nodes are left out."""
    return ContentNode("section", {"nodes": _nodes(nodes)})


@family.builtin("heading(level, text)")
def heading(level: Any, text: Any) -> ContentNode:
    """A heading of level 1 to 6; a level outside that range becomes the nearest one, a level that is not a number becomes 1.

    `text of heading(2, "Pens")` is `"Pens"`.
    """
    return ContentNode("heading", {"level": _level(level), "text": display(text)})


@family.builtin("prose(text)")
def prose(text: Any) -> ContentNode:
    """A paragraph."""
    return ContentNode("prose", {"text": display(text)})


@family.builtin("list(items)")
def list_(items: Any) -> ContentNode:
    """A list with bullets. Items that are nodes show as themselves, others as their text."""
    return ContentNode("list", {"items": _items(items)})


@family.builtin("ordered_list(items)")
def ordered_list(items: Any) -> ContentNode:
    """A numbered list. Items that are nodes show as themselves, others as their text."""
    return ContentNode("ordered_list", {"items": _items(items)})


@family.builtin("link(text, href)")
def link(text: Any, href: Any) -> ContentNode:
    """A link. In HTML a target that would run a script (`javascript:`, `vbscript:`, `data:`) is written as `#`."""
    return ContentNode("link", {"text": display(text), "href": display(href)})


@family.builtin("image(src, alt)")
def image(src: Any, alt: Any) -> ContentNode:
    """An image with its alternative text. In HTML a source that would run a script is written as `#`."""
    return ContentNode("image", {"src": display(src), "alt": display(alt)})


@family.builtin("code(text, lang?)")
def code(text: Any, lang: Any = None) -> ContentNode:
    """A block of program text; `lang` names its language."""
    return ContentNode("code", {"text": display(text), "lang": None if lang is None else display(lang) or None})


@family.builtin("raw(html)")
def raw(html: Any) -> ContentNode:
    """HTML that is copied into the page without escaping: only for text that the program itself wrote."""
    return ContentNode("raw", {"html": display(html)})


def _nodes(given: Any) -> list[ContentNode]:
    return [item for item in _items(given) if item.__class__ is ContentNode]


def _items(given: Any) -> list[Any]:
    items = given if given.__class__ is list else []
    return [item.tree if item.__class__ is ContentValue else item for item in items]


def _level(level: Any) -> int:
    kind = level.__class__
    if kind is int:
        return level  # type: ignore[no-any-return]
    if kind is float:
        return int(level) if level - level == 0 else 1
    return level.to_int() if is_decimal(level) else 1
