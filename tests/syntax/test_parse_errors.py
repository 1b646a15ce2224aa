"""What does not parse: the texts of the manual, exactly, and their places; hints for people from other languages."""

from __future__ import annotations

import re

import pytest

from language import hints
from language.diagnostics.codes import CODES
from language.errors import LanguageError, ParseError
from language.syntax.parser import parse

LEFTOVER = " after the end of this statement. If you meant several statements, put them on separate lines"
DURATION = "Expected a duration after 'within' (e.g. within 90s, 2m, 1h, 1d)"
PLAIN_OF = "`of` needs a plain name on its left (`name of person`); for a computed key use an index: `person[key]`"


def refused(source: str) -> str:
    with pytest.raises(LanguageError) as caught:
        parse(source, "bad.lang")
    assert isinstance(caught.value, ParseError), str(caught.value)
    return str(caught.value).removeprefix("Parse error: bad.lang:")


def helped(source: str) -> str:
    """The help of the error that the parser raises."""
    with pytest.raises(ParseError) as caught:
        parse(source, "bad.lang")
    return caught.value.help


# ---- section 14, case 12 -----------------------------------------------------------------------------------------------


def test_the_conformance_case() -> None:
    assert refused("let task be 1") == "1:5: 'task' is a reserved word; choose another name for the variable after 'let'"
    assert refused('print "x"') == (
        '1:7: unexpected `"x"` after the end of this statement. If you meant to call `print`, write the parentheses: print("x")'
    )
    assert refused("let c be true\nwhen c then print(1)").startswith("2:8: ")


