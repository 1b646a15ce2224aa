"""A source with errors: each is told once, at its line, and the statements without errors are in the tree."""

from __future__ import annotations

import gc
import random
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from language.errors import LanguageError
from language.syntax import nodes
from language.syntax.lexer import decode_source
from language.syntax.parser import parse
from language.syntax.recovery import parse_all, recovered
from language.syntax.walk import descend

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = [decode_source(path.read_bytes()) for path in sorted(ROOT.glob("examples/**/*.lang"))]
#: Lines that are no statement, whatever stands around them.
DAMAGED = (
    *("let x = 5", "let be 3", "let a be", "let a be 1 +", "print(1", "print(1))", 'print "x"', "f(1 2)", "[1, 2", "set a 5"),
    *("give 1 2", "x += 1", "a b", '"abc', "let s be 'it", "let q be 0x", "@", "x ? 1", "# note", "let t be `a {b} c"),
    *("return 5", "if x", "require", "let m be {a 1}", "let m be {a: 1", "f(1]", "f([1)", "print(`{`)", "let n be 1 == == 2"),
    "each x of",
)


def told(source: str) -> list[int]:
    return [error.line for error in parse_all(source, "bad.lang")[1]]


def simple_lines(source: str) -> list[int]:
    """The lines that one simple statement fills."""
    kinds = (nodes.Let, nodes.Set, nodes.Give, nodes.ExprStmt)
    lines = source.split("\n")
    found = []
    for node in descend(parse(source, "good.lang")):
        if isinstance(node, kinds):
            line, column, end_line, _ = node.span
            if line == end_line and not lines[line - 1][: column - 1].strip():
                found.append(line)
    return sorted(set(found))


def test_a_source_without_errors_gives_its_tree() -> None:
    for source in EXAMPLES:
        program, errors = parse_all(source, "good.lang")
        assert errors == []
        assert program == parse(source, "good.lang")
        found = recovered(source, "good.lang", likely_faulty=True)
        assert (found.program, found.errors, found.words) == (program, [], frozenset())


@pytest.mark.parametrize("seed", range(8))
def test_damaged_lines_are_told_and_no_others(seed: int) -> None:
    chance = random.Random(seed)
    for source in EXAMPLES:
        lines = source.split("\n")
        simple = simple_lines(source)
        chosen: list[int] = []
        for line in chance.sample(simple, len(simple)):
            if len(chosen) < 4 and all(abs(line - other) > 1 for other in chosen):
                chosen.append(line)
        for line in chosen:
            text = lines[line - 1]
            lines[line - 1] = text[: len(text) - len(text.lstrip())] + chance.choice(DAMAGED)
        damaged = "\n".join(lines)
        assert told(damaged) == sorted(chosen), damaged


@pytest.mark.parametrize("damage", DAMAGED)
def test_each_damage_between_good_lines(damage: str) -> None:
    source = f"let a be 1\n{damage}\nprint(a)\ntask t(p)\n    print(p)\n    {damage}\n    let b be p\n    give b\nprint(t(a))\n"
    program, errors = parse_all(source, "bad.lang")
    assert [error.line for error in errors] == [2, 6]
    kinds = [type(statement).__name__ for statement in program.statements]
    assert kinds == ["Let", "ExprStmt", "Task", "ExprStmt"]
    (task,) = [statement for statement in program.statements if isinstance(statement, nodes.Task)]
    assert [type(statement).__name__ for statement in task.body] == ["ExprStmt", "Let", "Give"]


