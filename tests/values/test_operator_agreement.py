"""Compiled programs use Python's own operators where they can: on every pair of values they answer what the exact ones do."""

from __future__ import annotations

import math

import pytest

from language import Program
from language.errors import RuntimeFault
from language.values import FALSE, TRUE, Secret, to_bool
from language.values import operators as op
from language.values.decimals import parse as dec
from language.values.display import display
from stdlib.core import length


def a_lambda():
    function = lambda x: x  # noqa: E731
    function.__code__ = function.__code__.replace(co_name="<lambda>")
    return function


VALUES = {
    "3": 3,
    "0": 0,
    "-7": -7,
    "10 ** 400": 10**400,
    "2.5": 2.5,
    "-0.0": -0.0,
    "nan": math.nan,
    "inf": math.inf,
    "1.50d": dec("1.50"),
    "0d": dec("0"),
    '"a"': "a",
    '"%d"': "%d",
    '"3"': "3",
    "true": TRUE,
    "false": FALSE,
    "nothing": None,
    "[1, 2]": [1, 2],
    "[nan]": [math.nan],
    "[1d]": [dec("1")],
    "[1.0]": [1.0],
    '{"a": 1}': {"a": 1},
    'bytes("a")': b"a",
    "(x) => x": a_lambda(),
    "length": length,
    'as_secret("k", "K")': Secret("k", ("K",)),
    "complex(1, 2)": 1 + 2j,
}
OPERATORS = {
    "+": op.add,
    "-": op.sub,
    "*": op.mul,
    "/": op.div,
    "//": op.floordiv,
    "%": op.mod,
    "**": op.power,
    "<": op.lt,
    "<=": op.le,
    ">": op.gt,
    ">=": op.ge,
    "==": op.eq,
    "!=": op.ne,
    "in": lambda item, container: op.contains(container, item),
    "not in": lambda item, container: not op.contains(container, item),
    "[]": op.index,
}
# One of a kind: what stands in a program as a literal costs the time to compile it.
LITERALS = (
    "3",
    "10 ** 400",
    "2.5",
    "nan",
    "1.50d",
    '"a"',
    '"%d"',
    'bytes("a")',
    "true",
    "nothing",
    "[1, 2]",
    "[1d]",
    '{"a": 1}',
    "(x) => x",
)


def exact(function, left, right):
    try:
        result = function(left, right)
    except RuntimeFault as fault:
        return "error: " + fault.message
    return display([to_bool(result) if result.__class__ is bool else result])


def expression(sign, left, right):
    return f"{left}[{right}]" if sign == "[]" else f"{left} {sign} {right}"


def assert_agreement(sign, sources, program):
    result = Program(program).run()
    assert result["errors"] == []
    pairs = [(left, right) for left in sources for right in sources]
    differing = {}
    for (left, right), got in zip(pairs, result["output"], strict=True):
        wanted = exact(OPERATORS[sign], VALUES[left], VALUES[right])
        if got != wanted:
            differing[expression(sign, left, right)] = (wanted, got)
    assert not differing


@pytest.mark.parametrize("sign", OPERATORS)
def test_on_variables(sign):
    assert_agreement(
        sign,
        VALUES,
        f"let values_ be [{', '.join(VALUES)}]\neach a in values_\n    each b in values_\n        try\n"
        f"            print([{expression(sign, 'a', 'b')}])\n        recover err\n"
        '            print("error: " + err)',
    )


@pytest.mark.parametrize("sign", OPERATORS)
def test_on_literals(sign):
    lines = [f"let v{i} be {source}" for i, source in enumerate(LITERALS)]
    for i, left in enumerate(LITERALS):
        for j, right in enumerate(LITERALS):
            # In turn: both literals, a literal on the left, a literal on the right.
            a = f"v{i}" if (i + j) % 3 == 2 else f"({left})"
            b = f"v{j}" if (i + j) % 3 == 1 else f"({right})"
            lines += ["try", f"    print([{expression(sign, a, b)}])", "recover err", '    print("error: " + err)']
    assert_agreement(sign, LITERALS, "\n".join(lines))


@pytest.mark.parametrize("source", VALUES)
def test_programs_agree_on_negation_and_truth(source):
    program = (
        f'let v be {source}\ntry\n    print([-v])\nrecover err\n    print("error: " + err)\n'
        f"print(not v, not ({source}), when v then true otherwise false)"
    )
    value = VALUES[source]
    try:
        negated = display([op.negate(value)])
    except RuntimeFault as fault:
        negated = "error: " + fault.message
    truth = op.truthy(value)
    assert Program(program).run()["output"] == [negated, f"{display(to_bool(not truth))} " * 2 + display(to_bool(truth))]
