"""Line and area charts."""

from __future__ import annotations

from stdlib.charts import svg
from stdlib.charts.bars import description, is_whole, point_text, series_legend
from stdlib.charts.canvas import Canvas, document
from stdlib.charts.forms import series_fields, series_markdown
from stdlib.charts.plot import Plot, Range, plot_of_bands, plot_of_numbers, zero_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stdlib.charts.data import Table
    from stdlib.charts.options import ChartOptions

    Point = tuple[float, float]

# The most points that are drawn as dots of their own.
_MOST_DOTS = 40


class LineChart:
    """A line for each series, in the order of the data; a missing number is a gap."""

    __slots__ = ("colors", "options", "table")

    def __init__(self, options: ChartOptions, table: Table) -> None:
        self.options = options
        self.table = table
        self.colors = options.series_colors(len(table.series), "series")

    def fields(self) -> dict[str, Any]:
        return series_fields(self.options, self.table)

    def markdown(self) -> str:
        return series_markdown(self.options, self.table)

    def svg(self) -> str:
        return document(self.options, self._draw)

    def _draw(self, canvas: Canvas) -> str:
        options, table = self.options, self.table
        series_legend(canvas, table, self.colors, line=True)
        numbers = [number for each in table.series for number in each.numbers if number is not None]
        if not numbers:
            canvas.empty()
            return description(options, table)
        low, high = min(numbers), max(numbers)
        # The axis includes zero unless that would flatten the line.
        if 0 < low < high / 2:
            low = 0.0
        elif low / 2 < high < 0:
            high = 0.0
        plot = plot_of_table(canvas, table, Range(low, high, whole=is_whole(table)))
        zero_line(plot)
        for each, color in zip(table.series, self.colors):
            runs = _runs([None if y is None else (x, plot.y_at(y)) for x, y in zip(_places(plot, table), each.numbers)])
            canvas.add(*_stroked(runs, color, 2.0 if len(table.xs) < 1000 else 1.4))
            if len(table.xs) <= _MOST_DOTS:
                canvas.add(*_dots(plot, table, each.name, each.numbers, color))
        return description(options, table)


class AreaChart:
    """The area between each series and zero, or with ``stack`` between it and the series below."""

    __slots__ = ("colors", "options", "order", "stacked", "table")

    def __init__(self, options: ChartOptions, table: Table) -> None:
        self.options = options
        self.table = table
        self.colors = options.series_colors(len(table.series), "series")
        self.stacked = bool(options.flag("stack"))
        # A path that returns on itself would enclose no visible area.
        count = len(table.xs)
        self.order = list(range(count)) if table.positions is None else sorted(range(count), key=table.positions.__getitem__)
        if self.stacked:
            self._refuse_mixed_signs()

    def _refuse_mixed_signs(self) -> None:
        columns = [each.numbers for each in self.table.series]
        for x, row in zip(self.table.labels, zip(*columns)):
            present = [number for number in row if number]
            if present and min(present) < 0 < max(present):
                raise self.options.fault(
                    f"a stacked area cannot hold numbers above and below zero at one x, as at {svg.clean(x)}"
                )

    def fields(self) -> dict[str, Any]:
        return series_fields(self.options, self.table)

    def markdown(self) -> str:
        return series_markdown(self.options, self.table)

    def svg(self) -> str:
        return document(self.options, self._draw)

    def _draw(self, canvas: Canvas) -> str:
        options, table = self.options, self.table
        series_legend(canvas, table, self.colors)
        edges = self._edges()
        numbers = [number for lower, upper in edges for edge in (lower, upper) for number in edge if number is not None]
        if not numbers:
            canvas.empty()
            return description(options, table)
        plot = plot_of_table(canvas, table, Range(min(0.0, *numbers), max(0.0, *numbers), whole=is_whole(table)))
        places = _places(plot, table)
        across = [places[row] for row in self.order]
        for (lower, upper), color in zip(edges, self.colors):
            bands = _bands(plot, across, lower, upper)
            for top, bottom in bands:
                outline = f"{_path(top)}L{_path(bottom[::-1])[1:]}z"
                opacity = 0.88 if self.stacked else 0.22
                canvas.add(svg.element("path", d=outline, fill=color, fill_opacity=opacity))
            stroke = options.surface if self.stacked else color
            canvas.add(
                *_stroked([top for top, _ in bands], stroke, 1.0 if self.stacked else 2.0 if len(table.xs) < 1000 else 1.4)
            )
        if not self.stacked and len(table.xs) <= _MOST_DOTS:
            for each, color in zip(table.series, self.colors):
                canvas.add(*_dots(plot, table, each.name, each.numbers, color))
        zero_line(plot)
        return description(options, table)

    def _edges(self) -> list[tuple[list[float | None], list[float | None]]]:
        """The lower and upper edge of every series, in the order of x. A gap has neither; stacked, it counts as zero."""
        columns = [[each.numbers[row] for row in self.order] for each in self.table.series]
        if not self.stacked:
            return [([None if number is None else 0.0 for number in column], column) for column in columns]
        edges: list[tuple[list[float | None], list[float | None]]] = []
        base = [0.0] * len(self.order)
        for column in columns:
            upper = [below + (number or 0.0) for below, number in zip(base, column)]
            edges.append(([*base], [*upper]))
            base = upper
        return edges


