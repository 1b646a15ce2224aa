"""The plot area with two axes: its place on the canvas, its grid lines, its texts."""

from __future__ import annotations

from stdlib.charts import svg
from stdlib.charts.canvas import LABEL, TICK, Canvas
from stdlib.charts.ticks import Scale, scale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SLANT = 40
_SLANT_SINE, _SLANT_COSINE = 0.643, 0.766
_LINE = 13.0


class Plot:
    """Maps values to positions. ``x`` is a scale of numbers, or ``None`` with ``count`` bands of equal width."""

    __slots__ = ("bottom", "canvas", "count", "left", "right", "top", "x", "y")

    def __init__(
        self, canvas: Canvas, left: float, top: float, right: float, bottom: float, x: Scale | None, count: int, y: Scale
    ) -> None:
        self.canvas = canvas
        self.left = left
        self.top = top
        self.right = right
        self.bottom = bottom
        self.x = x
        self.count = count
        self.y = y

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def band(self) -> float:
        """The width of one band."""
        return self.width / max(self.count, 1)

    def x_at(self, value: float) -> float:
        """The position of a number on the scale, or the middle of the band with that number."""
        if self.x is not None:
            return self.left + self.x.part(value) * self.width
        return self.left + (value + 0.5) * self.band

    def y_at(self, value: float) -> float:
        return self.bottom - self.y.part(value) * (self.bottom - self.top)

    def zero(self) -> float:
        """The position of zero, or of the nearest value on the axis."""
        return self.y_at(min(max(0.0, self.y.low), self.y.high))


class Range:
    """The range of an axis of numbers; ``whole``: ticks at integers only, ``tight``: not extended."""

    __slots__ = ("high", "low", "tight", "whole")

    def __init__(self, low: float, high: float, *, whole: bool = False, tight: bool = False) -> None:
        self.low = low
        self.high = high
        self.whole = whole
        self.tight = tight

    def scale(self, count: int) -> Scale:
        return scale(self.low, self.high, count, whole=self.whole, tight=self.tight)


def plot_of_bands(canvas: Canvas, labels: list[str], y: Range, *, every: bool) -> Plot:
    """A plot whose x axis has labels; with ``every`` labels are slanted rather than left out."""
    plot = _placed(canvas, y, None, len(labels))
    texts = [svg.clean(label) for label in labels]
    draw = _label_layout(plot, texts, every)
    _grid(plot)
    draw()
    return plot


def plot_of_numbers(canvas: Canvas, x: Range, y: Range, *, upright: bool = False) -> Plot:
    """A plot whose x axis has numbers; ``upright``: with vertical grid lines too."""
    plot = _placed(canvas, y, x, 0)
    plot.bottom -= 20
    _grid(plot)
    assert plot.x is not None
    for tick, shown in zip(plot.x.ticks, plot.x.texts):
        at = plot.x_at(tick)
        if upright:
            _line(canvas, at, plot.top, at, plot.bottom, canvas.theme.grid)
        else:
            _line(canvas, at, plot.bottom, at, plot.bottom + 4, canvas.theme.axis)
        # The outermost texts must stay on the canvas.
        half = svg.width_of(shown, TICK) / 2
        canvas.text(shown, min(max(at, half + 2), canvas.width - half - 2), plot.bottom + 16, text_anchor="middle")
    return plot


def _placed(canvas: Canvas, y: Range, x: Range | None, count: int) -> Plot:
    options = canvas.options
    left, top, right, bottom = canvas.left, canvas.top + 8, canvas.right, canvas.bottom
    if options.x_label:
        axis_label(canvas, options.x_label, (left + right) / 2, bottom - 1, right - left)
        bottom -= 20
    y_scale = y.scale(int(max((bottom - top - 30) / 46, 3)))
    if options.y_label:
        left += 22
    left += max((svg.width_of(shown, TICK) for shown in y_scale.texts), default=0.0) + 8
    plot = Plot(canvas, left, top, max(right, left + 20), bottom, None, count, y_scale)
    if x is not None:
        plot.x = _fitting(x, plot.width)
        # Half of the last text lies beyond the axis.
        over = svg.width_of(plot.x.texts[-1], TICK) / 2 if plot.x.texts else 0
        plot.right -= max(0.0, plot.x_at(plot.x.ticks[-1]) + over - (right + 8)) if plot.x.ticks else 0
    return plot


