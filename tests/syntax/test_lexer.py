"""Source text to tokens: values, places, line ends, indentation, comments, templates, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from language.errors import LexerError, ParseError
from language.syntax.lexer import Token, decode_source, flat_tokens, tokenize

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [*sorted(ROOT.glob("conformance/*/*.lang")), *sorted(ROOT.glob("examples/**/*.lang"))]


def kinds(source: str) -> str:
    return " ".join(token.type for token in tokenize(source, "t.lang"))


def first(source: str) -> Token:
    return tokenize(source, "t.lang")[0]


def refused(source: str) -> str:
    with pytest.raises(LexerError) as caught:
        tokenize(source, "t.lang")
    return str(caught.value).removeprefix("Lexer error: t.lang:")


# ---- words, operators, numbers -----------------------------------------------------------------------------------------


def test_keywords_have_types_of_their_own_and_soft_words_do_not() -> None:
    assert kinds("when true false nothing and_then log serve") == (
        "WHEN BOOL_TRUE BOOL_FALSE NOTHING AND_THEN IDENTIFIER IDENTIFIER NEWLINE EOF"
    )


def test_all_operators() -> None:
    text = "+ - * / // % ** == != < <= > >= = => |> ... , : ( ) [ ] { } -> ."
    assert kinds(text) == (
        "PLUS MINUS STAR SLASH FLOORDIV PERCENT POWER EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL ASSIGN FAT_ARROW "
        "PIPE SPREAD COMMA COLON LPAREN RPAREN LBRACKET RBRACKET LBRACE RBRACE ARROW DOT NEWLINE EOF"
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a+=1", "IDENTIFIER PLUS ASSIGN NUMBER"),
        ("a-=1", "IDENTIFIER MINUS ASSIGN NUMBER"),
        ("a**=1", "IDENTIFIER POWER ASSIGN NUMBER"),
        ("a//=1", "IDENTIFIER FLOORDIV ASSIGN NUMBER"),
        ("a<=-1", "IDENTIFIER LESS_EQUAL MINUS NUMBER"),
        ("a- -1", "IDENTIFIER MINUS MINUS NUMBER"),
        ("[a,...b]", "LBRACKET IDENTIFIER COMMA SPREAD IDENTIFIER RBRACKET"),
        ("a....b", "IDENTIFIER DOT DOT DOT DOT IDENTIFIER"),
        ("a..b", "IDENTIFIER DOT DOT IDENTIFIER"),
        ("1.", "NUMBER DOT"),
        ("1.x", "NUMBER DOT IDENTIFIER"),
        (".5", "DOT NUMBER"),
        ("2e", "NUMBER IDENTIFIER"),
        ("1e_3", "NUMBER IDENTIFIER"),
        ("1.5.6", "NUMBER DOT NUMBER"),
        ("1...2", "NUMBER SPREAD NUMBER"),
        ("5x", "NUMBER IDENTIFIER"),
        ("1.5dx", "NUMBER IDENTIFIER"),
        ("1dé", "NUMBER IDENTIFIER"),
        ("1d.x", "NUMBER DOT IDENTIFIER"),
    ],
)
def test_where_tokens_end(source: str, expected: str) -> None:
    assert kinds(source) == expected + " NEWLINE EOF"


@pytest.mark.parametrize(
    "number",
    [
        "42",
        "1_000",
        "007",
        "0x1f",
        "0X1F",
        "0o17",
        "0b101",
        "0x_ff",
        "0xFF_FF",
        "1.5",
        "1e3",
        "1.5E-3",
        "1_0.0_1e+1_0",
        "1.50d",
    ],
)
def test_numbers_are_one_token(number: str) -> None:
    assert first(number).type == "NUMBER"
    assert first(number).value == number


@pytest.mark.parametrize("name", ["_", "x1", "ñandú", "变量", "Ω", "a\u0301b", "x\u0665", "_é", "ªb"])
def test_names_of_any_script(name: str) -> None:
    assert (first(name).type, first(name).value) == ("IDENTIFIER", name)


@pytest.mark.parametrize("character", ["\u0665", "\u0301", "²", "€", "😀", "\u2028", "\x0c", "\x7f"])
def test_what_cannot_begin_a_name(character: str) -> None:
    shown = {"\x0c": "\\x0c", "\x7f": "\\x7f"}.get(character, character)
    assert refused(f"let x be {character}") == f"1:10: Unexpected character: '{shown}'"


@pytest.mark.parametrize("character", ["\u00a0", "“", "–"])
def test_signs_that_look_like_others(character: str) -> None:
    with pytest.raises(LexerError) as caught:
        tokenize(f"let x be {character}", "t.lang")
    assert caught.value.code == "E0122"
    assert caught.value.message.startswith(f"Unexpected character: '{character}' — ")


def test_a_name_ends_before_what_cannot_stand_in_it() -> None:
    assert refused("ab²") == "1:3: Unexpected character: '²'"


# ---- text --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('"a b"', "a b"),
        ("'say \"hi\"'", 'say "hi"'),
        (r'"\n\t\r\\\"\'"', "\n\t\r\\\"'"),
        (r'"\u00e9\u{1F600}\u{a}"', "é😀\n"),
        (r'"\uD83D\uDE00"', "😀"),
        (r'"\uD83D"', r"\uD83D"),
        (r'"\uD83Dx\uDE00"', r"\uD83Dx\uDE00"),
        (r'"\uD83D\uD83D\uDE00"', "\\uD83D😀"),
        (r'"\uD83D\u{DE00}"', r"\uD83D\u{DE00}"),
        (r'"\u{D800}\u{110000}\u{}\u{1234567}\u12"', r"\u{D800}\u{110000}\u{}\u{1234567}\u12"),
        (r'"C:\users\x64\q"', r"C:\users\x64\q"),
        ('"{x}"', "{x}"),
        ('"-- no comment"', "-- no comment"),
        ('""', ""),
    ],
)
def test_escapes(source: str, value: str) -> None:
    token = first(source)
    assert (token.type, token.value) == ("TEXT", value)
    assert token.end == len(source)


# ---- templates ---------------------------------------------------------------------------------------------------------


def pieces(source: str) -> list[tuple[str, str]]:
    return [(t.type, t.value) for t in flat_tokens(source, "t.lang") if t.type not in ("NEWLINE", "EOF")]


def test_a_template_is_one_token() -> None:
    token = first("`a {b + `c{d}`}\n}` + 1")
    assert (token.type, token.value) == ("TEMPLATE", "a {b + `c{d}`}\n}")
    assert token[2:6] == (1, 1, 2, 3)
    assert kinds("`a {b}` + `{c}`") == "TEMPLATE PLUS TEMPLATE NEWLINE EOF"


def test_a_template_taken_apart() -> None:
    assert pieces("`a{b}c`") == [
        ("TEMPLATE", "a{b}c"),
        ("PIECE", "a"),
        ("HOLE", "{"),
        ("IDENTIFIER", "b"),
        ("HOLE_END", "}"),
        ("PIECE", "c"),
        ("TEMPLATE_END", "`"),
    ]
    assert pieces("``") == [("TEMPLATE", ""), ("TEMPLATE_END", "`")]


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        (r"\`\{x}", "`{x}"),
        (r"\}", "\\}"),
        ("}", "}"),
        (r"\u00e9", "é"),
        (r"a\\", "a\\"),
        ("two\nlines", "two\nlines"),
        (r"\q", r"\q"),
    ],
)
def test_pieces(inside: str, text: str) -> None:
    assert pieces(f"`{inside}`")[1] == ("PIECE", text)


def test_braces_after_u_are_a_hole() -> None:
    assert [kind for kind, _ in pieces(r"`\u{a}`")] == ["TEMPLATE", "PIECE", "HOLE", "IDENTIFIER", "HOLE_END", "TEMPLATE_END"]
    assert pieces(r"`\u{a}`")[1] == ("PIECE", r"\u")


def test_braces_texts_and_templates_inside_a_hole_are_units() -> None:
    assert kinds("`{ {\"}\": '`'} } {`}`}`") == "TEMPLATE NEWLINE EOF"
    assert [kind for kind, _ in pieces('`{"}"}`')] == ["TEMPLATE", "HOLE", "TEXT", "HOLE_END", "TEMPLATE_END"]


def test_places_in_holes_are_places_in_the_file() -> None:
    tokens = {t.value: t for t in flat_tokens("print(`é\n  {one + `\n{two}`}` + three)", "t.lang") if t.type == "IDENTIFIER"}
    assert tokens["one"][2:4] == (2, 4)
    assert tokens["two"][2:4] == (3, 2)
    assert tokens["three"][2:4] == (3, 12)


def test_a_bracket_left_open_in_a_hole_is_closed_with_it() -> None:
    assert kinds("`{(}`\nx") == "TEMPLATE NEWLINE IDENTIFIER NEWLINE EOF"


def test_templates_nest_to_the_limit_only() -> None:
    with pytest.raises(ParseError, match="nested too deeply"):
        tokenize("`{" * 5000 + "}`" * 5000, "t.lang")


# ---- lines -------------------------------------------------------------------------------------------------------------


def test_indentation() -> None:
    assert kinds("a\n  b\n\n  -- note\n     c\nd") == (
        "IDENTIFIER NEWLINE INDENT IDENTIFIER NEWLINE INDENT IDENTIFIER NEWLINE DEDENT DEDENT IDENTIFIER NEWLINE EOF"
    )


def test_a_tab_counts_four() -> None:
    assert kinds("a\n\tb\n\tc") == "IDENTIFIER NEWLINE INDENT IDENTIFIER NEWLINE IDENTIFIER NEWLINE DEDENT EOF"
    assert (
        kinds("a\n\tb\n\t    c") == "IDENTIFIER NEWLINE INDENT IDENTIFIER NEWLINE INDENT IDENTIFIER NEWLINE DEDENT DEDENT EOF"
    )
    assert [t.value for t in tokenize("a\n \tb\nc", "t") if t.type in ("INDENT", "DEDENT")] == ["5", "0"]


@pytest.mark.parametrize(
    "source", ["a\n\tb\n    c", "a\n    b\n\tc", "a\n \tb\n\t c", "a\n    b\n\t\tc", "a\n\tb\n\t\tc\n    d"]
)
def test_tabs_and_spaces_are_not_mixed(source: str) -> None:
    with pytest.raises(LexerError) as caught:
        tokenize(source, "t.lang")
    assert caught.value.code == "E0107"
    assert caught.value.line == source.count("\n") + 1
    assert "tabs and spaces are mixed" in caught.value.message


def test_brackets_hide_line_ends() -> None:
    assert kinds("f(\n1,\n  -- note\n      [2\n])\nb") == (
        "IDENTIFIER LPAREN NUMBER COMMA LBRACKET NUMBER RBRACKET RPAREN NEWLINE IDENTIFIER NEWLINE EOF"
    )


def test_the_last_line_needs_no_end() -> None:
    for source in ("a", "a\n", "a  ", "a -- note", "a\n-- note", "a\n   -- note", "a\n\n   \n"):
        assert kinds(source) == "IDENTIFIER NEWLINE EOF"
    for source in ("", "\n", "   ", "-- note", "  -- note\n"):
        assert kinds(source) == "EOF"


def test_comments_never_touch_the_layout() -> None:
    source = "-- one\nwhen a -- two\n        -- three\n    b\n  -- four\nc(1, -- five\n  2)\n-- six"
    with_comments = tokenize(source, "t.lang", keep_comments=True)
    assert [t.value for t in with_comments if t.type == "COMMENT"] == [
        *("-- one", "-- two", "-- three", "-- four", "-- five", "-- six"),
    ]
    assert [t for t in with_comments if t.type != "COMMENT"] == tokenize(source, "t.lang")
    assert [t[2:4] for t in with_comments if t.type == "COMMENT"] == [(1, 1), (2, 8), (3, 9), (5, 3), (6, 6), (8, 1)]


def test_comments_after_values() -> None:
    for source in (
        "print(1)--note",
        "x--note",
        "x --1",
        "f(a) -- (1)",
        "[\n1,  --TODO\n2]",
        "f(\n4 --4 is max\n)",
        "--(1)",
        "x ---1",
    ):
        assert "COMMENT" in [t.type for t in tokenize(source, "t.lang", keep_comments=True)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_offsets_and_columns_agree(path: Path) -> None:
    try:
        source = decode_source(path.read_bytes())
        tokens = tokenize(source, path.name, keep_comments=True)
    except (LexerError, UnicodeDecodeError):
        return
    lines = source.split("\n")
    end = 0
    for token in tokens:
        assert token.start >= end
        end = token.end
        assert sum(len(line) + 1 for line in lines[: token.line - 1]) + token.col - 1 == token.start
        if token.type in ("IDENTIFIER", "NUMBER"):
            assert source[token.start : token.end] == token.value
    gaps = [source[a.end : b.start] for a, b in pairwise(tokens)]
    assert not "".join(gaps).strip(" \t\n")


# ---- refusals ----------------------------------------------------------------------------------------------------------

UNDERSCORE = "— `_` goes only between two digits (1_000, 1_000.5)"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("let x be @", "1:10: Unexpected character: '@'"),
        ("a \\ b", "1:3: Unexpected character: '\\\\' — what stands in brackets may go on over several lines"),
        ("\x07", "1:1: Unexpected character: '\\x07'"),
        ("a | b", "1:3: Unexpected character: '|' — `or` joins conditions, `|>` passes a value to a call"),
        ("!a", "1:1: Unexpected character: '!' — `not x` negates, `a != b` asks whether two values differ"),
        ("\n\t;", "2:2: Unexpected character: ';' — a statement ends with its line: leave the `;` out"),
        ('f("abc', "1:3: Unterminated string (reached end of file)"),
        ("f('abc\n')", "1:3: Unterminated string (newline in string)"),
        ('"abc\\\n"', "1:1: Unterminated string (newline in string)"),
        ('"abc\\"', "1:1: Unterminated string (reached end of file)"),
        ("a\n `x {", "2:2: Unterminated template (reached end of file)"),
        ("`a {`b}` c", "1:1: Unterminated template (reached end of file)"),
        ("`a\n {it's}`\n", "2:5: Unterminated string (newline in string)"),
        ("`{1 @ 2}`", "1:5: Unexpected character: '@'"),
        ("when a\n        b\n    c", "3:5: Inconsistent indentation: expected 0 or 8 spaces but got 4"),
        ("when a\n    b\n  c", "3:3: Inconsistent indentation: expected 0 or 4 spaces but got 2"),
        ("1__0", f"1:1: Invalid number literal: 1__0 {UNDERSCORE}"),
        ("1_", f"1:1: Invalid number literal: 1_ {UNDERSCORE}"),
        ("print(1_.5)", f"1:7: Invalid number literal: 1_.5 {UNDERSCORE}"),
        ("1e3_", f"1:1: Invalid number literal: 1e3_ {UNDERSCORE}"),
        ("1_d", f"1:1: Invalid number literal: 1_ {UNDERSCORE}"),
        ("1e1234567890123456789d", "1:1: Invalid decimal literal: 1e1234567890123456789d"),
        ("0x", "1:1: Invalid hex literal: 0x — expected hex (0-9, a-f) digits after the prefix"),
        ("0xg", "1:1: Invalid hex literal: 0xg — expected hex (0-9, a-f) digits after the prefix"),
        ("0o8", "1:1: Invalid octal literal: 0o8 — expected octal (0-7) digits after the prefix"),
        ("0b12", "1:1: Invalid binary literal: 0b12 — expected binary (0 or 1) digits after the prefix"),
        ("0x1__f", "1:1: Invalid hex literal: 0x1__f — `_` goes only between two digits (1_000)"),
        ("0b1_", "1:1: Invalid binary literal: 0b1_ — `_` goes only between two digits (1_000)"),
    ],
)
def test_errors(source: str, error: str) -> None:
    assert refused(source) == error


@pytest.mark.parametrize(
    ("source", "beginning"),
    [
        ("print(5--1)", "1:8: `--` right after a value"),
        ("x--(y)", "1:2: `--` right after a value"),
        ('"a"--1', "1:4: `--` right after a value"),
        ("f()--2", "1:4: `--` right after a value"),
        ("print(x --1)", "1:9: `--` starts a comment"),
        ("print((4 --(2) ))", "1:10: `--` starts a comment"),
        ("`{f(x --1)}`", "1:7: `--` starts a comment"),
    ],
)
def test_comment_traps(source: str, beginning: str) -> None:
    assert refused(source).startswith(beginning)


# ---- bytes -------------------------------------------------------------------------------------------------------------


def test_decoding() -> None:
    assert decode_source(b"\xef\xbb\xbfa\r\nb\rc\n") == "a\nb\nc\n"
    with pytest.raises(UnicodeDecodeError):
        decode_source(b"\xff")
    assert kinds("\ufeffa\r\nb\rc") == "IDENTIFIER NEWLINE IDENTIFIER NEWLINE IDENTIFIER NEWLINE EOF"


def test_lone_surrogates_never_get_in() -> None:
    assert first('"a\ud800b"').value == "a\ufffdb"
