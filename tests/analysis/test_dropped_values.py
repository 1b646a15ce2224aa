"""Lines whose value nobody takes, and those whose value is a result or that may be there for something else."""

from __future__ import annotations

import pytest

from language import library
from language.analysis.checker import check_program
from language.analysis.dropped_values import CODE, ONLY_GIVING, ONLY_GIVING_WITH_A_TASK
from language.analysis.manifest import Problem
from language.analysis.problems import problems_of
from language.runtime.modules import BundledSources


def dropped(source: str) -> list[Problem]:
    checked = check_program(source, "a.lang", BundledSources({}))
    return [one for one in problems_of(checked).warnings if one.code == CODE]


def lines(source: str) -> list[int]:
    return [one.line for one in dropped(source)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("append(xs, 1)", "Write `set xs to append(xs, 1)`."),
        ("sort(xs)", "Write `set xs to sort(xs)`."),
        ("sort(xs, desc = true)", "Write `set xs to sort(xs, desc = true)`."),
        ("reverse(xs)", "Write `set xs to reverse(xs)`."),
        ('merge(m, {"b": 2})', 'Write `set m to merge(m, {"b": 2})`.'),
        ('remove(m, "a")', 'Write `set m to remove(m, "a")`.'),
        ("append(m.list, 1)", "Write `set m.list to append(m.list, 1)`."),
        ("xs |> append(3)", "Write `set xs to xs |> append(3)`."),
        ("xs |> sort", "Write `set xs to xs |> sort`."),
        ("sort_by(xs, (x) => -x)", "Write `set xs to sort_by(xs, (x) => -x)`."),
        ("int(t)", "Write `set t to int(t)`."),
        ('upper("a")', 'Write `print(upper("a"))` to show the value, keep it with `let`, or remove the line.'),
        ("length(xs)", "Write `print(length(xs))` to show the value, keep it with `let`, or remove the line."),
        ("xs == [1]", "Write `set xs to [1]` to give `xs` this value."),
        ("n + 1", "Write `set n to n + 1`."),
        ("go", "Write `go(a)`."),
        ("append(xs,\n    1)", "Write `set xs to ...`."),
    ],
)
def test_the_cure_has_the_names_of_the_program(line: str, told: str) -> None:
    known = 'let xs be [1]\nlet m be {"a": 1, "list": []}\nlet t be "1"\nlet n be 1\ntask go(a)\n    give a\n'
    (found,) = dropped(f"{known}{line}\nprint(xs, m, t, n, go(1))\n")
    assert found.line == 7 and found.help == told


@pytest.mark.parametrize(
    "source",
    [
        "task f(xs)\n    append(xs, 1)\nprint(f([]))\n",  # the last line of a task is its result
        "task f(x)\n    when x > 1\n        x + 1\n    otherwise\n        x - 1\nprint(f(2))\n",
        "task f(x)\n    match x\n        is 1\n            upper('a')\n        is _\n            lower('b')\nprint(f(2))\n",
        "task f(xs)\n    each x in xs\n        x * 2\nprint(f([2]))\n",
        "task f(x)\n    try\n        int(x)\n    recover e\n        length(e)\nprint(f(2))\n",
        "let x be when 1 > 0\n    upper('a')\nprint(x)\n",
        "try\n    int('x')\n    print('a number')\nrecover e\n    print(e)\n",  # it is there to fail
        "let xs be [1]\nsort_by(xs, (x) => print(x))\n",
        "let xs be [1]\napply(print, xs)\n",
        "task append(a, b)\n    print(a, b)\nappend(1, 2)\n",
        "let append be (a, b) => print(a, b)\nappend(1, 2)\n",
        "date('2026-01-01')\n",
        "nothing\n",
        "fail(404)\n",  # nothing could give it here
        "state_incr('n')\n",
        "require serve(8080)\nserve on 8080\n    route 'GET /'\n        give append([], 1)\n",
        "require serve(8080)\nserve on 8080\n    route 'GET /'\n        state_incr('n')\n",
        "assert_error(() => int('x'))\n",
    ],
)
def test_what_may_be_a_result_or_do_something_is_left_alone(source: str) -> None:
    assert dropped(source) == []


def test_a_block_that_is_not_the_last_statement_of_a_task_has_no_result() -> None:
    task = (
        "task f(xs)\n    when xs == []\n        fail(404)\n    each x in xs\n        append(xs, x)\n    give xs\nprint(f([]))\n"
    )
    assert lines(task) == [3, 5]


def test_a_route_answers_with_what_is_given_alone() -> None:
    source = (
        "require serve(8080)\nserve on 8080\n    route 'GET /a'\n        respond('no')\n"
        "    route 'GET /b'\n        when query == {}\n            {'a': 1}\n        otherwise\n            give {'b': 1}\n"
        "    route 'GET /c'\n        {'a': 1}\n        give 1\n"
    )
    assert lines(source) == [4, 7]


def test_the_builtins_that_only_give_a_value_are_there_and_need_nothing() -> None:
    builtins = library().all_builtins()
    for name in ONLY_GIVING | ONLY_GIVING_WITH_A_TASK:
        assert builtins[name].capability is None
