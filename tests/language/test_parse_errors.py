"""What does not parse: the texts of the manual, exactly, and their places; hints for people from other languages."""

from __future__ import annotations

import pytest

from language import hints
from language.errors import LanguageError, ParseError
from language.syntax.parser import parse

LEFTOVER = (
    " after the end of this statement. If you meant to call something, write the parentheses: f(x). "
    "If you meant several statements, put them on separate lines"
)
DURATION = "Expected a duration after 'within' (e.g. within 90s, 2m, 1h, 1d)"
PLAIN_OF = "`of` needs a plain name on its left (`name of person`); for a computed key use an index: `person[key]`"


def refused(source: str) -> str:
    with pytest.raises(LanguageError) as caught:
        parse(source, "bad.lang")
    assert isinstance(caught.value, ParseError), str(caught.value)
    return str(caught.value).removeprefix("Parse error: bad.lang:")


# ---- section 14, case 12 -----------------------------------------------------------------------------------------------


def test_the_conformance_case() -> None:
    assert refused("let task be 1") == "1:5: 'task' is a reserved word; choose another name for the variable after 'let'"
    assert refused('print "x"') == "1:7: unexpected TEXT" + LEFTOVER
    assert refused("let c be true\nwhen c then print(1)").startswith("2:8: ")


