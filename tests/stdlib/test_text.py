"""Text builtins."""

from __future__ import annotations

import time
import unicodedata
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import language
from language.errors import RuntimeFault
from language.values import FALSE, TRUE, Module, Secret
from language.values.decimals import parse as dec
from language.values.display import display
from stdlib.mathematics import family as mathematics
from stdlib.text import WHITE_SPACE, family


def run(name, *values):
    return family.builtins[name].function(*values)


def fault(name, *values):
    with pytest.raises(RuntimeFault) as caught:
        run(name, *values)
    return caught.value.message


SEALED = Secret("plain", ("KEY",))


# --- raw text ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        (TRUE, "True"),
        (None, "None"),
        (1.0, "1.0"),
        (dec("1.50"), "1.50"),
        (["a"], '["a"]'),
        ({"a": 1}, "{a: 1}"),
        (SEALED, "secret(KEY)"),
    ],
)
def test_every_value_has_a_raw_text(value, raw):
    assert run("upper", value) == raw.upper()
    assert run("lower", value) == raw.lower()
    assert run("trim", value) == raw
    assert run("split", value, "") == list(raw)
    assert run("starts_with", raw + "x", value) is TRUE
    assert run("ends_with", "x" + raw, value) is TRUE
    assert run("replace", f"<{raw}>", value, value) == f"<{raw}>"
    assert run("join", [1, 2], value) == f"1{raw}2"
    assert run("pad_left", value, 20) == raw.rjust(20)
    assert run("pad_right", value, 20) == raw.ljust(20)
    assert run("repeat_text", value, 2) == raw + raw


# --- case, ends, pieces -----------------------------------------------------------------------------------------------------


def test_case_maps_all_of_unicode():
    assert run("upper", "straße ŉ ﬁ") == "STRASSE ʼN FI"
    assert run("lower", "ΟΔΟΣ İ") == "οδος i̇"


def test_trim_takes_the_white_space_of_unicode_and_nothing_else():
    assert run("trim", "\u3000\u2028\t a b \u00a0\n") == "a b"
    assert run("trim", "\x1c\u200ba\x1f") == "\x1c\u200ba\x1f"
    assert {c for c in map(chr, range(0x3100)) if c.isspace()} - set(WHITE_SPACE) == set("\x1c\x1d\x1e\x1f")
    assert all(c.isspace() for c in WHITE_SPACE)


def test_starts_and_ends():
    assert run("starts_with", "héllo", "hé") is TRUE
    assert run("starts_with", "héllo", "e") is FALSE
    assert run("ends_with", "héllo", "") is TRUE
    assert run("ends_with", "o", "héllo") is FALSE


@given(st.text("ab,", max_size=20), st.text("ab,", min_size=1, max_size=2))
def test_splitting_and_joining_undo_each_other(text, separator):
    parts = run("split", text, separator)
    assert run("join", parts, separator) == text
    assert all(separator not in part for part in parts)


def test_split():
    assert run("split", "a,b,,c", ",") == ["a", "b", "", "c"]
    assert run("split", "", ",") == [""]
    assert run("split", "", "") == []
    assert run("split", "añ😀", "") == ["a", "ñ", "😀"]
    assert run("split", "a.b", ".") == ["a", "b"]


def test_replace():
    assert run("replace", "aXbX", "X", "-") == "a-b-"
    assert run("replace", "aaa", "aa", "b") == "ba"
    assert run("replace", "a.b", ".", "$0\\1") == "a$0\\1b"
    assert run("replace_text", "ab", "b", "c") == "ac"
    assert family.builtins["replace_text"].alias_of == "replace"


# --- join -------------------------------------------------------------------------------------------------------------------


def test_items_are_joined_as_by_plus():
    assert run("join", ["a", 1, 2.5, dec("1.50"), TRUE, 1j], "|") == "a|1|2.5|1.50|true|0+1i"
    assert run("join", [], "|") == ""
    assert run("join", [7], "|") == "7"


@pytest.mark.parametrize(
    ("value", "kind"), [(None, "nothing"), ([], "list"), ({}, "map"), (b"", "bytes"), (len, "task"), (Module("m", bool), "map")]
)
def test_what_plus_refuses_join_refuses(value, kind):
    value = run if value is len else value
    assert fault("join", ["a", value, None], ",").startswith(f"join: item 2 is {kind}")


