"""Box plots: the quartiles of each group, and its outliers."""

from __future__ import annotations

from language.values import as_map
from language.values.display import display
from stdlib.charts import svg
from stdlib.charts.canvas import Canvas, document
from stdlib.charts.data import as_float, column, field_names, is_number, rows_of, shape_fault, x_values
from stdlib.charts.forms import head_fields, markdown
from stdlib.charts.plot import Plot, Range, plot_of_bands, zero_line
from stdlib.charts.ticks import number_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stdlib.charts.options import ChartOptions

_MOST_GROUPS = 200
_REACH = 1.5


class BoxGroup:
    """The numbers of one box in ascending order, as given (``values``) and as floats; ``series`` selects the colour."""

    __slots__ = ("name", "numbers", "q1", "q2", "q3", "series", "values")

    def __init__(self, options: ChartOptions, name: str, values: list[Any], series: int = 0) -> None:
        each = column(options, "", values, None)
        pairs = sorted(
            [(number, at) for at, number in enumerate(each.numbers) if number is not None],
        )
        if len(pairs) < 2:
            shown = f'"{svg.clean(name)}"' if name else "the data"
            raise options.fault(f"a box needs 2 numbers or more, and {shown} has {len(pairs)}")
        self.name = name
        self.series = series
        self.values = [each.values[at] for _, at in pairs]
        self.numbers = [number for number, _ in pairs]
        self.q1, self.q2, self.q3 = (_quartile(self.numbers, part) for part in (0.25, 0.5, 0.75))

    @property
    def whiskers(self) -> tuple[float, float]:
        """The outermost numbers within 1.5 times the distance of the quartiles from the box."""
        low, high = self._fences()
        inside = [number for number in self.numbers if low <= number <= high]
        return (inside[0], inside[-1]) if inside else (self.q1, self.q3)

    @property
    def outliers(self) -> list[Any]:
        """The numbers beyond the whiskers, as given."""
        low, high = self._fences()
        return [value for value, number in zip(self.values, self.numbers) if not low <= number <= high]

    def _fences(self) -> tuple[float, float]:
        reach = (self.q3 - self.q1) * _REACH
        return self.q1 - reach, self.q3 + reach

    def entries(self) -> dict[str, Any]:
        """The fields in JSON, and the columns of the table."""
        quartiles = {"q1": self.q1, "median": self.q2, "q3": self.q3}
        return {"group": self.name, "min": self.values[0], **quartiles, "max": self.values[-1], "outliers": self.outliers}