# ---- the texts of section 10 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "error"),
    [
        # what could not begin an expression
        ("let x be match", "1:10: expected a value after `be`, found `match`"),
        ("print(1 * )", "1:11: expected a value after `*`, found `)`"),
        ("let x be\n", "1:9: expected a value after `be`, found the end of the line"),
        ("let x be", "1:9: expected a value after `be`, found the end of the line"),
        ("let x be -- note\n", "1:9: expected a value after `be`, found the end of the line"),
        ("let x be 1 +\n    2", "1:13: expected a value after `+`, found the end of the line"),
        ("let x be 1\n    2", "2:5: this line is indented deeper than the one before it, which opens no block"),
        ("\tx", "1:2: this line is indented deeper than the one before it, which opens no block"),
        ("f(", "1:2: this `(` is never closed"),
        ("f(\n", "1:2: this `(` is never closed"),
        ("[...xs]", "1:2: `...` stands only in patterns; `xs + ys` joins lists, `xs + [x]` adds a value"),
        ("f(to = 1)", "1:3: 'to' is a reserved word and names no argument"),
        ("5 + |> f", "1:5: expected a value after `+`, found `|>`"),
        (")", "1:1: `)` closes nothing: no bracket is open here"),
        ("x = = 1", None),
        ("-> 1", "1:1: there is no `->`: a lambda is written `(x) => x + 1`"),
        # what closes
        ("f(1, 2", "1:2: this `(` is never closed"),
        ("f(1 2)", "1:5: expected `,` or `)`, found `2`"),
        ("let x be (1 + 2\nprint(x)", "1:10: this `(` is never closed"),
        ('[1 "a"]', '1:4: expected `,` or `]`, found `"a"`'),
        ("[1, 2)", "1:6: expected `]`, found `)`: the bracket `[` at column 1 is still open"),
        ("a[1, 2]", "1:4: expected `]`, found `,`"),
        ("{a 1}", "1:4: expected `:` after the key `a` of the map, found `1`"),
        ("{a: 1 b: 2}", "1:7: expected `,` or `}`, found `b`"),
        ("f(when a b)", "1:10: expected `then`, found `b`"),
        ("let x be f(when a\n    1)", "2:5: expected `then`, found `1`"),
        ("let x be 1 + when a\n    1", "1:20: expected `then`, found the end of the line"),
        ("x.\ny", "1:3: expected the name of a member after the `.`, found the end of the line"),
        ("x.5", "1:3: expected the name of a member after the `.`, found `5`"),
        ("print(x.)", "1:9: expected the name of a member after the `.`, found `)`"),
        ("intent 5", "1:8: expected `:`, found `5`"),
        ("intent: 5", "1:9: expected a text in quotes, found `5`"),
        ("trace x\n    1", "1:7: expected a text in quotes, found `x`"),
        ("invariant a", "1:11: expected `:`, found `a`"),
        ('invariant "a"\n', "1:14: expected `:`, found the end of the line"),
        ("match x\n    1", "2:5: expected `is` at the start of a case of `match`, found `1`"),
        ("type T\n    a text", "2:7: expected `:` after the field `a`, found `text`"),
        ("task f(a b)\n    1", "1:10: expected `,` or `)`, found `b`"),
        ("share x y", "1:9: expected `as`, found `y`"),
        # words that must come next
        ("let x 5", "1:7: expected `be` after the name in `let`, found `5`"),
        ("let x = 5", "1:7: `let` is written with `be`, not with `=`"),
        ("let x", "1:6: expected `be` after the name in `let`, found the end of the line"),
        ("set x 5", "1:7: expected `to` in `set`, found `5`"),
        ("set x[0] = 5", "1:10: `set` is written with `to`, not with `=`"),
        ("each x of xs\n    1", "1:8: expected `in` after the name in `each`, found `of`"),
        ("try\n    1\nprint(1)", "3:1: expected `recover` after the block of `try`"),
        ('use "./a.lang" a', "1:16: expected `as` after the path of the module, found `a`"),
        ("require file.", "1:14: expected a capability after the `.`, found the end of the line"),
        ("require file.5", "1:14: expected a capability after the `.`, found `5`"),
        ("export x", "1:8: export must be followed by task, type, let, enum, or routes"),
        ("export set x to 1", "1:8: export must be followed by task, type, let, enum, or routes"),
        ("raise", '1:1: raise needs a message: raise("why") — or `raise err` to re-propagate a caught error'),
        ("when a\n    raise\nb", '2:5: raise needs a message: raise("why") — or `raise err` to re-propagate a caught error'),
        # blocks
        ("when a\nb", "1:7: expected an indented block below this line"),
        ("task f()", "1:9: expected an indented block below this line"),
        ("task f()\n    each x in xs\nb", "2:17: expected an indented block below this line"),
        ("let x be when a\nb", "1:16: expected an indented block below this line"),
        ("when a\n    1\notherwise\nb", "3:10: expected an indented block below this line"),
        ('test "t"', "1:9: expected an indented block below this line"),
        # leftovers
        (
            "let a be 1 b",
            "1:12: unexpected `b` after the end of this statement. If you meant several statements, put them on separate lines",
        ),
        ("let a be 1 let b be 2", "1:12: unexpected `let` after the end of this statement"),
        ("print(1))", "1:9: `)` closes nothing: no bracket is open here"),
        (
            "print `x`",
            "1:7: unexpected template after the end of this statement. If you meant to call `print`, write the parentheses: "
            "print(`x`)",
        ),
        ("f x", "1:3: unexpected `x` after the end of this statement. If you meant to call `f`, write the parentheses: f(x)"),
        (
            "f true",
            "1:3: unexpected `true` after the end of this statement. If you meant to call `f`, write the parentheses: f(true)",
        ),
        (
            "each x in range 5\n    x",
            "1:17: unexpected `5` after the end of this statement. If you meant to call `range`, write the parentheses: "
            "range(5)",
        ),
        # holes
        ("print(`a\n {b c}`)", "2:5: expected `}` after the value, found `c`"),
        ("`{}`", "1:3: expected a value between `{` and `}`, found `}`"),
        ("`{a +}`", "1:6: expected a value after `+`, found `}`"),
        ("`{f(1}`", "1:6: expected `)`, found `}`: the bracket `(` at column 4 is still open"),
        ("`{let x be 1}`", "1:3: between `{` and `}` of a text stands a value, and `let` begins a statement"),
        # of
        ("a.b of c", "1:5: " + PLAIN_OF),
        ("f(x) of c", "1:6: " + PLAIN_OF),
        ("of c", "1:1: a statement cannot begin with `of`"),
        # gates
        ("approve x within", "1:17: " + DURATION),
        ("approve x within soon", "1:18: " + DURATION),
        ("approve x within 90", "1:18: " + DURATION),
        ("approve x within 0s", "1:18: " + DURATION),
        ("approve x within 0.0d", "1:18: " + DURATION),
        ("approve x within -5s", "1:18: " + DURATION),
        ("ask x within 90x", "1:16: Invalid duration suffix 'x' after 'within' — use s, m, h or d (e.g. within 90s)"),
        ("ask x within 9 secs", "1:16: Invalid duration suffix 'secs' after 'within' — use s, m, h or d (e.g. within 90s)"),
        # names bound twice, and the rest
        ("task f(a, b, a)\n    1", "1:14: duplicate parameter 'a'"),
        ("task f(a, a = 1)\n    1", "1:11: duplicate parameter 'a'"),
        ("let f be (a, a) => 1", "1:14: duplicate parameter 'a'"),
        ("match x\n    is [...a, 1, ...]\n        1", "2:18: a list pattern may have at most one '...' spread"),
    ],
)
def test_messages(source: str, error: str | None) -> None:
    message = refused(source)
    assert error is None or message == error


