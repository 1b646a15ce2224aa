"""Scatter charts: a mark for every point."""

from __future__ import annotations

import math

from stdlib.charts import svg
from stdlib.charts.bars import description, is_whole, point_text, series_legend
from stdlib.charts.canvas import MOST_TOOLTIPS, Canvas, document
from stdlib.charts.forms import series_fields, series_markdown
from stdlib.charts.plot import Plot, Range, plot_of_bands, plot_of_numbers, zero_line
from stdlib.charts.ticks import number_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stdlib.charts.data import Table
    from stdlib.charts.options import ChartOptions

_MOST_POINTS = 3000
_GRID = 2.5
_SHADES = (0.25, 0.4, 0.6, 0.8, 1.0)


class ScatterChart:
    """A scatter chart. With very many points, those that would cover each other are drawn once."""

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
        series_legend(canvas, table, self.colors)
        numbers = [number for each in table.series for number in each.numbers if number is not None]
        if not numbers:
            canvas.empty()
            return description(options, table)
        y = Range(*_opened(min(numbers), max(numbers)), whole=is_whole(table), tight=True)
        if table.positions is None:
            plot = plot_of_bands(canvas, table.labels, y, every=True)
        else:
            whole = all(x.__class__ is int for x in table.xs)
            low, high = min(table.positions), max(table.positions)
            plot = plot_of_numbers(canvas, Range(*_opened(low, high), whole=whole, tight=True), y, upright=True)
        zero_line(plot)
        for index, color in enumerate(self.colors[: len(table.series)]):
            canvas.add(*self._marks(plot, index, color, len(numbers)))
        return description(options, table)

    def _marks(self, plot: Plot, index: int, color: str, count: int) -> list[str]:
        table = self.table
        each = table.series[index]
        places: Any = range(len(table.xs)) if table.positions is None else table.positions
        points = [(x, number) for x, number in zip(places, each.numbers) if number is not None]
        if count > MOST_TOOLTIPS:
            spots = [(plot.x_at(x), plot.y_at(number)) for x, number in points]
            return _crowd(spots, color) if count > _MOST_POINTS else [_spots(spots, color, 4.4, 0.65)] if spots else []
        marks = []
        for x, number in points:
            label = table.labels[int(x)] if table.positions is None else number_text(x)
            hint = svg.tooltip(point_text(label, each.name, number))
            outline = _shape(index, plot.x_at(x), plot.y_at(number))
            marks.append(
                svg.element(
                    "path", hint, d=outline, fill=color, fill_opacity=0.8, stroke=self.options.surface, stroke_width=0.75
                )
            )
        return marks


def _crowd(spots: list[tuple[float, float]], color: str) -> list[str]:
    """Very many points on a grid; cells with more points are darker."""
    counts: dict[tuple[int, int], int] = {}
    for x, y in spots:
        place = (round(x / _GRID), round(y / _GRID))
        counts[place] = counts.get(place, 0) + 1
    shades: list[list[tuple[float, float]]] = [[] for _ in _SHADES]
    most = math.log(max(counts.values(), default=1)) or 1.0
    for (column, row), count in sorted(counts.items()):
        level = int(math.log(count) / most * (len(_SHADES) - 1) + 1e-9)
        shades[level].append((column * _GRID, row * _GRID))
    return [_spots(inside, color, _GRID, shade, "square") for inside, shade in zip(shades, _SHADES) if inside]


def _spots(spots: list[tuple[float, float]], color: str, size: float, opacity: float, cap: str = "round") -> str:
    """Points without elements of their own: lines of length zero, whose round ends are the dots."""
    outline = "".join([f"M{svg.num(x)} {svg.num(y)}h0" for x, y in spots])
    return svg.element(
        "path", d=outline, fill="none", stroke=color, stroke_width=size, stroke_linecap=cap, stroke_opacity=opacity
    )


def _opened(low: float, high: float) -> tuple[float, float]:
    """The range with a margin, so that no mark lies on the frame; the margin does not cross zero."""
    air = (high - low) * 0.03
    return (0.0 if 0 <= low <= air else low - air, 0.0 if -air <= high <= 0 else high + air)


def _shape(index: int, x: float, y: float) -> str:
    """The outline of a mark; each of four series has another shape."""
    at = f"{svg.num(x)} {svg.num(y)}"
    match index % 4:
        case 0:
            return f"M{svg.num(x - 4)} {svg.num(y)}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"
        case 1:
            return f"M{at}m-3.6 -3.6h7.2v7.2h-7.2z"
        case 2:
            return f"M{at}m0 -4.6l4.4 7.8h-8.8z"
        case _:
            return f"M{at}m0 -5l4.6 5l-4.6 5l-4.6 -5z"
