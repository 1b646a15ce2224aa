"""Charts: what data and options they take, their three forms, and that every drawing is a sound SVG document."""

from __future__ import annotations

import itertools
import json
import math
import re
import time
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.values import FALSE, TRUE
from language.values.decimals import parse
from stdlib.charts import chart, chart_svg
from stdlib.charts.options import KINDS
from stdlib.charts.palette import LIGHT
from stdlib.charts.svg import clean, width_of
from stdlib.content import content, page
from stdlib.statistics import histogram

NUMERIC = {
    "d",
    "x",
    "y",
    "x1",
    "x2",
    "y1",
    "y2",
    "cx",
    "cy",
    "r",
    "rx",
    "width",
    "height",
    "viewBox",
    "font-size",
    "stroke-width",
}
SVG = "{http://www.w3.org/2000/svg}"
ROWS = [
    {"month": "jan", "north": 12, "south": 8},
    {"month": "feb", "north": 15, "south": None},
    {"month": "mar", "north": 9, "south": 12},
]
TWO = {"x": "month", "y": ["north", "south"]}
SAMPLE = {
    "area": [[0, 1], [1, 3]],
    "bar": {"jan": 2, "feb": 3},
    "boxplot": {"a": [1, 2, 3, 4, 100], "b": [2, 3]},
    "donut": {"a": 1, "b": 3},
    "heatmap": [[1, 2], [3, None]],
    "histogram": [1, 2, 2, 3],
    "line": [3, 1, 2],
    "pie": {"a": 1, "b": 3},
    "scatter": [[1, 2], [3, 4]],
    "waterfall": {"a": 5, "b": -2},
}


def layouts(kind: str, data: object, opts: object = None) -> list[ElementTree.Element]:
    """The wide drawing as a document of its own, and the one for narrow screens if there is one, after the checks that hold
    for every chart.
    """
    text = chart_svg(kind, data, opts)
    root = ElementTree.fromstring(text)
    assert root.tag == SVG + "svg"
    assert root.get("viewBox") and root.get("role") == "img"
    assert root.find(SVG + "desc") is not None
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in ("svg", "g", "title", "desc", "rect", "line", "path", "circle", "text")
        for name, value in element.attrib.items():
            # A style is no attribute that a Content-Security-Policy without inline style lets through.
            assert not name.startswith("on") and name != "style" and "href" not in name and "url(" not in value
            if name in NUMERIC and (element is not root or name != "width"):
                assert not set(value) - set("0123456789.- MLHVhvaAQmlz")
    if root.find(SVG + "g") is None:
        return [root]
    *head, wide, narrow = root
    assert [each.tag.removeprefix(SVG) for each in head] in (["title", "desc"], ["desc"])
    assert (wide.get("class"), wide.get("display")) == ("wide", None)
    assert (narrow.get("class"), narrow.get("display")) == ("narrow", "none"), "without a stylesheet the wide one is seen"
    found = []
    for marks in (wide, narrow):
        found.append(ElementTree.Element(root.tag, root.attrib))
        found[-1].extend([*head, *marks])
    found[1].set("viewBox", f"0 0 360 {40 * int((root.get('class') or '').rpartition('reflows-')[2])}")
    return found


def drawing(kind: str, data: object, opts: object = None) -> ElementTree.Element:
    """The wide drawing as a document of its own."""
    return layouts(kind, data, opts)[0]


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(SVG + "text")]


def tooltips(root: ElementTree.Element) -> list[str]:
    return [each.text or "" for mark in root if mark.tag != SVG + "title" for each in mark.findall(SVG + "title")]


def as_json(kind: str, data: object, opts: object = None) -> object:
    return json.loads(content(chart(kind, data, opts)).rendered("json")[1])


def as_markdown(kind: str, data: object, opts: object = None) -> str:
    return content(chart(kind, data, opts)).rendered("markdown")[1]


# --- the three forms --------------------------------------------------------------------------------------------------------


