"""What charts refuse, and what they say about it."""

from __future__ import annotations

import pytest

from language.errors import RuntimeFault
from language.values import TRUE
from stdlib.charts import chart, chart_svg

ROWS = [{"month": "jan", "north": 12, "south": 8}, {"month": "feb", "north": 15, "south": None}]
TWO = {"x": "month", "y": ["north", "south"]}

KINDS = "valid kinds are: area, bar, boxplot, donut, heatmap, histogram, line, pie, scatter, waterfall"
MAPS = "a list of maps with the options x and y"
BAR = f"data of kind bar must be {MAPS}, a map of label to number or a list of numbers, got "
OPTIONS = {
    "pie": "background, colors, height, legend, theme, title, width, x, x_label, y, y_label",
    "bar": "background, colors, height, legend, stack, theme, title, width, x, x_label, y, y_label",
    "histogram": "background, bins, colors, height, legend, theme, title, width, x_label, y_label",
}


def unknown(option: str, kind: str) -> str:
    return f'unknown option "{option}" for {kind}; valid options are: {OPTIONS[kind]}'


def error_of(kind: object, data: object, opts: object = None) -> str:
    with pytest.raises(RuntimeFault) as caught:
        chart_svg(kind, data, opts)
    with pytest.raises(RuntimeFault) as as_node:
        chart(kind, data, opts)
    message = caught.value.message
    assert message.startswith("chart_svg: ")
    assert as_node.value.message == "chart: " + message.removeprefix("chart_svg: ")
    return message.removeprefix("chart_svg: ")