def plot_of_table(canvas: Canvas, table: Table, y: Range) -> Plot:
    """The plot of a chart of series: x is numbers where all are, else labels."""
    if table.positions is None:
        return plot_of_bands(canvas, table.labels, y, every=False)
    whole = all(x.__class__ is int for x in table.xs)
    return plot_of_numbers(canvas, Range(min(table.positions), max(table.positions), whole=whole, tight=True), y)


def _places(plot: Plot, table: Table) -> list[float]:
    places = range(len(table.xs)) if table.positions is None else table.positions
    return [plot.x_at(place) for place in places]


def _runs(points: list[Point | None]) -> list[list[Point]]:
    """The points between the gaps."""
    runs: list[list[Point]] = [[]]
    for point in points:
        if point is not None:
            runs[-1].append(point)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _bands(
    plot: Plot, across: list[float], lower: list[float | None], upper: list[float | None]
) -> list[tuple[list[Point], list[Point]]]:
    """The upper and the lower edge of every part without gaps, thinned."""
    tops = _runs([None if y is None else (x, plot.y_at(y)) for x, y in zip(across, upper)])
    bottoms = _runs([None if y is None else (x, plot.y_at(y)) for x, y in zip(across, lower)])
    return [(thinned(top), thinned(bottom)) for top, bottom in zip(tops, bottoms)]


def thinned(points: list[Point]) -> list[Point]:
    """Of consecutive points in one unit of width, only the first, the lowest, the highest and the last.

    The line looks the same, with at most four points a unit.
    """
    if len(points) < 500:
        return points
    kept: list[Point] = []
    start = 0
    while start < len(points):
        column = int(points[start][0])
        end = start
        while end < len(points) and int(points[end][0]) == column:
            end += 1
        inside = range(start, end)
        wanted = {start, end - 1}
        if end - start > 2:
            wanted |= {min(inside, key=lambda at: points[at][1]), max(inside, key=lambda at: points[at][1])}
        kept += [points[at] for at in sorted(wanted)]
        start = end
    return kept


def _path(points: list[Point]) -> str:
    return "M" + "L".join([f"{svg.num(x)} {svg.num(y)}" for x, y in points])


def _stroked(runs: list[list[Point]], color: str, width: float = 2.0) -> list[str]:
    """A line through each run; a single point is a dot."""
    outline = "".join([_path(thinned(run)) if len(run) > 1 else f"{_path(run)}h0" for run in runs])
    if not outline:
        return []
    look = {"stroke_linejoin": "round", "stroke_linecap": "round"}
    return [svg.element("path", d=outline, fill="none", stroke=color, stroke_width=width, **look)]


def _dots(plot: Plot, table: Table, name: str, numbers: list[float | None], color: str) -> list[str]:
    return [
        svg.element(
            "circle",
            svg.tooltip(point_text(label, name, number)),
            cx=x,
            cy=plot.y_at(number),
            r=3,
            fill=color,
            stroke=plot.canvas.options.surface,
        )
        for x, label, number in zip(_places(plot, table), table.labels, numbers)
        if number is not None
    ]