def test_the_bytes_of_the_node_are_those_of_the_drawing() -> None:
    for kind, data in SAMPLE.items():
        html = content(page([chart(kind, data)])).rendered("html")[1]
        assert f'<main class="prose">\n{chart_svg(kind, data)}\n</main>' in html
        assert chart_svg(kind, data) == chart_svg(kind, data)


def test_json_of_a_bar_chart() -> None:
    text = content(chart("bar", {"jan": 2, "feb": 3}, {"title": "Sales"})).rendered("json")[1]
    expected = (
        '{"type": "chart", "kind": "bar", "title": "Sales", "series": [{"name": "", "points": [["jan", 2], ["feb", 3]]}]}'
    )
    assert text == expected


@pytest.mark.parametrize(
    ("kind", "data", "opts", "expected"),
    [
        ("bar", ROWS, {**TWO, "stack": TRUE, "y_label": "t"}, {
            "y_label": "t",
            "series": [
                {"name": "north", "points": [["jan", 12], ["feb", 15], ["mar", 9]]},
                {"name": "south", "points": [["jan", 8], ["feb", None], ["mar", 12]]},
            ],
            "stack": True,
        }),
        ("line", [3, None, 2.5], {"x_label": "n", "y_label": None}, {
            "x_label": "n",
            "series": [{"name": "", "points": [[0, 3], [1, None], [2, 2.5]]}],
        }),
        ("area", [[1, 2], [2.5, 3]], {"stack": FALSE}, {"series": [{"name": "", "points": [[1, 2], [2.5, 3]]}]}),
        ("scatter", [[1, float("nan")]], {}, {"series": [{"name": "", "points": [[1, None]]}]}),
        ("pie", {"a": 1}, {}, {"series": [{"name": "", "points": [["a", 1]]}]}),
        ("heatmap", [[1, 2], [None, 4]], {"x_labels": ["a", "b"]}, {
            "x_labels": ["a", "b"], "y_labels": ["0", "1"], "values": [[1, 2], [None, 4]],
        }),
        ("heatmap", [{"d": "mon", "h": 9, "n": 1}, {"d": "tue", "h": 8, "n": 2}], {"x": "h", "y": "d", "value": "n"}, {
            "x_labels": ["8", "9"], "y_labels": ["mon", "tue"], "values": [[None, 1], [2, None]],
        }),
        ("histogram", [1, 2, 2, 3], {"bins": 2}, {"counts": [1, 3], "edges": [1.0, 2.0, 3.0]}),
        ("histogram", [1, 2, 2, 3, 9], {"bins": [0, 2, 4]}, {"counts": [1, 3], "edges": [0, 2, 4]}),
        ("histogram", histogram([1, 2, 3], 1), {}, {"counts": [3], "edges": [1.0, 3.0]}),
        ("histogram", [], {}, {"counts": [], "edges": []}),
        ("boxplot", {"a": [4, 1, 3, 2, 100]}, {}, {
            "groups": [{"group": "a", "min": 1, "q1": 2.0, "median": 3.0, "q3": 4.0, "max": 100, "outliers": [100]}],
        }),
        ("boxplot", [1, 2], {}, {
            "groups": [{"group": "", "min": 1, "q1": 1.25, "median": 1.5, "q3": 1.75, "max": 2, "outliers": []}],
        }),
        ("waterfall", {"a": 5, "b": -2}, {}, {
            "steps": [{"label": "a", "delta": 5, "running": 5}, {"label": "b", "delta": -2, "running": 3}], "total": 3,
        }),
    ],
)  # fmt: skip
def test_json(kind: str, data: object, opts: object, expected: dict[str, object]) -> None:
    found = as_json(kind, data, opts)
    assert found == {"type": "chart", "kind": kind, **expected}
    assert list(found) == ["type", "kind", *expected]  # type: ignore[call-overload]
    drawing(kind, data, opts)


