"""Long chains and deep nesting: what the parser allows, CPython's compiler takes, in every version."""

from __future__ import annotations

import pytest

import language


def output(source: str) -> list[str]:
    answer = language.run(source)
    assert answer["errors"] == []
    return list(answer["output"])


LINKS = 1000

CHAINS = {
    "sum": ("let x be 1\nprint(" + " + ".join(["x"] * LINKS) + ")", "1000"),
    "text": ('let x be "a"\nprint(length(' + " + ".join(["x"] * LINKS) + "))", "1000"),
    "calls": ("task f(n)\n    give f\nprint(f" + "(1)" * LINKS + ")", "task f(n)"),
    "pipe": ("task inc(n)\n    give n + 1\nprint(0" + " |> inc" * LINKS + ")", "1000"),
    "pipe of calls": ("task add(n, k)\n    give n + k\nprint(0" + " |> add(2)" * LINKS + ")", "2000"),
    "or": ("let x be false\nprint(" + " or ".join(["x"] * LINKS) + ")", "false"),
    "and of calls": ("task t()\n    give true\nprint(" + " and ".join(["t()"] * LINKS) + ")", "true"),
    "comparison": ("let x be 1\nprint(" + " <= ".join(["x"] * LINKS) + ")", "true"),
    "power": ("print(" + " ** ".join(["1"] * LINKS) + ")", "1"),
    "otherwise when": (
        "let x be 999\nwhen x == 0\n    print(0)\n"
        + "".join(f"otherwise when x == {i}\n    print({i})\n" for i in range(1, LINKS)),
        "999",
    ),
    "inline when": (
        "let x be 998\nprint(" + "".join(f"when x == {i} then {i} otherwise " for i in range(LINKS)) + "0)",
        "998",
    ),
    "inline when of calls": (
        "task f(n)\n    give n\nlet x be 997\nprint("
        + "".join(f"when f(x) + 0 == {i} then f({i}) otherwise " for i in range(LINKS))
        + "0)",
        "997",
    ),
    "match": (
        "let x be 999\nmatch x\n" + "".join(f"    is {i}\n        print({i})\n" for i in range(LINKS)),
        "999",
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_of_a_thousand_links(name: str) -> None:
    source, expected = CHAINS[name]
    assert output(source) == [expected]


def test_a_chain_of_fields_ends_in_its_error() -> None:
    answer = language.run("let m be {}\nprint(m" + ".a" * LINKS + ")")
    assert answer["errors"] == ["Runtime error: <embedded>:2:8: Map has no key 'a'"]


def nested(head: str, depth: int, innermost: str, tail: str = "") -> str:
    """``depth`` blocks inside each other in a task; ``{k}`` in the head is the level."""
    lines = ["task f()", "    let i be 0"]
    lines += ["    " * (k + 1) + head.replace("{k}", str(k)) for k in range(depth)]
    lines += ["    " * (depth + 1) + line for line in innermost.split("\n")]
    if tail:
        for k in reversed(range(depth)):
            lines += ["    " * (k + 1) + "recover e", "    " * (k + 2) + tail]
    return "\n".join([*lines, "print(f())"])


@pytest.mark.parametrize("head", ["while i < 1", "each q{k} in [1]", "when true", "sandbox"])
def test_blocks_nest_deeper_than_python_allows(head: str) -> None:
    assert output(nested(head, 60, "set i to i + 1\ngive i")) == ["1"]


def test_matches_nest() -> None:
    depth = 40
    lines = ["task f()", "    let i be 0"]
    for k in range(depth):
        lines += ["    " * (2 * k + 1) + "match i", "    " * (2 * k + 2) + "is 0"]
    lines += ["    " * (2 * depth + 1) + "give i + 1", "print(f())"]
    assert output("\n".join(lines)) == ["1"]


def test_tries_nest_and_the_innermost_handler_runs() -> None:
    assert output(nested("try", 60, 'raise "x"', "give e")) == ["x"]


def test_stop_and_give_leave_blocks_that_were_moved_out() -> None:
    depth = 40
    lines = ["task f()", "    let n be 0"]
    lines += ["    " * (k + 1) + "while true" for k in range(depth)]
    inner = "    " * (depth + 1)
    lines += [inner + "set n to n + 1", inner + "when n > 5", inner + "    give n", inner + "stop", "print(f())"]
    assert output("\n".join(lines)) == ["6"]


def test_a_value_through_deep_blocks() -> None:
    source = nested("each q{k} in [1]", 30, 'set i to i + 1\n"last"')
    assert output(source) == ["last"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("print(" + "(" * 190 + "1" + ")" * 190 + ")", "1"),
        ("print(length(" + "[" * 190 + "1" + "]" * 190 + "))", "1"),
        ("let f be " + "() => " * 190 + "1\nprint(f)", "task <lambda>()"),
        ("print(" + "not " * 190 + "true)", "true"),
        ("print(" + "- " * 190 + "1)", "1"),
    ],
    ids=["parentheses", "lists", "lambdas", "not", "minus"],
)
def test_expressions_nest(source: str, expected: str) -> None:
    assert output(source) == [expected]


def test_tasks_nest_and_close_over_each_level() -> None:
    depth = 60
    lines = ["    " * k + f"task f{k}(a{k})" for k in range(depth)]
    lines.append("    " * depth + f"give a0 + a{depth - 1}")
    lines += ["    " * k + f"give f{k}(1)" for k in reversed(range(1, depth))]
    assert output("\n".join([*lines, "print(f0(5))"])) == ["6"]


def test_recursion_to_the_limit_and_no_further() -> None:
    source = (
        "task deep(n)\n    when n == 0\n        give 0\n    give deep(n - 1) + 1\n"
        "print(deep(2900))\ntry\n    deep(3500)\nrecover e\n    print(e)\nprint(deep(2900))"
    )
    assert output(source) == ["2900", "maximum recursion depth exceeded", "2900"]


@pytest.mark.parametrize("callee", ["sort_by([1, 2], f)", "apply([1, 2], f)", "reduce([1, 2], (a, b) => f(b))", "call(f, {})"])
def test_recursion_through_builtins_is_a_clean_error(callee: str) -> None:
    answer = language.run(f"task f(x = 1)\n    give {callee}\nf(1)")
    (error,) = answer["errors"]
    assert error.startswith("Runtime error: <embedded>:2:") and error.endswith(": maximum recursion depth exceeded")


@pytest.mark.parametrize("use", ["print(x)", "print(x == x)", "json_encode(x)", "print(x in [x])", "sort([x, x])", "text(x)"])
def test_values_nested_very_deep_are_a_clean_error_or_work(use: str) -> None:
    grow = "let x be []\neach i in range(50000)\n    set x to [x]\n"
    source = grow + f'try\n    {use}\nrecover e\n    print("caught")\nprint(length(x))'
    assert output(source)[-1] == "1"


def test_every_level_of_precedence_at_every_level_of_nesting() -> None:
    depth = 198
    source = "task f(x)\n    give x\nlet a be false\nlet b be true\nlet c be 1\nprint("
    source += "a or b and c == 1 + 2 * 1 ** f(" * depth + "1" + ")" * depth + ")"
    answer = language.run(source)
    assert answer["errors"][0].endswith("Unsupported operation: number ** bool")
