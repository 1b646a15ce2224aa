"""The editor has a text for every word that a program can be written with."""

from __future__ import annotations

from language.capabilities import INERT_NAMES, NAMES
from language.lsp.keywords import KEYWORDS, STATEMENTS, keyword_text
from language.lsp.manual import CAPABILITIES, REQUEST_FIELDS, capability_text, request_field_text
from language.serve.exchange import _VALUES
from language.syntax.tokens import GATE_WORDS, HARD_KEYWORDS, SERVE_CLAUSES, STATEMENT_WORDS

#: Kept for later versions of the language: no statement has them.
RESERVED = {"and_then", "repeat", "allow", "deny", "verify"}
#: Clauses of few words, which the page of the services tells.
OTHER_CLAUSES = {"timeout", "private", "docs", "tls", "domain", "redirect", "bind", "trust"}


def test_every_keyword_has_a_text() -> None:
    wanted = {*HARD_KEYWORDS, *STATEMENT_WORDS, *GATE_WORDS, *SERVE_CLAUSES} - RESERVED - OTHER_CLAUSES
    assert wanted <= KEYWORDS | STATEMENTS
    assert not KEYWORDS & STATEMENTS
    for word in KEYWORDS | STATEMENTS:
        shown = keyword_text(word)
        assert shown.startswith("```lang\n") and word in shown, word


def test_every_capability_has_a_text() -> None:
    assert set(CAPABILITIES) == set(NAMES) - set(INERT_NAMES)
    assert all(f"require {name}" in capability_text(name) for name in NAMES)


def test_every_field_of_a_request_has_a_text() -> None:
    assert set(REQUEST_FIELDS) == set(_VALUES)
    assert all(request_field_text(name) for name in REQUEST_FIELDS)
