"""Lists and higher-order operations.

Callbacks are called from Python loops and not from C code, so that deep recursion, errors and cancellation work there as
everywhere else.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import MISSING, Family
from language.runtime.calls import callback
from language.values import FALSE, TRUE, as_map, is_callable, type_of
from language.values.display import key_text
from language.values.operators import to_index
from stdlib import equality, ordering
from stdlib.rows import column

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.values import Bool

family = Family("lists", "Lists and higher-order operations")


def expect_list(name: str, value: Any) -> list[Any]:
    """``value`` if it is a list. Raises ``RuntimeFault`` otherwise."""
    if value.__class__ is not list:
        raise RuntimeFault(f"{name} expects a list, got {type_of(value)}", kind="type")
    return value


def task_and_list(name: str, first: Any, second: Any) -> tuple[Any, list[Any]]:
    """The two arguments, which may be given in either order, the task first. Raises ``RuntimeFault`` unless one is a list."""
    if first.__class__ is list and second.__class__ is not list:
        return second, first
    if second.__class__ is list and first.__class__ is not list:
        return first, second
    if first.__class__ is list or (is_callable(first) and is_callable(second)):
        twice = "lists" if first.__class__ is list else "tasks"
        raise RuntimeFault(
            f"{name}: expected one task and one list (either order: {name}(fn, list, ...) or {name}(list, fn, ...)), "
            f"got two {twice}",
            kind="type",
        )
    raise RuntimeFault(f"{name} expects a list, got {type_of(second if is_callable(first) else first)}", kind="type")


def keys_of(items: list[Any], key: Any, name: str) -> list[Any]:
    """The keys to group by: the values of a column when ``key`` is text, else the task's result for each item."""
    if key.__class__ is str:
        return column(items, name, key)
    call = callback(key, 1)
    return [call(item) for item in items]


def _chosen(name: str, items: Any, pred: Any, *, truth: bool = True, most: int = -1) -> list[Any]:
    """The first ``most`` items (all when negative) for which the truth of the predicate's result is ``truth``."""
    task, items = task_and_list(name, items, pred)
    call = callback(task, 1)
    found: list[Any] = []
    for item in items:
        passed = call(item)
        if (passed is TRUE or (passed is not FALSE and bool(passed))) is truth:
            found.append(item)
            if len(found) == most:
                break
    return found


@family.builtin("apply(fn, list)", result="list", fresh=True)
def apply(fn: Any, items: Any) -> list[Any]:
    """The results of `fn(item)` for every item, in order: `apply([1, 2], (x) => x * 2)` is `[2, 4]`.

    Task and list may come in either order.
    """
    task, items = task_and_list("apply", fn, items)
    call = callback(task, 1)
    return [call(item) for item in items]


@family.builtin("where(list, pred)", result="list", fresh=True)
def where(items: Any, pred: Any) -> list[Any]:
    """The items for which `pred(item)` is true, in order: `where([1, 2, 3], (x) => x > 1)` is `[2, 3]`.

    Task and list may come in either order.
    """
    return _chosen("where", items, pred)


@family.builtin("transform(list, fn, pred?)", result="list")
def transform(items: Any, fn: Any, pred: Any = None) -> list[Any]:
    """The list with `fn(item)` in place of the items for which `pred(item)` is true; without `pred`, of all items.

    `transform([3, 1], (x) => 0, (x) => x == 1)` is `[3, 0]`. Task and list may come in either order.
    """
    task, items = task_and_list("transform", items, fn)
    call = callback(task, 1)
    if pred is None:
        return [call(item) for item in items]
    passes = callback(pred, 1)
    return [call(item) if passes(item) else item for item in items]


@family.builtin("reduce(list, fn, init?)")
def reduce(items: Any, fn: Any, init: Any = MISSING) -> Any:
    """Folds the list from the left: the result of `fn(acc, item)` is the next `acc`, `init` (default `0`) the first.

    `reduce([1, 2, 3], (a, b) => a + b)` is `6`; an empty list gives `init`. Task and list may come in either order.
    """
    task, items = task_and_list("reduce", items, fn)
    call = callback(task, 2)
    acc = 0 if init is MISSING else init
    for item in items:
        acc = call(acc, item)
    return acc


@family.builtin("sort(list, desc = false)", named=("desc",), result="list", fresh=True, keeps="items")
def sort(items: Any, desc: Any = None) -> list[Any]:
    """A sorted copy of the list; with `desc = true` the greatest first. Equal items keep their order in both directions.

    Numbers come by value, text by code point, `false` before `true`, bytes and lists item by item, dates by time; `nan` and
    then `nothing` come last in both directions. Items of different kinds, and kinds without order (maps, tasks), are an error.
    """
    expect_list("sort", items)
    return ordering.arranged(items, items, bool(desc), "sort")


@family.builtin("sort_by(list, keyfn, desc = false)", named=("desc",), result="list", fresh=True, keeps="items")
def sort_by(items: Any, keyfn: Any, desc: Any = None) -> list[Any]:
    """The list sorted by what `keyfn(item)` gives, in the order of `sort`; a list as key sorts by several things.

    `sort_by(rows, (r) => [r.city, r.age])`. `keyfn` is called once for each item. Task and list may come in either order.
    """
    task, items = task_and_list("sort_by", items, keyfn)
    call = callback(task, 1)
    return ordering.arranged(items, [call(item) for item in items], bool(desc), "sort_by")


