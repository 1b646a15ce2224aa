"""Heat maps: numbers for pairs of labels, shown as colours."""

from __future__ import annotations

from language.values import as_map
from language.values.display import display
from stdlib.charts import svg
from stdlib.charts.canvas import TICK, Canvas, document
from stdlib.charts.data import as_float, column, is_number, require_field, rows_of, shape_fault, x_values
from stdlib.charts.forms import head_fields, markdown
from stdlib.charts.palette import ink_on, mixed
from stdlib.charts.plot import axis_label, even_step
from stdlib.charts.ticks import number_text, scale, short_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stdlib.charts.options import ChartOptions

# The most cells that have elements of their own; more are drawn as one path for each shade.
_MOST_CELLS = 400
_SHADES = 48
_SMALLEST = 2.5


class HeatMap:
    """A cell for each pair of labels. ``values`` are rows of values of the language, ``numbers`` the same as floats."""

    __slots__ = ("colors", "diverging", "high", "low", "numbers", "options", "values", "x_labels", "y_labels")

    def __init__(self, options: ChartOptions, data: Any) -> None:
        self.options = options
        if data.__class__ is not list or (data and data[0].__class__ is not list and as_map(data[0]) is None):
            raise shape_fault(options, data, ["a list of lists"])
        if data and data[0].__class__ is not list:
            self.x_labels, self.y_labels, self.values = _of_rows(options, data)
        else:
            self.x_labels, self.y_labels, self.values = _of_matrix(options, data)
        self.x_labels = _own_labels(options, "x_labels", "column", self.x_labels)
        self.y_labels = _own_labels(options, "y_labels", "row", self.y_labels)
        self.numbers = [column(options, "", row, None).numbers for row in self.values]
        present = [number for row in self.numbers for number in row if number is not None]
        self.low, self.high = min(present, default=0.0), max(present, default=0.0)
        self.diverging = self._is_diverging()
        self._center()
        theme = options.theme
        self.colors = options.colors or (theme.diverging if self.diverging else theme.sequential)
        if len(self.colors) < 2:
            raise options.fault('option "colors" needs two colors or more for kind heatmap: from low to high')

    def _is_diverging(self) -> bool:
        options = self.options
        wanted = options.given.get("scale", "auto")
        if wanted.__class__ is not str or wanted not in ("auto", "sequential", "diverging"):
            raise options.wrong("scale", '"auto", "sequential" or "diverging"')
        if "center" in options.given and wanted != "diverging":
            raise options.fault('option "center" goes with the option "scale" set to "diverging"')
        return wanted == "diverging" or (wanted == "auto" and self.low < 0 < self.high)

    def _center(self) -> None:
        """The two ends of a diverging scale lie equally far from its centre."""
        if not self.diverging:
            return
        center = as_float(self.options, self.options.given.get("center", 0), 'option "center"')
        reach = max(abs(self.high - center), abs(self.low - center))
        self.low, self.high = center - reach, center + reach

    def fields(self) -> dict[str, Any]:
        labels = {"x_labels": [*self.x_labels], "y_labels": [*self.y_labels]}
        return {**head_fields(self.options), **labels, "values": [[*row] for row in self.values]}

    def markdown(self) -> str:
        rows = [[label, *row] for label, row in zip(self.y_labels, self.values)]
        return markdown(self.options, ["", *self.x_labels], rows)

    def svg(self) -> str:
        return document(self.options, self._draw)

    def _draw(self, canvas: Canvas) -> str:
        present = sum(1 for row in self.numbers for number in row if number is not None)
        if not present:
            canvas.empty()
            return "Heat map without data."
        if self.options.legend is None or self.options.legend:
            self._ramp(canvas)
        grid = _Grid(canvas, self.options, self.x_labels, self.y_labels)
        rows, columns = len(self.y_labels), len(self.x_labels)
        if rows * columns <= _MOST_CELLS:
            self._cells(canvas, grid)
        else:
            self._blocks(canvas, grid)
        shown = [number for row in self.numbers for number in row if number is not None]
        ends = f"from {number_text(min(shown))} to {number_text(max(shown))}"
        return f"Heat map of {rows} rows and {columns} columns: {present} values {ends}."

    def _part(self, number: float) -> float:
        return 0.5 if self.high == self.low else (number - self.low) / (self.high - self.low)

    def _ramp(self, canvas: Canvas) -> None:
        """The colour scale with its values, at the right edge."""
        top, bottom = canvas.top + 8, canvas.bottom - (46 if self.options.x_label else 26)
        steps = scale(self.low, self.high, max(int((bottom - top) / 50), 2), tight=True)
        ticks = [(tick, shown) for tick, shown in zip(steps.ticks, steps.texts) if self.low <= tick <= self.high]
        ticks = ticks or [(self.low, short_text(self.low))]
        width = max(svg.width_of(shown, TICK) for _, shown in ticks)
        left = canvas.right - width - 22
        bands = 24
        height = (bottom - top) / bands
        for band in range(bands):
            color = mixed(self.colors, 1 - (band + 0.5) / bands)
            canvas.add(svg.element("rect", x=left, y=top + band * height, width=12, height=height + 0.4, fill=color))
        for tick, shown in ticks:
            y = bottom - self._part(tick) * (bottom - top)
            canvas.text(shown, left + 18, min(max(y + 4, top + 8), bottom + 4))
        canvas.right = left - 14

    def _cells(self, canvas: Canvas, grid: _Grid) -> None:
        gap = 1.0 if min(grid.width, grid.height) > 8 else 0.0
        texts = [[None if number is None else short_text(number) for number in row] for row in self.numbers]
        widest = max((svg.width_of(shown, TICK) for row in texts for shown in row if shown), default=0.0)
        readable = widest <= grid.width - 6 and grid.height >= 15
        for row, numbers in enumerate(self.numbers):
            for place, number in enumerate(numbers):
                x, y = grid.left + place * grid.width, grid.top + row * grid.height
                size: dict[str, str | float | None] = {
                    "x": x + gap / 2,
                    "y": y + gap / 2,
                    "width": grid.width - gap,
                    "height": grid.height - gap,
                }
                label = f"{self.y_labels[row]} · {self.x_labels[place]}"
                if number is None:
                    look = {"fill": "none", "stroke": canvas.theme.grid, "stroke_dasharray": "3 3"}
                    canvas.add(svg.element("rect", svg.tooltip(svg.clean(f"{label}: –")), **size, **look))
                    continue
                color = mixed(self.colors, self._part(number))
                hint = svg.tooltip(svg.clean(f"{label}: {number_text(number)}"))
                canvas.add(svg.element("rect", hint, **size, rx=gap, fill=color))
                if readable:
                    shown = texts[row][place] or ""
                    canvas.text(shown, x + grid.width / 2, y + grid.height / 2 + 4, TICK, ink_on(color), text_anchor="middle")

    def _blocks(self, canvas: Canvas, grid: _Grid) -> None:
        """Many cells: runs of one shade become one rectangle; cells too small to be seen are drawn as their mean."""
        columns = min(len(self.x_labels), max(int(grid.width * len(self.x_labels) / _SMALLEST), 1))
        rows = min(len(self.y_labels), max(int(grid.height * len(self.y_labels) / _SMALLEST), 1))
        numbers = _means(self.numbers, rows, columns)
        width = grid.width * len(self.x_labels) / columns
        height = grid.height * len(self.y_labels) / rows
        paths: dict[int, list[str]] = {}
        for row, line in enumerate(numbers):
            shades = [None if number is None else round(self._part(number) * (_SHADES - 1)) for number in line]
            start = 0
            while start < columns:
                end = start
                while end < columns and shades[end] == shades[start]:
                    end += 1
                shade = shades[start]
                if shade is not None:
                    corner = f"{svg.num(grid.left + start * width)} {svg.num(grid.top + row * height)}"
                    # Slightly larger, so that no background shows between neighbours.
                    across = svg.num((end - start) * width + 0.3)
                    paths.setdefault(shade, []).append(f"M{corner}h{across}v{svg.num(height + 0.3)}h-{across}z")
                start = end
        for shade, pieces in sorted(paths.items()):
            color = mixed(self.colors, shade / (_SHADES - 1))
            canvas.add(svg.element("path", d="".join(pieces), fill=color))


