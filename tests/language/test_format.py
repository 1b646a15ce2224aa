"""``format_source``: one layout, the same tokens, stable under itself."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import check

from language.errors import LexerError, ParseError
from language.format import format_source
from language.syntax.lexer import decode_source, tokenize
from language.syntax.parser import parse
from language.syntax.tokens import GATE_WORDS

ROOT = Path(__file__).resolve().parent.parent.parent


# ---- layout ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "laid_out"),
    [
        ("show  ([1])", "show ([1])\n"),
        ("show [1,2]  as \"T\"", "show [1, 2] as \"T\"\n"),
        ("let a be approve  (1)", "let a be approve (1)\n"),
        ("show(1)", "show(1)\n"),
        ("show  -1", "show -1\n"),
        ("show-1", "show - 1\n"),
        ("", ""),
        ("\n\n  \n", ""),
        ("-- only a comment", "-- only a comment\n"),
        ("let x   be 1", "let x be 1\n"),
        ("let x be 1+2 *3", "let x be 1 + 2 * 3\n"),
        ("let x be (1+2)*3", "let x be (1 + 2) * 3\n"),
        ("print ( a , b )", "print(a, b)\n"),
        ("xs [ 0 ] [ 1 ]", "xs[0][1]\n"),
        ("let m be { a :1 , b: [ 1,2 , ] }", "let m be {a: 1, b: [1, 2,]}\n"),
        ("let f be ( x,y )=>x", "let f be (x, y) => x\n"),
        ("let f be ()=>g ( )( 1 )", "let f be () => g()(1)\n"),
        ("a . b . c ( 1 )", "a.b.c(1)\n"),
        ("f(a=1,b  = 2)", "f(a = 1, b = 2)\n"),
        ("let x be - 1", "let x be -1\n"),
        ("let x be a- -1", "let x be a - -1\n"),
        ("let x be - - a", "let x be - -a\n"),
        ("let x be a - - - a", "let x be a - - -a\n"),
        ("let x be 2**-1", "let x be 2 ** -1\n"),
        ("let x be [-1,- 2]", "let x be [-1, -2]\n"),
        ("log -1", "log - 1\n"),
        ("give -1", "give -1\n"),
        ("log   -  1", "log - 1\n"),
        ('log "x"', 'log "x"\n'),
        ("let x be not(a)and(b)", "let x be not (a) and (b)\n"),
        ("let x be reason about(a)", "let x be reason about (a)\n"),
        ("let x be reason about[1]", "let x be reason about [1]\n"),
        ("let x be reason about -1", "let x be reason about -1\n"),
        ("let x be decide between[1,2] given(y)", "let x be decide between [1, 2] given (y)\n"),
        ("let x be a|>b|>c(1)", "let x be a |> b |> c(1)\n"),
        ("let x be name of(p)", "let x be name of (p)\n"),
        ("let x be approve \"ok?\" within 90 s", "let x be approve \"ok?\" within 90s\n"),
        ("let x be approve \"ok?\" within 1d", "let x be approve \"ok?\" within 1d\n"),
        ("require file . read ( \"x\" )", "require file.read(\"x\")\n"),
        ("require secret \"X\"", "require secret \"X\"\n"),
        ("raise ( \"x\" )", "raise(\"x\")\n"),
        ("raise \"x\"", "raise \"x\"\n"),
        ("intent :\"x\"", "intent: \"x\"\n"),
        ("invariant \"n\":x>0", "invariant \"n\": x > 0\n"),
        ("let x be `a{ 1+1 }  b`", "let x be `a{ 1+1 }  b`\n"),
        ("let x be 'a'+\"b\"", "let x be 'a' + \"b\"\n"),
        ("let x be 1 --note", "let x be 1  --note\n"),
        ("print(1)--note  ", "print(1)  --note\n"),
        ("\ufefflet x be 1\r\nlet y be 2\r\n", "let x be 1\nlet y be 2\n"),
        ("let x be when a then 1 otherwise 2", "let x be when a then 1 otherwise 2\n"),
        ("set m . a [ 1 ] to 2", "set m.a[1] to 2\n"),
        ("let x be 5 in[1]", "let x be 5 in [1]\n"),
        ("let x be 5 not   in[1]", "let x be 5 not in [1]\n"),
    ],
)  # fmt: skip
def test_a_line(written: str, laid_out: str) -> None:
    assert check(written) == laid_out


def test_indentation_becomes_four_spaces_a_level() -> None:
    source = "task f(x)\n\twhen x\n\t\tgive 1\n\totherwise\n\t   give 2\ntask g()\n  3\n"
    expected = "task f(x)\n    when x\n        give 1\n    otherwise\n        give 2\n\ntask g()\n    3\n"
    assert check(source) == expected


def test_one_blank_line_around_definitions_and_at_most_one_elsewhere() -> None:
    source = """\


