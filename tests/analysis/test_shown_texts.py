"""Warnings about texts that do not show what they were written for."""

from __future__ import annotations

import pytest

from language.analysis.checker import check_program
from language.analysis.problems import problems_of
from language.runtime.modules import BundledSources


def warnings(source: str) -> list[str]:
    found = problems_of(check_program(source, "a.lang", BundledSources({})))
    assert found.errors == ()
    return [f"{one.line}:{one.column} {one.code} {one.help}" for one in found.warnings]


BACKTICKS = "Write the text between backticks in place of the quotes. A `{` that is to stay is written `\\{` there."


@pytest.mark.parametrize(
    ("source", "warning"),
    [
        ('let name be "A"\nprint("Hello {name}")\n', "2:7 W0115 Write `Hello {name}`, with backticks."),
        ("let name be 1\nprint('{name}', name)\n", "2:7 W0115 Write `{name}`, with backticks."),
        ('each x in [1]\n    print("a" + "{x}")\n', "2:17 W0115 Write `{x}`, with backticks."),
        ('task f(who)\n    give "Hi {who.name}"\nprint(f(1))\n', "2:10 W0115 Write `Hi {who.name}`, with backticks."),
        ('let n be 1\nlet t be "{n} of {all}"\nprint(t)\n', f"2:10 W0115 {BACKTICKS}"),
        ('let n be 1\nprint("${n}")\n', f"2:7 W0115 {BACKTICKS} Leave out the `$` before a `{{` if none is to be shown."),
        ('try\n    raise "x"\nrecover why\n    print("failed: {why}")\n', "4:11 W0115 Write `failed: {why}`, with backticks."),
        ('print(apply([1], (x) => ok("{x}")))\n', "1:28 W0115 Write `{x}`, with backticks."),
    ],
)
def test_a_name_in_braces_between_quotes(source: str, warning: str) -> None:
    assert warnings(source) == [warning]


@pytest.mark.parametrize(
    "source",
    [
        'print("Hello {name}")\n',  # no such variable
        'print("{items} {length} {text}")\n',  # builtins
        'let n be 1\nprint("{n + 1} {{n}} {} { n }", n)\n',
        'let n be 1\nprint("\\{n}", n)\n',
        'let name be "A"\nprint(fmt("Hi {name}", {"name": name}))\n',
        'let name be "A"\nlet hello be "Hi {name}"\nprint(replace(hello, "{name}", name))\n',
        'let id be 1\nlet path be "/pens/{id}"\nprint({path: id})\n',
        'task f(x)\n    give x\nprint(f(1), "{x}")\n',  # a parameter of a task, used outside
        'task pens()\n    give 1\nprint(pens(), "{pens}")\n',
        'let n be 5\nlet created be (x) => x\nprint(created("{n}"), n)\n',
    ],
)
def test_braces_that_may_be_meant(source: str) -> None:
    assert warnings(source) == []


def test_a_bare_value_among_the_nodes_of_a_page() -> None:
    prose = "Write `prose(...)` around it for a paragraph, or `heading(2, ...)` for a heading."
    assert warnings('print(page([heading(1, "a"), "b", 3], {}))\n') == [f"1:30 W0116 {prose}", f"1:35 W0116 {prose}"]
    assert warnings("print(section([`{1}`]))\n") == [f"1:16 W0116 {prose}"]
    assert warnings('let t be "b"\nprint(page([t]), list(["b"]), section(5))\n') == []
    assert warnings('task page(xs)\n    give xs\nprint(page(["a"]))\n') == []
