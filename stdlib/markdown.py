"""Markdown text to HTML (CommonMark with the tables and the strikethrough of GitHub)."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import Bool, as_map, type_of
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

family = Family("markdown", "Markdown")

_renderers: dict[bool, Any] = {}


@family.builtin("markdown(text, opts?)")
def markdown(text: Any, opts: Any = None) -> str:
    """The HTML of a Markdown text: CommonMark, with tables and `~~strikethrough~~`.

    The result is safe for untrusted text: HTML in it is escaped, and links that would run a script (`javascript:`, `vbscript:`,
    `data:` except images) or open a file stay text. The option `html` set to `true` lets HTML through as it is: only for text
    that the program itself wrote. On a page: `raw(markdown(text))`.

    `markdown("# Hi *there*")` is `<h1>Hi <em>there</em></h1>\\n`.
    """
    return _renderer(_html_option(opts)).render(display(text))  # type: ignore[no-any-return]


def _html_option(opts: Any) -> bool:
    options = {} if opts is None else as_map(opts)
    if options is None:
        raise RuntimeFault(f"markdown: the options must be a map, got {type_of(opts)}", kind="type")
    for name in options:
        if name != "html":
            raise RuntimeFault(f'markdown: unknown option "{name}"; valid options are: html')
    value = options.get("html")
    if value is None:
        return False
    if value.__class__ is not Bool:
        raise RuntimeFault(f'markdown: option "html" must be a bool, got {type_of(value)}', kind="type")
    return bool(value)


def _renderer(html: bool) -> Any:
    """The renderer for that option. It has no changing state, so threads share it."""
    found = _renderers.get(html)
    if found is None:
        from markdown_it import MarkdownIt

        from stdlib.markup import runs_script

        found = MarkdownIt("commonmark", {"html": html}).enable(["table", "strikethrough"])
        usual = found.validateLink
        found.validateLink = lambda url: usual(url) and not runs_script(url, data=False)  # type: ignore[method-assign]
        found.core.ruler.push("direction", _say_directions)
        found.render("")
        _renderers[html] = found
    return found


_WITH_DIRECTION = frozenset(
    {
        "paragraph_open",
        "heading_open",
        "blockquote_open",
        "bullet_list_open",
        "ordered_list_open",
        "table_open",
        "th_open",
        "td_open",
    }
)


def _say_directions(state: Any) -> None:
    """Gives what begins with a letter from right to left the attribute ``dir``, and what runs the other way inside of it.

    ``state`` is that of a rule of markdown-it.
    """
    from stdlib.text_direction import direction_of

    opened: list[Any] = []
    # Those that are open and have met no letter yet are the last ones of ``opened``.
    known = 0
    found: dict[int, str] = {}
    for token in state.tokens:
        if token.nesting > 0:
            opened.append(token)
        elif token.nesting < 0:
            opened.pop()
            known = min(known, len(opened))
        elif token.type == "inline" and known < len(opened):
            direction = direction_of(token.content)
            if direction is not None:
                found.update({id(each): direction for each in opened[known:]})
                known = len(opened)
    around = ["ltr"]
    for token in state.tokens:
        if token.nesting > 0:
            own = found.get(id(token), around[-1]) if token.type in _WITH_DIRECTION else around[-1]
            if own != around[-1]:
                token.attrSet("dir", own)
            around.append(own)
        elif token.nesting < 0:
            around.pop()
