"""Patterns, operands, placement, hidden names, services: what surely fails, and what is left alone since it may be meant."""

from __future__ import annotations

import pytest

import language
from language.analysis.checker import check_program
from language.analysis.problems import Problems, problems_of
from language.analysis.service_faults import REQUEST_FIELDS
from language.runtime.modules import BundledSources
from language.serve import exchange


def problems(source: str, **modules: str) -> Problems:
    files = {f"{name}.lang": text for name, text in modules.items()}
    return problems_of(check_program(source, "a.lang", BundledSources(files)))


def codes(source: str) -> list[str]:
    found = problems(source)
    return [one.code for one in (*found.errors, *found.warnings)]


ENUM = "enum S\n    a\n    b(x)\n"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("stop\n", "1:1: 'give'/'stop' used outside of a task or loop"),
        ("when 1 > 0\n    give 1\n", "2:5: 'give'/'stop' used outside of a task or loop"),
        ("each x in [1]\n    give x\n", "2:5: 'give'/'stop' used outside of a task or loop"),
        ("spawn nobody\n", "1:1: No agent defined with name 'nobody'"),
        ('let m be {"a": 1}\nprint(m["b"])\n', "2:8: Map has no key 'b'"),
        ("print([1, 2][2])\n", "1:13: Index 2 out of bounds (list length 2)"),
        ("let xs be []\nprint(xs[-1])\n", "2:9: Index -1 out of bounds (list length 0)"),
        ('print("ab"[5])\n', "1:11: Index 5 out of bounds (text length 2)"),
        ('print("a" * 3)\n', "1:11: Unsupported operation: text * number"),
        ('print(2 + 1 - "a")\n', "1:13: Unsupported operation: number - text"),
        ("print([1] + 1)\n", "1:11: Unsupported operation: list + number"),
        ("print(nothing < 1)\n", "1:15: Unsupported operation: nothing < number"),
        ("let n be 5\neach x in n\n    print(x)\n", "2:1: Cannot iterate over number"),
        ("each x in true\n    print(x)\n", "1:1: Cannot iterate over bool"),
        (f"{ENUM}match S.a\n    is S.c\n        print(1)\n", "5:9: Map has no key 'c'"),
        (f"{ENUM}match S.a\n    is S.c(x)\n        print(x)\n", "5:9: Map has no key 'c'"),
        (f"{ENUM}match S.b(1)\n    is S.b(x, y)\n        print(x, y)\n", "5:8: variant S.b binds 1 fields, got 2"),
        (f"{ENUM}match S.a\n    is S.a(x)\n        print(x)\n", "5:8: variant S.a binds 0 fields, got 1"),
        (f"{ENUM}print(S.a(1))\n", "4:10: Cannot call value of type map"),
        ("let sum be 0\nset sum to sum + 1\nprint(sum([1]))\n", "3:10: Cannot call value of type number"),
        ("task f()\n    let max be []\n    give max(1, 2)\nprint(f())\n", "3:13: Cannot call value of type list"),
    ],
)
def test_what_surely_fails_is_told_as_the_program_tells_it(source: str, error: str) -> None:
    (found,) = problems(source).errors
    assert f"{found.line}:{found.column}: {found.message}".partition(" — ")[0] == error
    (ran,) = language.run(source)["errors"]
    assert error.partition(": ")[2] in ran


@pytest.mark.parametrize(
    "source",
    [
        "each x in [1]\n    stop\n",
        "task f()\n    stop\neach x in [1]\n    f()\n",
        "when false\n    give 1\n",
        "let f be 1 |> text\nprint(f)\n",
        "agent a\n    give 1\nspawn a\n",
        'let m be {"a": 1}\nset m["b"] to 2\nprint(m["b"])\n',
        "let xs be [1]\nset xs to append(xs, 2)\nprint(xs[1])\n",
        'print({[1][0]: 2}["1"])\n',
        'print("a" + 1, [1] + [2], "a" < "b", 2 * 3 - 1)\n',
        "task f(x)\n    give x * 3\nprint(f(2))\n",
        "print(sum([1]))\nlet sum be 0\nprint(sum)\n",
        "let sum be (xs) => 1\nprint(sum([1]))\n",
        "let sum be 0\nset sum to (xs) => 1\nprint(sum([1]))\n",
        f"{ENUM}match S.b(1)\n    is S.b\n        print(1)\n    is S.a\n        print(2)\n",
        'let m be {"c": 1}\nmatch 1\n    is m.c\n        print(1)\n',
        "match 1\n    is _ when now() > 1\n        print(1)\n    is 1\n        print(2)\n    otherwise\n        print(3)\n",
        'print(true or "b")\n',
        "let x be 1\nprint(x == 1 or x == 2, x == 1 or 0)\n",
        'print({"a": 1, "b": 1})\n',
        "task f()\n    give 1\nprint(f())\ntask f()\n    give 2\nprint(f())\n",
        "let x be 1\ntry\n    set x to 2\nrecover e\n    print(e)\nprint(x)\n",
        "try\n    let x be 1\n    print(x)\nrecover e\n    let x be 2\n    print(x, e)\n",
        "task f()\n    try\n        let x be 1\n    recover e\n        let x be 2\n        give x\n    give x\nprint(f())\n",
    ],
)
def test_what_may_be_meant_is_left_alone(source: str) -> None:
    assert codes(source) == []


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "match 1\n    is 1\n        let found be 1\nprint(found)\n",
            "`found` is made only inside of a block, on line 3: make it before line 1, `let found be nothing`, and write "
            "`set found to ...` on line 3.",
        ),
        (
            "match 1\n    is 1\n        let found be 1\n    is 2\n        let found be 2\nprint(found)\n",
            "`found` is made only inside of a block, on the lines 3 and 5: make it before line 1, `let found be nothing`, and "
            "write `set found to ...` on the lines 3 and 5.",
        ),
        (
            "each x in [1]\n    let found be x\nprint(found)\n",
            "`found` is made only inside of a block, on line 2: make it before line 1, `let found be nothing`, and write "
            "`set found to ...` on line 2.",
        ),
        (
            "each x in [1]\n    print(x)\nprint(x)\n",
            "`x` is the variable of the loop on line 1 and is known only inside of it.",
        ),
        (
            "match [1]\n    is [a]\n        print(a)\nprint(a)\n",
            "`a` is bound by the pattern on line 2 and is known only in that arm.",
        ),
        (
            "try\n    print(1)\nrecover why\n    print(why)\nprint(why)\n",
            "`why` is known only in the `recover` block of the `try` on line 1.",
        ),
    ],
)
def test_a_name_of_a_block_above_is_told_as_such(source: str, told: str) -> None:
    (found,) = problems(source).errors
    assert found.help == told