let a be 1



let b be 2
task f()

    a


    b

task g()
    a
let c be 3
test "t"
    assert(true)
enum E
    x
    y(a,b)
type T
    a : number
export task h()
    1
export let d be 4
export let e be 5
"""
    expected = """\
let a be 1

let b be 2

task f()
    a

    b

task g()
    a

let c be 3

test "t"
    assert(true)

enum E
    x
    y(a, b)

type T
    a: number

export task h()
    1

export let d be 4
export let e be 5
"""
    assert check(source) == expected


def test_a_comment_stays_with_what_it_stands_at() -> None:
    source = """\
-- about the file

-- about a
let a be 1 -- its value
-- about f
-- in two lines
task f()
  -- first
  a
  -- last of f
-- about g
task g()
        when a
                1
        -- of the body of g
-- at the end
"""
    expected = """\
-- about the file

-- about a
let a be 1  -- its value

-- about f
-- in two lines
task f()
    -- first
    a
    -- last of f

-- about g
task g()
    when a
        1
    -- of the body of g

-- at the end
"""
    assert check(source) == expected


def test_a_comment_between_header_and_body_goes_to_the_body() -> None:
    assert check("task f()\n-- why\n  1\n") == "task f()\n    -- why\n    1\n"


def test_comments_that_end_blocks_only_go_outwards() -> None:
    source = "task f()\n  when a\n    1\n  -- two\n    -- also two\n-- none\nb\n"
    expected = "task f()\n    when a\n        1\n    -- two\n    -- also two\n\n-- none\nb\n"
    assert check(source) == expected


def test_a_free_standing_comment_does_not_belong_to_the_definition_below() -> None:
    assert check("let a be 1\n-- free\n\ntask f()\n  1\n") == "let a be 1\n-- free\n\ntask f()\n    1\n"


def test_brackets_over_several_lines() -> None:
    source = """\
let m be {
  "a":1,   -- one

  -- two
        "b":[ 1,
    2
  ],
      }
print(f(a,[
   1,

], (x)=>
 x))
when f(
 a
)
  1
"""
    expected = """\
let m be {
    "a": 1,  -- one

    -- two
    "b": [
        1,
        2
    ],
}
print(f(a, [
    1,
], (x) =>
    x))
when f(
    a
)
    1