# ---- the texts of section 10 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "error"),
    [
        # what could not begin an expression
        ("let x be match", "1:10: Unexpected token: MATCH ('match')"),
        ("print(1 * )", "1:11: Unexpected token: RPAREN (')')"),
        ("let x be\n", "1:9: Unexpected token: NEWLINE (None)"),
        ("let x be", "1:9: Unexpected token: EOF (None)"),
        ("let x be -- note\n", "1:17: Unexpected token: NEWLINE (None)"),
        ("let x be 1 +\n    2", "1:13: Unexpected token: NEWLINE (None)"),
        ("let x be 1\n    2", "2:5: Unexpected token: INDENT (4)"),
        ("\tx", "1:2: Unexpected token: INDENT (4)"),
        ("f(", "1:3: Unexpected token: EOF (None)"),
        ("f(\n", "2:1: Unexpected token: EOF (None)"),
        ("[...xs]", "1:2: Unexpected token: SPREAD ('...')"),
        ("f(to = 1)", "1:3: Unexpected token: TO ('to')"),
        ("5 + |> f", "1:5: Unexpected token: PIPE ('|>')"),
        (")", "1:1: Unexpected token: RPAREN (')')"),
        ("x = = 1", None),
        ("-> 1", "1:1: Unexpected token: ARROW ('->')"),
        # what closes
        ("f(1, 2", "1:7: Expected RPAREN, got EOF"),
        ("f(1 2)", "1:5: Expected RPAREN, got NUMBER"),
        ("let x be (1 + 2\nprint(x)", "2:1: Expected RPAREN, got IDENTIFIER"),
        ('[1 "a"]', "1:4: Expected RBRACKET, got TEXT"),
        ("[1, 2)", "1:6: Expected RBRACKET, got RPAREN"),
        ("a[1, 2]", "1:4: Expected RBRACKET, got COMMA"),
        ("{a 1}", "1:4: Expected COLON, got NUMBER"),
        ("{a: 1 b: 2}", "1:7: Expected RBRACE, got IDENTIFIER"),
        ("f(when a b)", "1:10: Expected THEN, got IDENTIFIER"),
        ("let x be f(when a\n    1)", "2:5: Expected THEN, got NUMBER"),
        ("let x be 1 + when a\n    1", "1:20: Expected THEN, got NEWLINE"),
        ("x.\ny", "1:3: Expected IDENTIFIER, got NEWLINE"),
        ("x.5", "1:3: Expected IDENTIFIER, got NUMBER"),
        ("print(x.)", "1:9: Expected IDENTIFIER, got RPAREN"),
        ("intent 5", "1:8: Expected COLON, got NUMBER"),
        ("intent: 5", "1:9: Expected TEXT, got NUMBER"),
        ("trace x\n    1", "1:7: Expected TEXT, got IDENTIFIER"),
        ("invariant a", "1:11: Expected COLON, got IDENTIFIER"),
        ('invariant "a"\n', "1:14: Expected COLON, got NEWLINE"),
        ("match x\n    1", "2:5: Expected IS, got NUMBER"),
        ("type T\n    a text", "2:7: Expected COLON, got IDENTIFIER"),
        ("task f(a b)\n    1", "1:10: Expected RPAREN, got IDENTIFIER"),
        ("share x y", "1:9: Expected AS, got IDENTIFIER"),
        # words that must come next
        ("let x 5", "1:7: Expected 'be' after variable name in let binding"),
        ("let x = 5", "1:7: Expected 'be' after variable name in let binding"),
        ("let x", "1:6: Expected 'be' after variable name in let binding"),
        ("set x 5", "1:7: Expected 'to' in set statement"),
        ("set x[0] = 5", "1:10: Expected 'to' in set statement"),
        ("each x of xs\n    1", "1:8: Expected 'in' after variable in each loop"),
        ("try\n    1\nprint(1)", "3:1: Expected 'recover' after try block"),
        ('use "./a.lang" a', "1:16: Expected 'as' after the module path"),
        ("require file.", "1:14: Expected a capability sub-name after '.'"),
        ("require file.5", "1:14: Expected a capability sub-name after '.'"),
        ("export x", "1:8: export must be followed by task, type, let, enum, or routes"),
        ("export set x to 1", "1:8: export must be followed by task, type, let, enum, or routes"),
        ("raise", '1:1: raise needs a message: raise("why") — or `raise err` to re-propagate a caught error'),
        ("when a\n    raise\nb", '2:5: raise needs a message: raise("why") — or `raise err` to re-propagate a caught error'),
        # blocks
        ("when a\nb", "1:7: Expected indented block"),
        ("task f()", "1:9: Expected indented block"),
        ("task f()\n    each x in xs\nb", "2:17: Expected indented block"),
        ("let x be when a\nb", "1:16: Expected indented block"),
        ("when a\n    1\notherwise\nb", "3:10: Expected indented block"),
        ('test "t"', "1:9: Expected indented block"),
        # leftovers
        ("let a be 1 b", "1:12: unexpected IDENTIFIER" + LEFTOVER),
        ("let a be 1 let b be 2", "1:12: unexpected LET" + LEFTOVER),
        ("print(1))", "1:9: unexpected RPAREN" + LEFTOVER),
        ("print `x`", "1:7: unexpected TEMPLATE" + LEFTOVER),
        ("f x", "1:3: unexpected IDENTIFIER" + LEFTOVER),
        ("f true", "1:3: unexpected BOOL_TRUE" + LEFTOVER),
        ("each x in range 5\n    x", "1:17: unexpected NUMBER" + LEFTOVER),
        # holes
        ("print(`a\n {b c}`)", "2:5: Unexpected token: IDENTIFIER ('c')"),
        ("`{}`", "1:3: Unexpected token: RBRACE ('}')"),
        ("`{a +}`", "1:6: Unexpected token: RBRACE ('}')"),
        ("`{f(1}`", "1:6: Expected RPAREN, got RBRACE"),
        ("`{let x be 1}`", "1:3: Unexpected token: LET ('let')"),
        # of
        ("a.b of c", "1:5: " + PLAIN_OF),
        ("f(x) of c", "1:6: " + PLAIN_OF),
        ("of c", "1:1: Unexpected token: OF ('of')"),
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
        assert refused(source) == "2:12: Expected map pattern field name, got NUMBER"
    else:
        assert refused(source).endswith(f": Expected {what}, got NUMBER")


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
    ("source", "error", "hint"),
    [
        ("x += 1", "Unexpected token: ASSIGN ('=') — ", "set x to x + 1"),
        ("x -= 1", "Unexpected token: ASSIGN ('=') — ", "set x to x + 1"),
        ('print(f"{x}")', "Expected RPAREN, got TEXT — ", "backticks"),
        ('let t be f"{x}"', f"unexpected TEXT{LEFTOVER} — ", "backticks"),
        ("let t be x is nothing", f"unexpected IS{LEFTOVER} — ", "`==`"),
        ("print(x is nothing)", "Expected RPAREN, got IS — ", "`==`"),
        ("let t be a if c else b", f"unexpected IDENTIFIER{LEFTOVER} — ", "when c then a otherwise b"),
        ("f(a if c else b)", "Expected RPAREN, got IDENTIFIER — ", "when c then a otherwise b"),
        ("apply(lambda x: x, xs)", "Expected RPAREN, got IDENTIFIER — ", "(x) =>"),
        ("let f be lambda: 1", f"unexpected COLON{LEFTOVER} — ", "(x) =>"),
        ("apply(x => x, xs)", "Expected RPAREN, got FAT_ARROW — ", "(x) =>"),
        ("print(xs[1:2])", "Expected RBRACKET, got COLON — ", "slice(xs, from, to)"),
        ("print(xs[:2])", "Unexpected token: COLON (':') — ", "slice(xs, from, to)"),
        ("let t be [x for x in xs]", "Expected RBRACKET, got IDENTIFIER — ", "apply(xs, (x) => ...)"),
        ("when x = 1\n    2", f"unexpected ASSIGN{LEFTOVER} — ", "`==`"),
    ],
)
def test_hints(source: str, error: str, hint: str) -> None:
    message = refused(source).split(": ", 1)[1]
    assert message.startswith(error)
    assert hint in message


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
        ("serve on 8080", "1:14: Expected an indented block after 'serve on PORT'"),
        ("serve on 8080\nx", "1:14: Expected an indented block after 'serve on PORT'"),
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
        ("serve on 80\n    rate_limit 5 per day", "2:22: rate_limit window must be second, minute, or hour, got 'day'"),
        ("serve on 80\n    rate_limit 5", "2:17: Expected 'per' in rate_limit (e.g. rate_limit 100 per minute)"),
        (route("rate_limit 5 minute"), "3:22: Expected 'per' in rate_limit (e.g. rate_limit 100 per minute)"),
        (route("expect {a: text}"), "3:16: Expected 'body' after 'expect'"),
        (route("expect body"), "3:20: Expected '{' to declare the expected shape"),
        (route("expect body [a]"), "3:21: Expected '{' to declare the expected shape"),
        (route("expect body {a: texts}"), "3:25: Expected a type name (text, number, bool, list, map)"),
        (route("expect body {a: nothing}"), "3:25: Expected a type name (text, number, bool, list, map)"),
        (route("expect body {to: text}"), "3:22: 'to' is a reserved word; choose another name for the field name"),
    ],
)
def test_serve(source: str, error: str) -> None:
    assert refused(source) == error