# ---- reserved words ----------------------------------------------------------------------------------------------------

BINDINGS = [
    ("let {} be 1", "variable after 'let'"),
    ("export let {} be 1", "variable after 'let'"),
    ("each {} in xs\n    1", "loop variable after 'each'"),
    ("task {}()\n    1", "task name"),
    ("export task {}()\n    1", "task name"),
    ("task f({})\n    1", "parameter name"),
    ("task f(a = [1], {} = 1)\n    1", "parameter name"),
    ("let f be ({}) => 1", "lambda parameter"),
    ("let f be (a, {}) => 1", "lambda parameter"),
    ("type {}\n    a: text", "type name"),
    ("export type {}\n    a: text", "type name"),
    ("type T\n    {}: text", "field name"),
    ("type T\n    a: text\n    {}: text", "field name"),
    ("enum {}\n    a", "enum name"),
    ("export enum {}\n    a", "enum name"),
    ("enum E\n    {}", "variant name"),
    ("enum E\n    a\n    {}(x)", "variant name"),
    ("enum E\n    a({})", "payload field name"),
    ("export enum E\n    a(x, {})", "payload field name"),
    ('use "./a.lang" as {}', "module alias after 'as'"),
    ("match x\n    is {{a, {}}}\n        1", "map pattern field name"),
]


@pytest.mark.parametrize(("form", "what"), BINDINGS)
def test_reserved_words(form: str, what: str) -> None:
    for word in ("to", "when", "nothing", "and_then", "of"):
        source = form.format(word)
        before = source[: source.rindex(word)]
        place = f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
        assert refused(source) == f"{place}: '{word}' is a reserved word; choose another name for the {what}"


@pytest.mark.parametrize(
    ("form", "what"), [(form, what) for form, what in BINDINGS if "enum {}" not in form and "=>" not in form]
)
def test_what_is_no_name(form: str, what: str) -> None:
    source = form.format("5")
    if source == "match x\n    is {a, 5}\n        1":
        assert refused(source) == "2:12: expected a map pattern field name, found `5`"
    else:
        assert refused(source).endswith(f": expected {'an' if what[0] in 'aeiou' else 'a'} {what}, found `5`")


@pytest.mark.parametrize(
    "source",
    [
        "task print(x)\n    1",
        "export task eprint(x)\n    1",
        "type print\n    a: text",
        "enum eprint\n    a",
        "let print be (x) => x",
        "let print be ((x) => x)",
        "set eprint to (x) => x",
        'export routes print\n    route "GET /"\n        1',
    ],
)
def test_protected_names(source: str) -> None:
    name = "eprint" if "eprint" in source else "print"
    place = f"1:{source.index(name) + 1}"
    assert refused(source).startswith(f"{place}: '{name}' is a protected builtin and cannot be bound to something callable")


