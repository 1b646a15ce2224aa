"""The join of two tables."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values.display import display
from stdlib import equality, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stdlib.rows import Row

WAYS = ("inner", "left", "right", "outer", "semi", "anti")


def join_tables(left: Any, right: Any, on: Any, how: Any) -> list[Row]:
    """The rows of two tables joined where the columns ``on`` are equal; ``how`` is one of :data:`WAYS`, ``inner`` when
    ``None``.

    Rows are in the order of the left table, the matches of each in the order of the right one. A right join is in the order
    of the right table. Rows that only the right table has come last in an outer join. Raises ``RuntimeFault``.
    """
    way = "inner" if how is None else how
    if way not in WAYS:
        raise RuntimeFault(f"join: how is one of {', '.join(WAYS)}, got {display(way)}")
    left_rows, right_rows = rows.table("join", left), rows.table("join", right)
    by = rows.column_names("join", on, "on")
    if not by:
        raise RuntimeFault("join: on names no column")
    left_keys = rows.keys(left_rows, "join", by, " of the left table")
    right_keys = rows.keys(right_rows, "join", by, " of the right table")
    groups = equality.group_numbers(left_keys + right_keys, "join")
    left_groups, right_groups = groups[: len(left_rows)], groups[len(left_rows) :]
    left_columns = rows.columns_of(left_rows) or by
    if way in ("semi", "anti"):
        matching = set(right_groups)
        wanted = way == "semi"
        return [_widened(row, left_columns) for row, group in zip(left_rows, left_groups) if (group in matching) == wanted]
    names = _right_names(left_columns, rows.columns_of(right_rows), by)
    pairs = _pairs(left_groups, right_groups, way)
    return [
        _joined(None if at is None else left_rows[at], None if other is None else right_rows[other], left_columns, names, by)
        for at, other in pairs
    ]


def _pairs(left: list[int], right: list[int], way: str) -> list[tuple[int | None, int | None]]:
    """The positions of matching rows; ``None`` on the side without a match."""
    if way == "right":
        return [(at, other) for other, at in _pairs(right, left, "left")]
    places: dict[int, list[int]] = {}
    for position, group in enumerate(right):
        places.setdefault(group, []).append(position)
    pairs: list[tuple[int | None, int | None]] = []
    for position, group in enumerate(left):
        found = places.get(group)
        if found is not None:
            pairs += [(position, other) for other in found]
        elif way != "inner":
            pairs.append((position, None))
    if way == "outer":
        matched = set(left)
        pairs += [(None, position) for position, group in enumerate(right) if group not in matched]
    return pairs


def _right_names(left: list[str], right: list[str], by: list[str]) -> dict[str, str]:
    """The names of the right table's columns in the result. Raises ``RuntimeFault`` where a new name is already used."""
    taken, keys = set(left), set(by)
    names = {name: f"{name}_right" if name in taken else name for name in right if name not in keys}
    taken.update(right)
    for name, renamed in names.items():
        if name != renamed and renamed in taken:
            raise RuntimeFault(f'join: both tables have a column "{name}", and "{renamed}" exists already: rename one first')
    return names


def _widened(row: Row, columns: list[str]) -> Row:
    return {name: row.get(name) for name in columns}


def _joined(left: Row | None, right: Row | None, columns: list[str], names: dict[str, str], by: list[str]) -> Row:
    result = _widened(left or {}, columns)
    if left is None and right is not None:
        result.update({name: right.get(name) for name in by})
    for name, renamed in names.items():
        result[renamed] = None if right is None else right.get(name)
    return result