class BoxPlot:
    """A box for each group."""

    __slots__ = ("colors", "groups", "names", "options")

    def __init__(self, options: ChartOptions, data: Any) -> None:
        self.options = options
        self.names: list[str] = [""]
        self.groups = self._read(data)
        if len(self.groups) > _MOST_GROUPS:
            raise options.fault(f"{len(self.groups)} groups are more than the {_MOST_GROUPS} that can be shown side by side")
        self.colors = options.series_colors(len(self.names), "series")

    def _read(self, data: Any) -> list[BoxGroup]:
        options = self.options
        entries = as_map(data)
        if entries is not None:
            for name, values in entries.items():
                if values.__class__ is not list:
                    raise options.fault(f'"{svg.clean(name)}" must be a list of numbers')
            return [BoxGroup(options, name, values) for name, values in entries.items()]
        if data.__class__ is list and data:
            if as_map(data[0]) is not None:
                return self._of_rows(data)
            if data[0] is None or is_number(data[0]):
                return [BoxGroup(options, "", data)]
        elif data.__class__ is list:
            return []
        raise shape_fault(options, data, ["a map of label to list", "a list of numbers"])

    def _of_rows(self, data: list[Any]) -> list[BoxGroup]:
        options = self.options
        rows = rows_of(options, data)
        x, self.names = field_names(options, rows)
        grouped: dict[str, list[dict[str, Any]]] = {}
        for label, row in zip(x_values(options, rows, x), rows):
            grouped.setdefault(display(label), []).append(row)
        several = len(self.names) > 1
        return [
            BoxGroup(options, f"{label} {name}" if several else label, [row.get(name) for row in members], series)
            for label, members in grouped.items()
            for series, name in enumerate(self.names)
        ]

    def fields(self) -> dict[str, Any]:
        return {**head_fields(self.options), "groups": [group.entries() for group in self.groups]}

    def markdown(self) -> str:
        headers = ["group", "min", "q1", "median", "q3", "max", "outliers"]
        rows = [list(group.entries().values()) for group in self.groups]
        return markdown(self.options, headers, [[*row[:-1], ", ".join(map(display, row[-1]))] for row in rows])

    def svg(self) -> str:
        return document(self.options, self._draw)

    def _draw(self, canvas: Canvas) -> str:
        legend = self.options.legend
        if len(self.names) > 1 if legend is None else legend:
            canvas.legend([(name or "value", color) for name, color in zip(self.names, self.colors)])
        if not self.groups:
            canvas.empty()
            return "Box plot without data."
        low = min(group.numbers[0] for group in self.groups)
        high = max(group.numbers[-1] for group in self.groups)
        air = (high - low) * 0.03
        whole = all(value.__class__ is int for group in self.groups for value in group.values)
        reach = Range(low if low >= 0 > low - air else low - air, high + air, whole=whole)
        plot = plot_of_bands(canvas, [group.name for group in self.groups], reach, every=True)
        zero_line(plot)
        for place, group in enumerate(self.groups):
            canvas.add(*self._box(plot, place, group))
        medians = [f"{group.name or 'median'} {number_text(group.q2)}" for group in self.groups[:12]]
        return f"Box plot. Medians: {', '.join(medians)}."

    def _box(self, plot: Plot, place: int, group: BoxGroup) -> list[str]:
        color = self.colors[group.series]
        theme = self.options.theme
        x, half = plot.x_at(place), min(plot.band * 0.32, 34.0)
        low, high = group.whiskers
        top, middle, bottom = plot.y_at(group.q3), plot.y_at(group.q2), plot.y_at(group.q1)
        center, left, cap = svg.num(x), svg.num(x - half / 2), svg.num(half)
        whiskers = (
            f"M{center} {svg.num(top)}V{svg.num(plot.y_at(high))}M{left} {svg.num(plot.y_at(high))}h{cap}"
            f"M{center} {svg.num(bottom)}V{svg.num(plot.y_at(low))}M{left} {svg.num(plot.y_at(low))}h{cap}"
        )
        numbers = [
            ("min", group.numbers[0]),
            ("q1", group.q1),
            ("median", group.q2),
            ("q3", group.q3),
            ("max", group.numbers[-1]),
        ]
        hint = svg.clean(" · ".join([*([group.name] if group.name else []), *[f"{n} {number_text(v)}" for n, v in numbers]]))
        box: dict[str, str | float | None] = {"x": x - half, "y": top, "width": half * 2, "height": max(bottom - top, 0.5)}
        marks = [
            svg.element("path", d=whiskers, fill="none", stroke=color, stroke_width=1.5),
            svg.element(
                "rect", svg.tooltip(hint), **box, rx=1.5, fill=color, fill_opacity=0.28, stroke=color, stroke_width=1.5
            ),
            svg.element(
                "path", d=f"M{svg.num(x - half)} {svg.num(middle)}h{svg.num(half * 2)}", stroke=theme.text, stroke_width=2
            ),
        ]
        heights = [plot.y_at(_number(self.options, value)) for value in group.outliers]
        # Outliers of equal height are one circle; of very many, also those less than a circle's radius apart.
        spots = sorted({round(y, 1) if len(heights) <= 100 else round(y / 3) * 3.0 for y in heights})
        radius = min(3.0, half)
        marks += [svg.element("circle", cx=x, cy=y, r=radius, fill="none", stroke=color, stroke_width=1.2) for y in spots]
        return marks


def _number(options: ChartOptions, value: Any) -> float:
    return as_float(options, value, "an outlier")


def _quartile(numbers: list[float], part: float) -> float:
    """The quantile by linear interpolation between the nearest two numbers, as ``quantile`` gives it."""
    place = (len(numbers) - 1) * part
    at = int(place)
    low, high = numbers[at], numbers[min(at + 1, len(numbers) - 1)]
    return low + (high - low) * (place - at) if low != high else low
