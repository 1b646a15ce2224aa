"""The canvas of a chart: title, legend, and the space that is left."""

from __future__ import annotations

from stdlib.charts import svg
from stdlib.charts.palette import LIGHT
from stdlib.markup import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stdlib.charts.options import ChartOptions

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
TITLE, LABEL, TICK = 16.0, 12.0, 11.0
PADDING = 14.0
_SWATCH = 10.0
_LEGEND_LINE = 20.0
_LEGEND_LINES = 3

#: With more marks than these, their tooltips would be larger than the drawing.
MOST_TOOLTIPS = 300


class Canvas:
    """Collects the markup of one chart. ``left``, ``top``, ``right`` and ``bottom`` are the edges of the free space."""

    __slots__ = ("bottom", "left", "options", "parts", "right", "theme", "top")

    def __init__(self, options: ChartOptions) -> None:
        self.options = options
        self.theme = options.theme
        self.parts: list[str] = []
        self.left = PADDING
        self.top = PADDING
        self.right = options.width - PADDING
        self.bottom = options.height - PADDING
        if options.title:
            self._title(svg.clean(options.title))

    def add(self, *parts: str) -> None:
        """Draws markup on top of the existing one."""
        self.parts.extend(parts)

    def text(
        self, shown: str, x: float, y: float, size: float = TICK, color: str | None = None, **more: str | float | None
    ) -> None:
        """A line of text, by default in the colour of secondary text."""
        self.add(svg.text(shown, x, y, size, color or self.theme.muted, **more))

    def legend(self, entries: list[tuple[str, str]], *, line: bool = False) -> None:
        """Draws entries of name and colour in rows above the chart; those that do not fit are counted. ``line``: swatches are
        lines.
        """
        right = self.right
        x, y, row = self.left, self.top, 1
        for number, (name, color) in enumerate(entries):
            rest = len(entries) - number
            shown = svg.shortened(svg.clean(name), LABEL, min(220.0, right - self.left - 30))
            width = _SWATCH + 6 + svg.width_of(shown, LABEL) + 16
            if x > self.left and x + width - 16 > right:
                if row == _LEGEND_LINES or y + 2 * _LEGEND_LINE > self.options.height * 0.4:
                    self.text(f"+ {rest}", min(x, right - 30), y + 10, LABEL)
                    break
                x, y, row = self.left, y + _LEGEND_LINE, row + 1
            self.swatch(x, y, color, line=line)
            self.text(shown, x + _SWATCH + 6, y + 10, LABEL, self.theme.text)
            x += width
        if entries:
            self.top = y + _LEGEND_LINE + 4

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

    def document(self, description: str) -> str:
        """The whole chart. ``description`` is a sentence about it for screen readers."""
        options = self.options
        title = svg.clean(options.title) if options.title else None
        head = [] if title is None else [svg.tooltip(title)]
        head.append(svg.element("desc", escape(svg.clean(description))))
        if options.background is not None:
            head.append(svg.element("rect", width=options.width, height=options.height, fill=options.background))
        return svg.element(
            "svg",
            *head,
            *self.parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {svg.num(options.width)} {svg.num(options.height)}",
            # As wide as its container, but not enlarged. Attributes and no `style`: a page's policy may block styles.
            width="100%",
            height=options.height,
            preserveAspectRatio="xMinYMin",
            # The class `adaptive` lets a stylesheet invert the colours on a dark page, if they are those of the light theme
            # without a background.
            _class="chart adaptive" if self.theme is LIGHT and options.background is None else "chart",
            role="img",
            aria_label=None if title is not None else f"{options.kind} chart",
            font_family=FONTS,
        )

    def _title(self, title: str) -> None:
        room = (self.right - self.left) / 1.08  # bold letters are wider
        lines = svg.wrapped(title, TITLE, room, 2) or [svg.shortened(title, TITLE, room)]
        for line in lines:
            self.text(line, self.left, self.top + 13, TITLE, self.theme.text, font_weight=600)
            self.top += 20
        self.top += 6
