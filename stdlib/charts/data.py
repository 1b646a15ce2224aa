"""The accepted shapes of data, converted to one table: a column of x, and a column of numbers for each series."""

from __future__ import annotations

from language.values import as_map, is_nan, type_of
from language.values.display import display
from language.values.operators import is_decimal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stdlib.charts.options import ChartOptions

# Beyond it the sum of very many numbers could overflow.
_LARGEST = 1e290


class Series:
    """One column: ``values`` as given, ``nothing`` for missing ones, and ``numbers``, the same as floats."""

    __slots__ = ("name", "numbers", "values")

    def __init__(self, name: str, values: list[Any], numbers: list[float | None]) -> None:
        self.name = name
        self.values = values
        self.numbers = numbers


class Table:
    """The data of a chart of series. ``xs`` are numbers or texts; ``positions`` are the floats of ``xs`` when all are numbers.

    ``x_header`` and ``y_header`` are the headers of the Markdown table, the latter for a series without a name.
    """

    __slots__ = ("positions", "series", "x_header", "xs", "y_header")

    def __init__(
        self, xs: list[Any], series: list[Series], x_header: str, y_header: str, positions: list[float] | None
    ) -> None:
        self.xs = xs
        self.series = series
        self.x_header = x_header
        self.y_header = y_header
        self.positions = positions

    @property
    def labels(self) -> list[str]:
        """The texts of ``xs``."""
        return [display(x) for x in self.xs]


# The shapes that each kind accepts beside a list of maps, which all of them accept.
_SHAPES = {
    "bar": ("map", "numbers"),
    "line": ("map", "numbers", "pairs"),
    "area": ("map", "numbers", "pairs"),
    "pie": ("map",),
    "donut": ("map",),
    "waterfall": ("map",),
    "scatter": ("pairs",),
}
_WORDS = {"map": "a map of label to number", "numbers": "a list of numbers", "pairs": "a list of [x, y]"}


def read_table(options: ChartOptions, data: Any) -> Table:
    """The table of the data. Raises ``RuntimeFault`` for a shape that the kind does not accept, and for values that are not
    numbers.
    """
    shapes = _SHAPES[options.kind]
    entries = as_map(data)
    if entries is not None and "map" in shapes:
        _no_fields(options)
        labels = list(entries)
        return Table(labels, [column(options, "", list(entries.values()), labels)], "label", "value", None)
    if data.__class__ is list:
        if not data or as_map(data[0]) is not None:
            return _of_rows(options, data)
        if data[0].__class__ is list and "pairs" in shapes:
            return _of_pairs(options, data)
        if data[0].__class__ is not list and "numbers" in shapes and (data[0] is None or is_number(data[0])):
            _no_fields(options)
            count = len(data)
            positions = [float(index) for index in range(count)]
            return Table(list(range(count)), [column(options, "", data, None)], "x", "y", positions)
    raise shape_fault(options, data, [_WORDS[shape] for shape in shapes])


def shape_fault(options: ChartOptions, data: Any, shapes: list[str]) -> Exception:
    """The error of data in a shape that the kind does not accept; it names those that it accepts."""
    wanted = ["a list of maps with the options x and y", *shapes]
    known = wanted[0] if len(wanted) == 1 else f"{', '.join(wanted[:-1])} or {wanted[-1]}"
    got = type_of(data)
    if got == "list" and data:
        got = f"a list of {type_of(data[0])}"
    return options.fault(f"data of kind {options.kind} must be {known}, got {got}")


def rows_of(options: ChartOptions, data: list[Any]) -> list[dict[str, Any]]:
    """The rows of a list of maps."""
    rows: list[dict[str, Any]] = []
    for number, item in enumerate(data, 1):
        entries = as_map(item)
        if entries is None:
            raise options.fault(f"the data is a list of maps, but item {number} is {type_of(item)}")
        rows.append(entries)
    return rows


