"""The canvas of a chart: title, legend, and the space that is left.

A chart is drawn once as wide as its options say and once for narrow screens, in one document: texts keep their size on a phone
because that drawing has fewer units of width. A page's stylesheet shows the one that fits; without one it is the wide one.
"""

from __future__ import annotations

import math

from stdlib.charts import svg
from stdlib.charts.palette import LIGHT
from stdlib.markup import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from stdlib.charts.options import ChartOptions

    #: What a row of a legend shows: name, colour, and the number beside the name or nothing.
    Entry = tuple[str, str, str | None]

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
TITLE, LABEL, TICK = 16.0, 12.0, 11.0
PADDING = 14.0
_SWATCH = 10.0
_LEGEND_LINE = 20.0
_LEGEND_LINES = 3

#: The width of the drawing for narrow screens; charts that are hardly wider are drawn once.
NARROW = 360.0
_WIDE_FROM = 420.0
#: Wider charts are scaled down on a page of the usual width too.
_BROAD_FROM = 680.0
#: The height of that drawing comes in ninths of its width, and as a class, because a stylesheet has no other way to learn it.
_STEPS, MOST_STEPS = 9, 30
_NARROW_LEGEND_LINES = 16

#: With more marks than these, their tooltips would be larger than the drawing.
MOST_TOOLTIPS = 300


def document(options: ChartOptions, draw: Callable[[Canvas], str]) -> str:
    """The whole chart. ``draw`` draws it on a canvas and gives a sentence about it for screen readers."""
    wide = Canvas(options)
    description = draw(wide)
    title = svg.clean(options.title) if options.title else None
    head = [] if title is None else [svg.tooltip(title)]
    head.append(svg.element("desc", escape(svg.clean(description))))
    marks = wide.markup()
    # A stylesheet may turn the colours over, or put a ground behind them, where they do not fit the page.
    looks = ["chart"] if options.background else ["chart", "adaptive" if options.theme is LIGHT else "dark"]
    if options.width > _BROAD_FROM:
        looks.append("broad")
    narrow = _narrow(options, draw)
    if narrow is not None:
        looks.append(f"reflows-{narrow.steps}")
        scale = f"scale({options.width / NARROW:.4f})"
        marks = [
            svg.element("g", *marks, _class="wide"),
            # What a stylesheet says of `display` counts more than an attribute.
            svg.element("g", *narrow.markup(), _class="narrow", display="none", transform=scale),
        ]
    return svg.element(
        "svg",
        *head,
        *marks,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {svg.num(options.width)} {svg.num(options.height)}",
        # As wide as its container, but not enlarged. Attributes and no `style`: a page's policy may block styles.
        width="100%",
        height=options.height,
        preserveAspectRatio="xMinYMin",
        _class=" ".join(looks),
        role="img",
        aria_label=None if title is not None else f"{options.kind} chart",
        # On a page from right to left, texts would be anchored at their other end.
        direction="ltr",
        font_family=FONTS,
    )


def _narrow(options: ChartOptions, draw: Callable[[Canvas], str]) -> Canvas | None:
    """The chart on a canvas for narrow screens; nothing where the chart is narrow or much higher than wide."""
    if options.width <= _WIDE_FROM:
        return None
    canvas = Canvas(options, narrow=True)
    draw(canvas)
    return canvas if canvas.steps <= MOST_STEPS else None