def test_unknown_clauses() -> None:
    message = refused("serve on 80\n    listen 5")
    assert message.startswith("2:5: Inside 'serve', expected 'auth with ...', 'route ...', ")
    assert message.endswith(", got IDENTIFIER ('listen')")
    for form in ("errors with ...", "rate_limit ... per ...", "private", "docs off", "redirect https", "trust proxy ..."):
        assert f"'{form}'" in message
    for source in ("cors 5", "mount m.x", 'bind "x"', "let a be 1"):
        message = refused(f'serve on 80\n    host "h"\n        {source}')
        assert message.startswith(
            "3:9: Inside a 'host' block, expected 'auth with ...', 'route ...', 'static ...' or 'tls cert ... key ...', got "
        )
    assert refused("serve on 80\n    describe\n        name: 1") == (
        "3:9: Inside 'describe', expected 'about:', 'api:' or 'version:', got IDENTIFIER ('name')"
    )
    assert refused("serve on 80\n    5").endswith("got NUMBER")


def test_sockets() -> None:
    assert refused('serve on 80\n    route "POST /x"\n        socket\n            1').startswith(
        "3:9: a socket works only in a GET"
    )
    both = route("socket\n            1\n        stream\n            2")
    assert refused(both).startswith("3:9: a route has either a stream or a socket")


def test_the_first_error_of_the_file_is_told() -> None:
    assert refused("let x 1\nserve 80\nraise\nlet task be 1").startswith("1:7: Expected 'be'")
    assert refused("serve 80\nlet x 1").startswith("1:7: Expected 'on'")
    assert refused('serve on 80\n    route "GET"\n        let x 1').startswith("2:11: Route spec")