class _Grid:
    """The positions of the cells, with room for the labels: left and top of the first, width and height of each."""

    __slots__ = ("height", "left", "top", "width")

    def __init__(self, canvas: Canvas, options: ChartOptions, x_labels: list[str], y_labels: list[str]) -> None:
        left, right, top, bottom = canvas.left, canvas.right, canvas.top + 4, canvas.bottom
        if options.x_label:
            bottom -= 20
        if options.y_label:
            left += 22
        rows = [svg.clean(label) for label in y_labels[:2000]]
        room = (right - left) * 0.35
        names = [svg.shortened(name, TICK, room) for name in rows]
        left += max((svg.width_of(name, TICK) for name in names), default=0.0) + 8
        self.left = left
        self.top = top
        self.width = max(right - left, 20.0) / len(x_labels)
        columns = [svg.clean(label) for label in x_labels[:2000]]
        titles = columns
        widest = max(svg.width_of(title, TICK) for title in titles)
        slanted = widest > self.width - 4 and self.width >= 14
        if slanted:
            titles = [svg.shortened(title, TICK, min((bottom - top) * 0.5, 120.0)) for title in titles]
            widest = max(svg.width_of(title, TICK) for title in titles)
            bottom -= widest * 0.643 + 14
            reach = max(svg.width_of(title, TICK) * 0.766 - (at + 0.5) * self.width for at, title in enumerate(titles))
            if reach > self.left - 4:
                self.left = reach + 4
                self.width = max(right - self.left, 20.0) / len(x_labels)
        else:
            bottom -= 20
        self.height = max(bottom - top, 20.0) / len(y_labels)
        step = even_step(15 / self.height)
        for row in range(0, len(names), step):
            canvas.text(names[row], self.left - 7, top + (row + 0.5) * self.height + 4, full=rows[row], text_anchor="end")
        end = top + self.height * len(y_labels)
        step = 1 if slanted or widest <= self.width - 4 else even_step((min(widest, 90.0) + 10) / self.width)
        for at in range(0, len(titles), step):
            x = self.left + (at + 0.5) * self.width
            if slanted:
                turned = f"rotate(-40 {svg.num(x + 3)} {svg.num(end + 12)})"
                canvas.text(titles[at], x + 3, end + 12, full=columns[at], text_anchor="end", transform=turned)
            else:
                shown = svg.shortened(titles[at], TICK, 90.0) if step > 1 else titles[at]
                canvas.text(shown, x, end + 15, full=columns[at], text_anchor="middle")
        if options.x_label:
            width = self.width * len(x_labels)
            axis_label(canvas, options.x_label, self.left + width / 2, canvas.bottom - 1, width)
        if options.y_label:
            height = self.height * len(y_labels)
            axis_label(canvas, options.y_label, canvas.left + 10, top + height / 2, height, upright=True)


