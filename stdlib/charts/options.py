"""The options of charts: which kinds have them, and which values they accept."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import Bool, as_map, type_of
from language.values.display import display
from language.values.operators import is_decimal
from stdlib.charts.palette import THEMES, Theme, is_color

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KINDS = ("area", "bar", "boxplot", "donut", "heatmap", "histogram", "line", "pie", "scatter", "waterfall")

_GENERAL = ("background", "colors", "height", "legend", "theme", "title", "width", "x_label", "y_label")
_FIELDS = ("x", "y")
_OWN: dict[str, tuple[str, ...]] = {
    "area": (*_FIELDS, "stack"),
    "bar": (*_FIELDS, "stack"),
    "heatmap": (*_FIELDS, "value", "x_labels", "y_labels", "scale", "center"),
    "histogram": ("bins",),
    "waterfall": (*_FIELDS, "total"),
}

_SMALLEST, _LARGEST = 100, 4000


class ChartOptions:
    """The checked options of a call. ``given`` are the options as given, including those of the data; ``None`` is unset.

    ``who`` is the name of the builtin, with which every error begins.
    """

    __slots__ = (
        "background",
        "colors",
        "given",
        "height",
        "kind",
        "legend",
        "theme",
        "title",
        "who",
        "width",
        "x_label",
        "y_label",
    )

    def __init__(self, who: str, kind: str, given: dict[str, Any]) -> None:
        self.who = who
        self.kind = kind
        self.given = given
        self.title = self._text("title")
        self.x_label = self._text("x_label")
        self.y_label = self._text("y_label")
        self.width = self._size("width", 640)
        self.height = self._size("height", 360)
        self.legend = self.flag("legend")
        self.colors = self._colors()
        self.background: str | None = given.get("background")
        if self.background is not None and not is_color(self.background):
            raise self.wrong("background", 'a color like "#ffffff"')
        theme = given.get("theme", "light")
        if theme.__class__ is not str or theme not in THEMES:
            raise self.wrong("theme", '"light" or "dark"')
        self.theme: Theme = THEMES[theme]

    @property
    def surface(self) -> str:
        """The colour behind the marks: the given background, or that of the theme."""
        return self.background or self.theme.surface

    def fault(self, message: str) -> RuntimeFault:
        """An error of this call."""
        return RuntimeFault(f"{self.who}: {message}")

    def wrong(self, name: str, wanted: str) -> RuntimeFault:
        """The error of an option with a wrong value."""
        value = self.given[name]
        shown = display(value) if type_of(value) in ("number", "decimal", "text", "bool") else type_of(value)
        return self.fault(f'option "{name}" must be {wanted}, got {shown}')

    def flag(self, name: str) -> bool | None:
        """A boolean option, ``None`` when it is not given."""
        value = self.given.get(name)
        if value is None:
            return None
        if value.__class__ is not Bool:
            raise self.wrong(name, "true or false")
        return bool(value)

    def series_colors(self, count: int, what: str) -> tuple[str, ...]:
        """A colour for each of ``count`` marks, called ``what``. Raises ``RuntimeFault`` when there are too few."""
        colors = self.theme.series if self.colors is None else self.colors
        if count > len(colors):
            reason = "colors are never used twice"
            if self.colors is None:
                raise self.fault(
                    f'{count} {what} are more than the {len(colors)} colors there are, and {reason}: give the option "colors"'
                )
            raise self.fault(f'{count} {what} need {count} colors, and {reason}: the option "colors" has {len(colors)}')
        return colors

    def _text(self, name: str) -> str | None:
        value = self.given.get(name)
        return None if value is None else display(value) or None

    def _size(self, name: str, default: int) -> float:
        value = self.given.get(name)
        if value is None:
            return default
        if is_decimal(value):
            value = value.to_float()
        if value.__class__ not in (int, float) or not _SMALLEST <= value <= _LARGEST:
            raise self.wrong(name, f"a number from {_SMALLEST} to {_LARGEST}")
        return value

    def _colors(self) -> tuple[str, ...] | None:
        value = self.given.get("colors")
        if value is None:
            return None
        if value.__class__ is not list or not value or not all(map(is_color, value)):
            raise self.wrong("colors", 'a list of colors like "#0072b2"')
        if len({color.lower() for color in value}) < len(value):
            raise self.fault('option "colors" names a color twice')
        return tuple(value)


def read_options(who: str, kind: Any, opts: Any) -> ChartOptions:
    """The checked options of a call. Raises ``RuntimeFault`` that begins with ``who`` for an unknown or wrong one."""
    if kind.__class__ is not str or kind not in KINDS:
        shown = f'"{kind}"' if kind.__class__ is str else type_of(kind)
        raise RuntimeFault(f"{who}: unknown kind {shown}; valid kinds are: {', '.join(KINDS)}")
    entries = {} if opts is None else as_map(opts)
    if entries is None:
        raise RuntimeFault(f"{who}: the options must be a map, got {type_of(opts)}", kind="type")
    valid = sorted((*_GENERAL, *_OWN.get(kind, _FIELDS)))
    for name in entries:
        if name not in valid:
            raise RuntimeFault(f'{who}: unknown option "{name}" for {kind}; valid options are: {", ".join(valid)}')
    return ChartOptions(who, kind, {name: value for name, value in entries.items() if value is not None})
