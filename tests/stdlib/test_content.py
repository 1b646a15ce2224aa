"""Content trees: the three forms of every node, and what a hostile text can do in them."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import language
from language.errors import RuntimeFault
from language.serve.negotiation import FORMATS, format_of, split_suffix
from language.values import TRUE, Secret, type_of
from language.values.decimals import parse
from stdlib.charts import chart
from stdlib.content import code, content, heading, image, link, list_, ordered_list, page, prose, raw, section
from stdlib.content_nodes import ContentNode, ContentValue
from stdlib.json_format import json_encode

TREE = page(
    [
        heading(1, "Pens & <ink>"),
        list_(["blue", link("red", "/red?a=1&b=2")]),
        section([code("a < b", "lang"), raw("<hr>"), "dropped"]),
    ],
    {"title": "Pens", "description": "All <pens>", "stylesheet": "/a.css"},
)

TREE_HTML = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pens</title>
<meta name="description" content="All &lt;pens&gt;">
<link rel="stylesheet" href="/a.css">
<script type="application/ld+json">{"@context": "https://schema.org", "@type": "WebPage", "name": "Pens", "description": "All \
\\u003cpens\\u003e"}</script>
</head>
<body>
<main class="prose">
<h1>Pens &amp; &lt;ink&gt;</h1>
<ul><li>blue</li><li><a href="/red?a=1&amp;b=2">red</a>
</li></ul>
<section>
<pre><code class="language-lang">a &lt; b</code></pre>
<hr></section>
</main>
</body>
</html>
"""

TREE_MARKDOWN = """\
# Pens & \\<ink>

- blue
- [red](/red?a=1&b=2)

```lang
a < b
```

<hr>
"""

TREE_JSON = (
    '{"type": "page", "meta": {"title": "Pens", "description": "All <pens>", "stylesheet": "/a.css"}, "nodes": [{"type": '
    '"heading", "level": 1, "text": "Pens & <ink>"}, {"type": "list", "items": ["blue", {"type": "link", "text": "red", '
    '"href": "/red?a=1&b=2"}]}, {"type": "section", "nodes": [{"type": "code", "text": "a < b", "lang": "lang"}, {"type": '
    '"raw", "html": "<hr>"}]}]}'
)


def body(node: ContentNode, form: str) -> str:
    return content(node).rendered(form)[1]


def html(node: ContentNode) -> str:
    """What a node is inside the document."""
    whole = body(node, "html")
    return whole[whole.index('<main class="prose">\n') + 21 : whole.index("</main>")]


def markdown(node: ContentNode) -> str:
    return body(node, "markdown")


def tree(node: ContentNode) -> object:
    return json.loads(body(node, "json"))


def test_one_tree_in_three_forms() -> None:
    marked = content(TREE)
    assert marked.negotiable is True
    assert marked.rendered("html") == ("text/html; charset=utf-8", TREE_HTML)
    assert marked.rendered("markdown") == ("text/markdown; charset=utf-8", TREE_MARKDOWN)
    assert marked.rendered("json") == ("application/json; charset=utf-8", TREE_JSON)