class Canvas:
    """Collects the markup of one drawing. ``left``, ``top``, ``right`` and ``bottom`` are the edges of the free space.

    A narrow canvas grows with its title and its legend, which lies below the chart.
    """

    __slots__ = ("_rows", "_wanted", "bottom", "height", "left", "narrow", "options", "parts", "right", "theme", "top", "width")

    def __init__(self, options: ChartOptions, *, narrow: bool = False) -> None:
        self.options = options
        self.theme = options.theme
        self.narrow = narrow
        self.parts: list[str] = []
        self._rows: list[Entry] = []
        self.width = NARROW if narrow else options.width
        self.height = options.height
        self.left = PADDING
        self.top = PADDING
        self.right = self.width - PADDING
        self.bottom = self.height - PADDING
        if narrow:
            # Not flatter than the wide one, whose shape is that of the document.
            self._wanted = max(options.height * NARROW / options.width, min(max(options.height * 8 / 9, 160.0), 480.0))
            self._grow(0.0)
        if options.title:
            self._title(svg.clean(options.title))

    @property
    def steps(self) -> int:
        """The height of a narrow canvas in ninths of its width."""
        return round(self.height * _STEPS / NARROW)

    def _grow(self, by: float) -> None:
        self._wanted += by
        step = NARROW / _STEPS
        self.height = math.ceil(self._wanted / step - 1e-9) * step
        self.bottom = self.height - PADDING - (len(self._rows) * _LEGEND_LINE + 4 if self._rows else 0)

    def add(self, *parts: str) -> None:
        """Draws markup on top of the existing one."""
        self.parts.extend(parts)

    def markup(self) -> list[str]:
        """Everything that was drawn, on its background."""
        ground = []
        if self.options.background is not None:
            ground.append(svg.element("rect", width=self.width, height=self.height, fill=self.options.background))
        return [*ground, *self.parts]

    def text(
        self,
        shown: str,
        x: float,
        y: float,
        size: float = TICK,
        color: str | None = None,
        *,
        full: str | None = None,
        **more: str | float | None,
    ) -> None:
        """A line of text, by default in the colour of secondary text. ``full`` is the text that ``shown`` may be a part of."""
        self.add(svg.text(shown, x, y, size, color or self.theme.muted, full=full, **more))

    def legend(self, entries: list[tuple[str, str]], *, line: bool = False) -> None:
        """Draws entries of name and colour in rows above the chart; those that do not fit are counted. ``line``: swatches are
        lines. On a narrow canvas they are below the chart: a row if they fit into it, else a column.
        """
        right = self.right
        if self.narrow:
            width = sum(_SWATCH + 22 + svg.width_of(svg.clean(name), LABEL) for name, _ in entries) - 16
            if width > right - self.left:
                self.column([(name, color, None) for name, color in entries], line=line)
                return
            free = self.top
            self._grow(_LEGEND_LINE + 4)
            self.bottom -= _LEGEND_LINE + 4
            self.top = self.bottom + 8
        x, y, row = self.left, self.top, 1
        for number, (name, color) in enumerate(entries):
            rest = len(entries) - number
            whole = svg.clean(name)
            shown = svg.shortened(whole, LABEL, min(220.0, right - self.left - 30) if not self.narrow else right)
            width = _SWATCH + 6 + svg.width_of(shown, LABEL) + 16
            if x > self.left and x + width - 16 > right:
                if row == _LEGEND_LINES or y + 2 * _LEGEND_LINE > self.height * 0.4:
                    self.text(f"+ {rest}", min(x, right - 30), y + 10, LABEL)
                    break
                x, y, row = self.left, y + _LEGEND_LINE, row + 1
            self.swatch(x, y, color, line=line)
            self.text(shown, x + _SWATCH + 6, y + 10, LABEL, self.theme.text, full=whole)
            x += width
        if self.narrow:
            self.top = free
        elif entries:
            self.top = y + _LEGEND_LINE + 4

    def column(self, entries: list[Entry], *, line: bool = False) -> None:
        """Draws entries of name, colour and number one below the other under a narrow chart, and makes it higher for them."""
        shown = entries if len(entries) <= _NARROW_LEGEND_LINES else entries[: _NARROW_LEGEND_LINES - 1]
        self._rows = entries[:_NARROW_LEGEND_LINES]
        self._grow(len(self._rows) * _LEGEND_LINE + 4)
        second = max((svg.width_of(value, LABEL) + 12 for _, _, value in shown if value), default=0.0)
        room = self.right - self.left - _SWATCH - 6 - second
        wholes = [svg.clean(name) for name, _, _ in shown]
        names = [svg.shortened(whole, LABEL, room) for whole in wholes]
        end = self.left + _SWATCH + 6 + max((svg.width_of(name, LABEL) for name in names), default=0.0) + second
        y = self.bottom + 8
        for name, whole, (_, color, value) in zip(names, wholes, shown):
            self.swatch(self.left, y, color, line=line)
            self.text(name, self.left + _SWATCH + 6, y + 10, LABEL, self.theme.text, full=whole)
            if value:
                self.text(value, end, y + 10, LABEL, text_anchor="end")
            y += _LEGEND_LINE
        if len(shown) < len(entries):
            self.text(f"+ {len(entries) - len(shown)}", self.left + _SWATCH + 6, y + 10, LABEL)

    def swatch(self, x: float, y: float, color: str, *, line: bool = False) -> None:
        """The swatch of a series in a legend."""
        if line:
            self.add(svg.element("rect", x=x - 2, y=y + 4.5, width=_SWATCH + 4, height=3, rx=1.5, fill=color))
        else:
            self.add(svg.element("rect", x=x, y=y + 1, width=_SWATCH, height=_SWATCH, rx=2, fill=color))

    def empty(self) -> None:
        """Shows that there is no data."""
        x, y = (self.left + self.right) / 2, (self.top + self.bottom) / 2
        self.text("No data", x, y + 4, LABEL, text_anchor="middle")

    def _title(self, title: str) -> None:
        room = (self.right - self.left) / 1.16  # bold letters are wider
        lines = svg.folded(title, TITLE, room, 3 if self.narrow else 2)
        if self.narrow:
            self._grow(20.0 * len(lines) + 6)
        for line in lines:
            self.text(line, self.left, self.top + 13, TITLE, self.theme.text, font_weight=600)
            self.top += 20
        self.top += 6