@pytest.mark.parametrize(
    ("kind", "data", "opts", "expected"),
    [
        ("bars", {}, {}, f'unknown kind "bars"; {KINDS}'),
        (5, {}, {}, f"unknown kind number; {KINDS}"),
        ("bar", {}, [], "the options must be a map, got list"),
        ("pie", {}, {"stack": TRUE}, unknown("stack", "pie")),
        ("histogram", [], {"x": "a"}, unknown("x", "histogram")),
        ("bar", {}, {"bins": 3}, unknown("bins", "bar")),
        ("bar", {}, {"width": 99}, 'option "width" must be a number from 100 to 4000, got 99'),
        ("bar", {}, {"height": float("nan")}, 'option "height" must be a number from 100 to 4000, got nan'),
        ("bar", {}, {"width": "640"}, 'option "width" must be a number from 100 to 4000, got 640'),
        ("bar", {}, {"theme": "blue"}, 'option "theme" must be "light" or "dark", got blue'),
        ("bar", {}, {"background": "url(http://x)"}, 'option "background" must be a color like "#ffffff", got url(http://x)'),
        ("bar", {}, {"colors": ["red"]}, 'option "colors" must be a list of colors like "#0072b2", got list'),
        ("bar", {}, {"colors": ["#fff", "#FFF"]}, 'option "colors" names a color twice'),
        ("bar", {}, {"legend": 1}, 'option "legend" must be true or false, got 1'),
        ("bar", {}, {"stack": "yes"}, 'option "stack" must be true or false, got yes'),
        (
            "pie",
            {str(n): 1 for n in range(9)},
            {},
            '9 slices are more than the 8 colors there are, and colors are never used twice: give the option "colors"',
        ),
        (
            "pie",
            {"a": 1, "b": 2},
            {"colors": ["#fff"]},
            '2 slices need 2 colors, and colors are never used twice: the option "colors" has 1',
        ),
        (
            "line",
            [{"x": 1, **{str(n): n for n in range(9)}}],
            {"x": "x", "y": [str(n) for n in range(9)]},
            '9 series are more than the 8 colors there are, and colors are never used twice: give the option "colors"',
        ),
        ("bar", 5, {}, BAR + "number"),
        ("bar", [[1, 2]], {}, BAR + "a list of list"),
        ("scatter", {"a": 1}, {}, f"data of kind scatter must be {MAPS} or a list of [x, y], got map"),
        ("pie", [1, 2], {}, f"data of kind pie must be {MAPS} or a map of label to number, got a list of number"),
        ("heatmap", [1], {}, f"data of kind heatmap must be {MAPS} or a list of lists, got a list of number"),
        ("boxplot", "x", {}, f"data of kind boxplot must be {MAPS}, a map of label to list or a list of numbers, got text"),
        (
            "histogram",
            {"a": 1},
            {},
            "data of kind histogram must be a list of numbers or the {counts, edges} of histogram(), got a map without the "
            "two lists",
        ),
        ("bar", {"a": "1"}, {}, '"a" is text, not a number'),
        ("bar", [1, TRUE], {}, "value 2 is a bool, not a number"),
        ("bar", {"a": float("inf")}, {}, '"a" is infinite, which has no place on a chart'),
        ("line", [1, 10**400], {}, "value 2 is beyond 1e290, which has no place on a chart"),
        ("scatter", [[float("nan"), 1]], {}, "x of item 1 is nan, which has no place on a chart"),
        ("scatter", [[1, 2, 3]], {}, "the data is a list of [x, y], but item 1 is a list of 3"),
        ("scatter", [[1, 2], 3], {}, "the data is a list of [x, y], but item 2 is number"),
        ("line", [[None, 2]], {}, "item 1 has no x"),
        ("bar", ROWS, {}, 'a list of maps needs the option "x" and "y": which fields to draw'),
        ("bar", ROWS, {"x": "month"}, 'a list of maps needs the option "y": which fields to draw'),
        ("bar", ROWS, {"x": "month", "y": "west"}, 'no row has a field "west"'),
        ("bar", ROWS, {"x": "month", "y": []}, 'option "y" must be the name of a field or a list of names, got list'),
        ("bar", ROWS, {"x": "month", "y": ["north", "north"]}, 'option "y" names a field twice'),
        ("bar", ROWS, {"x": ["month"], "y": "north"}, 'option "x" must be the name of a field, got list'),
        ("bar", [*ROWS, 5], TWO, "the data is a list of maps, but item 3 is number"),
        ("bar", [{"month": None, "north": 1}], {"x": "month", "y": "north"}, 'row 1 has no "month"'),
        ("bar", [{"m": [1], "n": 1}], {"x": "m", "y": "n"}, '"m" of row 1 is a list, neither a number nor a label'),
        ("bar", [{"m": 1, "n": "x"}], {"x": "m", "y": "n"}, '"n" of row 1 is text, not a number'),
        ("bar", {"a": 1}, {"x": "a"}, 'option "x" names a field of a list of maps, and the data is none'),
        ("pie", {"a": -1}, {}, 'a pie has no negative parts: "a" is −1'),
        ("donut", {"a": None}, {}, '"a" has no number'),
        ("pie", ROWS, TWO, 'kind pie shows one series: the option "y" names 2'),
        ("waterfall", ROWS, TWO, 'kind waterfall shows one series: the option "y" names 2'),
        ("waterfall", {"a": None}, {}, '"a" has no number'),
        ("waterfall", {"a": 1}, {"total": 5}, 'option "total" must be true or the label of the total, got 5'),
        ("boxplot", {"a": [1]}, {}, 'a box needs 2 numbers or more, and "a" has 1'),
        ("boxplot", [1, None], {}, "a box needs 2 numbers or more, and the data has 1"),
        ("boxplot", {"a": 1}, {}, '"a" must be a list of numbers'),
        (
            "boxplot",
            {str(n): [1, 2] for n in range(201)},
            {},
            "201 groups are more than the 200 that can be shown side by side",
        ),
        (
            "area",
            [{"x": 1, "a": 1, "b": -1}],
            {"x": "x", "y": ["a", "b"], "stack": TRUE},
            "a stacked area cannot hold numbers above and below zero at one x, as at 1",
        ),
        ("heatmap", [[1], [1, 2]], {}, "row 2 has 2 values, but row 1 has 1"),
        ("heatmap", [[1], 2], {}, "the data is a list of lists, but row 2 is none"),
        ("heatmap", [["x"]], {}, "value 1 of row 1 is text, not a number"),
        ("heatmap", [[1]], {"center": 5}, 'option "center" goes with the option "scale" set to "diverging"'),
        ("heatmap", [[1]], {"scale": "log"}, 'option "scale" must be "auto", "sequential" or "diverging", got log'),
        ("heatmap", [[1]], {"x_labels": ["a", "b"]}, 'option "x_labels" has 2 labels, but the data has 1 columns'),
        (
            "heatmap",
            [{"x": 1, "y": 1}],
            {"x": "x", "y": "y"},
            'a list of maps needs the options "x", "y" and "value": which fields to draw; "value" is missing',
        ),
        (
            "heatmap",
            [{"x": 1, "y": 1, "v": 1}] * 2,
            {"x": "x", "y": "y", "value": "v"},
            'row 2 is the second one for "1" and "1"',
        ),
        ("histogram", [1], {"bins": 0}, 'option "bins" must be an integer from 1 to 1000 or a list of edges, got 0'),
        ("histogram", [1], {"bins": [1]}, 'option "bins" must be a number of bins or a list of two or more edges'),
        ("histogram", [1], {"bins": [1, 1]}, "the edges must ascend, and edge 2 does not"),
        (
            "histogram",
            {"counts": [1], "edges": [0, 1]},
            {"bins": 2},
            'option "bins" is for a list of numbers: here the data has its edges',
        ),
        ("histogram", {"counts": [1], "edges": [0]}, {}, "1 counts need 2 edges, got 1"),
        ("histogram", {"counts": [-1], "edges": [0, 1]}, {}, "count 1 is negative"),
        ("histogram", [float("-inf")], {}, "value 1 is infinite, which has no place on a chart"),
    ],
)
def test_errors(kind: object, data: object, opts: object, expected: str) -> None:
    assert error_of(kind, data, opts) == expected