@pytest.mark.parametrize(
    ("kind", "data", "opts", "expected"),
    [
        ("bar", {"jan": 2, "a|b": 3.5}, {"title": "Sales"},
         "**Sales**\n\n| label | value |\n| --- | --- |\n| jan | 2 |\n| a\\|b | 3.5 |\n"),
        ("line", ROWS, TWO,
         "| month | north | south |\n| --- | --- | --- |\n| jan | 12 | 8 |\n| feb | 15 |  |\n| mar | 9 | 12 |\n"),
        ("scatter", [[1, 2]], {}, "| x | y |\n| --- | --- |\n| 1 | 2 |\n"),
        ("line", [parse("1.50")], {}, "| x | y |\n| --- | --- |\n| 0 | 1.50 |\n"),
        ("donut", {"a\nb": 1}, {}, "| label | value |\n| --- | --- |\n| a b | 1 |\n"),
        ("heatmap", [[1, None]], {"y_labels": ["r"]}, "|  | 0 | 1 |\n| --- | --- | --- |\n| r | 1 |  |\n"),
        ("histogram", [1, 2, 3], {"bins": [1, 2, 3]}, "| range | count |\n| --- | --- |\n| [1, 2) | 1 |\n| [2, 3] | 2 |\n"),
        ("boxplot", {"a": [1, 2, 3, 4, 100]}, {}, "| group | min | q1 | median | q3 | max | outliers |\n" + "| --- " * 7
         + "|\n| a | 1 | 2.0 | 3.0 | 4.0 | 100 | 100 |\n"),
        ("waterfall", {"a": 5, "b": -2}, {"total": "All"},
         "| label | delta | running |\n| --- | --- | --- |\n| a | 5 | 5 |\n| b | -2 | 3 |\n| All |  | 3 |\n"),
        ("waterfall", {"a": parse("0.1"), "b": parse("0.2")}, {},
         "| label | delta | running |\n| --- | --- | --- |\n| a | 0.1 | 0.1 |\n| b | 0.2 | 0.3 |\n"),
    ],
)  # fmt: skip
def test_markdown(kind: str, data: object, opts: object, expected: str) -> None:
    assert as_markdown(kind, data, opts) == expected
    drawing(kind, data, opts)


# --- the drawing ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_common_options(kind: str, theme: str) -> None:
    opts = {"title": "T <&> \"q\" 'x'", "x_label": "<x>", "y_label": "]]>", "width": 320, "height": 200.5, "theme": theme}
    root = drawing(kind, SAMPLE[kind], {**opts, "background": "#123456", "legend": TRUE})
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("100%", "200.5", "0 0 320 200.5")
    title = root.find(SVG + "title")
    assert title is not None and title.text == opts["title"] and opts["title"] in texts(root)
    if kind not in ("pie", "donut"):
        assert {"<x>", "]]>"} <= set(texts(root))
    grounds = [each for each in root.iter(SVG + "rect") if each.get("fill") == "#123456"]
    assert [(each.get("width"), each.get("height")) for each in grounds] == [("320", "200.5")]
    bare = drawing(kind, SAMPLE[kind])
    assert (bare.get("viewBox"), bare.get("height"), bare.get("preserveAspectRatio")) == ("0 0 640 360", "360", "xMinYMin")
    assert bare.find(SVG + "title") is None and bare.get("aria-label") == f"{kind} chart"


def test_legends() -> None:
    two, one = {"x": "month", "y": ["north", "south"]}, {"x": "month", "y": "north"}
    for kind in ("bar", "line", "area", "scatter"):
        assert {"north", "south"} <= set(texts(drawing(kind, ROWS, two)))
        assert not {"north", "south"} & set(texts(drawing(kind, ROWS, {**two, "legend": FALSE})))
        assert "north" not in texts(drawing(kind, ROWS, one))
        assert "north" in texts(drawing(kind, ROWS, {**one, "legend": TRUE}))
    for kind in ("pie", "donut"):
        assert "1 · 25%" in texts(drawing(kind, SAMPLE[kind]))
        without = texts(drawing(kind, SAMPLE[kind], {"legend": FALSE}))
        assert "1 · 25%" not in without and {"a", "b", "25%", "75%"} <= set(without)