@family.builtin("group_by(list, keyfn)", result="list")
def group_by(items: Any, keyfn: Any) -> list[dict[str, Any]]:
    """A list of `{key, items}`: the items that share a key, groups and items in order of first appearance.

    `keyfn` is a task or the name of a column: `group_by(rows, "city")`. Keys are compared as by `==` and keep their type (`1`
    and `1.0` are one group, `"1"` another); `nan` is one group. A column that no row has is an error. The arguments may come in
    either order.
    """
    task, items = task_and_list("group_by", items, keyfn)
    keys = keys_of(items, task, "group_by")
    return [{"key": key, "items": members} for key, members in equality.grouped(keys, items, "group_by")]


@family.builtin("count_by(list, key?)")
def count_by(items: Any, key: Any = None) -> list[dict[str, Any]]:
    """A list of `{key, count}`: how often each item occurs, or each key that a task or a column name gives.

    `count_by(["a", "b", "a"])` is `[{key: "a", count: 2}, {key: "b", count: 1}]`, in order of first appearance.
    """
    if key is None:
        keys = expect_list("count_by", items)
    else:
        task, items = task_and_list("count_by", items, key)
        keys = keys_of(items, task, "count_by")
    return [{"key": value, "count": len(members)} for value, members in equality.grouped(keys, keys, "count_by")]


@family.builtin("find_first(list, pred)")
def find_first(items: Any, pred: Any) -> Any:
    """The first item for which `pred(item)` is true, or `nothing`. Task and list may come in either order."""
    found = _chosen("find_first", items, pred, most=1)
    return found[0] if found else None


@family.builtin("every(list, pred)", result="bool", keeps="nothing")
def every(items: Any, pred: Any) -> Bool:
    """Whether `pred(item)` is true for all items; `true` for an empty list. Stops at the first `false`. The arguments may come
    in either order.
    """
    return FALSE if _chosen("every", items, pred, truth=False, most=1) else TRUE


@family.builtin("some(list, pred)", result="bool", keeps="nothing")
def some(items: Any, pred: Any) -> Bool:
    """Whether `pred(item)` is true for at least one item; `false` for an empty list. Stops at the first `true`. The arguments
    may come in either order.
    """
    return TRUE if _chosen("some", items, pred, most=1) else FALSE


@family.builtin("count_where(list, pred)", result="int", keeps="nothing")
def count_where(items: Any, pred: Any) -> int:
    """How many items `pred(item)` is true for. Task and list may come in either order."""
    return len(_chosen("count_where", items, pred))


@family.builtin("zip_with(a, b, fn)", result="list")
def zip_with(a: Any, b: Any, fn: Any) -> list[Any]:
    """The results of `fn(x, y)` for the items of two lists pairwise; stops at the end of the shorter.

    `zip_with([1, 2], [10, 20], (x, y) => x + y)` is `[11, 22]`. The task may also come first: `zip_with(fn, a, b)`.
    """
    if a.__class__ is not list and not is_callable(fn):
        a, b, fn = b, fn, a
    if not is_callable(fn):
        raise RuntimeFault(
            "zip_with: expected two lists and one task (either order: zip_with(fn, list_a, list_b) or "
            f"zip_with(list_a, list_b, fn)), got {type_of(fn)} as the combiner",
            kind="type",
        )
    call = callback(fn, 2)
    return [call(x, y) for x, y in zip(expect_list("zip_with", a), expect_list("zip_with", b))]


@family.builtin("collect(list, field)", result="list")
def collect(items: Any, field: Any) -> list[Any]:
    """The value of one field of every map: `collect(rows, "name")`. `nothing` where it is absent or the item is not a map."""
    name = key_text(field)
    values: list[Any] = []
    for item in expect_list("collect", items):
        fields = item if item.__class__ is dict else as_map(item)
        values.append(None if fields is None else fields.get(name))
    return values


@family.builtin("flatten(list)")
def flatten(items: Any) -> Any:
    """The list with the items of inner lists in their place, one level deep: `flatten([1, [2, [3]]])` is `[1, 2, [3]]`; of an
    array all its elements in one dimension.
    """
    if type_of(items) == "array":
        return items.flattened()
    result: list[Any] = []
    for item in expect_list("flatten", items):
        if item.__class__ is list:
            result += item
        else:
            result.append(item)
    return result


@family.builtin("unique(list)", result="list")
def unique(items: Any) -> list[Any]:
    """The list without repetitions, first appearances kept. Compared as by `==` (`1` and `1.0` are one); `nan` counts once."""
    return equality.first_appearances(expect_list("unique", items), "unique")


@family.builtin("index_of(list, item)", keeps="nothing")
def index_of(within: Any, sought: Any) -> int | None:
    """The position of the first item equal to `item`, or for which the task `item` gives true; `nothing` if there is none.

    In a text: the position of the first occurrence of a piece, in characters: `index_of("héllo", "llo")` is `2`.
    """
    if within.__class__ is str:
        if sought.__class__ is not str:
            raise RuntimeFault(f"index_of(text, …) looks for a piece of text, got {type_of(sought)}", kind="type")
        found = within.find(sought)
        return None if found < 0 else found
    items = expect_list("index_of", within)
    if not is_callable(sought):
        return equality.position_of(sought, items, "index_of")
    call = callback(sought, 1)
    for position, item in enumerate(items):
        passed = call(item)
        if passed is TRUE or (passed is not FALSE and passed):
            return position
    return None


@family.builtin("chunk(list, size)", result="list")
def chunk(items: Any, size: Any) -> list[list[Any]]:
    """The list cut into lists of `size` items; the last may be shorter: `chunk([1, 2, 3], 2)` is `[[1, 2], [3]]`."""
    if items.__class__ is not list:
        raise RuntimeFault("chunk: first argument must be a list", kind="type")
    width = to_index(size)
    if width <= 0:
        raise RuntimeFault("chunk size must be positive")
    return [items[start : start + width] for start in range(0, len(items), width)]
