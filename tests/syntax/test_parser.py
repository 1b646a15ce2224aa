"""Source to tree: what each form of the grammar means, places, and the tables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from source_of import flat, shape, source_of, with_room

from language.errors import LexerError, ParseError
from language.syntax import nodes, table_maker, tokens
from language.syntax.lexer import decode_source
from language.syntax.parser import parse

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = [*sorted(ROOT.glob("conformance/*/*.lang")), *sorted(ROOT.glob("examples/**/*.lang"))]


def statements(source: str) -> tuple[Any, ...]:
    return parse(source, "t.lang").statements


def statement(source: str) -> Any:
    (one,) = statements(source)
    return one


def value(source: str) -> Any:
    """The expression that ``source`` is."""
    return statement(f"let it be {source}").value


def same(left: str, right: str) -> bool:
    return bool(shape(value(left)) == shape(value(right)))


# ---- expressions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "grouped"),
    [
        ("1 + 2 |> f", "(1 + 2) |> f"),
        ("a or b and c", "a or (b and c)"),
        ("not a == b", "not (a == b)"),
        ("not x in xs", "not (x in xs)"),
        ("not a and b", "(not a) and b"),
        ("1 + 2 * 3 - 4", "1 + (2 * 3) - 4"),
        ("a * (b // c) % -d", "a * (b // c) % (-d)"),
        ("-2 ** 2", "-(2 ** 2)"),
        ("2 ** 3 ** 2", "2 ** (3 ** 2)"),
        ("2 ** -1", "2 ** (-1)"),
        ("-a * b", "(-a) * b"),
        ("- - a", "-(-a)"),
        ("a.b[c](d).e", "(((a.b)[c])(d)).e"),
        ("a of b.c", "a of (b.c)"),
        ("a of b of c", "a of (b of c)"),
        ("body of f(x)", "body of (f(x))"),
        ("a of b + c", "(a of b) + c"),
        ("a of b ** c", "(a of b) ** c"),
        ("(x) => x |> f", "(x) => (x |> f)"),
        ("(x) => x + 1", "(x) => (x + 1)"),
        ("sandbox f(x) + 1", "sandbox (f(x) + 1)"),
        ("1 + sandbox 2 + 3", "1 + (sandbox (2 + 3))"),
        ("when a then b otherwise when c then d otherwise e", "when (a) then (b) otherwise when (c) then (d) otherwise (e)"),
        ("when a then when b then c otherwise d", "when a then (when b then c otherwise d)"),
        ("when a then b + 1 otherwise c + 2", "when a then (b + 1) otherwise (c + 2)"),
        ("when when a then b otherwise c then d", "when (when a then b otherwise c) then d"),
        ("not when a then b otherwise c or d", "not (when a then b otherwise (c or d))"),
        ("x is_it", None),
        ("ask a with b + c within 1d", "ask a with (b + c) within 1d"),
        ("1 + approve x + y", "1 + (approve x + y)"),
        ("reason about a + b with k = c + d", "reason about (a + b) with k = (c + d)"),
        ("reason reason about x with k = v", "reason (reason about x with k = v)"),
        ("decide between xs + ys given y", "decide between (xs + ys) given (y)"),
        ('analyze x + y for "t"', 'analyze (x + y) for "t"'),
        ('generate "t" given x + 1 with k = v', 'generate "t" given (x + 1) with k = (v)'),
        ('a |> show x + y as "t"', 'a |> (show x + y as "t")'),
        ("f(a, b = c + d,)", "f(a, b = (c + d))"),
        ("(((a)))", "a"),
    ],
)
def test_grouping(source: str, grouped: str | None) -> None:
    if grouped is None:
        with pytest.raises(ParseError):
            value(source)
    else:
        assert same(source, grouped)


def test_chains_are_flat() -> None:
    chain = value("a + b - c + d")
    assert [link.op for link in chain.links] == ["+", "-", "+"]
    chain = value("1 < x <= 10 not in xs in ys != zs")
    assert [link.op for link in chain.links] == ["<", "<=", "not in", "in", "!="]
    assert len(value("a |> f |> g(1) |> h").steps) == 3
    assert len(value("a and b and c").operands) == 3
    arms = statement("when a\n  1\notherwise when b\n  2\notherwise when c\n  3\notherwise\n  4").arms
    assert [test.id for test, _ in arms] == ["a", "b", "c"]
    assert len(value("when a then 1 otherwise when b then 2 otherwise 3").arms) == 2


def test_places_of_errors() -> None:
    assert value("a + b").links[0].at == (1, 13)
    assert value("f(x)").at == (1, 12)
    assert value("a.b").at == (1, 12)
    assert value("a[b]").at == (1, 12)
    assert value("a of b").at == (1, 13)
    assert value("a |> b |> c").at == (1, 13)
    assert value("-a").at == (1, 11)
    assert value("not a").at == (1, 11)
    assert value("a ** b").at == (1, 13)
    assert value("f(a, b = 1)").args[1].at == (1, 16)


def test_spans() -> None:
    task = statement("task f(a)\n    when a\n        give (1 +\n 2)\n\n\n")
    assert task.span == (1, 1, 4, 4)
    assert task.body[0].span == (2, 5, 4, 4)
    assert task.body[0].arms[0][1][0].value.span == (3, 15, 4, 3)
    first, second = statements("each x in xs\n    x\n\n-- note\ny")
    assert (first.span, second.span) == ((1, 1, 2, 6), (5, 1, 5, 2))
    assert value("`a{b}c`").span == (1, 11, 1, 18)
    assert parse("", "t.lang").statements == ()


@pytest.mark.parametrize(
    ("source", "node"),
    [
        ("42", ("Number", 42)),
        ("1_000", ("Number", 1000)),
        ("007", ("Number", 7)),
        ("0x_fF", ("Number", 255)),
        ("0o17", ("Number", 15)),
        ("0b101", ("Number", 5)),
        ("1_0.2_5e-1", ("Number", "1.025")),
        ("1e400", ("Number", "inf")),
        ("1_0.50d", ("Decimal", "10.50")),
        ("1.5e-3d", ("Decimal", "1.5e-3")),
        ("0x1d", ("Number", 29)),
        ('"a\\n"', ("Text", "a\n")),
        ("true", ("Bool", True)),
        ("nothing", ("Nothing",)),
        ("[]", ("ListLit", ())),
        ("[1,]", ("ListLit", (("Number", 1),))),
        ("{}", ("MapLit", ())),
        ("{a: 1,}", ("MapLit", ((("Name", "a"), ("Number", 1)),))),
        ("() => 1", ("Lambda", (), ("Number", 1))),
        ("f()", ("Call", ("Name", "f"), ())),
        ("m.when", ("Field", ("Name", "m"), "when")),
        ("`a{b}`", ("Template", ("a", ("Name", "b")), "a{b}")),
        ("``", ("Template", (), "")),
    ],
)
def test_values(source: str, node: Any) -> None:
    assert shape(value(source)) == node


def test_integers_of_any_size() -> None:
    assert value("9" * 9000).value == 10**9000 - 1
    assert value("0x" + "f" * 9000).value == 16**9000 - 1


def test_newlines_in_a_hole_are_blanks() -> None:
    parts = value("`{\n  f(1,\n2)\n -- note\n}`").parts
    assert shape(parts) == (("Call", ("Name", "f"), (("Arg", None, ("Number", 1)), ("Arg", None, ("Number", 2)))),)


# ---- words -------------------------------------------------------------------------------------------------------------


SOFT = sorted(tokens.STATEMENT_WORDS | tokens.GATE_WORDS | tokens.INFIX_WORDS | tokens.SERVE_CLAUSES | tokens.EXPORTABLE)
SOFT += ["use", "test", "export", "under", "judge", "about", "whether", "choose", "rate", "stream", "socket", "body", "state"]


@pytest.mark.parametrize("word", [word for word in SOFT if word not in tokens.HARD_KEYWORDS])
def test_soft_words_are_names_where_they_are_no_construct(word: str) -> None:
    source = (
        f"let {word} be 1\nset {word} to {word} + 1\nf({word} = {word})\n"
        f"print({word}, -{word}, {word}.x, x.{word}, {word} of x)\n"
        f"task {word}({word})\n    {word} - 1\n    {word}(1)\n    {word}[0]\n    {word} not in xs\n    {word} in xs\n"
        f"each {word} in {word}\n    {word} * 1\nlet l be ({word}) => {word}\nuse {word!r} as {word}\n{word} |> {word}"
    )
    assert len(statements(source)) == 9


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ('log "x"', "Log"),
        ('log("x")', "ExprStmt"),
        ("log -1", "ExprStmt"),
        ("log [1]", "ExprStmt"),
        ("log {}", "Log"),
        ("log not a", "Log"),
        ("log not in a", "ExprStmt"),
        ("log log", "Log"),
        ("raise x", "Raise"),
        ("raise(x)", "ExprStmt"),
        ("share x as y", "Share"),
        ("observe x as y", "Observe"),
        ("signal x with y", "Signal"),
        ("wait_for timeout timeout 1", "WaitFor"),
        ("checkpoint x", "Checkpoint"),
        ('use "./a.lang" as a', "Use"),
        ("use(1)", "ExprStmt"),
        ("enum in xs", "ExprStmt"),
        ("enum E\n  a", "EnumDef"),
        ('test "t"\n  a', "Test"),
        ('trace "t"\n  a', "Trace"),
        ("trace(m)", "ExprStmt"),
        ("agent A\n  a", "Agent"),
        ("spawn A with x = 1, y = 2", "Spawn"),
        ("stream\n  send [1]", "Stream"),
        ("send [1]", "ExprStmt"),
        ("send 1", "Send"),
        ("proxy to x", "Proxy"),
        ("proxy", "ExprStmt"),
        ("expect body {a: text}", "Expect"),
        ("state of m", "ExprStmt"),
    ],
)
def test_what_a_first_word_begins(source: str, kind: str) -> None:
    assert type(statement(source)).__name__ == kind


def test_gates_stand_wherever_a_value_may() -> None:
    assert type(value("[approve x, ask]").items[0]) is nodes.Gate
    assert type(value("[approve x, ask]").items[1]) is nodes.Name
    assert type(value("f(n = ask q)").args[0].value) is nodes.Gate
    assert type(statement("confirm x").value) is nodes.Gate
    assert type(statement("approve(x)").value) is nodes.Call
    assert shape(value('ask "q" with xs within 2 h')) == ("Gate", "ask", ("Text", "q"), ("Name", "xs"), ("Within", 2, "h"))
    assert shape(value("approve x within 0.5m").within) == ("Within", "0.5", "m")
    assert shape(value("approve x within 1.5d").within) == ("Within", "1.5", "d")
    assert shape(value("approve within within 90s")) == ("Gate", "approve", ("Name", "within"), None, ("Within", 90, "s"))


def test_models() -> None:
    assert shape(value("reason")) == ("Reason", None, False, None, None, None)
    assert shape(value("[reason, 1]").items[0]) == ("Reason", None, False, None, None, None)
    assert shape(value("reason with k = 1")) == ("Reason", None, False, "k", ("Number", 1), None)
    assert shape(value("reason about (x)")) == ("Reason", ("Name", "x"), True, None, None, None)
    about = ("Arith", ("Name", "about"), (("Link", "+", ("Number", 1)),))
    assert shape(value("reason about + 1")) == ("Reason", about, False, None, None, None)
    assert shape(value("decide given x")) == ("Decide", None, ("Name", "x"))
    assert shape(value('decide between ["a"]')) == ("Decide", ("ListLit", (("Text", "a"),)), None)
    assert shape(value('analyze for for "t"')) == ("Analyze", ("Name", "for"), "t")
    assert shape(value('generate "t"')) == ("Generate", "t", None, None, None)
    call = value("f(reason about x with k = 1, 2)")
    assert len(call.args) == 2


def test_judge() -> None:
    judged = value("judge {}\n  a: whether x + 1\n  b: choose x between ys or nothing\n  c: rate x across [1, 2]\n")
    assert [shape(q) for q in judged.questions] == [
        ("Question", "a", "whether", ("Arith", ("Name", "x"), (("Link", "+", ("Number", 1)),)), None, False),
        ("Question", "b", "choose", ("Name", "x"), ("Name", "ys"), True),
        ("Question", "c", "rate", ("Name", "x"), ("ListLit", (("Number", 1), ("Number", 2))), False),
    ]
    assert type(value("judge(x)")) is nodes.Call


# ---- statements --------------------------------------------------------------------------------------------------------


def test_block_values() -> None:
    let, after = statements("let v be when a\n    1\notherwise when b\n    2\notherwise\n    3\nprint(v)")
    assert type(let.value) is nodes.BlockValue
    assert (len(let.value.stmt.arms), len(let.value.stmt.otherwise)) == (2, 1)
    assert type(after) is nodes.ExprStmt
    assert type(statement("set x.y to sandbox\n    1").value.stmt) is nodes.Sandbox
    assert shape(statement("let x be sandbox under {}\n    1").value.stmt.under) == ("MapLit", ())
    (task,) = statements("task f()\n    give when a\n        let b be when c\n            1\n    otherwise\n        2")
    assert type(task.body[0].value.stmt.otherwise[0].value) is nodes.Number
    assert type(value("when when a then b otherwise c\n    1").stmt.arms[0][0]) is nodes.WhenExpr


def test_sandbox() -> None:
    assert type(statement("sandbox\n    1")) is nodes.Sandbox
    assert type(statement("sandbox f()").value) is nodes.SandboxExpr
    assert shape(statement("sandbox under caps\n    1")) == ("Sandbox", ("Name", "caps"), (("ExprStmt", ("Number", 1)),))
    assert shape(statement("sandbox under").value) == ("SandboxExpr", ("Name", "under"))


def test_a_block_belongs_to_the_statement_that_its_line_begins_with() -> None:
    each = statement("each x in reason about xs\n    x")
    assert (each.iterable.block, len(each.body)) == (None, 1)
    let, after = statements("let a be [1, 2] + reason about x\n    one\n    two\nafter")
    assert len(let.value.links[0].operand.block) == 2
    assert shape(after) == ("ExprStmt", ("Name", "after"))
    assert len(statement("reason about x\n    one").value.block) == 1
    assert len(statement("log reason about x\n    one").value.block) == 1
    when = statement("let a be when reason about x\n    one")
    assert when.value.stmt.arms[0][0].block is None


def test_require() -> None:
    assert shape(statement('require net "a" + b')) == ("Require", "net", value_shape('"a" + b'))
    assert shape(statement("require serve(8080)")) == ("Require", "serve", ("Number", 8080))
    assert shape(statement("require serve 8080")) == ("Require", "serve", ("Number", 8080))
    assert shape(statement("require file.read `x`")) == ("Require", "file.read", ("Template", ("x",), "x"))
    assert shape(statement("require stdout")) == ("Require", "stdout", None)
    assert shape(statement('require ask "x"')) == ("Require", "ask", ("Text", "x"))


def value_shape(source: str) -> Any:
    return shape(value(source))


def test_definitions() -> None:
    assert shape(statement("task t\n    1")) == ("Task", "t", (), (("ExprStmt", ("Number", 1)),), False)
    assert shape(statement("export task t(a, b = 1)\n    a").params) == (("Param", "a", None), ("Param", "b", ("Number", 1)))
    assert shape(statement("export type P\n    x: number\n    given: text")) == (
        *("TypeDef", "P", (("x", "number"), ("given", "text")), True),
    )
    assert shape(statement("enum E\n    a\n    b()\n    c(x, y)")) == (
        *("EnumDef", "E", (("a", None), ("b", ()), ("c", ("x", "y"))), False),
    )
    assert statement("export let x be 1").exported
    assert shape(statement("invariant `a {b}`: c")) == ("Invariant", "a {b}", ("Name", "c"))
    assert shape(statement("invariant: c")) == ("Invariant", None, ("Name", "c"))
    assert shape(statement("try\n    1\nrecover\n    2").name) == "error"
    assert shape(statement("let print be 5")) == ("Let", "print", ("Number", 5), False)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("_", ("AnyPattern",)),
        ("x", ("ValuePattern", ("Name", "x"))),
        ("_.x", ("VariantPattern", ("Field", ("Name", "_"), "x"), None, ("Field", ("Name", "_"), "x"))),
        ("1 + 2", "ValuePattern"),
        ("[]", ("ListPattern", ())),
        (
            "[a, _, 1, ...]",
            ("ListPattern", (("BindPattern", "a"), ("AnyPattern",), ("ValuePattern", ("Number", 1)), ("SpreadPattern", None))),
        ),
        ("[...r, [b],]", ("ListPattern", (("SpreadPattern", "r"), ("ListPattern", (("BindPattern", "b"),))))),
        ("{}", ("MapPattern", ())),
        (
            "{a, b: [c], d: _,}",
            (
                "MapPattern",
                (("a", ("BindPattern", "a")), ("b", ("ListPattern", (("BindPattern", "c"),))), ("d", ("AnyPattern",))),
            ),
        ),
        ('{"a": 1}', "ValuePattern"),
        ("[{nothing: 1}]", ("ListPattern", (("ValuePattern", ("MapLit", ((("Nothing",), ("Number", 1)),))),))),
        ("E.v", "VariantPattern"),
        ("m.E.v(a)", "VariantPattern"),
        ("a.b.c.d", "ValuePattern"),
        ("f(x)", "ValuePattern"),
        ("f(x).y", "ValuePattern"),
        ("E.v(a = 1)", "ValuePattern"),
        ("E.v + 1", "ValuePattern"),
        ("-1", "ValuePattern"),
        ("(x) => x", "ValuePattern"),
    ],
)
def test_patterns(source: str, expected: Any) -> None:
    found = shape(statement(f"match v\n    is {source} when g\n        1").arms[0].pattern)
    assert (found[0] if isinstance(expected, str) else found) == expected


def test_arguments_of_a_variant_pattern() -> None:
    arm = statement("match v\n    is E.v(a, _, 1, [b])\n        1").arms[0]
    assert [shape(p)[0] for p in arm.pattern.args] == ["BindPattern", "AnyPattern", "ValuePattern", "ValuePattern"]
    assert arm.guard is None


def test_guards() -> None:
    arm = statement("match v\n    is when a then b otherwise c when when d then e otherwise f\n        1").arms[0]
    assert type(arm.pattern.value) is nodes.WhenExpr
    assert type(arm.guard) is nodes.WhenExpr
    match = statement(
        "match v\n    is 1\n        when a\n            2\n        otherwise\n            3\n    otherwise\n        4"
    )
    assert (len(match.arms[0].body), len(match.otherwise)) == (1, 1)


# ---- serve -------------------------------------------------------------------------------------------------------------

SERVICE = """\
serve on 8000 + 80
    auth with who
    errors with shape
    max_body "2mb"
    max_streams 5
    rate_limit 100 per minute
    timeout 30
    static "./public"
    static "/a" from "./b" cache "1h" fallback "index.html"
    cors "*"
    describe
        about: "shop"
        api: ["GET /x"]
        version: "1"
    private
    docs off
    mount m.group
    mount m.group at "/v2"
    host "*.x.com"
        auth with other
        tls cert cert key key
        route "GET /h" requires auth
            1
    tls cert "c" key "k"
    tls auto
    tls auto "me@x.com"
    domain ["a", "b"]
    redirect https
    bind "::1"
    trust proxy ["10.0.0.0/8"]
    route "get  /a/:id/*rest" requires auth
        rate_limit 1 per hour
        timeout none
        rate_limit unlimited
        expect body {item: text, qty: number, note: optional text,}
        expect form {optional: optional list}
        expect query {page: integer, price: decimal}
        let route be 1
        let static be route
        timeout(static)
        give 1
    route "GET /s"
        stream
            each x in [1]
                send [x] as "n"
            send (1)
    route "GET /w"
        socket
            1
    route "GET /p"
        proxy to "http://x"