def test_bars_are_as_high_as_their_numbers() -> None:
    def heights(*opts: object) -> dict[str, tuple[float, float]]:
        found = {}
        for mark in drawing("bar", *opts).iter(SVG + "path"):
            hint = mark.find(SVG + "title")
            if hint is not None:
                ends = re.match(r"M\S+ ([\d.]+)V([\d.]+)", mark.get("d") or "")
                assert ends is not None
                found[hint.text or ""] = (float(ends[1]), float(ends[2]))
        return found

    single = heights({"a": 10, "b": 5, "c": -5})
    base = single["a: 10"][0]
    up, half, down = (abs(single[name][1] - base) for name in ("a: 10", "b: 5", "c: −5"))
    # The corner is rounded by 2.5: the outline's first bend lies that much before the end.
    assert half == pytest.approx(up / 2, abs=3) and down == pytest.approx(half, abs=3)
    stacked = heights([{"x": "a", "p": 1, "q": 2}], {"x": "x", "y": ["p", "q"], "stack": TRUE})
    assert stacked["a · q: 2"][0] == pytest.approx(stacked["a · p: 1"][1], abs=0.02)


def test_tooltips_name_every_mark() -> None:
    assert tooltips(drawing("bar", ROWS, TWO)) == [
        *("jan · north: 12", "jan · south: 8", "feb · north: 15", "mar · north: 9", "mar · south: 12")
    ]
    assert tooltips(drawing("pie", {"a": 1, "b": 3})) == ["a: 1 (25%)", "b: 3 (75%)"]
    assert tooltips(drawing("heatmap", [[1, None]])) == ["0 · 0: 1", "0 · 1: –"]
    assert tooltips(drawing("waterfall", {"a": 5, "b": -2}, {"total": TRUE})) == ["a: +5", "b: −2", "Total: 3"]
    assert tooltips(drawing("histogram", [1, 2, 3], {"bins": [1, 2, 3]})) == ["1 – 2: 1", "2 – 3: 2"]


def test_own_colors() -> None:
    own = ["#abc", "#123456", "#00ff00"]
    for kind, data in SAMPLE.items():
        text = chart_svg(kind, data, {"colors": own})
        assert "#abc" in text or "#aabbcc" in text
        assert LIGHT.series[0] not in text
    nine = {str(n): n for n in range(9)}
    drawing("pie", nine, {"colors": [f"#00000{n}" for n in range(9)]})


def test_nothing_is_drawn_as_such() -> None:
    for kind in KINDS:
        empty: object = {} if kind in ("bar", "pie", "donut", "waterfall", "boxplot") else []
        assert "No data" in texts(drawing(kind, empty))
        if kind not in ("histogram", "heatmap"):
            assert "No data" in texts(drawing(kind, [], {"x": "a", "y": "b"}))
    assert "No data" in texts(drawing("line", [None, float("nan")]))
    assert "No data" in texts(drawing("pie", {"a": 0, "b": 0}))
    assert "No data" in texts(drawing("heatmap", [[None]])) and "No data" in texts(drawing("heatmap", [[]]))


def test_gaps_break_lines() -> None:
    def outline(data: object) -> str:
        paths = [each for each in drawing("line", data).iter(SVG + "path") if each.get("fill") == "none"]
        return paths[0].get("d") or ""

    assert outline([1, 2, 3]).count("M") == 1
    assert outline([1, 2, None, 3, 4]).count("M") == 2
    assert outline([1, None, 3]).count("h0") == 2


def test_a_whole_circle() -> None:
    for kind in ("pie", "donut"):
        (slice_,) = [
            each for each in drawing(kind, {"a": 5, "b": 0}).iter(SVG + "path") if each.find(SVG + "title") is not None
        ]
        assert (slice_.get("d") or "").count("A") == (2 if kind == "pie" else 4)