"""
    assert check(source) == expected


LONG_CALL = (
    'save("a first argument of this call", {"name": "the second one", "more": [1, 2, 3]}, "a third one", key = "the last one")'
)
BROKEN_CALL = """\
save(
    "a first argument of this call",
    {"name": "the second one", "more": [1, 2, 3]},
    "a third one",
    key = "the last one"
)"""


def test_the_arguments_of_a_long_call_stand_one_a_line() -> None:
    assert check(LONG_CALL) == f"{BROKEN_CALL}\n"
    assert check(f"{LONG_CALL}  -- a note") == f"{BROKEN_CALL}  -- a note\n"
    inside = BROKEN_CALL.replace("\n", "\n    ")
    assert check(f"when true\n print({LONG_CALL})") == f"when true\n    print({inside})\n"


def test_the_items_of_a_long_list_and_the_entries_of_a_long_map_stand_one_a_line() -> None:
    texts = [f'"a text of the list, number {number}"' for number in range(5)]
    lines = ",\n    ".join(texts)
    assert check(f"let all be [{', '.join(texts)}]") == f"let all be [\n    {lines}\n]\n"
    entries = [f'"key {number}": "a text of the map"' for number in range(5)]
    lines = ",\n    ".join(entries)
    assert check(f"let all be {{{', '.join(entries)}}}") == f"let all be {{\n    {lines}\n}}\n"


def test_a_part_that_is_still_long_is_broken_too() -> None:
    entries = [f'"key {number}": "a text of the map"' for number in range(5)]
    shown = ",\n        ".join(entries)
    source = f"let all be [{{{', '.join(entries)}}}, {{}}]"
    assert check(source) == f"let all be [\n    {{\n        {shown}\n    }},\n    {{}}\n]\n"


def test_the_parameters_of_a_long_task_stand_one_a_line() -> None:
    names = [f"parameter_{number}" for number in range(12)]
    broken = ",\n    ".join(names)
    for words in ("", "export "):
        source = f"{words}task with_many({', '.join(names)})\n    1"
        assert check(source) == f"{words}task with_many(\n    {broken}\n)\n    1\n"


STEPS = (
    'where((row) => row.amount > 100 and row.country == "DE")',
    'apply((row) => {"id": row.id, "amount": row.amount})',
    "sort_by((row) => row.amount, desc = true)",
)


@pytest.mark.parametrize(("before", "after"), [("let found be (", ")"), ("print(", ")"), ("let n be 2 * length(", ") + 1")])
def test_the_steps_of_a_long_pipe_in_parentheses_stand_one_a_line(before: str, after: str) -> None:
    broken = before + "\n    |> ".join(["rows", *STEPS]) + after
    assert check(before + " |> ".join(["rows", *STEPS]) + after) == broken + "\n"
    # Also where a line further down is the long one.
    assert check(f"{before}rows\n |> {' |> '.join(STEPS)}{after}") == broken + "\n"


def test_a_long_step_of_a_pipe_is_broken_in_its_place() -> None:
    step = f"merge({LONG_CALL.partition('(')[2]}"
    inside = BROKEN_CALL.partition("(")[2].replace("\n", "\n    ")
    assert check(f"let x be (rows |> {step} |> length())") == f"let x be (rows\n    |> merge({inside}\n    |> length())\n"


@pytest.mark.parametrize(
    ("written", "laid_out"),
    [
        ('{"a": 1, "b": [1,\n 2, 3]}', '{"a": 1, "b": [\n    1,\n    2,\n    3\n]}'),
        ("[\n1, 2]", "[\n    1,\n    2\n]"),
        ("[1, 2\n]", "[\n    1,\n    2\n]"),
        ("[1,  -- one\n2]", "[\n    1,  -- one\n    2\n]"),
        ('f({"a": 1,\n"b": 2}, 3)', 'f({\n    "a": 1,\n    "b": 2\n}, 3)'),
    ],
)
def test_the_items_of_what_is_broken_in_part_stand_one_a_line(written: str, laid_out: str) -> None:
    assert check(f"let x be {written}") == f"let x be {laid_out}\n"


@pytest.mark.parametrize(
    "written", ["[\n    1, 2,\n    3, 4\n]", "[{\n    1: 2\n}, {\n    3: 4\n}]", "f(a, [\n    1\n], (x) =>\n    x)"]
)
def test_lines_that_the_author_chose_stay(written: str) -> None:
    assert check(f"let x be {written}") == f"let x be {written}\n"


@pytest.mark.parametrize(
    "line",
    [
        f'print("{"long " * 30}")',
        f"let total be {' + '.join(['amount_of_something'] * 8)}",
        f"let page be `{'text ' * 30}`",
        f"print(1)  -- {'a long comment ' * 10}"[:-1],
        "let x be f(a, b) + " + " + ".join(["amount_of_something"] * 8),
    ],
)
def test_what_no_break_makes_better_stays(line: str) -> None:
    assert len(line.split("\n")[0]) >= 120
    assert check(line) == line + "\n"


def test_comments_stay_with_what_they_are_about_when_a_line_is_broken() -> None:
    source = LONG_CALL.replace('"a third one", key', '"a third one", "and a part between",  -- the third\n    key')
    broken = BROKEN_CALL.replace('"a third one",', '"a third one",\n    "and a part between",  -- the third')
    assert len(source.split("  --")[0]) >= 120
    assert check(source) == f"{broken}\n"


def test_the_text_of_templates_is_kept_byte_for_byte() -> None:
    source = "task f()\n  print(`a  \n\t b{ 1\n + 2 }  \n`  ,1)\n"
    assert check(source) == "task f()\n    print(`a  \n\t b{ 1\n + 2 }  \n`, 1)\n"


def test_serve_blocks() -> None:
    source = """\
