"""What stands before a place in a text that is being typed."""

from __future__ import annotations

import pytest

from language.lsp.code_context import CodeContext, context_at, word_at


def before_mark(text: str) -> CodeContext:
    offset = text.index("|")
    return context_at(text[:offset] + text[offset + 1 :], offset)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("let x be |", "code"),
        ("-- a note |", "comment"),
        ("-- a note\n|", "code"),
        ('print("a |', "text"),
        ('print("a \\" |', "text"),
        ('print("a" |', "code"),
        ('print("a\n|', "code"),
        ("print('a\\\\'|", "code"),
        ("print(`a |", "text"),
        ("print(`a {b|", "code"),
        ("print(`a {b} |", "text"),
        ("print(`a {`c|", "text"),
        ('print(`a {f("x")} {|', "code"),
        ("print(`a\nb|", "text"),
    ],
)
def test_inside(text: str, inside: str) -> None:
    assert before_mark(text).inside == inside


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("f(|", [("f", 0, "")]),
        ("f(a, b|", [("f", 1, "")]),
        ("f(a, g(b), [c, d], |", [("f", 3, "")]),
        ("f(g(1, |", [("f", 0, ""), ("g", 1, "")]),
        ("f(a)|", []),
        ("m.f(a, |", [("m.f", 1, "")]),
        ("f(a, key = |", [("f", 1, "key")]),
        ("f(a == b|", [("f", 0, "")]),
        ("f(a, key = 1, |", [("f", 2, "")]),
        ("f (a, |", []),
        ("print(`{f(1, |", [("print", 0, ""), ("f", 1, "")]),
        ("f(a,\n    b, |", [("f", 2, "")]),
        ("f(a,\nlet x be g(|", [("g", 0, "")]),
        ('f("a, b", |', [("f", 1, "")]),
        ("f((x) => x, |", [("f", 1, "")]),
    ],
)
def test_open_calls(text: str, calls: list[tuple[str, int, str]]) -> None:
    assert [(call.name, call.argument, call.keyword) for call in before_mark(text).calls] == calls


@pytest.mark.parametrize(
    ("text", "chain", "word"),
    [
        ("request.pa|", ("request",), "pa"),
        ("request.|", ("request",), ""),
        ("a.b.c|", ("a", "b"), "c"),
        ("let x be na|", (), "na"),
        ("1.|", (), ""),
        ("f().na|", (), "na"),
    ],
)
def test_chain(text: str, chain: tuple[str, ...], word: str) -> None:
    context = before_mark(text)
    assert (context.chain, context.word) == (chain, word)


def test_the_word_at_a_place() -> None:
    assert word_at("let añb be 1", 5) == ("añb", 4)
    assert word_at("let añb be 1", 7) == ("añb", 4)
    assert word_at("a + 1", 2) == ("", 2)
    assert word_at("x12", 3) == ("x12", 0)
    assert word_at("12", 1) == ("", 1)