Box = tuple[float, float, float, float, str]


def boxes(root: ElementTree.Element, *, turned: bool = True) -> list[Box]:
    """Left, right, top and bottom of every text, around the turned ones too."""
    found = []
    for each in root.iter(SVG + "text"):
        turn = re.match(r"rotate\((\S+)", each.get("transform") or "rotate(0")
        assert turn is not None
        angle = math.radians(float(turn[1]))
        if angle and not turned:
            continue
        size, shown = float(each.get("font-size") or 0), each.text or ""
        width = width_of(shown, size) / 1.14
        start = -{"middle": width / 2, "end": width}.get(each.get("text-anchor") or "", 0.0)
        x, y = float(each.get("x") or 0), float(each.get("y") or 0)
        corners = [(along, up) for along in (start, start + width) for up in (0.0, -size * 0.75)]
        across = [x + along * math.cos(angle) - up * math.sin(angle) for along, up in corners]
        down = [y + along * math.sin(angle) + up * math.cos(angle) for along, up in corners]
        found.append((min(across), max(across), min(down), max(down), shown))
    return found


def overlaps(root: ElementTree.Element) -> list[tuple[str, str]]:
    """Pairs of horizontal texts that lie over each other."""
    return [
        (a[4], b[4])
        for a, b in itertools.combinations(boxes(root, turned=False), 2)
        if a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3] and a[4].strip() and b[4].strip()
    ]


LONG = {f"a rather long label number {n}": (n * 37) % 11 - 3 for n in range(24)}
TWELVE = list(LONG)[:12]
EIGHT = [f"a series called {n}" for n in range(8)]
WORDY = {"A category with a really long name": 300, "Donaudampfschifffahrtsgesellschaft": 567, "short": 1}
USUAL_TITLE = "A title of the usual length for a chart: sales of paper and ink in 2026"


@pytest.mark.parametrize("width", [200, 320, 640, 1200])
@pytest.mark.parametrize(
    ("kind", "data", "opts"),
    [
        ("bar", LONG, {}),
        ("line", LONG, {}),
        ("waterfall", LONG, {"total": TRUE}),
        ("bar", {f"2024-01-{n:02}": n for n in range(1, 32)}, {}),
        ("line", [[2000 + n, n] for n in range(25)], {"title": "Years", "x_label": "Year", "y_label": "Count"}),
        ("line", [1e6 * n for n in range(100)], {}),
        ("scatter", [[n * 1e-5, n] for n in range(50)], {}),
        ("pie", {f"label {n}": n + 1 for n in range(8)}, {"title": "A title that is long enough to need two lines at least"}),
        ("pie", {f"label {n}": 1 for n in range(8)}, {"legend": FALSE}),
        ("donut", {f"l{n}": 1 if n else 100 for n in range(8)}, {"legend": FALSE}),
        ("heatmap", [[n * m for n in range(12)] for m in range(12)], {"x_labels": TWELVE, "y_labels": TWELVE}),
        ("heatmap", [[n * m for n in range(300)] for m in range(100)], {}),
        ("boxplot", {label: [1, 2, 3] for label in LONG}, {}),
        ("histogram", list(range(1000, 3000, 7)), {"bins": 30}),
        ("bar", [{"x": "a", **dict.fromkeys(EIGHT, 5)}], {"x": "x", "y": EIGHT}),
        ("bar", WORDY, {"title": USUAL_TITLE, "x_label": USUAL_TITLE, "y_label": USUAL_TITLE}),
        ("pie", WORDY, {"title": USUAL_TITLE}),
        ("donut", WORDY, {"title": USUAL_TITLE}),
        ("heatmap", [[1, 2], [3, 4]], {"y_labels": ["r1", "a rather long label of a row"], "x_label": USUAL_TITLE}),
        ("bar", {f"item number {n}": n for n in range(50)}, {}),
    ],
)  # fmt: skip
def test_texts_do_not_overlap_and_stay_inside(width: int, kind: str, data: object, opts: dict[str, object]) -> None:
    for root in layouts(kind, data, {**opts, "width": width}):
        assert not overlaps(root)
        most_x, most_y = (float(part) for part in (root.get("viewBox") or "").split()[2:])
        for left, right, top, bottom, shown in boxes(root):
            assert left >= -1 and right <= most_x + 1 and top >= -1 and bottom <= most_y + 1, shown