require serve( 8080 )
serve on 8080
  auth with check
  rate_limit 100 per minute
  static "/assets" from "public"
  route "GET /x/:id" requires auth
    expect body {name:text,n : number}
    expect  query{page:optional  integer}
    give ok( {"id":params.id} )
  describe
    about : "x"
"""
    expected = """\
require serve(8080)

serve on 8080
    auth with check
    rate_limit 100 per minute
    static "/assets" from "public"
    route "GET /x/:id" requires auth
        expect body {name: text, n: number}
        expect query {page: optional integer}
        give ok({"id": params.id})
    describe
        about: "x"
"""
    assert check(source) == expected


def test_a_comment_in_a_call_that_spans_lines_is_no_trap() -> None:
    assert check("f(1,\n  4 --4 is max\n  )\n") == "f(1,\n    4  --4 is max\n)\n"


def test_long_chains() -> None:
    chain = " + ".join(["1"] * 1000)
    assert check(f"let x be {chain}") == f"let x be {chain}\n"
    calls = "f" + "()" * 150
    assert check(calls) == calls + "\n"


@pytest.mark.parametrize(("source", "error"), [("let x be", ParseError), ("let x be @", LexerError), ("f(", ParseError)])
def test_what_is_not_a_program_is_refused(source: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"f\.lang:1:"):
        format_source(source, "f.lang")


# ---- properties --------------------------------------------------------------------------------------------------------


def programs_of_the_repository() -> list[Path]:
    files = sorted(ROOT.rglob("*.lang"))
    return [path for path in files if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)]


PROGRAMS = programs_of_the_repository()


def test_there_are_programs_to_format() -> None:
    assert len(PROGRAMS) > 50


@pytest.mark.parametrize("path", PROGRAMS, ids=[str(path.relative_to(ROOT)) for path in PROGRAMS])
def test_every_program_of_the_repository(path: Path) -> None:
    try:
        source = decode_source(path.read_bytes())
        parse(source, path.name)
    except (LexerError, ParseError, UnicodeDecodeError):
        return  # a conformance case about such an error
    check(source)
    check(shaken(source, random.Random(path.name)))


def shaken(source: str, chance: random.Random) -> str:
    """The same program in another layout: spaces, blank lines, comments, line breaks in brackets."""
    tokens = [t for t in tokenize(source, "x") if t.type != "EOF"]
    depth = level = 0
    step = chance.choice(["  ", "\t", "     "])
    pieces: list[str] = []
    at_line_start = True
    previous: Any = None
    earlier: Any = None
    for token in tokens:
        if token.type in ("INDENT", "DEDENT"):
            level += 1 if token.type == "INDENT" else -1
            continue
        if token.type == "NEWLINE":
            pieces.append(chance.choice(["\n", "\n", "\n", "   -- end\n", "--end\n", "\n\n\n", "  \n"]))
            at_line_start = True
            continue
        if at_line_start:
            if chance.random() < 0.1:
                pieces.append(step * chance.randint(0, level + 1) + "-- own\n")
            pieces.append(step * level)
        elif depth and chance.random() < 0.1 and "NEWLINE" not in token.type:
            pieces.append(chance.choice(["\n", "\n\n\n", " -- in brackets\n", "\n  -- own\n"]) + " " * chance.randint(0, 9))
        elif "gate" in (role(earlier, previous), role(None, earlier)):
            pieces.append(source[previous.end : token.start])  # a blank there tells a construct from a name
        else:
            glued = previous.end == token.start and "MINUS" not in (previous.type, token.type)
            pieces.append(
                chance.choice(["", " ", "  "]) if glued and not needs_space(previous, token) else chance.choice([" ", "   "])
            )
        at_line_start = False
        depth += (token.type in ("LPAREN", "LBRACKET", "LBRACE")) - (token.type in ("RPAREN", "RBRACKET", "RBRACE"))
        pieces.append(source[token.start : token.end])
        earlier, previous = previous, token
    return "".join(pieces)


def role(before: Any, token: Any) -> str:
    """``gate`` for the word of a gate or ``show``, where it may be a construct."""
    is_word = token is not None and token.type == "IDENTIFIER" and token.value in GATE_WORDS
    return "gate" if is_word and (before is None or before.type != "DOT") else ""


def needs_space(left: Any, right: Any) -> bool:
    """A gap that was empty may stay empty; one between two words or numbers was not empty in the first place."""
    return left.type == "NUMBER" and right.type == "NUMBER"


names = st.sampled_from(["a", "b", "log", "ask", "about", "test", "état", "x1"])
atoms = st.one_of(
    names,
    st.sampled_from(["1", "2.5", "1.50d", "0x1f", "true", "nothing", '"t--x"', "'q'", "`h{a}`", "`two\n  lines`", "[]", "{}"]),
)
gap = st.sampled_from(["", " ", "  "])
space = st.sampled_from([" ", "   "])
break_ = st.sampled_from(["", "", " ", "\n", "\n\n   ", " -- c\n", "\n-- c\n  "])


def expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "//", "%", "**", "==", "<", "in", "not in", "and", "or", "|>"])
    listed = st.lists(inner, max_size=3)
    return st.one_of(
        st.builds(lambda a, s, o, z, b: f"{a}{s}{o}{z}{b}", inner, space, operators, space, inner),
        st.builds(lambda g, a: f"({g}{a}{g})", gap, inner),
        st.builds(lambda b, s: f"-{s}{b}", inner.filter(lambda text: not text.startswith("-")), gap),
        st.builds(lambda s, b: f"not{s}{b}", space, inner),
        st.builds(lambda n, g, b, xs: f"{n}{g}({b}{(',' + b).join(xs)}{b})", names, gap, break_, listed),
        st.builds(lambda b, xs: f"[{b}{(b + ', ').join(xs)}{b}]", break_, listed),
        st.builds(lambda b, xs: "{" + b + f",{b}".join(f'"k" :{x}' for x in xs) + b + "}", break_, listed),
        st.builds(lambda n, g, i: f"{n}{g}[{g}{i}]", names, gap, inner),
        st.builds(lambda n, g, m: f"{n}{g}.{g}{m}", names, gap, names),
        st.builds(lambda n, s, m: f"{n}{s}of{s}{m}", names, space, names),
        st.builds(lambda n, g, e: f"({g}{n}){g}=>{g}{e}", names, gap, inner),
        st.builds(lambda s, a, b, c: f"(when{s}{a}{s}then{s}{b}{s}otherwise{s}{c})", space, inner, inner, inner),
    )


expression = st.recursive(atoms, expressions, max_leaves=12)
ending = st.sampled_from(["\n", "\n", " -- c\n", "--c\n", "  \n", "\n\n\n", "\n-- own\n", "\n          -- far\n"])
simple = st.one_of(
    st.builds(lambda n, s, e, z: [f"let {n}{s}be{s}{e}{z}"], names, space, expression, ending),
    st.builds(lambda n, s, e, z: [f"set {n}{s}to{s}{e}{z}"], names, space, expression, ending),
    st.builds(lambda e, z: [f"give {e}{z}"], expression, ending),
)


def blocks(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    body = st.builds(
        lambda items, step: [step + line for item in items for line in item],
        st.lists(inner, min_size=1, max_size=3),
        st.sampled_from([" ", "\t", "    ", "       "]),
    )
    return st.one_of(
        st.builds(lambda n, z, b: [f"task {n} (p){z}", *b], st.sampled_from(["f", "g"]), ending, body),
        st.builds(lambda e, z, b, c: [f"when {e}{z}", *b, f"otherwise{z}", *c], expression, ending, body, body),
        st.builds(lambda n, e, z, b: [f"each {n} in {e}{z}", *b], names, expression, ending, body),
        st.builds(lambda e, z, b: [f'test "{e}"{z}', *b], st.sampled_from(["a", "b"]), ending, body),
    )


statement = st.recursive(simple, blocks, max_leaves=6)
programs = st.builds(lambda items: "".join(line for item in items for line in item), st.lists(statement, max_size=5))


@settings(max_examples=150, deadline=None)
@given(programs)
def test_generated_programs(source: str) -> None:
    try:
        parse(source, "x.lang")
    except (LexerError, ParseError):
        return  # a comment trap, or a comment that swallowed a bracket's end
    check(source)


def test_generated_programs_are_mostly_programs() -> None:
    """The test above would be empty if the generator made nonsense."""
    accepted = []

    @settings(max_examples=60, deadline=None, database=None)
    @given(programs)
    def count(source: str) -> None:
        try:
            parse(source, "x.lang")
            accepted.append(len(source) > 40)
        except (LexerError, ParseError):
            pass

    count()
    assert sum(accepted) >= 12