@pytest.mark.parametrize(
    "source", ["when a\n    export let x be 1", "task f()\n    export task g()\n        1", 'test "t"\n    export type T']
)
def test_export_only_at_the_top_level(source: str) -> None:
    assert refused(source).startswith("2:5: export works only at the top level of a file")


# ---- habits from other languages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", hints.OTHER_STATEMENTS)
def test_first_words_of_other_languages(word: str) -> None:
    begins = f": `{word}` is not a statement: "
    assert refused(f"{word} x").startswith("1:1" + begins)
    assert refused(f"when a\n    {word} (x) y").startswith("2:5" + begins)
    assert refused(f"{word}\n    1").startswith("1:1" + begins)
    assert refused(f"{word}:\n    1").startswith("1:1" + begins)
    assert refused(f"{word} x == 1:\n    1").startswith("1:1" + begins)
    assert refused(f"{word} = 5").startswith("1:1" + begins)
    parse(f"let {word} be 1\nset {word} to {word}\n{word}\n{word}(1)", "x")


def test_after_a_try_block() -> None:
    assert refused("try\n    1\nexcept e\n    2").startswith("3:1: `except` is not a statement: ")
    assert refused("try\n    1\nfinally\n    2").startswith("3:1: `finally` is not a statement: ")


@pytest.mark.parametrize(
    ("source", "place", "pieces"),
    [
        ("x = 1", "1:1", ["let x be", "set x to"]),
        ("when a\n    total = 1 + 2", "2:5", ["let total be", "set total to"]),
        ("x.y = 1", "1:1", ["let ", "set "]),
        ("xs[0] = 1", "1:1", ["let ", "set "]),
        ("// note", "1:1", ["comments start with --"]),
        ("when a\n    // it's", None, []),
        ("f(1) // the answer is here", "1:6", ["comments start with --"]),
        ("x // see below", "1:3", ["comments start with --"]),
        ("when a:\n    1", "1:7", ["blocks have no colon"]),
        ("otherwise:", None, []),
        ("when a\n    1\notherwise:\n    2", "3:10", ["blocks have no colon"]),
        ("when a: print(1)", "1:7", ["blocks have no colon"]),
        ("task f(a):\n    1", "1:10", ["blocks have no colon"]),
        ("task f:\n    1", "1:7", ["blocks have no colon"]),
        ("each x in xs:\n    1", "1:13", ["blocks have no colon"]),
        ("try:\n    1\nrecover:\n    2", "1:4", ["blocks have no colon"]),
        ("try\n    1\nrecover:\n    2", "3:8", ["blocks have no colon"]),
        ("match x:\n    is 1\n        2", "1:8", ["blocks have no colon"]),
        ("match x\n    is 1:\n        2", "2:9", ["blocks have no colon"]),
        ("print(1):", "1:9", ["blocks have no colon"]),
        ("when a then b", "1:8", ["give when c then a otherwise b"]),
        ("task f(a)\n    when a then 1 otherwise 2", "2:12", ["give when c then a otherwise b"]),
        ("when a\n    1\notherwise when b then 2", "3:18", ["give when c then a otherwise b"]),
    ],
)
def test_habits(source: str, place: str | None, pieces: list[str]) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(source, "bad.lang")
    if place is not None:
        assert caught.value.place == f"bad.lang:{place}"
    assert all(piece in caught.value.message for piece in pieces)