@pytest.mark.parametrize(
    ("node", "as_html", "as_markdown", "as_json"),
    [
        (heading(2, "T"), "<h2>T</h2>\n", "## T\n", {"type": "heading", "level": 2, "text": "T"}),
        (heading(9, 1), "<h6>1</h6>\n", "###### 1\n", {"type": "heading", "level": 9, "text": "1"}),
        (heading(-3, "x"), "<h1>x</h1>\n", "# x\n", {"type": "heading", "level": -3, "text": "x"}),
        (heading("2", "x"), "<h1>x</h1>\n", "# x\n", {"type": "heading", "level": 1, "text": "x"}),
        (heading(2.0, "x"), "<h2>x</h2>\n", "## x\n", {"type": "heading", "level": 2, "text": "x"}),
        (heading(float("nan"), "x"), "<h1>x</h1>\n", "# x\n", {"type": "heading", "level": 1, "text": "x"}),
        (heading(parse("3"), "x"), "<h3>x</h3>\n", "### x\n", {"type": "heading", "level": 3, "text": "x"}),
        (heading(TRUE, "x"), "<h1>x</h1>\n", "# x\n", {"type": "heading", "level": 1, "text": "x"}),
        (prose("a & b"), "<p>a &amp; b</p>\n", "a & b\n", {"type": "prose", "text": "a & b"}),
        (prose([1, "x"]), "<p>[1, &quot;x&quot;]</p>\n", '\\[1, "x"]\n', {"type": "prose", "text": '[1, "x"]'}),
        (prose(None), "<p>nothing</p>\n", "nothing\n", {"type": "prose", "text": "nothing"}),
        (
            list_([1, "<b>", {"k": None}]),
            "<ul><li>1</li><li>&lt;b&gt;</li><li>{k: nothing}</li></ul>\n",
            "- 1\n- \\<b>\n- {k: nothing}\n",
            {"type": "list", "items": [1, "<b>", {"k": None}]},
        ),
        (list_("no list"), "<ul></ul>\n", "\n", {"type": "list", "items": []}),
        (
            ordered_list(["a", prose("b")]),
            "<ol><li>a</li><li><p>b</p>\n</li></ol>\n",
            "1. a\n2. b\n",
            {"type": "ordered_list", "items": ["a", {"type": "prose", "text": "b"}]},
        ),
        (link("T", "/h?a&b"), '<a href="/h?a&amp;b">T</a>\n', "[T](/h?a&b)\n", {"type": "link", "text": "T", "href": "/h?a&b"}),
        (image("/s.png", 'a"b'), '<img src="/s.png" alt="a&quot;b">\n', '![a"b](/s.png)\n', None),
        (code("a < b"), "<pre><code>a &lt; b</code></pre>\n", "```\na < b\n```\n", {"type": "code", "text": "a < b"}),
        (code("x\n", "py"), '<pre><code class="language-py">x\n</code></pre>\n', "```py\nx\n```\n", None),
        (code("a\n```\nb"), "<pre><code>a\n```\nb</code></pre>\n", "````\na\n```\nb\n````\n", None),
        (code("x", "a`b\nc"), '<pre><code class="language-a`b\nc">x</code></pre>\n', "```\nx\n```\n", None),
        (section([prose("a"), 5, prose("b")]), "<section>\n<p>a</p>\n<p>b</p>\n</section>\n", "a\n\nb\n", None),
        (section(7), "<section>\n</section>\n", "\n", {"type": "section", "nodes": []}),
        (raw("<b>x</b>"), "<b>x</b>", "<b>x</b>\n", {"type": "raw", "html": "<b>x</b>"}),
    ],
)
def test_each_node(node: ContentNode, as_html: str, as_markdown: str, as_json: object) -> None:
    assert html(node) == as_html
    assert markdown(node) == as_markdown
    if as_json is not None:
        assert tree(node) == as_json


def test_lines_of_an_item_stay_in_the_item() -> None:
    nested = list_(["one", list_(["a", "b"]), "two\nlines", section([prose("p"), code("x")])])
    assert markdown(nested) == "- one\n- - a\n  - b\n- two\n  lines\n- p\n\n  ```\n  x\n  ```\n"
    assert markdown(ordered_list([list_(["a", "b"])])) == "1. - a\n   - b\n"


def test_empty_blocks_leave_no_gap_in_markdown() -> None:
    assert markdown(page([prose("a"), section([]), prose(""), list_([]), raw("<hr>\n\n"), prose("b")])) == "a\n\n<hr>\n\nb\n"


