"""The total order of ``sort`` and related builtins, for whole columns of keys.

Numbers are ordered by value, text by code point, ``false`` before ``true``, bytes and lists lexicographically, dates by
time. NaN and then ``nothing`` are last in either direction. No task of a program is called from here: keys are computed
first.
"""

from __future__ import annotations

from _operator import ne

from language.errors import RuntimeFault
from language.values import TRUE, type_of
from language.values.operators import MIXED_NUMBERS, is_decimal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_NUMBERS = {int, float}
_NATIVE = ({int}, {str}, {bytes})
_MAY_BE_LAST = {float, type(None)}
_ORDERED = frozenset(("number", "text", "bool", "bytes", "list", "date", "datetime", "duration"))
_FRONT, _NAN, _NOTHING = 0, 1, 2
# The most work of one sorting operation: the number of items times the size that one comparison examines.
_PIECE = 1 << 16
_WEIGHT = 1 << 22
# How many sorted pieces are merged at a time.
_RUNS = 32


def arranged(items: list[Any], keys: list[Any], descending: bool, name: str) -> list[Any]:
    """The items sorted by their keys, as a new list. Sorting is stable in both directions.

    Raises ``RuntimeFault`` that begins with ``name`` when two keys cannot be compared.
    """
    kinds = set(map(type, keys))
    if kinds in _NATIVE or (kinds <= _NUMBERS and not _has_nan(keys)):
        return _by_stream(items, keys, descending)
    if not kinds & _MAY_BE_LAST:
        return _arranged(items, keys, descending, name)
    front: list[int] = []
    nans: list[Any] = []
    missing: list[Any] = []
    for position, key in enumerate(keys):
        if key is None:
            missing.append(items[position])
        elif key.__class__ is float and key != key:
            nans.append(items[position])
        else:
            front.append(position)
    return _arranged([items[p] for p in front], [keys[p] for p in front], descending, name) + nans + missing


def _arranged(items: list[Any], keys: list[Any], descending: bool, name: str) -> list[Any]:
    """:func:`arranged` for keys that are neither NaN nor nothing."""
    if not keys:
        return []
    comparable, backwards = _comparable(keys, descending, name)
    return _by_stream(items, comparable, backwards)