def test_a_name_of_another_task_is_not_told_as_one_of_a_block() -> None:
    source = "task f()\n    each round_of in [1]\n        print(round_of)\nf()\ntask g()\n    give round_of\nprint(g())\n"
    (found,) = problems(source).errors
    assert "loop" not in found.help


def test_a_name_that_only_one_way_makes() -> None:
    for source in (
        "try\n    let n be int('x')\nrecover e\n    let n be 0\nprint(n)\n",
        "match 1\n    is 1\n        let n be 1\n    otherwise\n        let n be 2\nprint(n)\n",
    ):
        (found,) = problems(source).warnings
        assert found.code == "E0201" and "`let n be nothing`" in found.help
        assert "Undefined variable: 'n'" in language.run(source)["errors"][0]


SERVE = "require serve(8080)\n{}serve on 8080\n    route 'GET /p/:id'\n        give {}\n{}"


@pytest.mark.parametrize(
    ("above", "given", "below", "found"),
    [
        ("", "params.id", "", []),
        ("", "params.nope", "", ["E0401"]),
        ("", "params['nope']", "", ["E0401"]),
        ("", "[request.json, request.user]", "", []),
        ("", "request.jsn", "", ["E0401"]),
        ("", "late()", "task late()\n    give 1\n", ["E0201"]),
        ("", "value", "let value be 1\n", ["E0201"]),
        ("task late()\n    give 1\n", "late()", "", []),
        ("task through()\n    give late()\n", "through()", "task late()\n    give 1\n", ["E0201"]),
        ("let value be 1\n", "value", "set value to 2\n", []),
    ],
)
def test_what_a_route_reads(above: str, given: str, below: str, found: list[str]) -> None:
    source = SERVE.format(above, given, below)
    assert codes(source) == found
    reply = language.Program(source).handle({"method": "GET", "path": "/p/1"})
    assert reply["status"] == (500 if found else 200)


def test_the_fields_of_a_request_are_those_that_are_made() -> None:
    assert set(REQUEST_FIELDS) == set(exchange._VALUES)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("set hits to hits + 1", ["W0119"]),
        ("set hits to 1", []),
        ("let hits be state_incr('hits')", []),
        ("let hits be 1\n        set hits to hits + 1", []),
    ],
)
def test_a_change_that_ends_with_the_request(change: str, found: list[str]) -> None:
    route = f"    route 'GET /'\n        {change}\n        give hits\n"
    source = f"require serve(8080)\nlet hits be 0\nserve on 8080\n{route}print(hits)\n"
    assert codes(source) == found


@pytest.mark.parametrize(
    ("task", "found"),
    [("(a, b, c) => a", []), ("(e) => e", ["E0702"]), ("reply_of", ["E0702"])],
)
def test_the_parameters_of_a_task_for_errors(task: str, found: list[str]) -> None:
    head = "task reply_of(a)\n    give a\nprint(reply_of(1))\n"
    source = f"require serve(8080)\n{head}serve on 8080\n    errors with {task}\n    route 'GET /'\n        give 1\n"
    assert codes(source) == found


def test_the_errors_of_modules_have_the_codes_of_the_run() -> None:
    for source, code in (
        ('use "./none.lang" as x\nprint(x.a)\n', "E0203"),
        ('use "./none" as x\nprint(x.a)\n', "E0203"),
        ('use "./m.lang" as x\nprint(x.a)\n', "E0205"),
    ):
        found = problems(source, m='use "./m.lang" as m\nexport let a be m\n')
        assert [one.code for one in found.errors] == [code]


def test_a_problem_is_not_followed_by_another_of_the_same_cause() -> None:
    assert codes("print(later())\ntask later()\n    give 1\n") == ["E0201"]
    assert codes("enum S\n    a b\n    c\nprint(S.a, S.b)\n") == ["E0114"]


def test_what_a_sandbox_refuses() -> None:
    declared = "require file.read('x')\n"
    assert codes(f"{declared}sandbox\n    print(read_file('x'))\n") == ["W0122"]
    assert codes(f"{declared}sandbox\n    try\n        print(read_file('x'))\n    recover e\n        print(e)\n") == []
    assert codes(f"{declared}sandbox under {{'file.read': 'x'}}\n    print(read_file('x'))\n") == []
    assert codes(f"{declared}sandbox\n    task f()\n        give read_file('x')\n    print(1)\n") == ["W0102"]
