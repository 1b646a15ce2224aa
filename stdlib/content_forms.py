"""The three forms of a content tree: HTML, Markdown and JSON."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values.display import display
from stdlib.content_nodes import ContentNode
from stdlib.markdown_escape import escaped, escaped_on_one_line, escaped_url
from stdlib.markup import escape, runs_script
from stdlib.text_direction import direction_of, direction_of_language

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.values import Secret

MOST_DEPTH = 64

_HEAD = """\
<!DOCTYPE html>
<html {language}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
"""


def render_content(
    tree: ContentNode, form: str, on_secret: Callable[[Secret], None] | None = None, stylesheet: str | None = None
) -> tuple[str, str]:
    """The ``Content-Type`` and the body of a tree as ``html``, ``markdown`` or ``json``.

    ``on_secret`` is called for each secret that the JSON shows redacted; ``stylesheet`` is the URL for a document that names
    none. Raises ``RuntimeFault`` for nodes nested too deep.
    """
    if form == "markdown":
        return "text/markdown; charset=utf-8", to_markdown(tree)
    if form == "json":
        return "application/json; charset=utf-8", to_json(tree, on_secret)
    return "text/html; charset=utf-8", to_html(tree, stylesheet)


# --- HTML -------------------------------------------------------------------------------------------------------------------


def to_html(tree: ContentNode, default: str | None = None) -> str:
    """The HTML document of a page; another node becomes the body of a document without a title.

    ``default`` is the URL of the stylesheet where the page names none; an empty name is for no stylesheet.
    """
    meta: dict[str, str] = {}
    nodes = [tree]
    if tree.kind == "page":
        meta, nodes = tree.values["meta"], tree.values["nodes"]
    title, description, stylesheet = meta.get("title"), meta.get("description"), meta.get("stylesheet", default)
    language = meta.get("lang") or "en"
    direction = direction_of_language(language)
    lang = f'lang="{escape(language)}"' + (' dir="rtl"' if direction == "rtl" else "")
    out = [_HEAD.replace("{language}", lang)]
    if title:
        out.append(f"<title>{escape(title)}</title>\n")
    if description:
        out.append(f'<meta name="description" content="{escape(description)}">\n')
    if stylesheet:
        out.append(f'<link rel="stylesheet" href="{escape(stylesheet)}">\n')
    if title or description:
        out.append(f'<script type="application/ld+json">{_linked_data(title, description)}</script>\n')
    out.append(f'</head>\n<body>\n{meta.get("header", "")}<main class="{escape(meta.get("class", "prose"))}">\n')
    for node in nodes:
        _write_html(node, out, 1, direction)
    out.append(f"</main>\n{meta.get('footer', '')}</body>\n</html>\n")
    return "".join(out)


def _linked_data(title: str | None, description: str | None) -> str:
    """The data for search engines (JSON-LD, schema.org)."""
    from language.values.json_encoding import encode_for_script

    data = {"@context": "https://schema.org", "@type": "WebPage"}
    if title:
        data["name"] = title
    if description:
        data["description"] = description
    return encode_for_script(data, "content")


def _dir(text: str, around: str) -> str:
    """The attribute for an element with this text where the one around it has another direction."""
    return "" if direction_of(text) in (None, around) else ' dir="auto"'


def _write_html(node: ContentNode, out: list[str], depth: int, around: str) -> None:
    """``around`` is the direction of the element that the node stands in: ``ltr`` or ``rtl``."""
    values = node.values
    match node.kind:
        case "heading":
            level = min(max(values["level"], 1), 6)
            out.append(f"<h{level}{_dir(values['text'], around)}>{escape(values['text'])}</h{level}>\n")
        case "prose":
            out.append(f"<p{_dir(values['text'], around)}>{escape(values['text'])}</p>\n")
        case "list" | "ordered_list":
            _write_html_list(node, out, depth, around)
        case "link":
            href = _target(values["href"], data=True)
            out.append(f'<a href="{href}"{_dir(values["text"], around)}>{escape(values["text"])}</a>\n')
        case "image":
            out.append(f'<img src="{_target(values["src"], data=False)}" alt="{escape(values["alt"])}">\n')
        case "code":
            lang = values.get("lang")
            opening = "<code>" if lang is None else f'<code class="language-{escape(lang)}">'
            # Programs are written from left to right in every language.
            block = '<pre dir="ltr">' if around == "rtl" else "<pre>"
            out.append(f"{block}{opening}{escape(values['text'])}</code></pre>\n")
        case "section":
            out.append("<section>\n")
            _write_all_html(values["nodes"], out, depth, around)
            out.append("</section>\n")
        case "raw":
            out.append(values["html"])
        case "page":
            _write_all_html(values["nodes"], out, depth, around)
        case _:
            assert node.drawn is not None
            out.append(node.drawn.svg() + "\n")


def _write_all_html(nodes: list[ContentNode], out: list[str], depth: int, around: str) -> None:
    _check_depth(depth)
    for node in nodes:
        _write_html(node, out, depth + 1, around)


def _write_html_list(node: ContentNode, out: list[str], depth: int, around: str) -> None:
    """The marks of a list stand on the side where its first text begins."""
    _check_depth(depth)
    tag = "ul" if node.kind == "list" else "ol"
    texts = [_text_of(item) for item in node.values["items"]]
    own = next((found for found in map(direction_of, texts) if found), around)
    out.append(f"<{tag}>" if own == around else f'<{tag} dir="{own}">')
    for item, text in zip(node.values["items"], texts):
        if item.__class__ is ContentNode:
            out.append("<li>")
            _write_html(item, out, depth + 1, own)
        else:
            # Not the item but its text runs the other way: the mark stays where those of the others are.
            shown = escape(text)
            out.append(f"<li><bdi>{shown}</bdi>" if _dir(text, own) else f"<li>{shown}")
        out.append("</li>")
    out.append(f"</{tag}>\n")


def _text_of(item: Any) -> str:
    """The text of an item of a list; that of a node without one is empty."""
    if item.__class__ is ContentNode:
        return item.values.get("text", "") if item.kind != "code" else ""
    return display(item)


def _target(url: str, *, data: bool) -> str:
    return "#" if runs_script(url, data=data) else escape(url)


# --- Markdown ---------------------------------------------------------------------------------------------------------------


def to_markdown(tree: ContentNode) -> str:
    """The blocks of a tree with an empty line between them and one line feed at the end. Text is not escaped."""
    return _blocks([tree], 1).rstrip() + "\n"


def _blocks(nodes: list[ContentNode], depth: int) -> str:
    _check_depth(depth)
    blocks = [_block(node, depth).rstrip("\n") for node in nodes]
    return "\n\n".join([block for block in blocks if block])


def _block(node: ContentNode, depth: int) -> str:
    values: dict[str, Any] = node.values
    match node.kind:
        case "heading":
            return "#" * min(max(values["level"], 1), 6) + " " + escaped_on_one_line(values["text"])  # type: ignore[no-any-return]
        case "prose":
            return escaped(values["text"])
        case "list":
            return "\n".join([_item("- ", item, depth) for item in values["items"]])
        case "ordered_list":
            return "\n".join([_item(f"{number}. ", item, depth) for number, item in enumerate(values["items"], 1)])
        case "link":
            return f"[{escaped_on_one_line(values['text'])}]({_markdown_target(values['href'], data=True)})"
        case "image":
            return f"![{escaped_on_one_line(values['alt'])}]({_markdown_target(values['src'], data=False)})"
        case "code":
            return _fenced(values["text"], values.get("lang", ""))
        case "section" | "page":
            return _blocks(values["nodes"], depth + 1)
        case "raw":
            return values["html"]  # type: ignore[no-any-return]
        case _:
            assert node.drawn is not None
            return node.drawn.markdown()


def _item(mark: str, item: Any, depth: int) -> str:
    text = _blocks([item], depth + 1).strip() if item.__class__ is ContentNode else escaped(display(item))
    # Further lines belong to the list item if they are indented to its text.
    first, *rest = text.split("\n")
    return "\n".join([mark + first, *[" " * len(mark) + line if line else "" for line in rest]])


def _markdown_target(url: str, *, data: bool) -> str:
    return "#" if runs_script(url, data=data) else escaped_url(url)


def _fenced(text: str, lang: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    # A line end or a backtick would end the opening line of the code block.
    info = lang if "\n" not in lang and "\r" not in lang and "`" not in lang else ""
    return f"{fence}{info}\n{text.removesuffix(chr(10))}\n{fence}"


# --- JSON -------------------------------------------------------------------------------------------------------------------


def to_json(tree: ContentNode, on_secret: Callable[[Secret], None] | None = None) -> str:
    """The JSON text of a tree. A task among the items of a list is written as its text, as in every reply."""
    from language.values.json_encoding import encode

    return encode(tree, "content", on_secret, tasks=True)


def _check_depth(depth: int) -> None:
    if depth > MOST_DEPTH:
        raise RuntimeFault(f"content: the tree is nested more than {MOST_DEPTH} levels deep", kind="resources")
