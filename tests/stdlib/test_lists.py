"""Lists and higher-order operations, with callbacks that are tasks of a running program or plain functions of Python."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import language
from language.errors import RuntimeFault
from language.registry import MISSING
from language.values import FALSE, TRUE, Secret, to_bool
from language.values.decimals import parse as dec
from language.values.display import display
from language.values.operators import MIXED_NUMBERS, same
from stdlib.lists import family

NAN = math.nan
TASK_AND_LIST = ("apply", "where", "transform", "reduce", "sort_by", "group_by", "find_first", "every", "some", "count_where")


def run(name, *values, **named):
    return family.builtins[name].function(*values, **named)


def fault(name, *values, **named):
    with pytest.raises(RuntimeFault) as caught:
        run(name, *values, **named)
    return caught.value.message


def program(source):
    result = language.run(source)
    assert result["ok"], result["errors"]
    return result["output"]


def shown(value):
    return display(value)


numbers = st.integers(-5, 5) | st.floats(-3, 3, allow_nan=False).map(lambda x: round(x * 2) / 2)
scalars = numbers | st.text("ab1", max_size=2) | st.booleans().map(to_bool) | st.none() | st.just(NAN)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2), max_leaves=4
)


# --- the two arguments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TASK_AND_LIST)
def test_either_order(name):
    def task(a, b=0):
        return a if a.__class__ is not int else a % 2

    assert shown(run(name, [3, 1, 2], task)) == shown(run(name, task, [3, 1, 2]))
    twice = f"{name}: expected one task and one list (either order: {name}(fn, list, ...) or {name}(list, fn, ...)), got two "
    assert fault(name, [1], [2]) == twice + "lists"
    assert fault(name, task, task) == twice + "tasks"
    assert fault(name, task, "ab") == f"{name} expects a list, got text"
    assert fault(name, {}, task) == f"{name} expects a list, got map"
    assert fault(name, 1, None) == f"{name} expects a list, got number"
    if name != "group_by":
        assert fault(name, [1], "x") == "Cannot call value of type text"
    assert fault(name, None, [1]) == "Cannot call value of type nothing"


def test_callbacks_are_called_by_the_loose_rule():
    assert program("print(apply([1, 2], () => 7), apply([1], (a, b) => text(b)), reduce([1, 2], (acc) => acc))") == [
        '[7, 7] ["nothing"] 0'
    ]
    assert program("task f(a, b = 5)\n    give a + b\nprint(apply([1], f), [1, 2] |> apply(text), apply(upper, [true]))") == [
        '[6] ["1", "2"] ["TRUE"]'
    ]


def test_the_list_is_taken_at_the_call():
    assert program("""
let xs be [1, 2, 3]
task grow(x)
    set xs to append(xs, x)
    give length(xs)
print(apply(xs, grow), xs)
""") == ["[4, 5, 6] [1, 2, 3, 1, 2, 3]"]


def test_errors_and_stops_pass_through():
    assert program("""
task third(x)
    when x == 3
        raise("three")
    print(x)
    give x
try
    apply([1, 2, 3, 4], third)
recover e
    print(e)
task leave(x)
    stop
each round in [1, 2]
    print("round", round)
    apply([1, 2], leave)
    print("never")
