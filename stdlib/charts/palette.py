"""Colours: themes, the eight colours of series, ramps for heat maps.

The eight of each theme were chosen so that every two of them differ clearly to people with normal sight, protanopia,
deuteranopia and tritanopia, and stand out from the background 3 to 1 (WCAG 2.2, 1.4.11).
"""

from __future__ import annotations


class Theme:
    """The colours of one theme. ``surface`` is the background of the chart where none is given."""

    __slots__ = ("axis", "diverging", "grid", "muted", "sequential", "series", "surface", "text")

    def __init__(
        self,
        *,
        surface: str,
        text: str,
        muted: str,
        axis: str,
        grid: str,
        series: tuple[str, ...],
        sequential: tuple[str, ...],
        diverging: tuple[str, ...],
    ) -> None:
        self.surface = surface
        self.text = text
        self.muted = muted
        self.axis = axis
        self.grid = grid
        self.series = series
        self.sequential = sequential
        self.diverging = diverging


LIGHT = Theme(
    surface="#ffffff",
    text="#1c2430",
    muted="#566170",
    axis="#8a94a1",
    grid="#e4e8ed",
    series=("#40569c", "#de7c00", "#02886f", "#b371b7", "#5b90fb", "#902426", "#9f5e00", "#0a365c"),
    sequential=("#eef5fc", "#c3dcf1", "#86b8df", "#4a8bc5", "#215d9f", "#0c3163"),
    diverging=("#15508f", "#5d9bd1", "#bcd8ee", "#f4f4f2", "#f5c9a0", "#dd8339", "#8f3f05"),
)
DARK = Theme(
    surface="#14181d",
    text="#e8ebef",
    muted="#a7b0bb",
    axis="#717c89",
    grid="#2c333b",
    series=("#8c95fd", "#eeae17", "#3dd99f", "#c27aa9", "#b6f8ff", "#cc5726", "#fff25d", "#c1bfff"),
    sequential=("#17293d", "#1f4a75", "#2f72ab", "#5d9fd2", "#a3cbeb", "#eaf4fd"),
    diverging=("#8cc4f2", "#4187c4", "#27507a", "#252b32", "#7a4a20", "#cc7a30", "#ffc48a"),
)
THEMES = {"light": LIGHT, "dark": DARK}


def mixed(stops: tuple[str, ...], part: float) -> str:
    """The colour at ``part`` (0 to 1) of a gradient with these stops."""
    place = min(max(part, 0.0), 1.0) * (len(stops) - 1)
    at = min(int(place), len(stops) - 2)
    rest = place - at
    pairs = zip(channels(stops[at]), channels(stops[at + 1]))
    return "#" + "".join([f"{round(low + (high - low) * rest):02x}" for low, high in pairs])


def channels(color: str) -> tuple[int, int, int]:
    """Red, green and blue of ``#rgb`` or ``#rrggbb``, 0 to 255."""
    digits = color[1:]
    if len(digits) == 3:
        digits = "".join([digit * 2 for digit in digits])
    return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def luminance(color: str) -> float:
    """Relative luminance, 0 (black) to 1 (white) (WCAG 2.2)."""
    red, green, blue = (c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in channels(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ink_on(color: str) -> str:
    """The colour of text on a coloured mark: dark or light, whichever has more contrast."""
    own = luminance(color)
    return "#ffffff" if 1.05 / (own + 0.05) >= (own + 0.05) / 0.0625 else "#1c2430"


def is_color(value: object) -> bool:
    """Whether the value is ``#rgb`` or ``#rrggbb``."""
    return (
        isinstance(value, str)
        and len(value) in (4, 7)
        and value[0] == "#"
        and all(digit in "0123456789abcdefABCDEF" for digit in value[1:])
    )
