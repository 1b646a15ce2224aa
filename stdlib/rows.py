"""Tables of programs: lists of maps, each of which is a row. Reads columns, with the errors of missing ones."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import as_map, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Row = dict[str, Any]


def column(rows: list[Any], name: str, by: str, where: str = "") -> list[Any]:
    """The values of column ``by``, ``nothing`` in rows without it. Raises ``RuntimeFault`` when no row has it.

    ``name`` is the builtin in the error text, ``where`` a further word about the table, with a space before it.
    """
    values: list[Any] = []
    found = False
    for row in rows:
        fields = row if row.__class__ is dict else as_map(row)
        if fields is not None and by in fields:
            found = True
            values.append(fields[by])
        else:
            values.append(None)
    if rows and not found:
        raise RuntimeFault(f'{name}: no row{where} has a column "{by}"', kind="key", code="E0401")
    return values


def table(name: str, value: Any) -> list[Row]:
    """The rows of a list of maps. Raises ``RuntimeFault`` for anything else."""
    if value.__class__ is not list:
        raise RuntimeFault(f"{name} expects a list of maps, got {type_of(value)}", kind="type")
    rows: list[Row] = []
    for number, item in enumerate(value, 1):
        fields = as_map(item)
        if fields is None:
            raise RuntimeFault(f"{name} expects a list of maps, but item {number} is {type_of(item)}", kind="type")
        rows.append(fields)
    return rows


def columns_of(rows: list[Row]) -> list[str]:
    """The names of all columns, in order of first appearance."""
    found: dict[str, None] = {}
    for row in rows:
        found.update(dict.fromkeys(row))
    return list(found)


def column_names(name: str, value: Any, what: str) -> list[str]:
    """The names that an argument gives: one text or a list of texts. Raises ``RuntimeFault`` for anything else."""
    names = value if value.__class__ is list else [value]
    for item in names:
        if item.__class__ is not str:
            raise RuntimeFault(f"{name}: {what} is the name of a column or a list of names, got {type_of(item)}", kind="type")
    return list(dict.fromkeys(names))


def keys(rows: list[Row], name: str, by: list[str], where: str = "") -> list[Any]:
    """For every row the value of the one column, or the list of the values of the columns. Raises as :func:`column`."""
    columns = [column(rows, name, each, where) for each in by]
    if len(columns) == 1:
        return columns[0]
    return [list(values) for values in zip(*columns)] if columns else [[] for _ in rows]
