"""Tables (lists of maps, each of which is a row): summaries, pivots, missing values. ``join`` for tables is declared with that
for texts.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.runtime.calls import callback
from language.values import as_map, is_callable, is_nan, to_bool, type_of
from language.values.display import display
from stdlib import equality, rows, statistics
from stdlib.lists import expect_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.values import Bool
    from stdlib.rows import Row

family = Family("tables", "Tables and missing values")


@family.builtin("summarize(rows, by, aggregates)")
def summarize(table: Any, by: Any, aggregates: Any) -> list[Row]:
    """One row for every group: the columns `by` (a name or a list of names), then the aggregates.

    `summarize(sales, "city", {"n": count(), "total": sum_of("amount")})`. An aggregate is `count()`, `sum_of(col)`, `mean_of`,
    `min_of`, `max_of`, `median_of`, `quantile_of(col, q)`, `first_of`, `n_unique_of`, or a task over the list of the group's
    rows. Aggregates skip missing values and give `nothing` when a group has no other. Groups come in order of first appearance;
    `[]` makes one group of all rows. A column that no row has is an error.
    """
    source = rows.table("summarize", table)
    names = rows.column_names("summarize", by, "by")
    wanted = as_map(aggregates)
    if wanted is None:
        raise RuntimeFault(f"summarize expects a map of aggregates, got {type_of(aggregates)}", kind="type")
    for name, aggregate in wanted.items():
        if name in names:
            raise RuntimeFault(f'summarize: the column "{name}" exists already')
        if not is_callable(aggregate):
            raise RuntimeFault(f"summarize: the aggregate {name} is {type_of(aggregate)}, not a task", kind="type")
    keys = rows.keys(source, "summarize", names)
    groups = [members for _, members in equality.grouped(keys, list(range(len(source))), "summarize")]
    if not names and not source:
        groups = [[]]
    columns = [(name, _aggregated(source, groups, aggregate)) for name, aggregate in wanted.items()]
    return [
        {**{name: source[members[0]].get(name) for name in names}, **{name: values[number] for name, values in columns}}
        for number, members in enumerate(groups)
    ]


def _aggregated(source: list[Row], groups: list[list[int]], aggregate: Any) -> list[Any]:
    """The result of an aggregate for every group of positions."""
    of_column: _Aggregate | None = getattr(aggregate, "aggregate", None)
    if of_column is not None:
        values = rows.column(source, of_column.name, of_column.column)
        return [of_column.of([values[position] for position in members]) for members in groups]
    call = callback(aggregate, 1)
    return [call([source[position] for position in members]) for members in groups]


# --- aggregates -------------------------------------------------------------------------------------------------------------


class _Aggregate:
    """The task that ``sum_of("price")`` returns: a column and the aggregate of its present values."""

    __slots__ = ("_reduce", "_without", "column", "name")

    def __init__(self, name: str, column: str, reduce: Callable[[list[Any]], Any], without: Any) -> None:
        self.name = name
        self.column = column
        self._reduce = reduce
        self._without = without

    def of(self, values: list[Any]) -> Any:
        """The aggregate of the values of a group."""
        present = [value for value in values if value is not None]
        return self._reduce(present) if present else self._without


#: Without ``_of`` these are the names of builtins over a list.
_ALSO_OF_LISTS = frozenset(("sum_of", "mean_of", "min_of", "max_of", "median_of"))


def _of_column(name: str, column: Any, reduce: Callable[[list[Any]], Any], without: Any = None) -> Any:
    if column.__class__ is not str:
        message = f"{name} expects the name of a column, got {type_of(column)}"
        told = ""
        if isinstance(column, list) and name in _ALSO_OF_LISTS:
            plain = name.removesuffix("_of")
            told = f"`{plain}(xs)` is for the values of a list, `{name}` is an aggregate of `summarize`"
        raise RuntimeFault(message, kind="type", help=told)
    over = _Aggregate(name, column, reduce, without)

    def aggregate(rows_of_group: Any) -> Any:
        return over.of(rows.column(expect_list(name, rows_of_group), name, column))

    aggregate.aggregate = over  # type: ignore[attr-defined]
    return aggregate


@family.builtin("count(list?)")
def count(values: Any = None) -> Any:
    """The number of values of the list that are not missing. `count()` is the aggregate of `summarize`: the number of rows of a
    group.
    """
    if values is not None:
        return sum(1 for value in expect_list("count", values) if value is not None)

    def aggregate(rows_of_group: Any) -> int:
        return len(expect_list("count", rows_of_group))

    return aggregate


@family.builtin("sum_of(column)")
def sum_of(column: Any) -> Any:
    """The aggregate of `summarize` that adds up a column; 0 when all are missing."""
    return _of_column("sum_of", column, statistics.sum_, without=0)


@family.builtin("mean_of(column)")
def mean_of(column: Any) -> Any:
    """The aggregate of `summarize` that gives the mean of a column."""
    return _of_column("mean_of", column, statistics.mean)


@family.builtin("min_of(column)")
def min_of(column: Any) -> Any:
    """The aggregate of `summarize` that gives the smallest value of a column: of numbers, texts or dates."""
    return _of_column("min_of", column, statistics.min_)


@family.builtin("max_of(column)")
def max_of(column: Any) -> Any:
    """The aggregate of `summarize` that gives the greatest value of a column: of numbers, texts or dates."""
    return _of_column("max_of", column, statistics.max_)


@family.builtin("median_of(column)")
def median_of(column: Any) -> Any:
    """The aggregate of `summarize` that gives the median of a column."""
    return _of_column("median_of", column, statistics.median)


@family.builtin("quantile_of(column, q)")
def quantile_of(column: Any, q: Any) -> Any:
    """The aggregate of `summarize` that gives the quantile `q` (0 to 1) of a column, interpolated linearly."""
    statistics.quantile([0], q)  # raises the error of q, if any
    return _of_column("quantile_of", column, lambda values: statistics.quantile(values, q))


@family.builtin("first_of(column)")
def first_of(column: Any) -> Any:
    """The aggregate of `summarize` that gives the first value of a column that is not missing."""
    return _of_column("first_of", column, lambda values: values[0])


@family.builtin("n_unique_of(column)")
def n_unique_of(column: Any) -> Any:
    """The aggregate of `summarize` that counts the different values of a column; 0 when all are missing."""

    def different(values: list[Any]) -> int:
        return len(equality.first_appearances(values, "n_unique_of"))

    return _of_column("n_unique_of", column, different, without=0)


# --- pivot ------------------------------------------------------------------------------------------------------------------


@family.builtin("pivot(rows, index, columns, values, agg?)")
def pivot(table: Any, index: Any, columns: Any, values: Any, agg: Any = None) -> list[Row]:
    """The table with the values of one column as columns: one row for every `index` (a name or a list), cells from `values`.

    `pivot(sales, "city", "year", "amount", sum)` has the columns `city`, `2024`, `2025`, .... `agg` makes one value of several:
    a task over the list of the cell's values, or an aggregate as in `summarize`. Without it two rows for one cell are an error.
    A cell without a row is `nothing`. A column that no row has, or a new one whose name exists, is an error.
    """
    source = rows.table("pivot", table)
    by = rows.column_names("pivot", index, "index")
    across = rows.column(source, "pivot", _column_name(columns))
    cells = rows.column(source, "pivot", _column_name(values))
    if agg is not None:
        callback(agg, 1)
    row_numbers = equality.group_numbers(rows.keys(source, "pivot", by), "pivot")
    column_numbers = equality.group_numbers(across, "pivot")
    names = _names_across(across, column_numbers, by)
    members: list[dict[int, list[int]]] = []
    result: list[Row] = []
    for position, (row, column) in enumerate(zip(row_numbers, column_numbers)):
        if row == len(result):
            result.append({**{name: source[position].get(name) for name in by}, **dict.fromkeys(names)})
            members.append({})
        members[row].setdefault(column, []).append(position)
    for row, of_row in enumerate(members):
        for column, positions in of_row.items():
            result[row][names[column]] = _cell(source, cells, positions, agg, names[column])
    return result


def _column_name(value: Any) -> str:
    (name,) = rows.column_names("pivot", [value], "each of columns and values")
    return name


def _names_across(across: list[Any], numbers: list[int], by: list[str]) -> list[str]:
    names: dict[str, None] = {}
    taken = set(by)
    for value, number in zip(across, numbers):
        if number == len(names):
            name = display(value)
            if name in names or name in taken:
                raise RuntimeFault(f'pivot: the column "{name}" exists already')
            names[name] = None
    return list(names)


def _cell(source: list[Row], cells: list[Any], positions: list[int], agg: Any, name: str) -> Any:
    if agg is None:
        if len(positions) > 1:
            raise RuntimeFault(
                f'pivot: {len(positions)} rows fall into one cell of column "{name}" — pass an aggregate, e.g. sum'
            )
        return cells[positions[0]]
    if hasattr(agg, "aggregate"):
        return callback(agg, 1)([source[position] for position in positions])
    return callback(agg, 1)([cells[position] for position in positions])


# --- missing values ---------------------------------------------------------------------------------------------------------


@family.builtin("is_missing(x)")
def is_missing(x: Any) -> Bool:
    """Whether the value is missing: `nothing`. (`nan` is a number; see `is_nan`.)"""
    return to_bool(x is None)


@family.builtin("fill_missing(list, value)")
def fill_missing(values: Any, value: Any) -> list[Any]:
    """The list with `value` in place of `nothing`; in a table, in place of every missing field.

    In a table a map gives a value for each column: `fill_missing(rows, {"age": 0})` leaves the other columns alone. Fields that
    a row lacks count as missing.
    """
    items = expect_list("fill_missing", values)
    source = [fields for fields in map(as_map, items) if fields is not None]
    if not source:
        return [value if item is None else item for item in items]
    fills = as_map(value)
    if fills is None:
        fills = dict.fromkeys(rows.columns_of(source), value)
    else:
        for name in fills:
            rows.column(source, "fill_missing", name)
    result: list[Any] = []
    for item in items:
        fields = as_map(item)
        if fields is None:
            result.append(item)
            continue
        filled = dict(fields)
        filled.update({name: fill for name, fill in fills.items() if fields.get(name) is None})
        result.append(filled)
    return result


@family.builtin("drop_missing(list, column?)")
def drop_missing(values: Any, column: Any = None) -> list[Any]:
    """The list without `nothing`; a table without the rows that miss a value, in any column or in the one named."""
    items = expect_list("drop_missing", values)
    source = [fields for fields in map(as_map, items) if fields is not None]
    if column is not None:
        (name,) = rows.column_names("drop_missing", [column], "column")
        return [item for item, field in zip(items, rows.column(items, "drop_missing", name)) if field is not None]
    columns = rows.columns_of(source)
    result: list[Any] = []
    for item in items:
        fields = as_map(item)
        if item is not None if fields is None else all(fields.get(name) is not None for name in columns):
            result.append(item)
    return result


@family.builtin("fill_nan(list, value)")
def fill_nan(values: Any, value: Any) -> list[Any]:
    """The list with `value` in place of `nan`; in a table, in place of every field that is `nan`."""
    result: list[Any] = []
    for item in expect_list("fill_nan", values):
        fields = as_map(item)
        if fields is None:
            result.append(value if is_nan(item) else item)
        else:
            result.append({name: value if is_nan(field) else field for name, field in fields.items()})
    return result


@family.builtin("count_missing(list)")
def count_missing(values: Any) -> int:
    """The number of missing values (`nothing`) of the list."""
    return sum(1 for value in expect_list("count_missing", values) if value is None)


@family.builtin("mode(list)")
def mode(values: Any) -> Any:
    """The value that occurs most often, missing ones apart; of several the one that appears first."""
    items = expect_list("mode", values)
    present = [item for item in items if item is not None]
    if not present:
        raise RuntimeFault("mode: every value is missing" if items else "mode of an empty list")
    groups = equality.grouped(present, present, "mode")
    most = max([len(members) for _, members in groups])
    return next(value for value, members in groups if len(members) == most)