# --- the drawing for narrow screens -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_chart_has_a_drawing_of_the_same_marks_for_narrow_screens(kind: str) -> None:
    wide, narrow = layouts(kind, SAMPLE[kind], {"background": "#123456"})
    assert {each.text for each in narrow.iter(SVG + "title")} == {each.text for each in wide.iter(SVG + "title")}
    grounds = [each for each in narrow.iter(SVG + "rect") if each.get("fill") == "#123456"]
    width, height = (narrow.get("viewBox") or "").split()[2:]
    assert [(each.get("width"), each.get("height")) for each in grounds] == [(width, height)]
    assert len(layouts(kind, SAMPLE[kind], {"width": 420})) == 1, "what is narrow already is drawn once"
    assert len(layouts(kind, SAMPLE[kind], {"width": 421, "height": 4000})) == 1


@pytest.mark.parametrize(("width", "height"), [(640, 360), (640, 900), (1200, 100), (4000, 100), (500, 1500)])
def test_the_narrow_drawing_is_not_flatter_than_the_wide_one(width: int, height: int) -> None:
    _, narrow = layouts("bar", {"a": 1}, {"width": width, "height": height})
    across, down = (float(part) for part in (narrow.get("viewBox") or "").split()[2:])
    assert down / across >= height / width - 1e-9


def test_a_narrow_legend_is_below_the_chart_and_leaves_nothing_of_the_names_out() -> None:
    for kind in ("pie", "donut"):
        found = boxes(layouts(kind, WORDY)[1])
        names = [box for box in found if box[4] in WORDY]
        assert [box[4] for box in names] == list(WORDY) and len({box[0] for box in names}) == 1
        assert min(box[2] for box in names) > max(box[3] for box in found if box[4].endswith("%") and "·" not in box[4])
        assert [box[4] for box in found if "·" in box[4]] == ["300 · 35%", "567 · 65%", "1 · 0.1%"]
    for kind in ("bar", "line", "area", "scatter"):
        found = boxes(layouts(kind, ROWS, TWO)[1])
        assert len({box[3] for box in found if box[4] in ("north", "south")}) == 1, "two short names are one row"
        found = boxes(layouts(kind, [{"x": "a", **dict.fromkeys(EIGHT, 5)}], {"x": "x", "y": EIGHT})[1])
        assert [box[4] for box in found if box[4] in EIGHT] == EIGHT and len({box[0] for box in found if box[4] in EIGHT}) == 1
        assert min(box[2] for box in found if box[4] in EIGHT) > next(box[3] for box in found if box[4] == "a")


def test_a_very_long_narrow_legend_counts_the_rest() -> None:
    many = {f"a slice of the number {n}": n + 1 for n in range(40)}
    shown = texts(layouts("pie", many, {"colors": [f"#0000{n:02}" for n in range(40)]})[1])
    assert "a slice of the number 14" in shown and "a slice of the number 15" not in shown and "+ 25" in shown


def test_a_title_of_usual_length_is_whole() -> None:
    for root in layouts("bar", {"a": 1}, {"title": USUAL_TITLE}):
        lines = [each.text or "" for each in root.iter(SVG + "text") if each.get("font-weight") == "600"]
        assert " ".join(lines) == USUAL_TITLE
    for root in layouts("bar", {"a": 1}, {"title": " ".join(["word"] * 50)}):
        lines = [each.text or "" for each in root.iter(SVG + "text") if each.get("font-weight") == "600"]
        assert len(lines) in (2, 3) and lines[-1].endswith("…")