def _means(numbers: list[list[float | None]], rows: int, columns: int) -> list[list[float | None]]:
    """The matrix reduced to that many rows and columns; each cell is the mean of those it replaces."""
    height, width = len(numbers), len(numbers[0])
    if (rows, columns) == (height, width):
        return numbers
    found: list[list[float | None]] = []
    for row in range(rows):
        band = numbers[height * row // rows : height * (row + 1) // rows]
        line: list[float | None] = []
        for place in range(columns):
            start, end = width * place // columns, width * (place + 1) // columns
            inside = [number for each in band for number in each[start:end] if number is not None]
            line.append(sum(inside) / len(inside) if inside else None)
        found.append(line)
    return found


def _of_matrix(options: ChartOptions, data: list[Any]) -> tuple[list[str], list[str], list[list[Any]]]:
    for name in ("x", "y", "value"):
        if name in options.given:
            raise options.fault(f'option "{name}" names a field of a list of maps, and the data is none')
    values: list[list[Any]] = []
    for number, row in enumerate(data, 1):
        if row.__class__ is not list:
            raise options.fault(f"the data is a list of lists, but row {number} is none")
        if len(row) != len(data[0]):
            raise options.fault(f"row {number} has {len(row)} values, but row 1 has {len(data[0])}")
        values.append(_checked(options, row, number))
    columns = len(data[0]) if data else 0
    return [str(index) for index in range(columns)], [str(index) for index in range(len(data))], values


def _checked(options: ChartOptions, row: list[Any], number: int) -> list[Any]:
    for place, value in enumerate(row, 1):
        if value is not None and (not is_number(value) or value == value):
            as_float(options, value, f"value {place} of row {number}")
    return [None if value is None or value != value else value for value in row]


def _of_rows(options: ChartOptions, data: list[Any]) -> tuple[list[str], list[str], list[list[Any]]]:
    rows = rows_of(options, data)
    names = {}
    for name in ("x", "y", "value"):
        given = options.given.get(name)
        if given is None:
            raise options.fault(
                f'a list of maps needs the options "x", "y" and "value": which fields to draw; "{name}" is missing'
            )
        if given.__class__ is not str:
            raise options.wrong(name, "the name of a field")
        require_field(options, rows, given)
        names[name] = given
    x_given, y_given = x_values(options, rows, names["x"]), x_values(options, rows, names["y"])
    across, down = [display(x) for x in x_given], [display(y) for y in y_given]
    x_places, y_places = _places(options, x_given), _places(options, y_given)
    values: list[list[Any]] = [[None] * len(x_places) for _ in y_places]
    seen: set[tuple[str, str]] = set()
    for number, (x, y, row) in enumerate(zip(across, down, rows), 1):
        if (x, y) in seen:
            raise options.fault(f'row {number} is the second one for "{svg.clean(x)}" and "{svg.clean(y)}"')
        seen.add((x, y))
        value = row.get(names["value"])
        values[y_places[y]][x_places[x]] = _checked(options, [value], number)[0]
    return list(x_places), list(y_places), values


def _places(options: ChartOptions, given: list[Any]) -> dict[str, int]:
    """The position of each label: numbers in ascending order, texts in order of appearance."""
    if all(map(is_number, given)):
        given = sorted(given, key=lambda value: as_float(options, value, "a label"))
    return {label: place for place, label in enumerate(dict.fromkeys(map(display, given)))}


def _own_labels(options: ChartOptions, name: str, what: str, labels: list[str]) -> list[str]:
    given = options.given.get(name)
    if given is None:
        return labels
    if given.__class__ is not list:
        raise options.wrong(name, "a list of labels")
    if len(given) != len(labels):
        raise options.fault(f'option "{name}" has {len(given)} labels, but the data has {len(labels)} {what}s')
    return [display(label) for label in given]