@pytest.mark.parametrize(
    ("source", "code", "place", "hint"),
    [
        ("x += 1", "E0112", "1:3", "set x to x + 1"),
        ("x.y -= 2", "E0112", "1:5", "set x.y to x.y - 2"),
        ("x++", "E0112", "1:2", "set x to x + 1"),
        ("x := 1", "E0112", "1:1", "let x be ..."),
        ("int x = 5", "E0112", "1:1", "let x be 5"),
        ("let x = 5", "E0112", "1:7", "`be`"),
        ("set x = 5", "E0112", "1:7", "`to`"),
        ('print(f"{x}")', "E0121", "1:7", "backticks"),
        ('let t be f"{x}"', "E0121", "1:10", "backticks"),
        ("let t be x is nothing", "E0117", "1:12", "`==`"),
        ("print(x is nothing)", "E0117", "1:9", "`==`"),
        ("when x is not nothing\n    1", "E0117", "1:8", "`!=`"),
        ("when x === 1\n    1", "E0117", "1:8", "`==`"),
        ("when x !== 1\n    1", "E0117", "1:8", "`!=`"),
        ("when x <> 1\n    1", "E0117", "1:8", "`!=`"),
        ("when x && y\n    1", "E0117", "1:8", "`and`"),
        ("when x || y\n    1", "E0117", "1:8", "`or`"),
        ("when !x\n    1", "E0117", "1:6", "`not x`"),
        ("let t be a if c else b", "E0121", "1:12", "when c then a otherwise b"),
        ("f(a if c else b)", "E0121", "1:5", "when c then a otherwise b"),
        ("apply(lambda x: x, xs)", "E0121", "1:7", "(x) =>"),
        ("let f be lambda: 1", "E0121", "1:10", "(x) =>"),
        ("apply(x => x, xs)", "E0121", "1:7", "(x) =>"),
        ("print(xs[1:2])", "E0121", "1:11", "slice(xs, from, to)"),
        ("print(xs[:2])", "E0121", "1:10", "slice(xs, from, to)"),
        ("let t be [x for x in xs]", "E0121", "1:13", "apply(xs, (x) => ...)"),
        ("when x = 1\n    2", "E0117", "1:8", "`==`"),
        ("let p be new Point(1)", "E0121", "1:10", "`Point(1, 2)`"),
        ("let p be await f(1)", "E0111", "1:10", "waits"),
        ("f(*xs)", "E0121", "1:3", "one by one"),
        ("f(1, **m)", "E0121", "1:6", "one by one"),
        ("let t be [...a, 1]", "E0121", "1:11", "`xs + ys`"),
        ("let t be {...a, b: 1}", "E0121", "1:11", "merge"),
        ("let t be {a, b: 1}", "E0125", "1:12", "after the key `a`"),
        ("task f() -> text\n    give 1", "E0117", "1:10", "end the line"),
        ("task f(a: text)\n    give 1", "E0121", "1:9", "no types"),
        ("let x: number be 5", "E0121", "1:6", "no types"),
        ("let x, y be pair", "E0118", "1:6", "let [a, b] be pair"),
        ("each k, v in m\n    1", "E0118", "1:7", "one name"),
        ("when x {\n    1\n}", "E0110", "1:8", "indent the block"),
        ("task f(a) {\n    give a\n}", "E0110", "1:11", "indent the block"),
        ("try {\n    1\n} catch (e) {\n    2\n}", "E0110", "1:5", "indent the block"),
        ("when x { print(1) }", "E0110", "1:8", "indent the block"),
        ("if (x) {\n    1\n}", "E0111", "1:1", "`when c`"),
        ("when a\n    1\notherwise if b\n    2", "E0111", "3:11", "`otherwise when`"),
        ("apply(xs, (x) => {\n    let y be x\n    give y\n})", "E0110", "2:5", "one expression"),
        ("print(“hello”)", "E0122", "1:7", "quotes"),
        ("let x be 5;", "E0102", "1:11", "leave the `;` out"),
        ("# note", "E0119", "1:1", "`--`"),
        ("/* note */", "E0119", "1:1", "`--`"),
        ('"""note"""', "E0121", "1:1", "backticks"),
        ("repeat 5\n    1", "E0115", "1:1", "each i in range(5)"),
        ("xs\n    |> f", "E0108", "2:5", "in parentheses"),
        ("match x\n    case 1\n        2", "E0111", "2:5", "`is value`"),
        ("let f be function(x) { x }", "E0114", "1:22", "end of this statement"),
    ],
)
def test_hints(source: str, code: str, place: str, hint: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(source, "bad.lang")
    assert (caught.value.code, caught.value.place) == (code, f"bad.lang:{place}"), caught.value.message
    assert hint in caught.value.message


@pytest.mark.parametrize(
    ("source", "help", "end"),
    [
        ("let x = 5", "write `let x be 5`", 8),
        ("set x[0] = 5 + 1", "write `set x[0] to 5 + 1`", 11),
        ("x = 5", "write `let x be 5`, or `set x to 5`", 4),
        ("x.y = 5", "write `set x.y to 5`", 6),
        ("print(1", "write `)` after its last value", 7),
        ("let x be 1 let y be 2", "write each statement on a line of its own", 15),
    ],
)
def test_help_and_ranges(source: str, help: str, end: int) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(source, "bad.lang")
    assert (caught.value.help, caught.value.end_line, caught.value.end_column) == (help, 1, end)


def test_the_conditional_of_c() -> None:
    with pytest.raises(LanguageError) as caught:
        parse("let x be c ? 1 : 2", "bad.lang")
    assert caught.value.message.startswith("Unexpected character: '?' — ")


def test_hints_at_run_time() -> None:
    assert hints.undefined_name_hint("total") == ""
    for name in ("None", "True", "null", "len", "str", "filter", "map", "sorted", "input", "open", "json", "break"):
        assert hints.undefined_name_hint(name).startswith(" — ")
    assert "append(xs, x)" in hints.missing_key_hint("list", "append")
    assert "get(m, key, default)" in hints.missing_key_hint("map", "get")
    assert hints.missing_key_hint("map", "price") == ""
    assert hints.missing_key_hint("list", 5) == ""
    assert "round_to(x, n)" in hints.too_many_hint("round")
    assert hints.too_many_hint("sort") and hints.too_many_hint("split")
    assert hints.too_many_hint("length") == ""
    assert "`...{x}`" in hints.operation_hint("text", "%")
    assert hints.operation_hint("number", "%") == ""


# ---- serve -------------------------------------------------------------------------------------------------------------


def route(body: str) -> str:
    return 'serve on 80\n    route "GET /x"\n        ' + body


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("serve 8080\n    private", "1:7: Expected 'on' after 'serve' (serve on PORT)"),
        ("serve on 8080", "1:14: expected an indented block below `serve on PORT`"),
        ("serve on 8080\nx", "1:14: expected an indented block below `serve on PORT`"),
        ("serve on 80\n    route get", '2:11: Expected a route spec string, e.g. "GET /path"'),
        ("serve on 80\n    route", '2:10: Expected a route spec string, e.g. "GET /path"'),
        ('serve on 80\n    route "GET"\n        1', "2:11: Route spec must be \"METHOD /path\", got 'GET'"),
        ('serve on 80\n    route "GET x"\n        1', "2:11: Route path must start with '/', got 'x'"),
        ('serve on 80\n    route "GET /a/*"\n        1', "2:11: Catch-all segment must be named, e.g. '*path', got '*'"),
        (
            'serve on 80\n    route "GET /*a/b"\n        1',
            "2:11: Catch-all '*a' must be the LAST segment of the path, got '/*a/b'",
        ),
        (
            'serve on 80\n    private\n    route "get /x" requires auth\n        1',
            "3:5: route \"GET /x\" uses 'requires auth' but the 'serve' block declares no 'auth with <task>'",
        ),
        (
            'serve on 80\n    auth with a\n    host "h"\n        route "GET /x" requires auth\n            1',
            "4:9: route \"GET /x\" uses 'requires auth' but the 'serve' block declares no 'auth with <task>'",
        ),
        ("serve on 80\n    rate_limit 5 per day", "2:22: rate_limit window must be second, minute, or hour, found `day`"),
        ("serve on 80\n    rate_limit 5", "2:17: expected `per` in rate_limit (e.g. rate_limit 100 per minute)"),
        (route("rate_limit 5 minute"), "3:22: expected `per` in rate_limit (e.g. rate_limit 100 per minute)"),
        (route("expect {a: text}"), "3:16: Expected 'body', 'form' or 'query' after 'expect'"),
        (route("expect body"), "3:20: Expected '{' to declare the expected shape"),
        (route("expect body [a]"), "3:21: Expected '{' to declare the expected shape"),
        (
            route("expect body {a: texts}"),
            "3:25: Expected a type name (text, number, integer, decimal, bool, list, map, date, datetime, duration)",
        ),
        (
            route("expect body {a: nothing}"),
            "3:25: Expected a type name (text, number, integer, decimal, bool, list, map, date, datetime, duration)",
        ),
        (
            route("expect body {a: optional}"),
            "3:33: Expected a type name (text, number, integer, decimal, bool, list, map, date, datetime, duration)",
        ),
        (
            route("expect query {a: map}"),
            "3:26: a query holds no map: its fields are text, number, integer, decimal, bool, list, date, datetime or duration",
        ),
        (route("expect body {to: text}"), "3:22: 'to' is a reserved word; choose another name for the field name"),
    ],
)
def test_serve(source: str, error: str) -> None:
    assert refused(source) == error


