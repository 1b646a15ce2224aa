"""Tables: summaries, joins, pivots and missing values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.errors import RuntimeFault
from language.values import FALSE, TRUE, type_of
from language.values.decimals import parse as dec
from language.values.display import display
from language.values.operators import MIXED_NUMBERS
from stdlib import statistics
from stdlib.table_join import WAYS
from stdlib.tables import family
from stdlib.text import family as text_family

NAN = math.nan
SALES = [
    {"city": "Lima", "year": 2024, "amount": 5},
    {"city": "Oslo", "year": 2024, "amount": 7},
    {"city": "Lima", "year": 2025, "amount": 1},
    {"city": "Lima", "year": 2024, "amount": None},
    {"city": "Lima", "year": 2025, "amount": 3},
]


def run(name, *values):
    return family.builtins[name].function(*values)


def join(*values):
    return text_family.builtins["join"].function(*values)


def fault(call, *values):
    with pytest.raises(RuntimeFault) as caught:
        call(*values) if callable(call) else run(call, *values)
    return caught.value.message


# --- summarize --------------------------------------------------------------------------------------------------------------


def test_one_row_for_every_group():
    result = run(
        "summarize",
        SALES,
        "city",
        {"n": run("count"), "total": run("sum_of", "amount"), "mean": run("mean_of", "amount"), "rows": lambda rows: len(rows)},
    )
    assert result == [
        {"city": "Lima", "n": 4, "total": 9, "mean": 3.0, "rows": 4},
        {"city": "Oslo", "n": 1, "total": 7, "mean": 7.0, "rows": 1},
    ]


def test_groups_by_several_columns_and_by_none():
    aggregates = {"total": run("sum_of", "amount")}
    assert [list(row.values()) for row in run("summarize", SALES, ["year", "city"], aggregates)] == [
        [2024, "Lima", 5],
        [2024, "Oslo", 7],
        [2025, "Lima", 4],
    ]
    assert run("summarize", SALES, [], aggregates) == [{"total": 16}]
    assert run("summarize", [], [], {"n": run("count"), "total": run("sum_of", "amount")}) == [{"n": 0, "total": 0}]
    assert run("summarize", [], "city", aggregates) == []


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        ("sum_of", (), [9, 0]), ("mean_of", (), [3.0, None]), ("min_of", (), [1, None]), ("max_of", (), [5, None]),
        ("median_of", (), [3.0, None]), ("quantile_of", (0.25,), [2.0, None]), ("first_of", (), [5, None]),
        ("n_unique_of", (), [3, 0]),
    ],
)  # fmt: skip
def test_aggregates_skip_missing_values(name, more, expected):
    rows = [{"g": 1, "x": 5}, {"g": 1, "x": None}, {"g": 1, "x": 1}, {"g": 2, "x": None}, {"g": 2}, {"g": 1, "x": 3}]
    assert [row["a"] for row in run("summarize", rows, "g", {"a": run(name, "x", *more)})] == expected


def test_aggregates_are_tasks_over_rows():
    total = run("sum_of", "amount")
    assert type_of(total) == "task"
    assert total(SALES) == 16
    assert run("count")(SALES) == 5
    assert run("min_of", "city")(SALES) == "Lima"
    assert run("n_unique_of", "city")(SALES) == 2
    assert math.isnan(run("sum_of", "x")([{"x": 1}, {"x": NAN}]))
    assert display(run("sum_of", "x")([{"x": dec("0.10")}, {"x": dec("0.20")}])) == "0.30"
    assert fault(total, "abc") == "sum_of expects a list, got text"
    assert fault(total, [{"a": 1}]) == 'sum_of: no row has a column "amount"'
    assert fault("sum_of", 1) == "sum_of expects the name of a column, got number"
    assert "between 0 and 1" in fault("quantile_of", "x", 2)


def test_errors_of_summarize():
    count = run("count")
    assert fault("summarize", SALES, "town", {}) == 'summarize: no row has a column "town"'
    assert fault("summarize", SALES, "city", {"t": run("sum_of", "price")}) == 'sum_of: no row has a column "price"'
    assert fault("summarize", SALES, "city", {"city": count}) == 'summarize: the column "city" exists already'
    assert fault("summarize", SALES, "city", {"n": 5}) == "summarize: the aggregate n is number, not a task"
    assert fault("summarize", SALES, "city", [count]) == "summarize expects a map of aggregates, got list"
    assert fault("summarize", SALES, 5, {}) == "summarize: by is the name of a column or a list of names, got number"
    assert fault("summarize", [1], "city", {}) == "summarize expects a list of maps, but item 1 is number"
    assert fault("summarize", {}, "city", {}) == "summarize expects a list of maps, got map"
    mixed = [{"g": dec("1")}, {"g": 1.0}]
    assert fault("summarize", mixed, "g", {"n": count}) == f"summarize: {MIXED_NUMBERS}"


@given(st.lists(st.fixed_dictionaries({"g": st.integers(0, 3), "x": st.none() | st.integers(-9, 9)})))
def test_groups_add_up_to_the_whole(rows):
    if not rows:
        return
    parts = run("summarize", rows, "g", {"n": run("count"), "sum": run("sum_of", "x")})
    assert sum(row["n"] for row in parts) == len(rows)
    assert sum(row["sum"] or 0 for row in parts) == sum(row["x"] or 0 for row in rows)
    assert [row["g"] for row in parts] == list(dict.fromkeys(row["g"] for row in rows))


# --- join -------------------------------------------------------------------------------------------------------------------

LEFT = [{"id": 1, "a": "x"}, {"id": 2, "a": "y"}, {"id": 1, "a": "z"}]
RIGHT = [{"id": 3, "b": 30}, {"id": 1, "b": 10}, {"id": 1.0, "b": 11}]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (None, [[1, "x", 10], [1, "x", 11], [1, "z", 10], [1, "z", 11]]),
        ("inner", [[1, "x", 10], [1, "x", 11], [1, "z", 10], [1, "z", 11]]),
        ("left", [[1, "x", 10], [1, "x", 11], [2, "y", None], [1, "z", 10], [1, "z", 11]]),
        ("right", [[3, None, 30], [1, "x", 10], [1, "z", 10], [1, "x", 11], [1, "z", 11]]),
        ("outer", [[1, "x", 10], [1, "x", 11], [2, "y", None], [1, "z", 10], [1, "z", 11], [3, None, 30]]),
        ("semi", [[1, "x"], [1, "z"]]),
        ("anti", [[2, "y"]]),
    ],
)
def test_the_ways_of_joining(how, expected):
    result = join(LEFT, RIGHT, "id", how)
    assert [list(row.values()) for row in result] == expected
    columns = ["id", "a"] if how in ("semi", "anti") else ["id", "a", "b"]
    assert all(list(row) == columns for row in result)
    assert join(LEFT, RIGHT, ["id"], how) == result


def test_every_row_has_every_column():
    left = [{"id": 1, "x": 1}, {"id": 2, "y": 2}]
    right = [{"id": 2, "x": 9}, {"id": 3, "z": 3}]
    assert join(left, right, "id", "outer") == [
        {"id": 1, "x": 1, "y": None, "x_right": None, "z": None},
        {"id": 2, "x": None, "y": 2, "x_right": 9, "z": None},
        {"id": 3, "x": None, "y": None, "x_right": None, "z": 3},
    ]
    assert join([], right, "id", "outer") == [{"id": 2, "x": 9, "z": None}, {"id": 3, "x": None, "z": 3}]
    assert join(left, [], "id", "left") == [{"id": 1, "x": 1, "y": None}, {"id": 2, "x": None, "y": 2}]
    assert join(left, [], "id") == join([], right, "id") == join([], [], "id", "outer") == []


def test_several_columns_must_all_agree():
    left = [{"a": 1, "b": 1, "l": 1}, {"a": 1, "b": 2, "l": 2}]
    right = [{"b": 2, "a": 1, "r": 5}, {"b": 2, "a": 2, "r": 6}]
    assert join(left, right, ["a", "b"]) == [{"a": 1, "b": 2, "l": 2, "r": 5}]


def test_errors_of_join():
    assert fault(join, LEFT, RIGHT, "b") == 'join: no row of the left table has a column "b"'
    assert fault(join, LEFT, RIGHT, "a") == 'join: no row of the right table has a column "a"'
    assert fault(join, LEFT, RIGHT, "id", "full") == f"join: how is one of {', '.join(WAYS)}, got full"
    assert fault(join, LEFT, RIGHT, 5) == "join: on is the name of a column or a list of names, got number"
    assert fault(join, LEFT, RIGHT, []) == "join: on names no column"
    assert fault(join, LEFT, RIGHT, None, "left") == "join: on is the name of a column or a list of names, got nothing"
    assert fault(join, LEFT, [1], "id") == "join expects a list of maps, but item 1 is number"
    clash = 'join: both tables have a column "x", and "x_right" exists already: rename one first'
    assert fault(join, [{"i": 1, "x": 1, "x_right": 2}], [{"i": 1, "x": 1}], "i") == clash
    assert fault(join, [{"i": 1, "x": 1}], [{"i": 1, "x": 1, "x_right": 2}], "i") == clash
    assert fault(join, [{"i": dec("1.5")}], [{"i": 1.5}], "i") == f"join: {MIXED_NUMBERS}"
    assert join([{"i": dec("1")}], [{"i": 1.5}], "i") == []


rows = st.lists(st.fixed_dictionaries({"k": st.integers(0, 3), "v": st.integers(0, 3)}), max_size=5)


@given(rows, rows)
def test_joining_is_the_filtered_product(left, right):
    product = [(at, other) for at in left for other in right if at["k"] == other["k"]]
    inner = join(left, right, "k")
    assert [(row["v"], row["v_right"]) for row in inner] == [(at["v"], other["v"]) for at, other in product]
    keys = {row["k"] for row in right}
    assert join(left, right, "k", "semi") == [row for row in left if row["k"] in keys]
    assert join(left, right, "k", "anti") == [row for row in left if row["k"] not in keys]
    lonely_left, lonely_right = join(left, right, "k", "anti"), join(right, left, "k", "anti")
    assert len(join(left, right, "k", "left")) == len(inner) + len(lonely_left)
    assert len(join(left, right, "k", "right")) == len(inner) + len(lonely_right)
    assert len(join(left, right, "k", "outer")) == len(inner) + len(lonely_left) + len(lonely_right)


# --- pivot ------------------------------------------------------------------------------------------------------------------


def test_values_become_columns():
    assert run("pivot", SALES[:3], "city", "year", "amount") == [
        {"city": "Lima", "2024": 5, "2025": 1},
        {"city": "Oslo", "2024": 7, "2025": None},
    ]
    both = run("pivot", SALES[:3], ["city", "amount"], "year", "amount")
    assert both[0] == {"city": "Lima", "amount": 5, "2024": 5, "2025": None}


@pytest.mark.parametrize("agg", [statistics.sum_, lambda values: sum(v or 0 for v in values), "sum_of"])
def test_several_rows_of_one_cell_need_an_aggregate(agg):
    message = 'pivot: 2 rows fall into one cell of column "2024" — pass an aggregate, e.g. sum'
    assert fault("pivot", SALES, "city", "year", "amount") == message
    agg = run("sum_of", "amount") if agg == "sum_of" else agg
    assert run("pivot", SALES, "city", "year", "amount", agg) == [
        {"city": "Lima", "2024": 5, "2025": 4},
        {"city": "Oslo", "2024": 7, "2025": None},
    ]
    assert run("pivot", SALES, "city", "year", "amount", run("count"))[0] == {"city": "Lima", "2024": 2, "2025": 2}


def test_errors_of_pivot():
    assert fault("pivot", SALES, "town", "year", "amount") == 'pivot: no row has a column "town"'
    assert fault("pivot", SALES, "city", "month", "amount") == 'pivot: no row has a column "month"'
    assert fault("pivot", SALES, "city", "year", "price") == 'pivot: no row has a column "price"'
    clash = [{"i": 1, "c": 1, "v": 1}, {"i": 1, "c": "1", "v": 1}]
    assert fault("pivot", clash, "i", "c", "v") == 'pivot: the column "1" exists already'
    assert fault("pivot", [{"i": 1, "c": "i", "v": 1}], "i", "c", "v") == 'pivot: the column "i" exists already'
    assert fault("pivot", SALES, "city", ["year"], "amount") == (
        "pivot: each of columns and values is the name of a column or a list of names, got list"
    )
    assert fault("pivot", SALES, "city", "year", "amount", 5) == "Cannot call value of type number"


@given(st.dictionaries(st.tuples(st.integers(0, 3), st.sampled_from("abc")), st.integers(), min_size=1))
def test_a_pivot_loses_nothing(cells):
    long = [{"i": i, "c": c, "v": v} for (i, c), v in cells.items()]
    wide = run("pivot", long, "i", "c", "v")
    assert {(row["i"], name): row[name] for row in wide for name in row if name != "i" and row[name] is not None} == cells
    assert all(list(row) == ["i", *dict.fromkeys(c for _, c in cells)] for row in wide)


# --- missing values ---------------------------------------------------------------------------------------------------------


def test_is_missing():
    assert run("is_missing", None) is TRUE
    for value in (NAN, 0, "", FALSE, [], {}):
        assert run("is_missing", value) is FALSE


def test_fill_missing():
    assert run("fill_missing", [1, None, 3], 0) == [1, 0, 3]
    assert run("fill_missing", [None], {"a": 1}) == [{"a": 1}]
    table = [{"a": None, "b": 1}, {"b": None}, {"a": 2, "b": 3}]
    assert run("fill_missing", table, {"a": 9}) == [{"a": 9, "b": 1}, {"b": None, "a": 9}, {"a": 2, "b": 3}]
    assert run("fill_missing", table, 0) == [{"a": 0, "b": 1}, {"b": 0, "a": 0}, {"a": 2, "b": 3}]
    assert table[0] == {"a": None, "b": 1}
    assert fault("fill_missing", table, {"z": 1}) == 'fill_missing: no row has a column "z"'
    assert fault("fill_missing", "ab", 0) == "fill_missing expects a list, got text"


def test_drop_missing():
    assert run("drop_missing", [1, None, 0, "", None]) == [1, 0, ""]
    table = [{"a": 1, "b": None}, {"a": None, "b": 2}, {"a": 3}, {"a": 4, "b": 5}]
    assert run("drop_missing", table) == [{"a": 4, "b": 5}]
    assert run("drop_missing", table, "a") == [{"a": 1, "b": None}, {"a": 3}, {"a": 4, "b": 5}]
    assert run("drop_missing", [], "a") == []
    assert fault("drop_missing", table, "z") == 'drop_missing: no row has a column "z"'


def test_fill_nan():
    assert run("fill_nan", [1, NAN, None, "nan"], 0) == [1, 0, None, "nan"]
    assert run("fill_nan", [{"a": NAN, "b": 1}], None) == [{"a": None, "b": 1}]


def test_counts():
    assert run("count", [1, None, NAN, FALSE]) == 3
    assert run("count", []) == 0
    assert run("count_missing", [1, None, NAN, None]) == 2
    assert fault("count", "ab") == "count expects a list, got text"
    assert fault("count_missing", {}) == "count_missing expects a list, got map"


def test_mode():
    assert run("mode", [1, 2, 2.0, None, None, None]) == 2
    assert run("mode", ["b", "a", "a", "b"]) == "b"
    assert math.isnan(run("mode", [NAN, 1, NAN]))
    assert fault("mode", []) == "mode of an empty list"
    assert fault("mode", [None]) == "mode: every value is missing"