def test_a_shortened_text_tells_the_whole() -> None:
    for kind, data, opts, whole in (
        ("bar", WORDY, {}, "Donaudampfschifffahrtsgesellschaft"),
        ("heatmap", [[1]], {"y_labels": [USUAL_TITLE]}, USUAL_TITLE),
        ("pie", WORDY, {"legend": FALSE}, "A category with a really long name"),
        ("line", [1, 2], {"y_label": USUAL_TITLE * 2}, USUAL_TITLE * 2),
        ("scatter", [{"x": 1, USUAL_TITLE * 2: 3}], {"x": "x", "y": USUAL_TITLE * 2, "legend": TRUE}, USUAL_TITLE * 2),
    ):
        for root in layouts(kind, data, opts):
            cut = [each for each in root.iter(SVG + "text") if (each.text or "").endswith("…")]
            assert cut and whole in [each.findtext(SVG + "title") for each in cut], kind
        assert all(each.find(SVG + "title") is not None for each in cut)


# --- very much data ---------------------------------------------------------------------------------------------------------

MANY = [math.sin(n / 3000) * 50 + (n * 7919) % 1000 / 40 for n in range(100_000)]


@pytest.mark.parametrize(
    ("kind", "data", "opts", "most"),
    [
        ("line", MANY, {}, 80_000),
        ("area", MANY, {}, 150_000),
        ("bar", MANY, {}, 60_000),
        ("scatter", [[n * n % 99_991, value] for n, value in enumerate(MANY)], {}, 500_000),
        ("histogram", MANY, {"bins": 1000}, 200_000),
        ("boxplot", {"a": MANY, "b": [value**9 for value in MANY]}, {}, 80_000),
        ("waterfall", {str(n): value for n, value in enumerate(MANY)}, {}, 120_000),
        ("heatmap", [MANY[n * 500 : n * 500 + 500] for n in range(200)], {}, 800_000),
        ("area", [{"x": n, "a": abs(value), "b": 5} for n, value in enumerate(MANY)],
         {"x": "x", "y": ["a", "b"], "stack": TRUE}, 300_000),
    ],
)  # fmt: skip
def test_the_drawing_of_100_000_numbers_is_bounded(kind: str, data: object, opts: object, most: int) -> None:
    start = time.process_time()
    text = chart_svg(kind, data, opts)
    assert time.process_time() - start < 20
    assert len(text) < most
    drawing(kind, data, opts)


def test_a_thinned_line_keeps_its_peaks() -> None:
    data = [0.0] * 50_000
    data[31_234] = 100.0
    data[31_235] = -100.0
    outline = next(each for each in drawing("line", data).iter(SVG + "path") if each.get("fill") == "none").get("d") or ""
    ys = [float(pair.split()[1]) for pair in outline[1:].split("L")]
    lines = [float(each.get("y1") or 0) for each in drawing("line", data).iter(SVG + "line")]
    assert min(ys) == min(lines) and max(ys) == max(lines)


# --- anything ---------------------------------------------------------------------------------------------------------------

FINITE = st.floats(-1e290, 1e290)
NUMBER = st.one_of(st.integers(), st.floats(), st.integers(-50, 50), st.none(), st.integers(10**290, 10**320))
DRAWABLE = st.one_of(st.integers(-(10**9), 10**9), FINITE, st.floats(-1, 1), st.none(), st.just(float("nan")))
LABEL = st.text(max_size=40)
SIZES = st.fixed_dictionaries(
    {"width": st.integers(100, 1500), "height": st.integers(100, 900)},
    optional={
        "title": LABEL,
        "x_label": LABEL,
        "y_label": LABEL,
        "legend": st.sampled_from([TRUE, FALSE]),
        "theme": st.just("dark"),
    },
)
SHAPES = {
    "map": st.dictionaries(LABEL, DRAWABLE, max_size=30),
    "numbers": st.lists(DRAWABLE, max_size=60),
    "pairs": st.lists(st.tuples(FINITE | LABEL, DRAWABLE).map(list), max_size=40),
    "rows": st.lists(st.fixed_dictionaries({"x": FINITE | LABEL, "y": DRAWABLE, "z": DRAWABLE}), max_size=30),
}