def test_unknown_clauses() -> None:
    assert refused("serve on 80\n    listen 5") == "2:5: `listen` cannot begin a line inside 'serve'"
    assert helped("serve on 80\n    listen 5") == "leave this line out: the port stands in the line above, `serve on 8080`"
    message = helped("serve on 80\n    workers 5")
    assert message.startswith("leave this line out, or begin it with `route ...`, `auth with ...`, ")
    for form in ("errors with ...", "rate_limit ... per ...", "private", "docs off", "redirect https", "trust proxy ..."):
        assert f"`{form}`" in message
    for source in ("cors 5", "mount m.x", 'bind "x"', "let a be 1"):
        written = f'serve on 80\n    host "h"\n        {source}'
        assert refused(written) == f"3:9: `{source.split()[0]}` cannot begin a line inside a 'host' block"
        forms = "`route ...`, `auth with ...`, `static ...` or `tls cert ... key ...`"
        assert helped(written) == f"leave this line out, or begin it with {forms}"
    described = "serve on 80\n    describe\n        name: 1"
    assert refused(described) == "3:9: `name` cannot begin a line inside 'describe'"
    assert helped(described) == "leave this line out, or begin it with `about:`, `api:` or `version:`"
    assert refused("serve on 80\n    5") == "2:5: `5` cannot begin a line inside 'serve'"
    assert helped("serve on 80\n    rout 5") == "did you mean `route`?"