CASES = [
    # a header with an error: its block is read for errors of its own, what continues it is not told
    ("when a b\n    print(1 2)\notherwise\n    let c = 1\nprint(3)", [1, 2, 4]),
    ("let x be when a b\n    1\notherwise\n    2\nprint(3 3)", [1, 5]),
    ("task f(a b)\n    give a\n    let k be 1 2\nprint(1)", [1, 3]),
    ("match x y\n    is 1\n        print(1 1)\n    is 2\n        print(2)", [1, 3]),
    ("match x\n    is 1 2\n        let a = 1\nlet x = 2", [2, 3, 4]),
    ("match x\n    foo\n    is 2\n        print(1)\n    otherwise\n        print(", [2, 6]),
    ("type T U\n    a: text\n    b text\n    c: text", [1, 3]),
    ("enum E F\n    a\n    b(1)\n    c", [1, 3]),
    ("for i in range(10):\n    print(i\n    print(2)\nprint(3)", [1, 2]),
    ("if x > 1:\n    print(1)\nelse:\n    print(2 2)\nprint(3)", [1, 3, 4]),
    # blocks that errors leave empty
    ("task f()\n    let x = 1\nprint(1)", [2]),
    ("when a\n    let x = 1\notherwise\n    let y = 2\nprint(1)", [2, 4]),
    ("type T\n    a text\nprint(1)", [2]),
    # constructs that are not complete
    ("try\n    print(1)\nprint(2)\nlet a = 1", [3, 4]),
    ("try\n    print(1", [2]),
    ("try\n    let x = 1\nlet y = 2", [2, 3]),
    ("each x in xs\nprint(x)\nlet a = 1", [1, 3]),
    ("task f()\n    each x in xs\n    print(x)\nlet a = 1", [2, 4]),
    # what is open goes no further than it can
    ("let x be (1 + 2\nprint(x)\nlet y be [1,\n    2\nprint(y)", [1, 3]),
    ("f(\n    1\n    2\n)\nlet a = 1", [3, 5]),
    ("let m be {\n    a: 1,\n    b: 'x,\n    c: 3\n}\nlet a = 1", [3, 6]),
    ("let m be {\n    a: 1\nlet n be {\n    b: 2\n}\nlet a = 1", [1, 6]),
    ("print(`a)\nprint(`b`)\nlet a = 1\nprint(`c`)", [1, 3]),
    ("let t be `Dear {name},\nwe write to you\nbecause of it's\nprint(1)\nlet a = 1", [1, 5]),
    ('"""\na note, it\'s long\n"""\nlet a = 1', [1, 4]),
    ("/* a note\n it's long */\nlet a = 1", [1, 3]),
    ("when x > 3 {\n    print(1)\n    let a = 2\n}\nprint(3)", [1, 3]),
    ("apply(xs, (x) => {\n    let y be x + 1\n    give y\n})\nlet a = 1", [2, 5]),
    # layout
    ("task f()\n    let a be 1\n  let b be 2\n  let c be 3\n    let d = 4\nlet e = 5", [3, 5, 6]),
    ("let a be 1\n    let b be 2\nlet c = 3", [2, 3]),
    ("let a be 1 +\n    2 *\n    3\nlet c = 3", [1, 4]),
    ("let total be a\n    + b\n    + c\nlet d = 3", [2, 4]),
    # refused though it can be read
    ("task f(a, a)\n    give a\nprint(1)\nlet d = 3", [1, 4]),
    ("let f be (a, a) => a\nprint(1)\nlet d = 3", [1, 3]),
    ('serve on 80\n    auth with a b\n    route "GET /" requires auth\n        give 1 2', [2, 4]),
    ('serve on 80\n    route "GET"\n        let x = 1\n    foo bar\n    route "GET /x"\n        give 1 2', [2, 3, 4, 6]),
]


@pytest.mark.parametrize(("source", "lines"), CASES)
def test_no_error_causes_another(source: str, lines: list[int]) -> None:
    assert told(source) == lines, [str(error) for error in parse_all(source, "bad.lang")[1]]


def test_words_of_what_was_left_out() -> None:
    found = recovered("task f(a b)\n    let c be a\nlet d be 1\nlet e = d", "bad.lang")
    assert {"f", "a", "b", "c", "e"} <= found.words
    assert [type(statement).__name__ for statement in found.program.statements] == ["Let"]


def test_a_thousand_errors_cost_no_more_than_their_lines() -> None:
    def seconds(count: int, times: int) -> float:
        source = "print(1)\nlet x = 5\nf(1\n" * count
        begin = time.process_time()
        for _ in range(times):
            assert len(told(source)) == 2 * count
        return time.process_time() - begin

    seconds(20, 1)
    gc.disable()  # a collection goes through all that other tests have left
    try:
        assert seconds(3200, 1) < 4 * seconds(160, 20)
    finally:
        gc.enable()


BITS = [
    *("let", "set", "task f(a)", "when", "otherwise", "each x in", "try", "recover", "match", "is", "give", "be", "type"),
    *(
        "serve on 80",
        'route "GET /"',
        "x",
        "1",
        '"t"',
        "`{x}`",
        "`",
        '"',
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "=",
        "+",
        "-",
    ),
    *("=>", "@", "//", "/*", '"""', "\n", "\n    ", "\n        ", "\n  ", "\n\t", "if", "for", "judge x", "reason", "sandbox"),
    *("export", "routes r", "test"),
]


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(BITS), max_size=40), st.booleans())
def test_any_words_are_read(bits: list[str], joined: bool) -> None:
    check_any(("" if joined else " ").join(bits))


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(EXAMPLES), st.integers(0, 3000), st.integers(0, 40), st.sampled_from(["", *BITS]))
def test_changed_programs_are_read(source: str, start: int, length: int, put: str) -> None:
    check_any(source[:start] + put + source[start + length :])


def check_any(source: str) -> None:
    """No exception; errors exactly when there is no program; each on a line of its own, at a place of the source."""
    program, errors = parse_all(source, "any.lang")
    assert isinstance(program, nodes.Program)
    lines = source.split("\n")
    assert len({error.line for error in errors}) == len(errors)
    for error in errors:
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1
    try:
        parse(source, "any.lang")
    except LanguageError:
        assert errors
    else:
        assert not errors