print("end")
""") == ["1", "2", "three", "round 1", "end"]


# --- apply and its like -----------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(), max_size=8))
def test_they_are_the_comprehensions_of_python(items):
    odd = lambda x: to_bool(x % 2)  # noqa: E731
    assert run("apply", items, lambda x: x * 2) == [x * 2 for x in items]
    assert run("where", items, odd) == [x for x in items if x % 2]
    assert run("transform", items, lambda x: -x, odd) == [-x if x % 2 else x for x in items]
    assert run("transform", items, lambda x: -x) == [-x for x in items]
    assert run("reduce", items, lambda a, b: a + b) == sum(items)
    assert run("count_where", items, odd) == sum(x % 2 for x in items)
    assert run("every", items, odd) is to_bool(all(x % 2 for x in items))
    assert run("some", items, odd) is to_bool(any(x % 2 for x in items))
    assert run("find_first", items, odd) == next((x for x in items if x % 2), None)
    assert run("index_of", items, odd) == next((i for i, x in enumerate(items) if x % 2), None)


def test_reduce_starts_where_it_is_told():
    pair = lambda a, b: [a, b]  # noqa: E731
    assert run("reduce", [1, 2], pair) == [[0, 1], 2]
    assert run("reduce", [1], pair, None) == [None, 1]
    assert run("reduce", pair, [], "x") == "x"
    assert run("reduce", [], pair) == 0
    assert run("reduce", [], pair, MISSING) == 0


@pytest.mark.parametrize(("name", "stops_at"), [("find_first", 2), ("some", 2), ("every", 1), ("index_of", 2)])
def test_searches_stop_early(name, stops_at):
    seen = []

    def passes(x):
        seen.append(x)
        return to_bool(x >= 2)

    run(name, [1, 2, 3, 4], passes)
    assert seen == list(range(1, stops_at + 1))


def test_conditions_go_by_truthiness():
    falsy = [None, FALSE, 0, 0.0, dec("0"), "", [], {}, b"", 0j, Secret("", ("K",))]
    assert run("where", falsy, lambda x: x) == []
    assert run("count_where", [NAN, "0", [0], {"a": None}, b"\0", -0.5, len], lambda x: x) == 7


def test_empty_lists():
    assert run("every", [], lambda x: FALSE) is TRUE
    assert run("some", [], lambda x: TRUE) is FALSE
    assert run("find_first", [], lambda x: TRUE) is None
    for name in ("apply", "where", "transform", "sort_by", "group_by", "count_by"):
        assert run(name, [], lambda x: x) == []
    for name in ("flatten", "unique", "sort", "count_by"):
        assert run(name, []) == []


# --- sorting ----------------------------------------------------------------------------------------------------------------


def test_the_order_of_every_kind():
    assert shown(run("sort", [2.5, 1, 10, -1.5])) == "[-1.5, 1, 2.5, 10]"
    assert shown(run("sort", [dec("2.5"), 1, dec("1.50"), 10**400])) == "[1, 1.50, 2.5, 1" + "0" * 400 + "]"
    assert run("sort", ["b", "a", "C", "é", "", "😀", "\uffff"]) == ["", "C", "a", "b", "é", "\uffff", "😀"]
    assert run("sort", [TRUE, FALSE, TRUE]) == [FALSE, TRUE, TRUE]
    assert run("sort", [b"b", b"", b"a\0", b"a"]) == [b"", b"a", b"a\0", b"b"]
    assert run("sort", [[2], [1, 9], [], [1]]) == [[], [1], [1, 9], [2]]
    assert run("sort", [[1, "b"], [1, "a"], [0, "z"]]) == [[0, "z"], [1, "a"], [1, "b"]]


def test_numbers_compare_exactly():
    big = 2**53
    assert run("sort", [big + 1, float(big), big - 1]) == [big - 1, float(big), big + 1]
    assert run("sort", [10**400, math.inf, -math.inf, -(10**400)]) == [-math.inf, -(10**400), 10**400, math.inf]


def test_nan_and_nothing_are_last_in_both_directions():
    assert shown(run("sort", [3, None, 1, NAN, 2], desc=TRUE)) == "[3, 2, 1, nan, nothing]"
    assert shown(run("sort", [3, None, 1, NAN, 2])) == "[1, 2, 3, nan, nothing]"
    assert shown(run("sort", [None, "b", None, "a"], TRUE)) == '["b", "a", nothing, nothing]'
    assert shown(run("sort", [NAN, None])) == "[nan, nothing]"
    assert shown(run("sort", [[1, None], [1, NAN], [1, 2], [1, 3]], desc=TRUE)) == "[[1, 3], [1, 2], [1, nan], [1, nothing]]"
    assert shown(run("sort", [[1, None], [1, NAN], [1, 2], [1]])) == "[[1], [1, 2], [1, nan], [1, nothing]]"


@pytest.mark.parametrize(
    ("items", "kinds"),
    [
        ([1, "a"], "number and text"),
        (["a", 1, "b"], "text and number"),
        ([TRUE, 1], "bool and number"),
        ([b"", ""], "bytes and text"),
        ([[1], 1], "list and number"),
        ([dec("1"), "a"], "decimal and text"),
        ([[1, "a"], [1, 2]], "text and number"),
        ([None, 1, "a"], "number and text"),
    ],
)
@pytest.mark.parametrize("desc", [None, TRUE])
def test_mixed_kinds(items, kinds, desc):
    assert fault("sort", items, desc) == f"sort: cannot order {kinds} together — make the key one type"
    assert fault("sort_by", items, lambda x: x, desc) == f"sort_by: cannot order {kinds} together — make the key one type"


@pytest.mark.parametrize("item", [{}, len, Secret("a", ("K",)), 1j])
def test_what_has_no_order(item):
    item = run if item is len else item
    for items in ([item], [item, item], [1, item], [[item], [item]]):
        assert "has no order" in fault("sort", items)
        assert fault("sort_by", items, lambda x: x).startswith("sort_by: ")


def test_decimals_and_floats_do_not_compare():
    assert fault("sort", [dec("1"), 2.0]) == f"sort: {MIXED_NUMBERS}"
    assert fault("sort", [[dec("1")], [2.0]]) == f"sort: {MIXED_NUMBERS}"
    assert shown(run("sort", [dec("2"), NAN, dec("1")])) == "[1, 2, nan]"


@given(st.lists(numbers, max_size=30), st.booleans())
def test_sorting_is_stable_in_both_directions(items, descending):
    rows = [{"key": key, "at": at} for at, key in enumerate(items)]
    calls = []

    def key(row):
        calls.append(row)
        return row["key"]

    result = run("sort_by", rows, key, to_bool(descending))
    assert calls == rows
    assert [row["at"] for row in result] == sorted(range(len(items)), key=items.__getitem__, reverse=descending)
    assert [row["key"] for row in result] == run("sort", items, desc=to_bool(descending))


@given(
    st.lists(st.lists(scalars.filter(lambda v: v.__class__ in (int, float, type(None))), max_size=3), max_size=8), st.booleans()
)
def test_lists_are_ordered_item_by_item(items, descending):
    sign = -1 if descending else 1

    def native(row):
        ranked = [(2, 0) if v is None else (1, 0) if v != v else (0, sign * v) for v in row]
        return [*ranked, (3, 0)] if descending else ranked

    assert shown(run("sort", items, to_bool(descending))) == shown(sorted(items, key=native))


def test_sort_takes_lists_alone():
    assert fault("sort", "abc") == "sort expects a list, got text"
    assert fault("sort", {}) == "sort expects a list, got map"


def test_sorting_changes_nothing_in_its_argument():
    items = [2, 1]
    assert run("sort", items) == [1, 2]
    assert items == [2, 1]


# --- groups and repetitions -------------------------------------------------------------------------------------------------


def group_by_model(items):
    groups = []
    for item in items:
        for key, members in groups:
            if same(key, item) or (key != key and item != item):
                members.append(item)
                break
        else:
            groups.append((item, [item]))
    return groups


flat = st.lists(scalars | st.lists(st.integers(0, 1), max_size=2) | st.dictionaries(st.sampled_from("ab"), st.integers(0, 1)))


@given(flat)
def test_groups_are_those_of_equality(items):
    expected = group_by_model(items)
    assert shown(run("group_by", items, lambda x: x)) == shown([{"key": key, "items": members} for key, members in expected])
    assert shown(run("count_by", items)) == shown([{"key": key, "count": len(members)} for key, members in expected])
    assert shown(run("unique", items)) == shown([key for key, _ in expected])


@given(st.lists(values, max_size=6))
def test_unique_is_idempotent(items):
    once = run("unique", items)
    assert shown(run("unique", once)) == shown(once)


def test_keys_keep_their_type():
    assert (
        shown(run("unique", [1, 1.0, TRUE, "1", NAN, NAN, None, dec("1"), "a", b"a"]))
        == '[1, "1", nan, nothing, "a", bytes(61)]'
    )
    assert shown(run("unique", [FALSE, 0, "", None, [], {}])) == '[false, "", nothing, [], {}]'
    assert shown(run("unique", [{"a": 1, "b": 2}, {"b": 2.0, "a": 1}, {"a": 1}])) == "[{a: 1, b: 2}, {a: 1}]"
    assert (
        shown(run("group_by", [1, 1.0, "1", 2], lambda x: x))
        == '[{key: 1, items: [1, 1.0]}, {key: "1", items: ["1"]}, {key: 2, items: [2]}]'
    )


def test_tasks_are_never_equal_and_secrets_are():
    assert len(run("unique", [run, run])) == 2
    assert len(run("unique", [Secret("a", ("K",)), Secret("a", ("L",)), "a", Secret("b", ("K",))])) == 2
    assert run("index_of", [Secret("a", ("K",))], Secret("a", ("L",))) == 0


@pytest.mark.parametrize(
    "items",
    [[dec("1"), 1.0], [dec("0.1"), 0.1], [[dec("1")], [1.0]], [{"a": dec("1")}, {"a": 1.0}]],
)
def test_a_decimal_and_a_float_on_the_same_number(items):
    assert fault("unique", items) == f"unique: {MIXED_NUMBERS}"
    assert fault("group_by", items, lambda x: x) == f"group_by: {MIXED_NUMBERS}"
    assert fault("index_of", items[:1], items[1]) == f"index_of: {MIXED_NUMBERS}"


def test_a_certain_difference_decides():
    assert len(run("unique", [[dec("1"), "a"], [1.0, "b"]])) == 2
    assert run("index_of", [[dec("1"), "a"]], [1.0, "b"]) is None
    # A match found first ends the comparison.
    assert shown(run("unique", [1, 1.0, dec("1.0")])) == "[1]"
    assert shown(run("unique", [dec("1.5"), NAN, dec("1.50")])) == "[1.5, nan]"


def test_deep_values():
    deep, other = [], []
    for _ in range(400):
        deep, other = [deep], [other]
    assert len(run("unique", [deep, other, [deep]])) == 2


def test_columns():
    rows = [{"c": "a", "n": 1}, {"n": 2}, {"c": "a"}]
    assert (
        shown(run("group_by", rows, "c")) == '[{key: "a", items: [{c: "a", n: 1}, {c: "a"}]}, {key: nothing, items: [{n: 2}]}]'
    )
    assert shown(run("count_by", rows, "c")) == '[{key: "a", count: 2}, {key: nothing, count: 1}]'
    assert shown(run("count_by", [1, 2, 3], lambda x: x % 2)) == "[{key: 1, count: 2}, {key: 0, count: 1}]"
    assert 'no row has a column "zz"' in fault("group_by", rows, "zz")
    assert 'no row has a column "zz"' in fault("count_by", rows, "zz")
    assert run("group_by", [], "zz") == []
    assert fault("count_by", "abc") == "count_by expects a list, got text"


def test_collect():
    assert run("collect", [{"a": 1}, {"b": 2}, 5, {"a": None}], "a") == [1, None, None, None]
    assert run("collect", [{"1": "x"}], 1) == ["x"]
    assert fault("collect", {}, "a") == "collect expects a list, got map"
    assert fault("collect", [{}], Secret("a", ("K",))) == "a secret cannot be a map key"


# --- shapes -----------------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(), max_size=20), st.integers(1, 25))
def test_chunks_flatten_back(items, size):
    chunks = run("chunk", items, size)
    assert run("flatten", chunks) == items
    assert all(len(piece) == size for piece in chunks[:-1])
    assert all(0 < len(piece) <= size for piece in chunks)


def test_chunk():
    assert run("chunk", [1, 2, 3, 4, 5], 2.0) == [[1, 2], [3, 4], [5]]
    assert fault("chunk", "abc", 2) == "chunk: first argument must be a list"
    for size in (0, -1):
        assert fault("chunk", [1], size) == "chunk size must be positive"
    assert fault("chunk", [1], 1.5).startswith("index must be an integer, got 1.5")
    assert fault("chunk", [1], "2") == "an index must be an integer, got text"


def test_flatten_goes_one_level_deep():
    assert run("flatten", [1, [2, [3]], [], "ab", {"a": [1]}]) == [1, 2, [3], "ab", {"a": [1]}]
    assert fault("flatten", "ab") == "flatten expects a list, got text"


def test_zip_with():
    def added(x, y):
        return x + y

    assert run("zip_with", [1, 2, 3], [10, 20], added) == [11, 22]
    assert run("zip_with", added, [1], [10, 20]) == [11]
    combiner = (
        "zip_with: expected two lists and one task (either order: zip_with(fn, list_a, list_b) or "
        "zip_with(list_a, list_b, fn)), got {} as the combiner"
    )
    assert fault("zip_with", [1], [2], 5) == combiner.format("number")
    assert fault("zip_with", 5, [1], [2]) == combiner.format("number")
    assert fault("zip_with", [1], [2], [3]) == combiner.format("list")
    assert fault("zip_with", [1], "ab", added) == "zip_with expects a list, got text"
    assert fault("zip_with", added, [1], 2) == "zip_with expects a list, got number"


def test_index_of():
    assert run("index_of", [1, 2.0, "2", None, [1]], 2) == 1
    assert run("index_of", [1, "2", None], None) == 2
    assert run("index_of", [NAN], NAN) is None
    assert run("index_of", [[1], [1.0, 2]], [1, 2]) == 1
    assert run("index_of", [0, FALSE], FALSE) == 0
    assert run("index_of", [], 1) is None
    assert run("index_of", "héllo", "llo") == 2
    assert run("index_of", "héllo", "") == 0
    assert run("index_of", "héllo", "z") is None
    assert fault("index_of", "abc", 1) == "index_of(text, …) looks for a piece of text, got number"
    assert fault("index_of", 5, 1) == "index_of expects a list, got number"


def test_large_lists_are_handled_at_the_speed_of_c():
    items = list(range(200_000))
    random.Random(1).shuffle(items)
    assert run("sort", items) == sorted(items)
    texts = [str(item) for item in items]
    assert run("sort_by", texts, lambda text: len(text))[0] in {str(digit) for digit in range(10)}
    assert len(run("unique", texts * 2)) == len(texts)
    assert len(run("group_by", items, lambda x: x % 100)) == 100
