"""Bar charts: one bar for each row and series, side by side or stacked."""

from __future__ import annotations

from itertools import pairwise

from stdlib.charts import svg
from stdlib.charts.canvas import MOST_TOOLTIPS, Canvas, document
from stdlib.charts.forms import series_fields, series_markdown
from stdlib.charts.plot import Plot, Range, plot_of_bands, zero_line
from stdlib.charts.ticks import number_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from stdlib.charts.data import Table
    from stdlib.charts.options import ChartOptions


class BarChart:
    """A bar chart. When there are more bars than units of width, each unit of width shows the highest of its bars."""

    __slots__ = ("colors", "options", "stacked", "table")

    def __init__(self, options: ChartOptions, table: Table) -> None:
        self.options = options
        self.table = table
        self.colors = options.series_colors(len(table.series), "series")
        self.stacked = bool(options.flag("stack"))

    def fields(self) -> dict[str, Any]:
        return series_fields(self.options, self.table)

    def markdown(self) -> str:
        return series_markdown(self.options, self.table)

    def svg(self) -> str:
        return document(self.options, self._draw)

    def _draw(self, canvas: Canvas) -> str:
        options, table = self.options, self.table
        series_legend(canvas, table, self.colors)
        strips = self._strips_of_rows(canvas.width)
        rows = [row for _, row in strips]
        if not rows:
            canvas.empty()
            return description(options, table)
        spans = [span for row in rows for _, span in self._spans(row)]
        low, high = min(0.0, *(min(span) for span in spans), 0.0), max(0.0, *(max(span) for span in spans), 0.0)
        labels = table.labels
        plot = plot_of_bands(
            canvas, [labels[first] for first, _ in strips], Range(low, high, whole=is_whole(table)), every=True
        )
        if plot.band < 3:
            canvas.add(*self._strips(plot, rows))
        else:
            canvas.add(*self._bars(plot, rows))
        zero_line(plot)
        return description(options, table)

    def _strips_of_rows(self, width: float) -> list[tuple[int, int]]:
        """For every unit of width its first row and the row to draw, that with the largest number; one row each if all have
        room.
        """
        columns = [each.numbers for each in self.table.series]
        count = len(self.table.xs)
        most = max(int(width / (1 if self.stacked else len(columns))), 20)
        if count <= most:
            return [(row, row) for row in range(count)]
        size = sum if self.stacked else max
        sizes = [size([abs(number or 0.0) for number in row]) for row in zip(*columns)]
        cuts = [count * strip // most for strip in range(most + 1)]
        return [(start, max(range(start, end), key=sizes.__getitem__)) for start, end in pairwise(cuts)]

    def _spans(self, row: int) -> Iterator[tuple[int, tuple[float, float]]]:
        """For every series with a number there: the two ends of its bar."""
        above = below = 0.0
        for index, each in enumerate(self.table.series):
            number = each.numbers[row]
            if number is None:
                continue
            if not self.stacked:
                yield index, (0.0, number)
            elif number >= 0:
                yield index, (above, above + number)
                above += number
            else:
                yield index, (below, below + number)
                below += number

    def _bars(self, plot: Plot, rows: list[int]) -> Iterator[str]:
        count = 1 if self.stacked else len(self.table.series)
        group = min(plot.band * (0.68 if count == 1 else 0.8), 72.0 * count)
        gap = 1.5 if count > 1 and group / count > 8 else 0.0
        width = group / count - gap
        named = len(rows) * len(self.table.series) <= MOST_TOOLTIPS
        labels = self.table.labels
        for place, row in enumerate(rows):
            spans = list(self._spans(row))
            for index, (start, end) in spans:
                slot = 0 if self.stacked else index
                x = plot.x_at(place) - group / 2 + slot * (group / count) + gap / 2
                last = not self.stacked or not any(
                    other > index and (far >= 0) == (end >= 0) for other, (_, far) in spans if far != start
                )
                hint = []
                if named:
                    name = self.table.series[index].name
                    hint = [svg.tooltip(point_text(labels[row], name, self.table.series[index].numbers[row]))]
                outline = bar_path(x, plot.y_at(start), width, plot.y_at(end), 2.5 if last else 0)
                stroke = self.options.surface if self.stacked and width > 4 else None
                yield svg.element(
                    "path", *hint, d=outline, fill=self.colors[index], stroke=stroke, stroke_width=0.75 if stroke else None
                )

    def _strips(self, plot: Plot, rows: list[int]) -> Iterator[str]:
        """Bars too narrow for an element each: one path for each series."""
        paths: dict[int, list[str]] = {}
        count = 1 if self.stacked else len(self.table.series)
        width = plot.band / count
        for place, row in enumerate(rows):
            for index, (start, end) in self._spans(row):
                x = plot.left + place * plot.band + (0 if self.stacked else index * width)
                top, bottom = sorted((plot.y_at(start), plot.y_at(end)))
                corner, across = f"{svg.num(x)} {svg.num(top)}", svg.num(width)
                paths.setdefault(index, []).append(f"M{corner}h{across}V{svg.num(bottom)}h-{across}z")
        for index, pieces in paths.items():
            yield svg.element("path", d="".join(pieces), fill=self.colors[index])


def bar_path(x: float, start: float, width: float, end: float, radius: float) -> str:
    """The outline of a bar from one height to another, with rounded corners at the far end."""
    radius = min(radius, width / 3, abs(end - start))
    down = 1 if end > start else -1
    left, right, near = svg.num(x), svg.num(x + width), svg.num(start)
    if radius < 0.5:
        return f"M{left} {near}V{svg.num(end)}H{right}V{near}z"
    bend, far = svg.num(end - down * radius), svg.num(end)
    return (
        f"M{left} {near}V{bend}Q{left} {far} {svg.num(x + radius)} {far}"
        f"H{svg.num(x + width - radius)}Q{right} {far} {right} {bend}V{near}z"
    )


def series_legend(canvas: Canvas, table: Table, colors: tuple[str, ...], *, line: bool = False) -> None:
    """The legend of a chart of series: by default for two or more."""
    wanted = canvas.options.legend
    if wanted is None:
        wanted = len(table.series) > 1
    if wanted:
        canvas.legend([(each.name or table.y_header, color) for each, color in zip(table.series, colors)], line=line)


def is_whole(table: Table) -> bool:
    """Whether every number of every series is an integer."""
    return all(value is None or value.__class__ is int for each in table.series for value in each.values)


def point_text(x: str, name: str, number: float | None) -> str:
    """The tooltip of the mark of one number."""
    shown = "" if number is None else number_text(number)
    return svg.clean(f"{x} · {name}: {shown}" if name else f"{x}: {shown}")


def description(options: ChartOptions, table: Table) -> str:
    """A description of a chart of series in words."""
    numbers = [number for each in table.series for number in each.numbers if number is not None]
    kind = f"{options.kind.capitalize()} chart"
    if not numbers:
        return f"{kind} without data."
    count = f"{len(numbers)} value{'s' if len(numbers) > 1 else ''}"
    names = [each.name for each in table.series if each.name]
    of = f" of {', '.join(names)}" if names else ""
    return f"{kind}{of}: {count} from {number_text(min(numbers))} to {number_text(max(numbers))}."
