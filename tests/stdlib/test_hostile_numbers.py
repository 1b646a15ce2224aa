"""Numbers that no program means: every builtin that calculates answers them or says what is wrong."""

from __future__ import annotations

import itertools
import math

import pytest

from language.errors import RuntimeFault
from language.registry import Builtin
from language.values import TRUE
from language.values.decimals import parse
from stdlib import charts, mathematics, statistics

HUGE = 10**400
SCALARS = [HUGE, -HUGE, math.nan, math.inf, -math.inf, -1, 0, 3, 2.5, 1e308, parse("1e400"), parse("0.5"), None, "x", TRUE]
LISTS = [
    [], [HUGE], [-HUGE, 1], [math.nan], [math.inf, 1], [-math.inf, math.inf], [None], [1, 2, 3], [1e308, 1e308, -1e308],
    [parse("1e400"), parse("1e-400")], [HUGE, 2.5], [parse("1.5"), 2.5], [5e-324, 1.0], ["a"], [[1]],
]  # fmt: skip
CALCULATING = [
    pytest.param(builtin, id=name)
    for family in (statistics.family, mathematics.family)
    for name, builtin in family.builtins.items()
    if builtin.capability is None
]


def called(builtin: Builtin, *values: object, **named: object) -> None:
    """Any other exception is one of the interpreter, which a program must never meet."""
    try:
        builtin.function(*values, **named)
    except RuntimeFault as fault:
        assert 0 < len(fault.message) < 5000


@pytest.mark.parametrize("builtin", CALCULATING)
def test_every_builtin_answers_or_says_what_is_wrong(builtin: Builtin) -> None:
    assert not builtin.context
    for count in range(max(builtin.required, 1), min(builtin.most or 2, 3) + 1):
        pool = [*SCALARS, *LISTS] if count < 3 else [*SCALARS[::3], *LISTS[::4]]
        for values in itertools.product(pool, repeat=count):
            called(builtin, *values)
    for name in builtin.named:
        for value in SCALARS:
            called(builtin, [1, 2], *([[3, 5]] if builtin.required > 1 else []), **{name: value})


@pytest.mark.parametrize(
    "kind", ["bar", "line", "area", "pie", "donut", "scatter", "histogram", "heatmap", "boxplot", "waterfall"]
)
def test_every_chart_is_drawn_or_says_what_is_wrong(kind: str) -> None:
    chart = charts.family.builtins["chart_svg"]
    for value in SCALARS:
        for data in (
            [value], [1, value, 2], {"a": value, "b": 1}, [{"x": value, "y": 1}, {"x": 1, "y": value}],
            [[1, value], [value, 2]], [{"label": "a", "value": value}], {"s": [1, value], "t": [value, 2]},
        ):  # fmt: skip
            for options in (None, {"bins": value}, {"width": value}, {"height": value}):
                called(chart, kind, data, options)


def test_the_bins_of_a_histogram() -> None:
    for bins in (HUGE, -HUGE, 1_000_001, 0):
        with pytest.raises(RuntimeFault, match="histogram expects 1 to 1000000 bins, or a list of edges, got"):
            statistics.histogram([1], bins)
    assert len(statistics.histogram([1], 1_000_000)["counts"]) == 1_000_000
