"""Markdown in, HTML out: what it reads, and what a hostile text cannot do."""

from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.values import FALSE, TRUE, Secret
from stdlib.markdown import markdown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Hi *there*", "<h1>Hi <em>there</em></h1>\n"),
        ("", ""),
        ("a\nb\n\nc", "<p>a\nb</p>\n<p>c</p>\n"),
        ("- a\n- **b**", "<ul>\n<li>a</li>\n<li><strong>b</strong></li>\n</ul>\n"),
        ("~~gone~~", "<p><s>gone</s></p>\n"),
        ("```py\na < b\n```", '<pre><code class="language-py">a &lt; b\n</code></pre>\n'),
        ("[t](/h?a&b 'T')", '<p><a href="/h?a&amp;b" title="T">t</a></p>\n'),
        ("![a](/s.png)", '<p><img src="/s.png" alt="a" /></p>\n'),
        ("<https://example.com>", '<p><a href="https://example.com">https://example.com</a></p>\n'),
        (
            "| a |\n| - |\n| 1 |",
            "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n</tr>\n</tbody>\n</table>\n",
        ),
        (5, "<p>5</p>\n"),
        (Secret("hunter2", ("KEY",)), "<p>secret(KEY)</p>\n"),
    ],
)
def test_what_it_reads(text: object, expected: str) -> None:
    assert markdown(text) == expected
    assert markdown(text, {"html": FALSE}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# שלום\n\nHello", '<h1 dir="rtl">שלום</h1>\n<p>Hello</p>\n'),
        ("Hello שלום", "<p>Hello שלום</p>\n"),
        ("**שלום** Hello", '<p dir="rtl"><strong>שלום</strong> Hello</p>\n'),
        ("- 1\n- שלום\n- a", '<ul dir="rtl">\n<li>1</li>\n<li>שלום</li>\n<li>a</li>\n</ul>\n'),
        ("> שלום\n>\n> Hello", '<blockquote dir="rtl">\n<p>שלום</p>\n<p dir="ltr">Hello</p>\n</blockquote>\n'),
        ("| שלום | b |\n| --- | --- |", '<table dir="rtl">\n<thead>\n<tr>\n<th>שלום</th>\n<th dir="ltr">b</th>\n</tr>\n'
         "</thead>\n</table>\n"),
        ("| a |\n| --- |\n| שלום |", "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n"
         '<td dir="rtl">שלום</td>\n</tr>\n</tbody>\n</table>\n'),
    ],
)  # fmt: skip
def test_what_begins_from_right_to_left_says_so(text: str, expected: str) -> None:
    assert markdown(text) == expected


def test_html_is_text_unless_asked_for() -> None:
    assert markdown("<b onclick=x>hi</b>") == "<p>&lt;b onclick=x&gt;hi&lt;/b&gt;</p>\n"
    assert markdown("<script>x</script>") == "<p>&lt;script&gt;x&lt;/script&gt;</p>\n"
    assert markdown("<b>hi</b> *x*", {"html": TRUE}) == "<p><b>hi</b> <em>x</em></p>\n"
    assert markdown("<b>hi</b>", {"html": None}) == markdown("<b>hi</b>")


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.urls: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.urls += [value or "" for name, value in attrs if name in ("href", "src")]


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "&#106;avascript:alert(1)",
        "javascript&colon;alert(1)",
        "java&Tab;script:alert(1)",
        "java&#10;script:alert(1)",
        "&#1;javascript:alert(1)",
        "&nbsp;javascript:alert(1)",
        "&#xfeff;javascript:alert(1)",
        "vbscript:x",
        "data:text/html,<script>alert(1)</script>",
        "data:image/svg+xml,<svg>",
        "file:///etc/passwd",
    ],
)
@pytest.mark.parametrize("form", ["[x]({})", "![x]({})", "[x](<{}>)", "[x]\n\n[x]: {}", "<{}>"])
@pytest.mark.parametrize("opts", [None, {"html": TRUE}], ids=["safe", "html"])
def test_no_link_runs_a_script(url: str, form: str, opts: object) -> None:
    if opts and form == "<{}>":
        return  # an element then, which the caller answers for
    for found in Page(markdown(form.format(url), opts)).urls:
        head = "".join(c for c in found.lower() if c > " ").partition(":")[0]
        assert head not in ("javascript", "vbscript", "data", "file"), found


PIECES = [
    "[x](",
    ")",
    "<",
    ">",
    "javascript:",
    "&#58;",
    "\t",
    "\n",
    "`",
    "*",
    "|",
    "-",
    "![",
    "onerror=",
    '"',
    "&lt;",
    "\\",
    "~~",
]
ALLOWED = {
    *("p", "em", "strong", "s", "a", "img", "code", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "hr", "br"),
    *("blockquote", "table", "thead", "tbody", "tr", "th", "td"),
}


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=30))
def test_any_text_is_safe(pieces: list[str]) -> None:
    page = Page(markdown("".join(pieces)))
    assert page.tags <= ALLOWED
    assert page.attributes <= {"href", "src", "alt", "title", "class", "start", "style"}
    for url in page.urls:
        assert not "".join(c for c in url.lower() if c > " ").startswith(("javascript:", "vbscript:", "data:text"))


@pytest.mark.parametrize(
    "piece", ["[", "*a ", ">", "![", "[a](b", "**a *b ", "<", "&", "_a", "`", "~~a ", "]", "<a ", "|a", "- "]
)
def test_long_input_takes_no_more_than_its_length(piece: str) -> None:
    start = time.process_time()
    markdown(piece * 20_000)
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    ("opts", "expected"),
    [
        ({"safe": TRUE}, 'markdown: unknown option "safe"; valid options are: html'),
        ({"html": "yes"}, 'markdown: option "html" must be a bool, got text'),
        ("html", "markdown: the options must be a map, got text"),
    ],
)
def test_errors(opts: object, expected: str) -> None:
    with pytest.raises(RuntimeFault) as caught:
        markdown("x", opts)
    assert caught.value.message == expected
