"""Histograms: how many numbers fall into each range."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from language.values import as_map, type_of
from language.values.display import display
from stdlib.charts import svg
from stdlib.charts.canvas import MOST_TOOLTIPS, Canvas, document
from stdlib.charts.data import as_float, column, is_number
from stdlib.charts.forms import head_fields, markdown
from stdlib.charts.plot import Range, plot_of_numbers
from stdlib.charts.ticks import number_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stdlib.charts.options import ChartOptions

_MOST_BINS = 1000
_WANTED = "data of kind histogram must be a list of numbers or the {counts, edges} of histogram()"


class Histogram:
    """Bars without gaps over the ranges between ``edges``; ``counts`` and ``edges`` are values of the language."""

    __slots__ = ("counts", "edges", "options")

    def __init__(self, options: ChartOptions, data: Any) -> None:
        self.options = options
        options.series_colors(1, "series")
        ready = as_map(data)
        if ready is not None:
            self.counts, self.edges = _ready_made(options, ready)
        elif data.__class__ is list:
            self.counts, self.edges = _counted(options, data)
        else:
            raise options.fault(f"{_WANTED}, got {type_of(data)}")

    def fields(self) -> dict[str, Any]:
        return {**head_fields(self.options), "counts": [*self.counts], "edges": [*self.edges]}

    def markdown(self) -> str:
        rows = [[self._range(bin_), count] for bin_, count in enumerate(self.counts)]
        return markdown(self.options, ["range", "count"], rows)

    def _range(self, bin_: int) -> str:
        closing = "]" if bin_ == len(self.counts) - 1 else ")"
        return f"[{display(self.edges[bin_])}, {display(self.edges[bin_ + 1])}{closing}"

    def svg(self) -> str:
        return document(self.options, self._draw)

    def _draw(self, canvas: Canvas) -> str:
        counts = [as_float(self.options, count, "a count") for count in self.counts]
        edges = [as_float(self.options, edge, "an edge") for edge in self.edges]
        color = self.options.series_colors(1, "series")[0]
        if self.options.legend:
            canvas.legend([("count", color)])
        if not counts:
            canvas.empty()
            return "Histogram without data."
        whole = all(count.__class__ is int for count in self.counts)
        x = Range(edges[0], edges[-1], whole=all(edge == int(edge) for edge in edges), tight=True)
        plot = plot_of_numbers(canvas, x, Range(0.0, max(*counts, 1.0) if whole else max(counts), whole=whole))
        named = len(counts) <= MOST_TOOLTIPS
        for bin_, count in enumerate(counts):
            if count == 0:
                continue
            left, right = plot.x_at(edges[bin_]), plot.x_at(edges[bin_ + 1])
            gap = 0.5 if right - left > 4 else 0.0
            hint = [svg.tooltip(f"{_short_range(edges, bin_)}: {number_text(count)}")] if named else []
            top = plot.y_at(count)
            look: dict[str, str | float | None] = {"x": left + gap, "y": top, "width": max(right - left - 2 * gap, 0.5)}
            canvas.add(svg.element("rect", *hint, **look, height=plot.bottom - top, fill=color))
        total = number_text(sum(counts))
        ends = f"{number_text(edges[0])} to {number_text(edges[-1])}"
        return f"Histogram of {total} values in {len(counts)} ranges from {ends}."


def _short_range(edges: list[float], bin_: int) -> str:
    return f"{number_text(edges[bin_])} – {number_text(edges[bin_ + 1])}"


def _ready_made(options: ChartOptions, data: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    counts, edges = data.get("counts"), data.get("edges")
    if counts.__class__ is not list or edges.__class__ is not list:
        raise options.fault(f"{_WANTED}, got a map without the two lists")
    if "bins" in options.given:
        raise options.fault('option "bins" is for a list of numbers: here the data has its edges')
    assert isinstance(counts, list) and isinstance(edges, list)
    if len(edges) != len(counts) + 1 and (counts or edges):
        raise options.fault(f"{len(counts)} counts need {len(counts) + 1} edges, got {len(edges)}")
    if len(counts) > _MOST_BINS:
        raise options.fault(f"more than {_MOST_BINS} bins")
    for number, count in enumerate(counts, 1):
        if as_float(options, count, f"count {number}") < 0:
            raise options.fault(f"count {number} is negative")
    _check_ascending(options, edges, "edge")
    return [*counts], [*edges]


def _check_ascending(options: ChartOptions, edges: list[Any], what: str) -> list[float]:
    floats = [as_float(options, edge, f"{what} {number}") for number, edge in enumerate(edges, 1)]
    for number, (low, high) in enumerate(pairwise(floats), 2):
        if not low < high:
            raise options.fault(f"the edges must ascend, and {what} {number} does not")
    return floats


def _counted(options: ChartOptions, data: list[Any]) -> tuple[list[int], list[Any]]:
    numbers = [number for number in column(options, "", data, None).numbers if number is not None]
    bins = options.given.get("bins", 10)
    if bins.__class__ is list:
        if len(bins) < 2 or not all(map(is_number, bins)):
            raise options.fault('option "bins" must be a number of bins or a list of two or more edges')
        if len(bins) > _MOST_BINS + 1:
            raise options.fault(f"more than {_MOST_BINS} bins")
        floats = _check_ascending(options, bins, "edge")
        edges: list[Any] = [*bins]
    else:
        if bins.__class__ is not int or not 1 <= bins <= _MOST_BINS:
            raise options.wrong("bins", f"an integer from 1 to {_MOST_BINS} or a list of edges")
        if not numbers:
            return [], []
        floats = _even_edges(numbers, bins)
        edges = [*floats]
    counts = [0] * (len(floats) - 1)
    for number in numbers:
        if floats[0] <= number <= floats[-1]:
            counts[min(bisect_right(floats, number), len(counts)) - 1] += 1
    return counts, edges


def _even_edges(numbers: list[float], bins: int) -> list[float]:
    from stdlib.statistics import histogram

    return histogram([min(numbers), max(numbers)], bins)["edges"]  # type: ignore[no-any-return]