def _by_stream(items: list[Any], keys: list[Any], backwards: bool) -> list[Any]:
    """The items sorted by Python's order of their keys."""
    piece = max(1, min(_PIECE, _WEIGHT // _heaviest(keys)))
    if len(keys) > piece:
        return _in_pieces(items, keys, backwards, piece)
    if keys is items:
        return sorted(items, reverse=backwards)
    from functools import partial

    # Python asks for the keys item by item: it gets the next key each time, without a call of Python code.
    return sorted(items, key=partial(next, iter(keys)), reverse=backwards)


def _heaviest(keys: Sequence[Any]) -> int:
    """An upper bound on the characters, bytes or numbers that one comparison of two keys examines."""
    if not keys:
        return 1
    kind = keys[0].__class__
    if kind is str or kind is bytes:
        return max(map(len, keys)) or 1
    if kind is list:  # rows of equal length, each column of one kind
        return sum(map(_heaviest, zip(*keys))) or 1
    return 1


def _in_pieces(items: list[Any], keys: list[Any], backwards: bool, piece: int) -> list[Any]:
    """As :func:`_by_stream`, in operations on ``piece`` items. Cancellation is possible between two operations."""
    # Keys that are the items themselves are sorted directly, otherwise the positions of the keys.
    key = None if keys is items else keys.__getitem__
    column = list(items) if key is None else list(range(len(keys)))
    if backwards:
        column.reverse()
    runs = [sorted(column[start : start + piece], key=key) for start in range(0, len(column), piece)]
    while len(runs) > 1:
        runs = [_merged(runs[start : start + _RUNS], key, piece) for start in range(0, len(runs), _RUNS)]
    if backwards:
        runs[0].reverse()
    return runs[0] if key is None else [items[place] for place in runs[0]]


def _merged(runs: list[list[Any]], key: Callable[[Any], Any] | None, piece: int) -> list[Any]:
    """Merges sorted runs; of equal keys those of the earlier run come first."""
    from bisect import bisect_left, bisect_right

    result: list[Any] = []
    left = [(run, 0) for run in runs]
    while len(left) > 1:
        share = max(1, piece // len(left))
        ends = [min(start + share, len(run)) for run, start in left]
        lasts = [run[end - 1] for (run, _), end in zip(left, ends)]
        if key is not None:
            lasts = list(map(key, lasts))
        # Every remaining item belongs after the smallest of these last ones (after the first of equal ones).
        smallest = min(lasts)
        chosen = lasts.index(smallest)
        gathered: list[Any] = []
        for number, (run, start) in enumerate(left):
            end = ends[number]
            if number != chosen:
                end = (bisect_right if number < chosen else bisect_left)(run, smallest, start, end, key=key)
            gathered += run[start:end]
            left[number] = run, end
        result += sorted(gathered, key=key)
        left = [(run, start) for run, start in left if start < len(run)]
    for run, start in left:
        result += run[start:]
    return result


def _comparable(keys: list[Any], descending: bool, name: str) -> tuple[list[Any], bool]:
    """Keys whose order in Python's sort is that of the language, and whether to sort them in reverse."""
    if _is_native(keys):
        return keys, descending
    families: dict[str, Any] = {}
    for key in keys:
        families.setdefault(_family(key, name), key)
    if len(families) > 1:
        first, second, *_ = families.values()
        raise _mixed_kinds(first, second, name)
    (family,) = families
    if family == "bool":
        return [key is TRUE for key in keys], descending
    if family == "number":
        if any(map(is_decimal, keys)) and float in map(type, keys):
            raise RuntimeFault(f"{name}: {MIXED_NUMBERS}", kind="type")
        return keys, descending
    if family == "datetime" and len({key.zone is None for key in keys}) > 1:
        from language.values.datetimes import MIXED_ZONES

        raise RuntimeFault(f"{name}: {MIXED_ZONES}", kind="type")
    if family in ("datetime", "duration"):
        return [key.micros for key in keys], descending
    if family == "date":
        return [key.days for key in keys], descending
    if family == "list" and not _is_native_table(keys):
        return [_ListKey(key, descending, name) for key in keys], False
    return keys, descending


def _is_native(keys: Sequence[Any]) -> bool:
    """Whether all keys are numbers without decimals, or all text, or all bytes."""
    kinds = set(map(type, keys))
    return kinds <= _NUMBERS or kinds in _NATIVE


def _is_native_table(keys: list[list[Any]]) -> bool:
    """Whether the lists are rows of equal length whose columns are all native and without NaN."""
    if len(set(map(len, keys))) != 1:
        return False
    return all(_is_native(column) and not _has_nan(column) for column in zip(*keys))


def _has_nan(column: Sequence[Any]) -> bool:
    return any(map(ne, column, column))


def _family(key: Any, name: str) -> str:
    """The name of the group of comparable types. Raises ``RuntimeFault`` for a type without an order."""
    kind = type_of(key)
    if kind == "decimal":
        return "number"
    if kind not in _ORDERED:
        raise RuntimeFault(f"{name}: a {kind} has no order — sort by a number or text taken from it", kind="type")
    return kind


def _mixed_kinds(left: Any, right: Any, name: str) -> RuntimeFault:
    return RuntimeFault(
        f"{name}: cannot order {type_of(left)} and {type_of(right)} together — make the key one type", kind="type"
    )


class _ListKey:
    """A key that is a list with items of several kinds. It is compared item by item in Python, without recursion in C."""

    __slots__ = ("_descending", "_items", "_name")

    def __init__(self, items: list[Any], descending: bool, name: str) -> None:
        self._items = items
        self._descending = descending
        self._name = name

    def __lt__(self, other: _ListKey) -> bool:
        # Python's sort passes the earlier of the two as the right operand: errors name the kinds in the order of the list.
        return _compare(other._items, self._items, self._descending, self._name, set()) > 0


def _compare(left: Any, right: Any, descending: bool, name: str, alike: set[tuple[int, int]]) -> int:
    """Negative, zero or positive as ``left`` comes before, with or after ``right`` in the given direction.

    ``alike`` records pairs of equal lists: a value may contain the same ones again and again.
    """
    left_rank, right_rank = _rank(left), _rank(right)
    if left_rank or right_rank:
        return left_rank - right_rank
    family = _family(left, name)
    if family != _family(right, name):
        raise _mixed_kinds(left, right, name)
    if family == "list":
        pair = id(left), id(right)
        if pair in alike:
            return 0
        for mine, theirs in zip(left, right):
            found = _compare(mine, theirs, descending, name, alike)
            if found:
                return found
        left, right = len(left), len(right)
        if left == right:
            alike.add(pair)
    elif family == "bool":
        left, right = left is TRUE, right is TRUE
    try:
        if left == right:
            return 0
        return -1 if (right < left if descending else left < right) else 1
    except RuntimeFault as fault:
        raise RuntimeFault(f"{name}: {fault.message}", kind=fault.kind, code=fault.code) from None


def _rank(value: Any) -> int:
    if value is None:
        return _NOTHING
    return _NAN if value.__class__ is float and value != value else _FRONT
