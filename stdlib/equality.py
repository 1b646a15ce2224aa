"""Groups the equal values of a column, for ``unique``, ``group_by`` and the table operations.

Equality is that of the language: ``1``, ``1.0`` and ``true`` are equal, the order of a map's entries does not matter. In
addition a NaN equals itself here, so that all NaNs form one group. A task equals nothing, not even itself. A decimal and a
float that are different numbers are different values. If the float is the nearest one to the decimal, that is an error,
because it is not certain whether ``0.1d`` and ``0.1`` are meant to be equal.
"""

from __future__ import annotations

from math import isfinite

from language.errors import RuntimeFault
from language.values import Bool, is_nan
from language.values.operators import MIXED_NUMBERS, eq, is_decimal
from language.values.salting import salted_float, salted_integer, salted_integers
from language.values.unfolding import unfolds_beyond
from language.waits import cancellation_point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

# Types whose Python equality is that of the language, and whose hashes cannot be chosen from outside.
_SIMPLE = {str, bytes, Bool, type(None)}

# How many values are processed in one operation. Other threads can run, and cancellation is possible, between two operations.
_AT_ONCE = 1 << 16

# How many characters or bits are compared in one operation.
_MOST_COMPARED = 1 << 26

# Deeper values are compared in Python, item by item: the hash of nested tuples recurses on the C stack.
_DEEPEST = 100

# How many containers are visited before repeated ones are looked for.
_MANY = 1_000_000

# Types of values whose `key()` consists of texts, integers and booleans.
_TIMES = frozenset(("date", "datetime", "duration"))

# The kinds of numbers. A group may contain several kinds.
_EXACT, _DECIMAL, _FLOAT = 0, 1, 2

_NAN = object()
# A text, so that the hash of every key that begins with it is salted: hashes of texts differ between processes.
_LIST = "list"


def group_numbers(values: list[Any], name: str) -> list[int]:
    """For each value the number of its group. Equal values share a group; groups are numbered by first appearance.

    Raises ``RuntimeFault`` that begins with ``name`` when a decimal and a float might be equal.
    """
    stand_ins = _stand_ins(values, name)
    if stand_ins is None:
        return _by_comparison(values, name)
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(stand_in, len(numbers)) for stand_in in stand_ins]


def first_appearances(values: list[Any], name: str) -> list[Any]:
    """The first value of each group of equal values. Raises as :func:`group_numbers` does."""
    kinds = set(map(type, values))
    if kinds <= _SIMPLE:
        return list(_first_by_key(values, values))
    if kinds == {int}:
        return list(_first_by_key(salted_integers(values), values).values())
    result: list[Any] = []
    for value, number in zip(values, group_numbers(values, name)):
        if number == len(result):
            result.append(value)
    return result


def _first_by_key(keys: list[Hashable], values: list[Any]) -> dict[Hashable, Any]:
    """The first value of each key, in order of first appearance, where values with equal keys are indistinguishable."""
    found: dict[Hashable, Any] = {}
    for start in range(0, len(keys), _AT_ONCE):
        found.update(zip(keys[start : start + _AT_ONCE], values[start : start + _AT_ONCE]))
    return found


def grouped(values: list[Any], items: list[Any], name: str) -> list[tuple[Any, list[Any]]]:
    """The items grouped by equal values: pairs of the first such value and the items. Raises as :func:`group_numbers`."""
    groups: list[tuple[Any, list[Any]]] = []
    for value, item, number in zip(values, items, group_numbers(values, name)):
        if number == len(groups):
            groups.append((value, [item]))
        else:
            groups[number][1].append(item)
    return groups


def position_of(item: Any, items: list[Any], name: str) -> int | None:
    """The position of the first item equal to ``item``. Raises ``RuntimeFault`` that begins with ``name``."""
    kind = item.__class__
    if kind is str or kind is int:
        # Python's equality with a text or an integer is that of the language, whatever the other operand.
        return _native_position(item, items)
    mixed = False
    for position, candidate in enumerate(items):
        try:
            if eq(candidate, item):
                return position
        except RuntimeFault as fault:
            if fault.message != MIXED_NUMBERS:
                raise
            mixed = True
    if mixed:
        raise RuntimeFault(f"{name}: {MIXED_NUMBERS}", kind="type")
    return None