def test_sockets() -> None:
    assert refused('serve on 80\n    route "POST /x"\n        socket\n            1').startswith(
        "3:9: a socket works only in a GET"
    )
    both = route("socket\n            1\n        stream\n            2")
    assert refused(both).startswith("3:9: a route has either a stream or a socket")


def test_the_first_error_of_the_file_is_told() -> None:
    assert refused("let x 1\nserve 80\nraise\nlet task be 1").startswith("1:7: expected `be`")
    assert refused("serve 80\nlet x 1").startswith("1:7: Expected 'on'")
    assert refused('serve on 80\n    route "GET"\n        let x 1').startswith("2:11: Route spec")


TERMINAL = re.compile(r"\b[A-Z]{2,}\b|\(None\)")
MISTAKES = [source for test in (test_messages, test_serve, test_hints) for source, *_ in test.pytestmark[0].args[1]]


@pytest.mark.parametrize("source", MISTAKES)
def test_no_message_shows_a_name_of_the_grammar(source: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(source, "bad.lang")
    written = caught.value.message.replace("METHOD", "").replace("GET", "").replace("PORT", "").replace("LAST", "")
    assert not TERMINAL.search(written)
    assert caught.value.code in CODES
    assert caught.value.code != "E0101" or source in ("of c", "a.b of c", "f(x) of c")
