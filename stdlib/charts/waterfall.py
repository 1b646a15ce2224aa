"""Waterfall charts: positive and negative steps from zero to a total."""

from __future__ import annotations

from itertools import pairwise

from language.values import Bool
from stdlib.charts import svg
from stdlib.charts.bars import bar_path
from stdlib.charts.canvas import MOST_TOOLTIPS, TICK, Canvas, document
from stdlib.charts.forms import head_fields, markdown
from stdlib.charts.plot import Plot, Range, plot_of_bands, zero_line
from stdlib.charts.ticks import number_text, short_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stdlib.charts.data import Table
    from stdlib.charts.options import ChartOptions


class WaterfallChart:
    """A bar for each delta, from the running total before it to the one after it; with ``total`` one more for their sum.

    When there are more steps than units of width, each bar is the change over several steps.
    """

    __slots__ = ("colors", "deltas", "numbers", "options", "runnings", "table", "total_label")

    def __init__(self, options: ChartOptions, table: Table) -> None:
        self.options = options
        self.table = table
        if len(table.series) > 1:
            raise options.fault(f'kind waterfall shows one series: the option "y" names {len(table.series)}')
        self.total_label = _total_label(options)
        for label, number in zip(table.labels, table.series[0].numbers):
            if number is None:
                raise options.fault(f'"{label}" has no number')
        self.numbers = [number or 0.0 for number in table.series[0].numbers]
        self.deltas = table.series[0].values
        self.runnings = _running_totals(self.deltas, self.numbers)
        self.colors = self._own_colors()

    def _own_colors(self) -> tuple[str, str, str]:
        """Of steps up, steps down and the total."""
        own = self.options.colors
        if own is None:
            return self.options.theme.series[0], self.options.theme.series[1], self.options.theme.axis
        if len(own) < 3:
            raise self.options.fault('option "colors" needs three colors for kind waterfall: up, down and total')
        return own[0], own[1], own[2]

    def fields(self) -> dict[str, Any]:
        steps = [
            {"label": x, "delta": delta, "running": running}
            for x, delta, running in zip(self.table.xs, self.deltas, self.runnings)
        ]
        return {**head_fields(self.options), "steps": steps, "total": self._total()}

    def markdown(self) -> str:
        rows = [list(row) for row in zip(self.table.xs, self.deltas, self.runnings)]
        if self.total_label is not None:
            rows.append([self.total_label, None, self._total()])
        return markdown(self.options, ["label", "delta", "running"], rows)

    def _total(self) -> Any:
        return self.runnings[-1] if self.runnings else 0

    def svg(self) -> str:
        return document(self.options, self._draw)

    def _draw(self, canvas: Canvas) -> str:
        if canvas.options.legend:
            names = ["up", "down"] + ([] if self.total_label is None else [self.total_label])
            canvas.legend(list(zip(names, self.colors)))
        bars = self._bars(canvas.width)
        if not self.numbers:
            canvas.empty()
            return "Waterfall chart without data."
        ends = [end for _, _, end, _ in bars]
        whole = all(delta.__class__ is int for delta in self.deltas)
        plot = plot_of_bands(canvas, [bar[0] for bar in bars], Range(min(0.0, *ends), max(0.0, *ends), whole=whole), every=True)
        width = min(plot.band * 0.7, 72.0)
        named = len(bars) <= MOST_TOOLTIPS
        numbers = [short_text(end - start, signed=True) for _, start, end, _ in bars]
        if self.total_label is not None:
            numbers[-1] = short_text(bars[-1][2])
        numbered = max(svg.width_of(shown, TICK) for shown in numbers) <= plot.band - 2
        connectors: list[str] = []
        for number, (label, start, end, color) in enumerate(bars):
            x = plot.x_at(number) - width / 2
            is_total = self.total_label is not None and number == len(bars) - 1
            shown = number_text(end) if is_total else number_text(end - start, signed=True)
            hint = [svg.tooltip(svg.clean(f"{label}: {shown}"))] if named else []
            if start == end:
                outline = f"M{svg.num(x)} {svg.num(plot.y_at(end) - 0.75)}h{svg.num(width)}v1.5h-{svg.num(width)}z"
            else:
                outline = bar_path(x, plot.y_at(start), width, plot.y_at(end), 2.0)
            canvas.add(svg.element("path", *hint, d=outline, fill=color))
            if number + 1 < len(bars) and plot.band > 6:
                connectors.append(f"M{svg.num(x + width)} {svg.num(plot.y_at(end))}h{svg.num(plot.band - width)}")
            if numbered:
                canvas.text(
                    numbers[number], x + width / 2, _beside(plot, start, end), TICK, canvas.theme.text, text_anchor="middle"
                )
        if connectors:
            canvas.add(svg.element("path", d="".join(connectors), fill="none", stroke=canvas.theme.axis))
        zero_line(plot)
        return self._description()

    def _bars(self, width: float) -> list[tuple[str, float, float, str]]:
        """Label, start, end and colour of every bar."""
        ends = [0.0]
        for number in self.numbers:
            ends.append(ends[-1] + number)
        up, down, total = self.colors
        labels = self.table.labels
        count = len(self.numbers)
        most = max(int(width / 3), 20)
        cuts = range(count + 1) if count <= most else [count * bar // most for bar in range(most + 1)]
        bars = [
            (labels[first], ends[first], ends[last], up if ends[last] >= ends[first] else down)
            for first, last in pairwise(cuts)
        ]
        if self.total_label is not None:
            bars.append((self.total_label, 0.0, ends[-1], total))
        return bars

    def _description(self) -> str:
        steps = f"{len(self.numbers)} step{'s' if len(self.numbers) > 1 else ''}"
        return f"Waterfall chart: {steps}, from 0 to {number_text(sum(self.numbers))}."


def _beside(plot: Plot, start: float, end: float) -> float:
    """The base line of the number at the end of a bar: above a rising one, else below, but not among the labels below the plot.

    Above the highest bar there is room enough: nothing else stands so close to a plot.
    """
    below = plot.y_at(end) + 13
    if end < start and below < plot.bottom - 2:
        return below
    return plot.y_at(max(start, end)) - 5


def _total_label(options: ChartOptions) -> str | None:
    value = options.given.get("total")
    if value is None:
        return None
    if value.__class__ is Bool:
        return "Total" if value else None
    if value.__class__ is not str:
        raise options.wrong("total", "true or the label of the total")
    return value


def _running_totals(deltas: list[Any], numbers: list[float]) -> list[Any]:
    """The running totals: exact for integers and decimals, floats where there are floats."""
    exact = all(delta.__class__ is not float for delta in deltas)
    total: Any = 0
    totals: list[Any] = []
    for delta, number in zip(deltas, numbers):
        total = total + (delta if exact else number)
        totals.append(total)
    return totals