@settings(max_examples=60)
@pytest.mark.parametrize("kind", ["bar", "line", "area", "scatter"])
@given(shape=st.sampled_from(list(SHAPES)), more=st.data(), opts=SIZES)
def test_any_numbers_give_valid_svg(kind: str, shape: str, more: st.DataObject, opts: dict[str, object]) -> None:
    if (kind, shape) in (("scatter", "map"), ("scatter", "numbers"), ("bar", "pairs")):
        shape = "rows"
    data = more.draw(SHAPES[shape])
    if shape == "rows":
        opts = {**opts, "x": "x", "y": ["y", "z"]}
    if kind == "bar":
        opts = {**opts, "stack": more.draw(st.sampled_from([TRUE, FALSE]))}
    drawing(kind, data, opts)
    as_markdown(kind, data, opts)
    as_json(kind, data, opts)


POSITIVE = st.one_of(st.integers(0, 10**9), st.floats(0, 1e290))


@settings(max_examples=60)
@given(st.dictionaries(LABEL, POSITIVE, max_size=8), SIZES, st.sampled_from(["pie", "donut"]))
def test_any_slices_give_valid_svg(data: dict[str, float], opts: dict[str, object], kind: str) -> None:
    drawing(kind, data, opts)


@settings(max_examples=60)
@given(st.dictionaries(LABEL, st.integers() | FINITE, max_size=30), SIZES, st.sampled_from([TRUE, FALSE, "All", "<b>"]))
def test_any_steps_give_valid_svg(data: dict[str, float], opts: dict[str, object], total: object) -> None:
    if any(abs(number) > 1e290 for number in data.values()):
        return
    drawing("waterfall", data, {**opts, "total": total})


@settings(max_examples=60)
@given(st.lists(DRAWABLE, max_size=60), SIZES, st.integers(1, 50))
def test_any_histogram_gives_valid_svg(data: list[float], opts: dict[str, object], bins: int) -> None:
    drawing("histogram", data, {**opts, "bins": bins})


@settings(max_examples=60)
@given(st.dictionaries(LABEL, st.lists(FINITE, min_size=2, max_size=20), max_size=20), SIZES)
def test_any_boxes_give_valid_svg(data: dict[str, list[float]], opts: dict[str, object]) -> None:
    drawing("boxplot", data, opts)


@settings(max_examples=60)
@given(st.integers(0, 30), st.integers(0, 30), st.data(), SIZES, st.sampled_from(["auto", "sequential", "diverging"]))
def test_any_matrix_gives_valid_svg(rows: int, columns: int, more: st.DataObject, opts: dict[str, object], ramp: str) -> None:
    line = st.lists(DRAWABLE, min_size=columns, max_size=columns)
    drawing("heatmap", more.draw(st.lists(line, min_size=rows, max_size=rows)), {**opts, "scale": ramp})


@settings(max_examples=100)
@given(
    st.sampled_from(KINDS),
    st.one_of(NUMBER, LABEL, st.lists(NUMBER), st.dictionaries(LABEL, NUMBER), st.lists(st.lists(NUMBER))),
)
def test_any_data_is_drawn_or_refused(kind: str, data: object) -> None:
    try:
        drawing(kind, data)
    except RuntimeFault as fault:
        assert fault.message.startswith("chart_svg: ")


@given(st.text())
def test_cleaned_text_is_valid_xml(text: str) -> None:
    root = ElementTree.fromstring(chart_svg("bar", {text: 1}, {"title": text or "x", "x_label": text}))
    title = root.find(SVG + "title")
    # A parser turns no character of what is cleaned into another one.
    assert title is not None and title.text == clean(text or "x")
