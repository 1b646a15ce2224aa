"""Pie and donut charts: the parts of a whole."""

from __future__ import annotations

import math

from stdlib.charts import svg
from stdlib.charts.canvas import LABEL, TICK, TITLE, Canvas, document
from stdlib.charts.forms import series_fields, series_markdown
from stdlib.charts.palette import ink_on
from stdlib.charts.ticks import number_text, short_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stdlib.charts.data import Table
    from stdlib.charts.options import ChartOptions

_HOLE = 0.6
_LINE = 20.0
_LEAST_SHARE = 0.045


class PieChart:
    """A pie or a donut: slices clockwise from the top in the order of the data."""

    __slots__ = ("colors", "numbers", "options", "table")

    def __init__(self, options: ChartOptions, table: Table) -> None:
        self.options = options
        self.table = table
        if len(table.series) > 1:
            raise options.fault(f'kind {options.kind} shows one series: the option "y" names {len(table.series)}')
        self.numbers: list[float] = []
        for label, number in zip(table.labels, table.series[0].numbers):
            if number is None:
                raise options.fault(f'"{label}" has no number')
            if number < 0:
                raise options.fault(f'a {options.kind} has no negative parts: "{label}" is {number_text(number)}')
            self.numbers.append(number)
        self.colors = options.series_colors(len(self.numbers), "slices")

    def fields(self) -> dict[str, Any]:
        return series_fields(self.options, self.table)

    def markdown(self) -> str:
        return series_markdown(self.options, self.table)

    def svg(self) -> str:
        return document(self.options, self._draw)

    def _draw(self, canvas: Canvas) -> str:
        largest = max(self.numbers, default=0.0)
        if largest <= 0:
            canvas.empty()
            return f"{self.options.kind.capitalize()} chart without data."
        # Relative to the largest: the sum of all numbers could be too large for a float.
        relative = [number / largest for number in self.numbers]
        whole = sum(relative)
        shares = [part / whole for part in relative]
        if self.options.legend is None or self.options.legend:
            self._legend(canvas, shares)
            self._slices(canvas, shares, 0.0)
        else:
            self._slices(canvas, shares, 20.0)
        return self._description(shares)

    def _legend(self, canvas: Canvas, shares: list[float]) -> None:
        """Beside the circle, or below a narrow one, a line for each slice with its number and share."""
        if canvas.narrow:
            values = [f"{short_text(number)} · {_percent(share)}" for number, share in zip(self.numbers, shares)]
            canvas.column(list(zip(self.table.labels, self.colors, values)))
            return
        room = (canvas.right - canvas.left) * 0.5
        lines = max(int((canvas.bottom - canvas.top) / _LINE), 1)
        shown = len(shares) if len(shares) <= lines else lines - 1
        labels = [svg.clean(label) for label in self.table.labels[:shown]]
        values = [f"{short_text(number)} · {_percent(share)}" for number, share in zip(self.numbers, shares)][:shown]
        widest = max((svg.width_of(label, LABEL) for label in labels), default=0.0)
        if widest + max((svg.width_of(value, LABEL) for value in values), default=0.0) + 36 > room:
            values = [_percent(share) for share in shares[:shown]]
        second = max((svg.width_of(value, LABEL) for value in values), default=0.0)
        names = [svg.shortened(label, LABEL, max(room - second - 36, 30.0)) for label in labels]
        first = max((svg.width_of(name, LABEL) for name in names), default=0.0)
        left = canvas.right - first - second - 36
        y = (canvas.top + canvas.bottom) / 2 - min(len(shares), lines) * _LINE / 2
        for name, label, value, color in zip(names, labels, values, self.colors):
            canvas.swatch(left, y + 4, color)
            canvas.text(name, left + 16, y + 13, LABEL, canvas.theme.text, full=label)
            canvas.text(value, canvas.right, y + 13, LABEL, text_anchor="end")
            y += _LINE
        if shown < len(shares):
            canvas.text(f"+ {len(shares) - shown}", left + 16, y + 13, LABEL)
        canvas.right = left - 20

    def _slices(self, canvas: Canvas, shares: list[float], margin: float) -> None:
        width, height = canvas.right - canvas.left, canvas.bottom - canvas.top
        radius = max(min(width / 2 - margin * 4, height / 2 - margin), 10.0)
        x, y = canvas.left + width / 2, canvas.top + height / 2
        inner = radius * _HOLE if self.options.kind == "donut" else 0.0
        labels = self.table.labels
        start = 0.0
        middles: list[float] = []
        for label, number, share, color in zip(labels, self.numbers, shares, self.colors):
            end = min(start + share, 1.0)
            middles.append((start + end) / 2)
            if share > 0:
                hint = svg.tooltip(svg.clean(f"{label}: {number_text(number)} ({_percent(share)})"))
                look: dict[str, str | float | None] = {"fill": color, "stroke": self.options.surface, "stroke_width": 1.5}
                canvas.add(svg.element("path", hint, d=_sector(x, y, radius, inner, start, end), **look))
            start = end
        for share, middle, color in zip(shares, middles, self.colors):
            depth = (radius + inner) / 2 if inner else radius * 0.66
            room = min(radius - inner - 4, share * depth * 6)
            if share >= _LEAST_SHARE and room > svg.width_of(_percent(share), TICK):
                at_x, at_y = _at(x, y, depth, middle)
                canvas.text(_percent(share), at_x, at_y + 4, TICK, ink_on(color), text_anchor="middle", font_weight=600)
        if inner >= 30 and sum(self.numbers) - sum(self.numbers) == 0:
            total = svg.shortened(short_text(sum(self.numbers)), TITLE + 4, inner * 1.7)
            canvas.text(total, x, y + 7, TITLE + 4, canvas.theme.text, text_anchor="middle", font_weight=600)
        if margin:
            self._names(canvas, shares, middles, x, y, radius)

    def _names(self, canvas: Canvas, shares: list[float], middles: list[float], x: float, y: float, radius: float) -> None:
        """Without a legend: the names around the circle, on each side from top to bottom without overlap."""
        sides: dict[int, list[tuple[float, int]]] = {1: [], -1: []}
        for index, middle in enumerate(middles):
            if shares[index] > 0:
                sides[1 if middle < 0.5 else -1].append((_at(x, y, radius + 12, middle)[1], index))
        for side, entries in sides.items():
            lowest = canvas.top + 8
            for wanted, index in sorted(entries):
                at_y = max(wanted, lowest)
                if at_y > canvas.bottom:
                    break
                lowest = at_y + 14
                edge_x, edge_y = _at(x, y, radius + 2, middles[index])
                name_x = x + side * math.sqrt(max((radius + 12) ** 2 - (at_y - y) ** 2, 36.0)) + side * 4
                room = canvas.right - name_x if side > 0 else name_x - canvas.left
                label = svg.clean(self.table.labels[index])
                name = svg.shortened(label, LABEL, max(room, 20.0))
                points = f"M{svg.num(edge_x)} {svg.num(edge_y)}L{svg.num(name_x - side * 3)} {svg.num(at_y)}"
                canvas.add(svg.element("path", d=points, fill="none", stroke=canvas.theme.axis))
                anchor = "start" if side > 0 else "end"
                canvas.text(name, name_x, at_y + 4, LABEL, canvas.theme.text, full=label, text_anchor=anchor)

    def _description(self, shares: list[float]) -> str:
        parts = [f"{label} {_percent(share)}" for label, share in zip(self.table.labels[:12], shares)]
        more = f" and {len(shares) - 12} more" if len(shares) > 12 else ""
        return f"{self.options.kind.capitalize()} chart: {', '.join(parts)}{more}."