def _fitting(x: Range, width: float) -> Scale:
    """The scale with as many ticks as there is room for their texts."""
    count = max(int(width / 60), 2)
    while True:
        found = x.scale(count)
        widest = max((svg.width_of(shown, TICK) for shown in found.texts), default=0.0)
        if count <= 1 or (widest + 14) * max(len(found.texts) - 1, 1) <= width:
            return found
        count -= 1


def axis_label(canvas: Canvas, label: str, x: float, y: float, room: float, *, upright: bool = False) -> None:
    """The label of an axis around its middle, from bottom to top if ``upright``."""
    whole = svg.clean(label)
    turned = f"rotate(-90 {svg.num(x)} {svg.num(y)})" if upright else None
    shown = svg.shortened(whole, LABEL, room)
    canvas.text(shown, x, y, LABEL, canvas.theme.text, full=whole, text_anchor="middle", transform=turned)


def _grid(plot: Plot) -> None:
    canvas, theme = plot.canvas, plot.canvas.theme
    if canvas.options.y_label:
        middle = (plot.top + plot.bottom) / 2
        axis_label(canvas, canvas.options.y_label, canvas.left + 10, middle, plot.bottom - plot.top, upright=True)
    for tick, shown in zip(plot.y.ticks, plot.y.texts):
        at = plot.y_at(tick)
        _line(canvas, plot.left, at, plot.right, at, theme.grid)
        canvas.text(shown, plot.left - 7, at + 4, text_anchor="end")
    _line(canvas, plot.left, plot.bottom, plot.right, plot.bottom, theme.axis)


def zero_line(plot: Plot) -> None:
    """The zero line, drawn over the marks, where it is not at the bottom."""
    if plot.y.low < 0 < plot.y.high:
        _line(plot.canvas, plot.left, plot.y_at(0), plot.right, plot.y_at(0), plot.canvas.theme.axis)


def _line(canvas: Canvas, x1: float, y1: float, x2: float, y2: float, color: str) -> None:
    canvas.add(svg.element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=color))


def even_step(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... that is not below."""
    step = 1
    while step < least:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return step


def _label_layout(plot: Plot, texts: list[str], every: bool) -> Callable[[], None]:
    """Decides how the labels of bands are written, reserves their height, and returns the function that draws them."""
    canvas, band = plot.canvas, plot.band
    widest = max((svg.width_of(shown, TICK) for shown in texts[:2000]), default=0.0)
    height = plot.bottom - plot.top
    lines = [[shown] for shown in texts]
    step, slanted = 1, False
    if widest > band - 6:
        broken = [svg.wrapped(shown, TICK, band - 6, 2) for shown in texts] if len(texts) <= 60 else [None]
        if all(line is not None for line in broken):
            lines = [line for line in broken if line is not None]
        elif every and band >= 15:
            slanted = True
            room = min(height * 0.4, 110.0) / _SLANT_SINE
            lines = [[svg.shortened(shown, TICK, room)] for shown in texts]
            widest = max(svg.width_of(line[0], TICK) for line in lines)
        else:
            shortest = min(widest, 90.0)
            lines = [[svg.shortened(shown, TICK, shortest)] for shown in texts]
            step = even_step((shortest + 12) / band)
    taken = widest * _SLANT_SINE + 14 if slanted else 8 + _LINE * max((len(line) for line in lines), default=1)
    plot.bottom -= taken
    if slanted:
        # The first labels extend to the left of their bands.
        reach = max(svg.width_of(line[0], TICK) * _SLANT_COSINE - (number + 0.5) * band for number, line in enumerate(lines))
        plot.left += max(0.0, reach - plot.left + canvas.left)

    def draw() -> None:
        for number in range(0, len(lines), step):
            x = plot.x_at(number)
            for row, shown in enumerate(lines[number]):
                if slanted:
                    y = plot.bottom + 12
                    turned = f"rotate(-{_SLANT} {svg.num(x + 3)} {svg.num(y)})"
                    canvas.text(shown, x + 3, y, full=texts[number], text_anchor="end", transform=turned)
                else:
                    half = svg.width_of(shown, TICK) / 2
                    at = min(max(x, half + 2), canvas.width - half - 2)
                    whole = texts[number] if len(lines[number]) == 1 else None
                    canvas.text(shown, at, plot.bottom + 16 + row * _LINE, full=whole, text_anchor="middle")

    return draw