def field_names(options: ChartOptions, rows: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """The fields that the options ``x`` and ``y`` name."""
    x, y = options.given.get("x"), options.given.get("y")
    if not rows and (x is None or y is None):
        return "", [""]
    if x is None or y is None:
        missing = " and ".join([f'"{name}"' for name, value in (("x", x), ("y", y)) if value is None])
        raise options.fault(f"a list of maps needs the option {missing}: which fields to draw")
    if x.__class__ is not str:
        raise options.wrong("x", "the name of a field")
    names = y if y.__class__ is list else [y]
    if not names or not all(name.__class__ is str for name in names):
        raise options.wrong("y", "the name of a field or a list of names")
    if len(set(names)) < len(names):
        raise options.fault('option "y" names a field twice')
    for name in (x, *names):
        require_field(options, rows, name)
    return x, names


def require_field(options: ChartOptions, rows: list[dict[str, Any]], name: str) -> None:
    """Raises ``RuntimeFault`` when no row has the field."""
    if rows and not any(name in row for row in rows):
        raise options.fault(f'no row has a field "{name}"')


def x_values(options: ChartOptions, rows: list[dict[str, Any]], name: str) -> list[Any]:
    """The values of the field of x, numbers or texts. Raises ``RuntimeFault`` for a row without one."""
    values = []
    for number, row in enumerate(rows, 1):
        value = row.get(name)
        if value is None:
            raise options.fault(f'row {number} has no "{name}"')
        values.append(_x_value(options, value, f'"{name}" of row {number}'))
    return values


def _of_rows(options: ChartOptions, data: list[Any]) -> Table:
    rows = rows_of(options, data)
    x, names = field_names(options, rows)
    xs = x_values(options, rows, x)
    series = [column(options, name, [row.get(name) for row in rows], None) for name in names]
    return Table(xs, series, x or "x", "y", _positions(options, xs))


def _of_pairs(options: ChartOptions, data: list[Any]) -> Table:
    _no_fields(options)
    for number, pair in enumerate(data, 1):
        if pair.__class__ is not list or len(pair) != 2:
            got = f"a list of {len(pair)}" if pair.__class__ is list else type_of(pair)
            raise options.fault(f"the data is a list of [x, y], but item {number} is {got}")
        if pair[0] is None:
            raise options.fault(f"item {number} has no x")
    xs = [_x_value(options, pair[0], f"x of item {number}") for number, pair in enumerate(data, 1)]
    return Table(xs, [column(options, "", [pair[1] for pair in data], None)], "x", "y", _positions(options, xs))


def _no_fields(options: ChartOptions) -> None:
    for name in ("x", "y"):
        if name in options.given:
            raise options.fault(f'option "{name}" names a field of a list of maps, and the data is none')


def _x_value(options: ChartOptions, value: Any, where: str) -> Any:
    if value.__class__ is str:
        return value
    if is_number(value):
        as_float(options, value, where)
        return value
    if value.__class__ is list or as_map(value) is not None or callable(value):
        raise options.fault(f"{where} is a {type_of(value)}, neither a number nor a label")
    return display(value)


def _positions(options: ChartOptions, xs: list[Any]) -> list[float] | None:
    """The xs as floats when all are numbers, and the kind has an axis of numbers."""
    if options.kind in ("bar", "pie", "donut", "waterfall") or not xs or any(x.__class__ is str for x in xs):
        return None
    return [as_float(options, x, "x") for x in xs]


def column(options: ChartOptions, name: str, values: list[Any], labels: list[str] | None) -> Series:
    """A series of those values; errors name a value by its label, or else by its number from 1."""
    kept: list[Any] = []
    numbers: list[float | None] = []
    for index, value in enumerate(values):
        if value is None or is_nan(value):
            kept.append(None)
            numbers.append(None)
            continue
        where = f'"{name}" of row {index + 1}' if name else f"value {index + 1}" if labels is None else f'"{labels[index]}"'
        numbers.append(as_float(options, value, where))
        kept.append(value)
    return Series(name, kept, numbers)


def is_number(value: Any) -> bool:
    """Whether the value is an integer, float or decimal."""
    return value.__class__ is int or value.__class__ is float or is_decimal(value)


def as_float(options: ChartOptions, value: Any, where: str) -> float:
    """The number as a float. Raises ``RuntimeFault`` for anything that cannot be drawn."""
    if not is_number(value):
        raise options.fault(f"{where} is {_article(type_of(value))}, not a number")
    try:
        number = value.to_float() if is_decimal(value) else float(value)
    except OverflowError:
        number = _LARGEST * 2
    if number != number:
        raise options.fault(f"{where} is nan, which has no place on a chart")
    if abs(number) > _LARGEST:
        known = "infinite" if number - number != 0 else "beyond 1e290"
        raise options.fault(f"{where} is {known}, which has no place on a chart")
    return number


def _article(kind: str) -> str:
    return kind if kind in ("text", "nothing", "bytes") else f"a {kind}"
