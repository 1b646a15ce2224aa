"""What holds for every text: what is copied, what is escaped, and that nothing but the errors of the manual comes out."""

from __future__ import annotations

import html
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import language
from language.templates.holes import TemplateFault
from language.templates.parser import parse
from language.templates.rendering import escaped
from language.values.display import display

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
#: Texts of what templates are made of, so that whole blocks come up.
PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "{",
                "}",
                '"',
                "\\",
                "'",
                "`",
                "\n",
                " ",
                "a",
                "x",
                "(",
                ")",
                "[",
                "]",
                ":",
                ",",
                ".",
                "+",
                "1",
                "--",
                "{}",
                "{ end }",
            ),
            *(
                "{ raw }",
                "{ raw x }",
                "{ each x in xs }",
                "{ when x }",
                "{ otherwise }",
                "{ otherwise when a }",
                "{ a }",
                "{ x.y }",
            ),
            *('{ include "p.html" }', '{ include "p.html" with m }', '{ layout "p.html" }', "{ slot }", '{ slot "s" }'),
            *('{ fill "s" }', "{ -- }", "{ upper(a) }", "é", "\x00", "\r\n"),
        ]
    ),
    max_size=24,
).map("".join)


def render(text: str, data: str = "{}", **files: str) -> dict[str, Any]:
    pages = {"page.html": text, **{f"{name}.html": content for name, content in files.items()}}
    return language.run(f'print(body of render("page.html", {data}))', filename="main.lang", files=pages)


@given(TEXT.map(lambda text: text.replace("{", "")))
@example("")
@example("\ufeff<p>\r\n\x00 } } \u2028")
def test_text_without_an_opening_brace_is_copied(text: str) -> None:
    assert render(text)["output"] == [text]
    assert parse(text, "page.html").includes == ()


@given(TEXT.map(lambda text: text.replace("{", "")), TEXT.map(lambda text: text.replace("{", "")))
def test_text_around_holes_is_copied(before: str, after: str) -> None:
    assert render(before + '{ "|" }{ -- no }' + after)["output"] == [before + "|" + after]
    assert render(before + "{ when true }" + after + "{ end }" + before)["output"] == [before + after + before]


@given(TEXT.filter(lambda text: "{" not in text or "end" not in text))
@example('{ x } { " ')
def test_verbatim_blocks_are_copied(text: str) -> None:
    assert render("{ raw }" + text + "{ end }")["output"] == [text]


@given(TEXT)
@example("&amp;<'\">&#x27;")
def test_escaping_can_be_undone_and_leaves_no_markup(text: str) -> None:
    safe = escaped(text)
    assert not set(safe) & set("<>\"'")
    assert html.unescape(safe.replace("\r", "")) == html.unescape(escaped(text.replace("\r", "")))
    back = safe
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'"), ("&amp;", "&")):
        back = back.replace(entity, character)
    assert back == text
    assert escaped(text) == html.escape(text)


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | TEXT | st.binary(max_size=40),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=8,
    )
)
def test_every_value_is_escaped_as_its_display_form(value: Any) -> None:
    assert escaped(value) == html.escape(display(value))


@given(PIECES)
@example("{ each x in xs }{ otherwise }{ otherwise }{ end }")
@example('{ when x }{ fill "s" }{ end }{ end }')
def test_a_template_is_in_order_or_one_of_the_errors(text: str) -> None:
    try:
        parse(text, "page.html")
    except TemplateFault as fault:
        assert fault.message.startswith("page.html:")
    answer = render(text, '{"xs": [1, 2], "a": "<", "m": {}, "x": {"y": 1}}', p='[{ slot }{ slot "s" }]')
    assert answer["ok"] or answer["errors"][0].startswith(
        ("Runtime error: main.lang:1:21: page.html", "Runtime error: main.lang:1:21: p.html")
    )


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["\n", "x", "{ ok }", "{ -- \n }", "{ raw }\n{ end }", "{ when ok\n }\n{ end }"]), max_size=30))
def test_errors_name_the_line_of_their_hole(pieces: list[str]) -> None:
    before = "".join(pieces)
    answer = render(before + "{\n\n missing \n}", '{"ok": "1"}')
    line = before.count("\n") + 1
    assert answer["errors"] == [f"Runtime error: main.lang:1:21: page.html:{line}: field 'missing' is not in the template data"]


@pytest.mark.parametrize("bad", ["{ 1 + }", "{ each }", "{ end }", "{ include x }", "{ otherwise }"])
def test_the_line_of_what_does_not_parse(bad: str) -> None:
    for before in ("", "\n", "{ raw }\n\n{ end }\n", "{ --\n }\r\n", "{ a\n}"):
        line = before.count("\n") + 1
        with pytest.raises(TemplateFault) as raised:
            parse(before + bad, "page.html")
        assert raised.value.message.startswith(f"page.html:{line}: ")