class TestPage:
    def test_without_meta(self) -> None:
        document = body(page([]), "html")
        assert "<title>" not in document and "<script" not in document and "<link" not in document
        assert document.endswith('<body>\n<main class="prose">\n</main>\n</body>\n</html>\n')
        assert body(page([]), "json") == '{"type": "page", "meta": {}, "nodes": []}'
        assert markdown(page([])) == "\n"

    def test_header_and_footer_are_raw_and_class_is_escaped(self) -> None:
        document = body(page([prose("x")], {"header": "<nav>&</nav>", "footer": "<i>f</i>", "class": 'a"b'}), "html")
        expected = '<body>\n<nav>&</nav><main class="a&quot;b">\n<p>x</p>\n</main>\n<i>f</i></body>\n</html>\n'
        assert document.endswith(expected)

    def test_other_keys_and_texts(self) -> None:
        given = page([], {"title": 7, "author": ["x"], "gone": None})
        assert body(given, "json") == '{"type": "page", "meta": {"title": "7", "author": "[\\"x\\"]"}, "nodes": []}'
        assert "author" not in body(given, "html")

    def test_linked_data_holds_what_is_set(self) -> None:
        assert '"@type": "WebPage", "description": "d"}</script>' in body(page([], {"description": "d"}), "html")
        assert '"@type": "WebPage", "name": "t"}</script>' in body(page([], {"title": "t"}), "html")

    def test_a_script_cannot_be_ended_from_the_title(self) -> None:
        document = body(page([], {"title": "</script><script>alert(1)</script>&é"}), "html")
        assert document.count("<script") == 1 and document.count("</script>") == 1
        assert "\\u003c/script\\u003e\\u003cscript\\u003ealert(1)\\u003c/script\\u003e\\u0026\\u00e9" in document

    def test_a_page_in_a_page_is_its_nodes(self) -> None:
        assert html(page([page([prose("x")], {"title": "inner"})])) == "<p>x</p>\n"

    def test_meta_must_be_a_map(self) -> None:
        with pytest.raises(RuntimeFault, match=r"^Runtime error: page\(nodes, meta\): meta must be a map, got list$"):
            page([], [])


class TestValues:
    def test_what_programs_see(self) -> None:
        program = """
let n be heading(2, "x")
print(type_of(n), is_map(n), kind of n, n.kind, text of n, n["level"], keys(n), length(n))
print("level" in n, "kind" in n, "href" in n, n == heading(2, "x"), n == heading(3, "x"), get(n, "href", "none"))
each field in n
    print(field, n[field])
print(json_encode({"h": heading(9, 1)}), content(n))
let list be ["shadowed"]
print(list, kind of section([n]), length(nodes of section([n, "dropped", n])))
print(href of n)
"""
        answer = language.run(program)
        assert answer["output"] == [
            'map true heading heading x 2 ["type", "level", "text"] 3',
            "true true false true false none",
            "type heading",
            "level 2",
            "text x",
            '{"h": {"type": "heading", "level": 9, "text": "1"}} {type: "heading", level: 2, text: "x"}',
            '["shadowed"] section 2',
        ]
        assert answer["errors"] == ["Runtime error: <embedded>:10:12: Map has no key 'href'"]

    def test_content_wants_a_node(self) -> None:
        with pytest.raises(RuntimeFault, match=r"content\(tree\): tree must be a node, got text$"):
            content("x")

    def test_content_of_content_and_inside_a_page(self) -> None:
        marked = content(prose("x"))
        assert content(marked) is marked
        assert html(page([marked])) == "<p>x</p>\n"
        assert markdown(list_([marked])) == "- x\n"
        assert type_of(marked) == "map" and isinstance(marked, ContentValue)

    def test_a_node_does_not_follow_the_list_it_was_made_of(self) -> None:
        items = ["a"]
        node = list_(items)
        items.append("b")
        assert markdown(node) == "- a\n"

    def test_secrets_and_tasks_in_items(self) -> None:
        seen = []
        node = list_([Secret("hunter2", ("KEY",)), json_encode])
        _, text = content(node).rendered("json", seen.append)
        assert text == '{"type": "list", "items": ["[redacted]", "builtin:json_encode"]}'
        assert [secret.names for secret in seen] == [("KEY",)]
        assert html(node) == "<ul><li>secret(KEY)</li><li>builtin:json_encode</li></ul>\n"
        assert "hunter2" not in markdown(node) + body(prose(Secret("hunter2", ("KEY",))), "json")

    @pytest.mark.parametrize("form", ["html", "markdown", "json"])
    @pytest.mark.parametrize("wrap", [section, list_], ids=["section", "list"])
    def test_depth_is_bounded(self, form: str, wrap: object) -> None:
        def nested(levels: int) -> ContentNode:
            node = prose("x")
            for _ in range(levels):
                node = wrap([node])  # type: ignore[operator]
            return node

        assert "x" in body(nested(60), form)
        with pytest.raises(RuntimeFault, match=r"^Runtime error: content: the .* is nested more than (64|1000) levels deep"):
            body(nested(5000), form)


# --- links ------------------------------------------------------------------------------------------------------------------


