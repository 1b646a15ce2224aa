"""``lang docs``: every builtin can be looked up."""

from __future__ import annotations

from command_process import Lang

from stdlib import FAMILIES, all_builtins, load_family


def test_the_overview_names_every_builtin(lang: Lang) -> None:
    result = lang("docs")
    assert (result.err, result.code) == ("", 0)
    for builtin in all_builtins().values():
        assert (f"  {builtin.signature}" in result.out) == (builtin.alias_of is None), builtin.name
    for family in FAMILIES:
        assert load_family(family).title in result.lines


def test_one_builtin(lang: Lang) -> None:
    upper = all_builtins()["upper"]
    result = lang("docs", "upper")
    assert (result.err, result.code) == ("", 0)
    assert result.lines[0] == upper.signature
    for line in upper.doc.splitlines():
        assert line.strip() in result.out
    assert lang("docs", "upper()").out == result.out


def test_every_builtin_by_name(lang: Lang) -> None:
    result = lang("docs", *all_builtins())
    assert (result.err, result.code) == ("", 0)
    assert [builtin.signature for builtin in all_builtins().values() if builtin.signature not in result.lines] == []


def test_a_family(lang: Lang) -> None:
    family = load_family("text")
    by_module, by_title = lang("docs", "text"), lang("docs", family.title)
    assert family.title in by_module.lines
    assert by_title.code == 0


def test_capabilities_and_old_names_are_said(lang: Lang) -> None:
    old = next(builtin for builtin in all_builtins().values() if builtin.alias_of is not None)
    assert f"Deprecated name of {old.alias_of}()." in lang("docs", old.name).out
    gated = next(builtin for builtin in all_builtins().values() if builtin.capability is not None)
    assert f"Needs the capability {gated.capability}" in lang("docs", gated.name).out


def test_an_unknown_name(lang: Lang) -> None:
    result = lang("docs", "uper", "lower")
    assert result.code == 1
    assert result.err == "lang docs: no builtin or family named 'uper'; did you mean upper?\n" or "upper" in result.err
    assert result.lines[0] == all_builtins()["lower"].signature


def test_a_name_of_another_language_is_answered_with_what_it_is_called_here(lang: Lang) -> None:
    told = {"len": "write `length(x)`", "json_parse": "write `json_decode(t)`", "to_int": "write `int(x)`"}
    result = lang("docs", *told)
    assert (result.code, result.err) == (0, "")
    for name, cure in told.items():
        assert f"`{name}` is a word of other languages: {cure}" in result.lines


def test_a_word_of_another_language_is_answered_with_the_page_of_what_is_written_here(lang: Lang) -> None:
    for word, first in (("if", "when"), ("function", "task"), ("loop", "while"), ("len", "length(x)"), ("null", "nothing")):
        result = lang("docs", word)
        assert (result.err, result.code) == ("", 0), word
        assert result.lines[0].startswith(f"`{word}` is a word of other languages: "), word
        assert first in result.lines[0] and first in "\n".join(result.lines[1:]), word


def test_a_word_that_means_something_else_in_other_languages(lang: Lang) -> None:
    result = lang("docs", "for")
    assert result.lines[0].endswith("a loop is `each x in xs` or `while condition`, its body indented below")
    assert "analyze EXPR" in result.out


def test_a_word_for_what_a_family_holds(lang: Lang) -> None:
    assert lang("docs", "strings").lines[0] == load_family("text").title
    assert "  upper(t)" in lang("docs", "strings").out


def test_an_unknown_word_names_the_builtins_that_have_it(lang: Lang) -> None:
    result = lang("docs", "days")
    assert result.code == 1
    assert "these builtins have the word: add_days" in result.err
