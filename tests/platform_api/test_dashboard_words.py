"""The words of the pages: complete in every language, and chosen as the person asks."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

from platform_api.dashboard import words as module
from platform_api.dashboard.words import LANGUAGES, chosen, words_of

_FOLDER = Path(module.__file__).parent


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_every_language_has_the_same_keys_and_placeholders(language: str) -> None:
    english, other = words_of("en").texts, words_of(language).texts
    assert set(english) == set(other)
    assert [key for key in english if placeholders(english[key]) != placeholders(other[key])] == []
    assert not [key for key, text in other.items() if not text.strip()]


def test_every_text_that_a_page_asks_for_is_there_and_no_other() -> None:
    texts = set(words_of("en").texts)
    called, named = set(), set()
    for path in [*_FOLDER.rglob("*.html"), *_FOLDER.glob("*.py")]:
        source = path.read_text(encoding="utf-8")
        called |= set(re.findall(r"""words\(\s*["']([a-z_]+\.[a-z0-9_]+)["']\s*[,)]""", source))
        named |= set(re.findall(r"""["']([a-z_]+\.[a-z0-9_]+)["']""", source))
    assert called <= texts
    # What is put together from a status, a kind, a number, the name of a tab.
    made = ("status.", "kind.", "failure.", "time.", "new.from_", "tab.", "gate.kind_", "scope.", "via.")
    rest = {key for key in texts - named if not key.startswith(made)}
    assert rest == {"runs.manual"}


@pytest.mark.parametrize(
    ("header", "cookie", "language"),
    [
        ("", None, "en"),
        ("es-MX,en;q=0.5", None, "es"),
        ("fr,pt-BR;q=0.4,es;q=0.6", None, "es"),
        ("pt;q=0,es;q=0.1", None, "es"),
        ("en", "pt", "pt"),
        ("es", "xx", "es"),
        ("es;q=much", None, "en"),
        ("de", None, "en"),
    ],
)
def test_the_language_is_what_the_person_asks_for(header: str, cookie: str | None, language: str) -> None:
    assert chosen(header, cookie) == language
