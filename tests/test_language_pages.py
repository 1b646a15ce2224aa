"""The pages that teach the language hold every word of it, and the page for models holds nothing that is not run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import llms
from language.cli.main import main
from language.cli.manual_pages import sections
from language.syntax import serve_words, tokens
from language.syntax.tokens import HARD_KEYWORDS
from stdlib import FAMILIES, all_builtins, load_family

pytestmark = pytest.mark.once

DOCS = Path(__file__).resolve().parent.parent / "docs"
_BLOCK = re.compile(r"^```lang[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Words of clauses that stand in the section of their clause and need none of their own.
_INSIDE = {"none", "unlimited", "off", "cert", "key", "auto", "https", "proxy"}


def keywords() -> set[str]:
    """Every word that the tables of the lexer and the layout pass know."""
    found = {*HARD_KEYWORDS, *tokens.STATEMENT_WORDS, *tokens.GATE_WORDS, *tokens.INFIX_WORDS, *tokens.EXPORTABLE}
    found |= {*tokens.SERVE_CLAUSES, *tokens.HOST_CLAUSES, *tokens.DESCRIBE_CLAUSES}
    for inner in serve_words._INNER.values():
        found |= inner
    return found - _INSIDE


def test_every_keyword_has_its_section() -> None:
    assert keywords() - sections().keys() == set()


def test_every_word_of_the_grammar_has_its_section() -> None:
    grammar = (DOCS.parent / "language" / "syntax" / "grammar.lark").read_text(encoding="utf-8")
    words = set(re.findall(r'"([a-z_]+)"', grammar))
    assert words > {"let", "stream", "judge"}
    assert words - _INSIDE - sections().keys() == set()


def test_every_section_tells_a_form_and_has_an_example() -> None:
    for word, section in sections().items():
        assert len(_BLOCK.findall(section)) >= 1, word
        assert f"`{word}`" in section.split("\n", 1)[0]


@pytest.mark.parametrize("word", ["when", "otherwise", "url_encode", "let", "rate_limit"])
def test_the_command_shows_what_a_word_means(word: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", word]) == 0
    assert word in capfd.readouterr().out.split("\n")[0]


def test_the_command_shows_the_page_for_models(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["docs", "guide"]) == 0
    assert capfd.readouterr().out == llms.TARGET.read_text(encoding="utf-8")


def test_the_page_for_models_is_that_of_today() -> None:
    assert llms.TARGET.read_text(encoding="utf-8") == llms.text(), "run `make docs`"


def test_the_page_for_models_costs_at_most_twelve_thousand_tokens() -> None:
    assert llms.tokens(llms.text()) <= llms.MOST_TOKENS == 12_000


def test_every_example_for_models_is_one_that_the_tests_of_the_manual_run() -> None:
    run = {
        block for page in ("guide.md", "reference.md") for block in _BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    }
    shown = _BLOCK.findall(llms.text())
    assert len(shown) > 25
    assert [block for block in shown if block not in run] == []


def test_the_page_for_models_names_every_builtin() -> None:
    page = llms.text().partition("## Builtins")[2]
    families = [load_family(name) for name in FAMILIES]
    missing = [
        one.name
        for family in families
        for one in family.builtins.values()
        if one.alias_of is None and not re.search(rf"(?<![\w.]){re.escape(one.name)}(?![\w.])", page)
    ]
    assert missing == []


def test_what_the_page_for_models_shortens_is_there() -> None:
    assert llms.WITHOUT_EXAMPLE - {section.partition("\n")[0].removeprefix("### ") for section in sections().values()} == set()
    assert llms.NAMES_ALONE - set(FAMILIES) == set()
    assert llms.EXPLAINED - all_builtins().keys() == set()


def test_the_page_for_models_keeps_the_form_of_what_it_shows_no_example_of() -> None:
    page = llms.text()
    for title in llms.WITHOUT_EXAMPLE:
        section = page.partition(f"\n### {title}\n")[2].partition("\n#")[0]
        words = re.findall(r"`(\w+)`", title)
        assert [word for word in words if not re.search(rf"`[^`]*\b{word}\b", section)] == [], title