def _percent(share: float) -> str:
    percent = share * 100
    if 0 < percent < 0.1:
        return "<0.1%"
    return f"{percent:.1f}".removesuffix(".0") + "%" if percent < 10 else f"{percent:.0f}%"


def _at(x: float, y: float, radius: float, turn: float) -> tuple[float, float]:
    angle = turn * math.tau
    return x + radius * math.sin(angle), y - radius * math.cos(angle)


def _sector(x: float, y: float, radius: float, inner: float, start: float, end: float) -> str:
    """The outline of a slice. A whole circle is two halves, because an arc to its own start draws nothing."""
    if end - start > 0.9999:
        rings = [(radius, 1)] + ([(inner, 0)] if inner else [])
        return "".join(
            [
                f"M{svg.num(x)} {svg.num(y - r)}A{svg.num(r)} {svg.num(r)} 0 1 {way} {svg.num(x)} {svg.num(y + r)}"
                f"A{svg.num(r)} {svg.num(r)} 0 1 {way} {svg.num(x)} {svg.num(y - r)}z"
                for r, way in rings
            ]
        )
    large = 1 if end - start > 0.5 else 0
    outer = [_pair(_at(x, y, radius, turn)) for turn in (start, end)]
    arc = f"M{outer[0]}A{svg.num(radius)} {svg.num(radius)} 0 {large} 1 {outer[1]}"
    if not inner:
        return f"{arc}L{svg.num(x)} {svg.num(y)}z"
    near = [_pair(_at(x, y, inner, turn)) for turn in (end, start)]
    return f"{arc}L{near[0]}A{svg.num(inner)} {svg.num(inner)} 0 {large} 0 {near[1]}z"


def _pair(point: tuple[float, float]) -> str:
    return f"{svg.num(point[0])} {svg.num(point[1])}"