class Attributes(HTMLParser):
    """Reads the attributes as a browser does, references resolved."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.urls += [value or "" for name, value in attrs if name in ("href", "src")]


def urls_in(document: str) -> list[str]:
    parser = Attributes()
    parser.feed(document)
    return parser.urls


def browser_scheme(url: str) -> str | None:
    """The scheme that the URL parser of browsers reads (WHATWG URL, section 4.4)."""
    stripped = url.strip("".join(map(chr, range(0x21)))).replace("\t", "").replace("\n", "").replace("\r", "")
    head, colon, _ = stripped.partition(":")
    valid = (
        colon and head[:1].isascii() and head[:1].isalpha() and all(c.isascii() and (c.isalnum() or c in "+-.") for c in head)
    )
    return head.lower() if valid else None


DANGEROUS = [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "  javascript:alert(1)",
    "\x00\x01\x1fjavascript:alert(1)",
    "java\tscript:alert(1)",
    "java\nscr\r\nipt:alert(1)",
    "javascript\t:alert(1)",
    "\u00a0javascript:alert(1)",
    "\u200bjavascript:alert(1)",
    "\ufeffjavascript:alert(1)",
    "vbscript:msgbox(1)",
    "VBSCRIPT :x",
]


@pytest.mark.parametrize("url", DANGEROUS)
def test_targets_that_run_a_script_are_dropped(url: str) -> None:
    assert html(link("x", url)) == '<a href="#">x</a>\n'
    assert html(image(url, "x")) == '<img src="#" alt="x">\n'


@pytest.mark.parametrize("url", ["data:text/html,<script>alert(1)</script>", " DATA:text/html;base64,PHNjcmlwdD4=", "da\tta:x"])
def test_data_is_dropped_from_links_alone(url: str) -> None:
    assert html(link("x", url)) == '<a href="#">x</a>\n'
    assert urls_in(html(image(url, "x"))) == [url]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/javascript:x",
        "/a?u=javascript:alert(1)",
        "#javascript:x",
        "mailto:a@example.com",
        "tel:+1",
        "javascript",
        "javascripts:x",
        "data.json",
        "?data:x",
        "",
    ],
)
def test_other_targets_stay(url: str) -> None:
    assert urls_in(html(link("x", url))) == [url]


@pytest.mark.parametrize(
    "url", ["&#106;avascript:alert(1)", "javascript&colon;alert(1)", "java&Tab;script:x", "java%73cript:x"]
)
def test_what_looks_escaped_is_text(url: str) -> None:
    """An entity in the argument is characters: it arrives at the browser as it was written, and is no scheme."""
    assert urls_in(html(link("x", url))) == [url]
    assert browser_scheme(url) is None


@given(
    st.lists(
        st.sampled_from(["java", "script", "vb", "data", ":", "JAVA", "Script", " ", "\t", "\n", "\x00", "\x0c", "&", "x", "/"])
    )
    | st.text()
)
def test_no_link_has_a_dangerous_scheme(parts: object) -> None:
    url = "".join(parts)  # type: ignore[call-overload]
    (target,) = urls_in(html(link("x", url)))
    assert browser_scheme(target) not in ("javascript", "vbscript", "data")
    (source,) = urls_in(html(image(url, "x")))
    assert browser_scheme(source) not in ("javascript", "vbscript")


DIRECTIONS = (("dir", "auto"), ("dir", "rtl"))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # A text from right to left has its direction too.
        self.seen.append(tag + "".join(f" {name}" for name, value in attrs if (name, value) not in DIRECTIONS))


@given(st.text(), st.text())
def test_text_makes_no_tags(text: str, other: str) -> None:
    tree = page(
        [heading(1, text), prose(text), list_([text]), link(text, other), image(other, text), code(text, other or "x")],
        {"title": text or "x", "description": other or "x", "stylesheet": other or "x", "class": text},
    )
    parser = Tags()
    parser.feed(body(tree, "html"))
    assert parser.seen == [
        *("html lang", "head", "meta charset", "meta name content", "title", "meta name content", "link rel href"),
        *("script type", "body", "main class", "h1", "p", "ul", "li", "a href", "img src alt", "pre", "code class"),
    ]


# --- the direction of texts -------------------------------------------------------------------------------------------------

SHALOM, SALAM = "שלום", "سلام"


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (heading(2, SHALOM), f'<h2 dir="auto">{SHALOM}</h2>\n'),
        (prose(f"(1) {SALAM} and more"), f'<p dir="auto">(1) {SALAM} and more</p>\n'),
        (prose(f"Hello {SHALOM}"), f"<p>Hello {SHALOM}</p>\n"),
        (prose("12 + 3"), "<p>12 + 3</p>\n"),
        (prose("\u200f12"), '<p dir="auto">\u200f12</p>\n'),
        (link(SALAM, "/a"), f'<a href="/a" dir="auto">{SALAM}</a>\n'),
        (list_(["1", SHALOM, "a"]), f'<ul dir="rtl"><li>1</li><li>{SHALOM}</li><li><bdi>a</bdi></li></ul>\n'),
        (list_(["a", SHALOM]), f"<ul><li>a</li><li><bdi>{SHALOM}</bdi></li></ul>\n"),
        (ordered_list([link(SHALOM, "/a")]), f'<ol dir="rtl"><li><a href="/a">{SHALOM}</a>\n</li></ol>\n'),
        (code(SHALOM), f"<pre><code>{SHALOM}</code></pre>\n"),
    ],
)
def test_a_text_from_right_to_left_says_so(node: ContentNode, expected: str) -> None:
    assert f'<main class="prose">\n{expected}</main>' in body(page([node]), "html")


@pytest.mark.parametrize(
    ("lang", "expected"),
    [
        (None, 'lang="en"'), ("", 'lang="en"'), ("de-AT", 'lang="de-AT"'), ("ar", 'lang="ar" dir="rtl"'),
        ("HE-il", 'lang="HE-il" dir="rtl"'), ("ar-Latn", 'lang="ar-Latn"'), ("az-Arab-IR", 'lang="az-Arab-IR" dir="rtl"'),
        ('"><b>', 'lang="&quot;&gt;&lt;b&gt;"'),
    ],
)  # fmt: skip
def test_a_page_says_its_language(lang: str | None, expected: str) -> None:
    text = body(page([prose("x")], {"lang": lang}), "html")
    assert text.startswith(f"<!DOCTYPE html>\n<html {expected}>\n<head>")


def test_on_a_page_from_right_to_left_the_others_say_so() -> None:
    text = body(page([prose(SALAM), prose("Hello"), list_(["a", SALAM]), code("x"), prose("1")], {"lang": "ar"}), "html")
    items = f'<ul dir="ltr"><li>a</li><li><bdi>{SALAM}</bdi></li></ul>\n'
    block = '<pre dir="ltr"><code>x</code></pre>\n'
    assert f'<p>{SALAM}</p>\n<p dir="auto">Hello</p>\n{items}{block}<p>1</p>\n' in text


# --- negotiation ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (None, "html"),
        ("", "html"),
        ("*/*", "html"),
        ("text/html", "html"),
        ("text/html, text/markdown", "html"),
        ("text/markdown;q=1, text/html;q=0.1", "markdown"),
        ("text/html;q=0.9, text/markdown", "markdown"),
        ("text/html, text/markdown;q=0.9", "html"),
        ("text/html;q=0, text/markdown;q=0.1", "markdown"),
        ("text/markdown;q=0, */*", "html"),
        ("text/html;q=0, */*", "markdown"),
        ("text/markdown, */*", "markdown"),
        ("text/*;q=0.2, application/json;q=0.3", "json"),
        ("application/*, text/markdown;q=0.5", "json"),
        ("text/html ; level=1 ; q = 0.2, application/json; q=0.5", "json"),
        ("text/markdown;q=1.5, application/json;q=0.001", "json"),
        ("text/markdown;q=x", "html"),
        (";q=1, ,", "html"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", "html"),
        ("application/json, TEXT/HTML", "html"),
        ("text/markdown", "markdown"),
        ("Text/Markdown; charset=utf-8", "markdown"),
        ("application/json, text/markdown", "markdown"),
        ("application/json", "json"),
        ("application/json, */*", "json"),
        ("application/ld+json", "html"),
        ("text/plain", "html"),
    ],
)
def test_accept(accept: str | None, form: str) -> None:
    assert format_of(None, accept) == form


@pytest.mark.parametrize("accept", [None, "text/html", "text/markdown", "application/json"])
def test_a_suffix_wins(accept: str | None) -> None:
    assert {suffix: format_of(suffix, accept) for suffix in FORMATS} == {".md": "markdown", ".json": "json", ".html": "html"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/pens/x.md", ("/pens/x", ".md")),
        ("/pens/x.json", ("/pens/x", ".json")),
        ("/x.html", ("/x", ".html")),
        ("/x.html/", ("/x", ".html")),
        ("/x.tar.json", ("/x.tar", ".json")),
        ("/x.json.md", ("/x.json", ".md")),
        ("/x", ("/x", None)),
        ("/x.MD", ("/x.MD", None)),
        ("/x.md/y", ("/x.md/y", None)),
        ("/.md", ("/.md", None)),
        ("/pens/.json", ("/pens/.json", None)),
        ("/", ("/", None)),
        ("", ("", None)),
        ("/xmd", ("/xmd", None)),
    ],
)
def test_suffixes(path: str, expected: tuple[str, str | None]) -> None:
    assert split_suffix(path) == expected


# --- Markdown: what a program was given is text, whatever it looks like ----------------------------------------------------


HOSTILE_TEXTS = [
    "# Ignore what is above",
    "[ ] task",
    "[x] [y]",
    "[x][y]",
    "[1, 2) | 1",
    "a\n\n# b",
    "- item",
    "+ item",
    "1. item",
    "7) item",
    "> quoted",
    "```\ncode\n```",
    "~~~",
    "    code",
    "a\n===",
    "a\n---",
    "***",
    "___",
    "**bold**",
    "_em_",
    "a _b_ c",
    "`code`",
    "``",
    "[x](https://evil.example)",
    "![x](https://evil.example/p)",
    "[x]: https://evil.example",
    "<https://evil.example>",
    "<script>alert(1)</script>",
    "<!-- -->",
    "a\\*b",
    "\\",
    "&lt;b&gt;",
    "&#42;",
    "a | b\n--|--\n1 | 2",
    "| a |\n|---|",
    "~~gone~~",
    "a\u2028# b",
    "a\r# b",
    "\t# b",
    "x](y) [z",
    "snake_case_word 2*3 a<b",
]


def read(text: str) -> list[tuple[str, str]]:
    """The tokens of CommonMark with tables and strikethrough: type and text, the inline ones after their block."""
    found = []
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text):
        found.append((token.type, "" if token.children else token.content))
        found += [(child.type, child.content) for child in token.children or []]
    return found


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_a_text_is_read_as_text_in_markdown(text: str) -> None:
    words = " ".join(text.split())
    for node, opening in (
        (prose(text), "paragraph_open"),
        (heading(2, text), "heading_open"),
        (list_([text]), "bullet_list_open"),
    ):
        tokens = read(markdown(node))
        inside = [
            kind for kind, _ in tokens if not kind.startswith(("paragraph", "heading", "bullet_list", "list_item", "inline"))
        ]
        assert tokens[0][0] == opening
        assert set(inside) <= {"text", "softbreak", "text_special"}, markdown(node)
        assert sum(kind in ("paragraph_open", "heading_open") for kind, _ in tokens) == 1
        shown = "".join(" " if kind == "softbreak" else content for kind, content in tokens)
        assert " ".join(shown.split()) == words
    linked = MarkdownIt().parse(markdown(link(text, "/x")))[1].children or []
    assert [child.type for child in linked].count("link_open") == 1
    assert (linked[0].type, linked[-1].type) == ("link_open", "link_close")


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "x) [evil](https://evil.example", "a b", "a\nb", "<x>", "x\\", "/a(b)c"]
)
def test_an_address_ends_no_link_in_markdown(url: str) -> None:
    (paragraph,) = [token for token in MarkdownIt().parse(markdown(link("x", url))) if token.type == "inline"]
    children = paragraph.children or []
    assert [child.type for child in children] == ["link_open", "text", "link_close"]
    assert "javascript" not in str(children[0].attrs)


def test_a_table_of_a_chart_keeps_its_cells() -> None:
    drawn = chart("bar", {"a | b": 1, "[x](https://evil.example)": -2}, {"title": "**T** <b>"})
    text = markdown(drawn)
    tokens = read(text)
    assert [content for kind, content in tokens if kind in ("link_open", "html_inline", "html_block")] == []
    assert sum(kind == "tr_open" for kind, _ in tokens) == 3
    assert "-2" in text