def test_a_secret_makes_the_whole_a_secret():
    joined = run("join", ["a", SEALED, "b", Secret("q", ("OTHER",)), 1], "-")
    assert (joined.plaintext, joined.names) == ("a-plain-b-q-1", ("KEY", "OTHER"))
    assert run("join", [SEALED], ",").plaintext == "plain"
    # As a separator it is text like any other value, hence redacted.
    assert run("join", ["a", "b"], SEALED) == "asecret(KEY)b"


def test_join_of_no_list():
    assert fault("join", "abc", ",") == "First argument to join must be a list"
    assert fault("join", {"a": 1}, ",") == "First argument to join must be a list"


# --- fmt --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "values", "expected"),
    [
        ("{a}-{b} {{c}} {3} {p.x}", {"a": 1, "b": "{a}", "p": {"x": [2]}}, "1-{a} {c} {3} [2]"),
        ('{ x } {} {x y} {1a} {a-b} {"k": 1}', {"x": 1}, '{ x } {} {x y} {1a} {a-b} {"k": 1}'),
        ("{obj.prop} {obj.}", {}, "{obj.prop} {obj.}"),
        ("{ x }{3}{a.b}", {" x ": 1, "3": 2, "a.b": 3, "a": {"b": 4}}, "123"),
        ("{a.b.c}", {"a": {"b": {"c": None}}}, "nothing"),
        ("{t}{f}{n}{s}", {"t": TRUE, "f": 1.0, "n": None, "s": SEALED}, "true1.0nothingsecret(KEY)"),
        ('{"k": {a}}', {"a": 1}, '{"k": 1}'),
        ("{{{a}}}", {"a": 1}, "{1}"),
        ("}} }{ {", {}, "} }{ {"),
        ("{ñ} {_x1}", {"ñ": 1, "_x1": 2}, "1 2"),
        ("{a", {"a": 1}, "{a"),
        ("{a{b}", {"a{b": 1, "b": 2}, "1"),
        ("{a{b}", {"b": 2}, "{a2"),
        (12, None, "12"),
        ("{}", {"": 5}, "5"),
    ],
)
def test_fmt(template, values, expected):
    assert run("fmt", template, values) == expected


@pytest.mark.parametrize("hole", ["a", "a.b", "p.y", "p.x.z", "_"])
def test_a_name_without_a_value(hole):
    values = {"p": {"x": 1}, **({"a": {}} if hole == "a.b" else {})}
    message = f"fmt: no value for {{{hole}}} — pass it in the map, or write {{{{{hole}}}}} for a literal brace"
    assert fault("fmt", f"x {{{hole}}}", values) == message
    assert run("fmt", f"{{{{{hole}}}}}", values) == f"{{{hole}}}"


def test_fmt_without_a_map():
    assert fault("fmt", "{a}", [1]) == "fmt(template, values): values must be a map, got list"
    assert fault("fmt", "{a}").startswith("fmt: no value for {a}")
    module = Module("m", bool)
    assert run("fmt", "x", module) == "x"


@given(st.text(), st.dictionaries(st.from_regex(r"[a-z]{1,3}", fullmatch=True), st.integers() | st.text(max_size=3)))
def test_doubled_braces_give_the_text_back(text, values):
    assert run("fmt", text.replace("{", "{{").replace("}", "}}"), values) == text


@given(st.dictionaries(st.from_regex(r"[a-z]{1,3}", fullmatch=True), st.integers() | st.text(max_size=3), min_size=1))
def test_every_key_has_its_hole(values):
    template = "|".join("{" + name + "}" for name in values)
    assert run("fmt", template, values) == "|".join(display(value) for value in values.values())


@pytest.mark.parametrize("template", ["{" * 200_000, "{" * 200_000 + "}", "{ " * 100_000, "{a" * 100_000 + "}", "}{" * 100_000])
def test_fmt_takes_linear_time(template):
    begun = time.process_time()
    assert len(run("fmt", template, {"a": 1})) >= len(template) // 2
    assert time.process_time() - begun < 3


# --- folding and terminals --------------------------------------------------------------------------------------------------


