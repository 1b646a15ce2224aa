"""The names of a program: definitions, references over files, what is visible where."""

from __future__ import annotations

from pathlib import Path

import pytest

from language.analysis.checker import check_program
from language.analysis.symbols import ProgramSymbol, Symbols, symbols_of
from language.runtime.modules import BundledSources

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

ENTRY = """\
use "./m.lang" as m
-- How many.
-- Of what there is.
let total be 3
task add(a, b = total)
    let c be a + b
    give c + m.helper(x = 1)

enum Shape
    circle(r)
    dot
let s be Shape.circle(2)
each x in [1, 2]
    set total to total + x
    print(nope, add(b = 1, a = 2))
try
    print(apply([1], (y) => y + 1))
recover err
    print(err)
match s
    is Shape.circle(r)
        print(r, m.X)
    is {k, z: [q, ...rest]}
        print(k, q, rest)
test "one"
    let t be 1
    assert(t)
"""
MODULE = "export let X be 1\nexport task helper(x)\n    give x + total + zork\n"


@pytest.fixture(scope="module")
def symbols() -> Symbols:
    checked = check_program(ENTRY, "a.lang", BundledSources({"a.lang": ENTRY, "m.lang": MODULE}))
    assert checked.errors == []
    return symbols_of(checked)


def found(symbols: Symbols, line: int, column: int, file: str = "a.lang") -> ProgramSymbol:
    symbol = symbols.at(file, line, column)
    assert symbol is not None
    return symbol


def places(symbol: ProgramSymbol) -> list[tuple[str, int, int]]:
    return [(at.file, at.line, at.column) for at in symbol.references]


def test_what_a_file_defines_stands_where_its_name_is(symbols: Symbols) -> None:
    lines = ENTRY.split("\n")
    defined = symbols.of("a.lang")
    for symbol in defined:
        if symbol.kind != "test":
            assert lines[symbol.line - 1][symbol.column - 1 : symbol.end_column - 1] == symbol.name
    assert [(symbol.kind, symbol.name) for symbol in defined] == [
        ("module", "m"),
        ("variable", "total"),
        ("task", "add"),
        ("parameter", "a"),
        ("parameter", "b"),
        ("variable", "c"),
        ("enum", "Shape"),
        ("member", "circle"),
        ("member", "dot"),
        ("variable", "s"),
        ("variable", "x"),
        ("parameter", "y"),
        ("variable", "err"),
        ("variable", "r"),
        ("variable", "k"),
        ("variable", "q"),
        ("variable", "rest"),
        ("test", "one"),
        ("variable", "t"),
    ]


def test_references_go_over_files(symbols: Symbols) -> None:
    total = found(symbols, 14, 18)
    assert (total.line, total.column) == (4, 5)
    assert places(total) == [("a.lang", 5, 17), ("a.lang", 14, 9), ("a.lang", 14, 18), ("m.lang", 3, 14)]
    helper = found(symbols, 7, 16)
    assert (helper.file, helper.line, helper.column, helper.exported) == ("m.lang", 2, 13, True)
    assert found(symbols, 22, 20).name == "X" and found(symbols, 22, 18).kind == "module"


def test_an_argument_by_name_is_a_reference_to_the_parameter(symbols: Symbols) -> None:
    assert places(found(symbols, 5, 10)) == [("a.lang", 6, 14), ("a.lang", 15, 28)]
    assert places(found(symbols, 2, 20, "m.lang")) == [("a.lang", 7, 23), ("m.lang", 3, 10)]


def test_members_of_an_enum_are_found_in_expressions_and_patterns(symbols: Symbols) -> None:
    circle = found(symbols, 21, 14)
    assert (circle.kind, circle.line, circle.signature) == ("member", 10, "Shape.circle(r)")
    assert places(circle) == [("a.lang", 12, 16), ("a.lang", 21, 14)]


def test_documentation_and_signature(symbols: Symbols) -> None:
    assert found(symbols, 4, 5).documentation == "How many.\nOf what there is."
    assert found(symbols, 5, 6).signature == "add(a, b = total)"
    builtin = found(symbols, 17, 11)
    assert (builtin.kind, builtin.file, builtin.signature) == ("builtin", "", "apply(fn, list)")
    assert builtin.documentation


def test_what_stands_for_nothing(symbols: Symbols) -> None:
    unresolved = [(one.name, one.range.file, one.range.line, one.range.column) for one in symbols.unresolved]
    assert unresolved == [("nope", "a.lang", 15, 11), ("zork", "m.lang", 3, 22)]


def test_what_is_visible(symbols: Symbols) -> None:
    def names(line: int, column: int, file: str = "a.lang") -> list[str]:
        return [symbol.name for symbol in symbols.visible(file, line, column)]

    assert names(7, 5) == ["a", "b", "c", "m", "total", "add", "Shape", "s"]
    assert names(8, 5) == names(7, 5), "an indented line behind the last statement belongs to the block"
    assert names(8, 1) == ["m", "total", "add"]
    assert names(14, 5)[0] == "x" and "x" not in names(16, 1)
    assert names(17, 29)[0] == "y" and "y" not in names(17, 12)
    assert names(22, 9)[0] == "r" and names(24, 9)[:3] == ["k", "q", "rest"]
    assert names(3, 10, "m.lang") == ["x", "X", "helper", "m", "total", "add", "Shape", "s"]


def test_the_names_of_a_request_are_visible_in_its_handler() -> None:
    source = 'serve on 8080\n    route "GET /x"\n        let q be query\n        give request.path + q.a\n'
    symbols = symbols_of(check_program(source, "a.lang", BundledSources({})))
    assert {symbol.name for symbol in symbols.visible("a.lang", 4, 9)} >= {"request", "query", "params", "q"}
    assert not symbols.unresolved


def test_every_name_of_the_examples_has_its_place() -> None:
    for path in sorted(EXAMPLES.rglob("*.lang")):
        source = path.read_text(encoding="utf-8")
        files = {str(other.relative_to(path.parent)): other.read_text() for other in path.parent.rglob("*.lang")}
        checked = check_program(source, path.name, BundledSources(files))
        symbols = symbols_of(checked)
        lines = source.split("\n")
        for symbol in symbols.of(path.name):
            if symbol.kind == "test":
                continue
            at = [(symbol.line, symbol.column), *((r.line, r.column) for r in symbol.references if r.file == path.name)]
            for line, column in at:
                assert lines[line - 1].startswith(symbol.name, column - 1), (path, symbol, line, column)
                assert symbols.at(path.name, line, column) is not None


def test_the_names_of_a_let_that_takes_a_value_apart() -> None:
    source = 'export let [first, {k: [inner]}, ...rest] be [1, {"k": [2]}, 3]\nprint(inner, rest, first)\n'
    checked = check_program(source, "a.lang", BundledSources({"a.lang": source}))
    names = symbols_of(checked)
    assert [(s.name, s.kind, s.line, s.column, s.exported) for s in names.of("a.lang")] == [
        ("first", "variable", 1, 13, True),
        ("inner", "variable", 1, 25, True),
        ("rest", "variable", 1, 37, True),
    ]
    assert found(names, 2, 7).name == "inner"
    assert ("a.lang", 2, 7) in places(found(names, 1, 25))