def _native_position(item: Any, items: list[Any]) -> int | None:
    """The position of the first item equal to a text or an integer, by Python's own search in pieces."""
    weight = len(item) if item.__class__ is str else item.bit_length()
    piece = max(1, min(_AT_ONCE, _MOST_COMPARED // (weight + 1)))
    for start in range(0, len(items), piece):
        try:
            return items.index(item, start, start + piece)
        except ValueError:
            cancellation_point()
    return None


def _stand_ins(values: list[Any], name: str) -> list[Hashable] | None:
    """A hashable key for every value, equal where the values are; ``None`` when the values must be compared in pairs.

    Raises as :func:`group_numbers` does.
    """
    kinds = set(map(type, values))
    if kinds <= _SIMPLE:
        return values
    if kinds == {int}:
        return salted_integers(values)
    met = _Met(values)
    try:
        stand_ins = [_frozen(value, met, 0) for value in values]
    except _NotHashable:
        return None
    if len(met.kinds) > 1:
        _check_mixed(values, stand_ins, name)
    return stand_ins


def _check_mixed(values: list[Any], stand_ins: list[Hashable], name: str) -> None:
    """Raises ``RuntimeFault`` where a value and the first one of its group are a decimal and a float that might be equal."""
    met = _Met(values, nearest=True)
    #: The kinds of the numbers in the first value of each group, and the groups with such numbers.
    firsts: dict[Hashable, list[int]] = {}
    nearby: dict[Hashable, list[int]] = {}
    for value, stand_in in zip(values, stand_ins):
        met.numbers = []
        near = _frozen(value, met, 0)
        others = firsts.get(stand_in) or nearby.setdefault(near, [_EXACT] * len(met.numbers))
        if _DECIMAL | _FLOAT in [before | now for before, now in zip(others, met.numbers)]:
            raise RuntimeFault(f"{name}: {MIXED_NUMBERS}")
        if stand_in not in firsts:
            firsts[stand_in] = met.numbers
            others[:] = [before | now for before, now in zip(others, met.numbers)]


class _NotHashable(Exception):
    """The value has its own comparison and no hashable key."""


class _Met:
    """State of making keys: whether decimals and floats were seen, and how many containers.

    ``nearest``: the key of a decimal is that of the nearest float. ``numbers`` then has the kind of every number of a value,
    in an order that is the same for values with equal keys.
    """

    __slots__ = ("containers", "kinds", "nearest", "numbers", "values")

    def __init__(self, values: list[Any], *, nearest: bool = False) -> None:
        self.values = values
        self.nearest = nearest
        self.kinds: set[int] = set()
        self.numbers: list[int] = []
        self.containers = 0

    def number(self, kind: int) -> None:
        if self.nearest:
            self.numbers.append(kind)
        elif kind:
            self.kinds.add(kind)

    def container(self) -> None:
        """Raises ``_NotHashable`` where shared containers repeat so often that the keys would be far too large."""
        self.containers += 1
        if self.containers == _MANY and unfolds_beyond(self.values):
            raise _NotHashable


def _frozen(value: Any, met: _Met, depth: int) -> Hashable:
    """The key of one value; records what it contains in ``met``."""
    kind = value.__class__
    if kind is str or kind is bytes or value is None:
        return value  # type: ignore[no-any-return]
    if kind is int:
        met.number(_EXACT)
        return salted_integer(value)
    if kind is Bool:
        met.number(_EXACT)
        return salted_integer(1 if value else 0)  # a bool equals that number
    if kind is float:
        if value != value:
            return _NAN
        met.number(_FLOAT)
        return salted_float(value)
    if is_decimal(value):
        met.number(_DECIMAL)
        if met.nearest and isfinite(near := value.to_float()):
            return salted_float(near)
        return salted_integer(value.to_int()) if value.is_whole() else value.key()
    if getattr(kind, "language_type", None) in _TIMES:
        return tuple([salted_integer(part) if part.__class__ is int else part for part in value.key()])
    if depth < _DEEPEST:
        if kind is list:
            met.container()
            return (_LIST, *[_frozen(item, met, depth + 1) for item in value])
        if kind is dict:
            met.container()
            # Sorted, so that the kinds of the numbers in equal maps have the same order.
            fields = sorted(value.items()) if met.nearest else value.items()
            return frozenset([(key, _frozen(item, met, depth + 1)) for key, item in fields])
    if callable(value):
        return object()
    raise _NotHashable


def _by_comparison(values: list[Any], name: str) -> list[int]:
    firsts: list[Any] = []
    numbers: list[int] = []
    for value in values:
        at = _equal_position(value, firsts, name)
        if at is None:
            at = len(firsts)
            firsts.append(value)
        numbers.append(at)
    return numbers


def _equal_position(value: Any, firsts: list[Any], name: str) -> int | None:
    if is_nan(value):
        return next((position for position, first in enumerate(firsts) if is_nan(first)), None)
    return position_of(value, firsts, name)