def test_fold_text():
    assert run("fold_text", "Continúa") == "continua"
    assert run("fold_text", "Straße Æsir cœur Þór Øre Łódź ĳ İstanbul") == "strasse aesir coeur thor ore lodz ij istanbul"
    assert run("fold_text", "Ελλάδα ǎ 日本 ×÷") == "ελλάδα ǎ 日本 ×÷"
    assert run("fold", TRUE) == "true"
    assert family.builtins["fold"].alias_of == "fold_text"


def test_accents_come_off_where_unicode_says_so():
    for code in [*range(0xC0, 0x180)]:
        letter = chr(code)
        bare = unicodedata.normalize("NFD", letter.lower())[0]
        if letter.isalpha() and bare.isascii():
            assert run("fold_text", letter) == bare, letter
        assert run("fold_text", letter).isascii() or not letter.isalpha(), letter


@given(st.text())
def test_folding_twice_changes_nothing(text):
    once = run("fold_text", text)
    assert run("fold_text", once) == once


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ñ\ttab\n", "plain ñ\ttab\n"),
        ("\x1b[1;31mred\x1b[0m \x9b2Jx", "red x"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("\x1b(B\x1b=\x1b7a\x1bc", "a"),
        ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("a\x08b\x00\x7fc", "abc"),
        ("\x1b[", ""),
        ("\x1b]unclosed\nnext", "\nnext"),
    ],
)
def test_strip_ansi(text, expected):
    assert run("strip_ansi", text) == expected


@given(st.text(st.sampled_from("\x1b[]0m;ab\x07\\\r\n\t\x9bé"), max_size=30))
def test_no_control_character_survives(text):
    assert not set(run("strip_ansi", text)) & (set(map(chr, range(32))) | {"\x9b"}) - set("\n\t")


@pytest.mark.parametrize(
    ("call", "length"),
    [
        ("repeat_text(a, 3000)", 300_000_000),
        ("pad_left(a, 300000000)", 300_000_000),
        ('replace(a, "a", a)', 10_000_000_000),
        ('replace(a, "", a)', 10_000_200_000),
        ('join(split(a, ""), a)', 9_999_900_000),
    ],
)
def test_a_text_is_not_multiplied_beyond_memory(call: str, length: int) -> None:
    source = f'let a be "a"\neach i in range(17)\n    set a to a + a\nset a to slice(a, 0, 100000)\n{call}'
    answer = language.run(source)
    column = call.index("(") + 1
    assert answer["errors"] == [
        f"Runtime error: <embedded>:5:{column}: {call.partition('(')[0]}: the result would have {length} "
        "characters, more than 268435456"
    ]


# --- padded, repeated, fixed ------------------------------------------------------------------------------------------------


@given(st.text(max_size=8), st.integers(-3, 12), st.characters(exclude_categories=["Cs"]))
def test_a_text_is_padded_on_the_side_of_the_name(text, width, fill):
    assert run("pad_left", text, width, fill) == text.rjust(width, fill)
    assert run("pad_right", text, width, fill) == text.ljust(width, fill)
    assert run("pad_left", text, width) == text.rjust(width)


@given(st.text(max_size=8), st.integers(0, 6), st.integers(0, 6))
def test_repeats_add_up(text, first, second):
    assert run("repeat_text", text, first) + run("repeat_text", text, second) == run("repeat_text", text, first + second)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 30))
def test_a_fixed_float_is_the_nearest_text_of_so_many_digits(x, digits):
    shown = run("to_fixed", x, digits)
    exact, read = Fraction(x), Fraction(shown)
    assert 2 * abs(exact - read) <= Fraction(1, 10**digits)
    assert len(shown.partition(".")[2]) == digits
    assert float(shown) == round(x, digits)
    assert read or not shown.startswith("-")


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=6), st.integers(0, 9))
def test_a_fixed_decimal_is_what_round_to_gives(number, digits):
    value = dec(str(number))
    assert run("to_fixed", value, digits) == display(mathematics.builtins["round_to"].function(value, digits))


@given(st.integers(), st.integers(0, 9))
def test_a_fixed_integer_keeps_all_its_digits(number, digits):
    assert Fraction(run("to_fixed", number, digits)) == number