"""


def test_serve() -> None:
    serve = statement(SERVICE)
    clauses = [c for c in serve.clauses if isinstance(c, nodes.Clause)]
    assert [(c.kind, *(word for word, _ in c.operands)) for c in clauses] == [
        ("auth", "with"),
        ("errors", "with"),
        ("max_body", "max_body"),
        ("max_streams", "max_streams"),
        ("static", "from"),
        ("static", "prefix", "from", "cache", "fallback"),
        ("cors", "cors"),
        ("describe", "about", "api", "version"),
        ("private",),
        ("docs",),
        ("mount", "mount"),
        ("mount", "mount", "at"),
        ("tls", "cert", "key"),
        ("tls", "auto"),
        ("tls", "auto"),
        ("domain", "domain"),
        ("redirect",),
        ("bind", "bind"),
        ("trust", "proxy"),
    ]
    assert [shape(c) for c in serve.clauses if isinstance(c, nodes.RateLimit | nodes.RouteTimeout)] == [
        ("RateLimit", ("Number", 100), "minute"),
        ("RouteTimeout", ("Number", 30)),
    ]
    (host,) = (c for c in serve.clauses if isinstance(c, nodes.HostBlock))
    assert [c.kind if isinstance(c, nodes.Clause) else c.path for c in host.clauses] == ["auth", "tls", "/h"]
    routes = [c for c in serve.clauses if isinstance(c, nodes.Route)]
    assert [(r.method, r.path, r.requires_auth) for r in routes] == [
        ("GET", "/a/:id/*rest", True),
        ("GET", "/s", False),
        ("GET", "/w", False),
        ("GET", "/p", False),
    ]
    assert shape(routes[0].rate_limit) == ("RateLimit", None, None)
    assert shape(routes[0].timeout) == ("RouteTimeout", None)
    assert [type(s).__name__ for s in routes[0].body] == ["Expect"] * 3 + ["Let", "Let", "ExprStmt", "Give"]
    assert [type(s).__name__ for s in routes[1].body[0].body] == ["Each", "Send"]
    assert shape(source_and_back(SERVICE)) == shape(serve)


def test_routes_of_a_module() -> None:
    group = statement('export routes api\n    route "GET /a"\n        1\n    route "POST /b" requires auth\n        2')
    assert (group.name, [r.path for r in group.routes]) == ("api", ["/a", "/b"])


def source_and_back(source: str) -> Any:
    return statement(source_of(parse(source, "t.lang")))


# ---- size --------------------------------------------------------------------------------------------------------------

NESTED = {
    "brackets": ("(", "1", ")"),
    "lists": ("[", "1", "]"),
    "maps": ("{1: ", "1", "}"),
    "calls": ("f(", "1", ")"),
    "indexes": ("a[", "1", "]"),
    "negations": ("not ", "x", ""),
    "minus signs": ("- ", "x", ""),
    "lambdas": ("() => ", "x", ""),
    "holes": ("`{", "x", "}`"),
    "inline whens": ("when a then ", "x", ""),
    "gates": ("approve ", "x", ""),
    "sandboxes": ("sandbox ", "x", ""),
}


@pytest.mark.parametrize("name", NESTED)
def test_two_hundred_levels_and_no_more(name: str) -> None:
    before, middle, after = NESTED[name]
    value(before * 200 + middle + after * 200)
    for levels in (201, 1000):
        with pytest.raises(ParseError, match="nested too deeply"):
            value(before * levels + middle + after * levels)


def test_two_hundred_blocks_and_no_more() -> None:
    def blocks(levels: int) -> str:
        return "".join("  " * depth + "when a\n" for depth in range(levels)) + "  " * levels + "b"

    statement(blocks(200))
    with pytest.raises(ParseError, match="nested too deeply"):
        statement(blocks(201))


CHAINS = {
    "sums": ("1", " + 1"),
    "products": ("1", " * 1"),
    "powers": ("2", " ** 2"),
    "comparisons": ("1", " < 1"),
    "ands": ("a", " and a"),
    "ors": ("a", " or a"),
    "pipes": ("a", " |> f"),
    "calls": ("f", "(1)"),
    "fields": ("f", ".a"),
    "indexes": ("f", "[1]"),
    "inline whens": ("when a then 1", " otherwise when b then 2"),
    "negated ands": ("not a", " and not a"),
    "lists of lambdas": ("[x", ", () => 1"),
}


@pytest.mark.parametrize("name", CHAINS)
def test_links_of_a_chain_do_not_nest(name: str) -> None:
    first, link = CHAINS[name]
    source = first + link * 1999 + ("]" if first.startswith("[") else "")
    assert value(source).span[3] == len("let it be ") + len(source) + 1
    assert len(statement("when a\n  1\n" + "otherwise when b\n  2\n" * 3000).arms) == 3001


def test_the_depth_of_a_tree_is_bounded() -> None:
    parse("x" + " + x.y(1) ** 2" * 20_000, "t.lang")
    parse("[" + "x.y(1), " * 20_000 + "]", "t.lang")
    for source in (
        "f" + "(1)" * 20_000,
        "2" + " ** 2" * 20_000,
        "a of " * 20_000 + "b",
        "f(" * 9 + "x" + ".y" * 500 + (")" + ".z" * 500) * 9,
    ):
        with pytest.raises(ParseError, match="a chain of more than 2000"):
            value(source)


# ---- whole programs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_program_written_again_is_the_same_program(path: Path) -> None:
    try:
        program = parse(decode_source(path.read_bytes()), path.name)
    except (LexerError, ParseError, UnicodeDecodeError):
        text = path.read_text(encoding="utf-8", errors="replace")
        assert "-- expect lexer error" in text or "-- expect parse error" in text or "�" in text
        return
    assert flat(parse(with_room(lambda: source_of(program)), "again")) == flat(program)


# ---- tables ------------------------------------------------------------------------------------------------------------


def test_the_tables_are_those_of_the_grammar() -> None:
    assert table_maker.TARGET.read_text(encoding="utf-8") == table_maker.module_text()


def test_the_text_of_the_tables_does_not_depend_on_hashing() -> None:
    script = "from language.syntax.table_maker import module_text; import zlib; print(zlib.crc32(module_text().encode()))"
    command = [sys.executable, "-c", script]
    found = {
        subprocess.run(command, capture_output=True, check=True, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_parsing_does_not_load_lark() -> None:
    script = "import sys; from language.syntax.parser import parse; parse('print(1)', 'x'); print('lark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "False\n"
