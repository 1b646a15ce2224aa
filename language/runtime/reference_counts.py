"""Decides by reference counts whether a list or map has a single holder, on each supported version of Python.

A container is written in place when its variable holds the only reference to it, and is copied first otherwise. What
``sys.getrefcount`` returns for a single holder differs between versions: since 3.14 an argument may be a *borrowed reference*,
and then neither the parameter nor a local assigned from it is counted. Compiled programs therefore count in one of three ways:

- ``refs(held := variable) + refs(held)`` for a variable, :data:`ALONE` when nothing else holds its value. The first count is
  taken while the operand stack holds one reference more than at the second. Where the variable counts, both references do, and
  the sum grows by two for each further holder. Where the variable borrows, neither does: both counts are the number of other
  holders, and the sum of two equal numbers is even; there :data:`ALONE` is odd.
- ``refs(variable := variable)`` for a variable that always counts, :data:`ALONE_COUNTED` when nothing else holds its value.
  Values that are read from a container, a cell or a box, returned by a call or just created are never borrowed. If
  :data:`BORROWS` is false, no value is.
- ``refs(inner := inner)`` for a local that was just read out of a list, a map or a box: :data:`ALONE_INSIDE` when only that
  container holds it.

While a borrowed reference exists, a caller's local variable holds a reference that is counted, and no other code can assign to
that local. A variable that a closure shares is read from its cell, and such a read is counted.

When this module is loaded, :func:`disagreement` tries every way in which a value can be held, in functions of the same form as
compiled ones. Loading raises :class:`~language.errors.UnsupportedPython` where a count is not what compiled programs rely on.
"""

from __future__ import annotations

import sys
from sys import getrefcount

from language.errors import UnsupportedPython

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: The function that compiled programs call to count references.
refs = getrefcount

#: Python specialises a function's bytecode after a few calls: the counts are checked before and after that.
ROUNDS = 3


def _variable() -> int:
    items: list[Any] = []
    return refs(held := items) + refs(held)


def _inside() -> int:
    items: list[Any] = [[]]
    inner = items[0]
    return refs(inner := inner)


def _counted() -> int:
    items: list[Any] = []
    return refs(items := items)


ALONE = _variable()
ALONE_COUNTED = _counted()
ALONE_INSIDE = _inside()


def _parameter(value: Any) -> int:
    return refs(held := value) + refs(held)


def _counted_parameter(value: Any) -> int:
    return refs(value := value)


def _copied_parameter(value: Any) -> int:
    local = value
    return refs(held := local) + refs(held)


def _chosen_parameter(value: Any) -> int:
    local = value if value else None
    return refs(held := local) + refs(held)


def _captured_parameter(value: Any) -> int:
    def count() -> int:
        return refs(held := value) + refs(held)

    return count()


def _passed_on(value: Any, task: Callable[[Any], int]) -> int:
    return task(value)


def _given_back(value: Any) -> Any:
    return value


def _second(_: Any, count: int) -> int:
    return count


def _borrows() -> bool:
    items: list[Any] = []
    return _counted_parameter(items) <= _counted_parameter([])


#: Whether this Python passes arguments as borrowed references, which are not counted.
BORROWS = _borrows()

_TASKS = (_parameter, _copied_parameter, _chosen_parameter, _captured_parameter, lambda value: _copied_parameter(value))


def _shared() -> list[int]:
    """Counts of values that have another holder."""
    items: Any = [1]
    other: Any = None
    held: Any = None
    holders: list[Any] = []
    found: list[int] = []
    for _ in range(2):
        for task in _TASKS:
            found += (task(items), task(*[items]), _passed_on(items, task))
        holders.append(items)
    holders.clear()
    for _ in items:
        found.append(refs(held := items) + refs(held))
    other = items
    found += (refs(held := items) + refs(held), refs(held := other) + refs(held))
    held = other = None
    other = _given_back(items)
    found.append(refs(held := other) + refs(held))
    held = other = None
    for item in [items]:
        found.append(refs(held := item) + refs(held))
    return found


def _shared_by_a_closure() -> list[int]:
    """Counts of a variable that a closure shares, while something else holds its value."""
    items: Any = [1]
    held: Any = None

    def count() -> int:
        return refs(held := items) + refs(held)

    def count_meanwhile(_: Any) -> int:
        return count()

    other: Any = items
    found = [count(), refs(held := other) + refs(held)]
    other = held = None
    found += (_second(items, count()), count_meanwhile(items), _passed_on(items, count_meanwhile))
    return found + [count() for _ in items]


def _alone() -> list[int]:
    """Counts of values that nothing else holds any more."""
    items: Any = [1]
    other: Any = None
    held: Any = None
    for _ in items:
        pass
    other = items
    other = _parameter(items)
    found = [refs(held := items) + refs(held)]

    def count() -> int:
        return refs(held := shared) + refs(held)

    shared: Any = [other]
    _second(shared, 0)
    found.append(count())
    box: list[Any] = [[]]
    found.append(refs(held := box[0]) + refs(held))
    other = _given_back([])
    found.append(refs(held := other) + refs(held))
    return found


def _counted_alone() -> list[int]:
    """Single counts of variables that always count, while nothing else holds their value."""
    items: Any = _given_back([[]])
    found = [refs(items := items)]
    for _ in range(len(items)):
        pass
    found.append(refs(items := items))
    items = items[0]
    return [*found, refs(items := items)]


def _counted_shared() -> list[int]:
    """Single counts of variables that always count, while something else holds their value."""
    items: Any = [[1]]
    found: list[int] = []
    for item in items:
        found += (refs(item := item), refs(items := items))
    other: Any = items
    found.append(refs(items := items))
    other = _given_back(items)
    found += (refs(items := items), refs(other := other))
    other = items[0]
    found.append(refs(other := other))

    shared: Any = [1]

    def count() -> int:
        nonlocal shared
        return refs(shared := shared)

    found += (_second(shared, count()), _passed_on(shared, lambda _: count()))
    for _ in shared:
        found.append(count())
    if not BORROWS:
        found += (task(items) for task in (_counted_parameter, lambda value: _counted_parameter(value)))
    return found


def _items() -> tuple[list[int], list[int]]:
    """Counts of values in lists, maps and boxes: held by those alone, and held by something else too."""
    items: list[Any] = [[]]
    fields: dict[str, Any] = {"a": []}
    inner = items[0]
    alone = [refs(inner := inner)]
    inner = fields["a"]
    alone.append(refs(inner := inner))
    alone.append(refs(inner := items[0]))
    other = items[0]
    inner = items[0]
    shared = [refs(inner := inner), refs(inner := items[0])]
    other = [fields["a"], other]
    inner = fields["a"]
    shared.append(refs(inner := inner))
    for inner in items:
        shared.append(refs(inner := inner))
    return alone, shared


def disagreement() -> str | None:
    """Describes the first situation whose count is not what compiled programs rely on; ``None`` when there is none."""
    for _ in range(ROUNDS):
        if ALONE in _shared() or ALONE_COUNTED in _counted_shared():
            return "a value that two variables hold counts like one that has a single holder"
        if ALONE in _shared_by_a_closure():
            return "a value that a closure shares counts like one that has a single holder"
        if {*_alone()} != {ALONE} or {*_counted_alone()} != {ALONE_COUNTED}:
            return "a value with a single holder is not counted the same everywhere"
        alone, shared = _items()
        if {*alone} != {ALONE_INSIDE} or ALONE_INSIDE in shared:
            return "an item of a list or map is not counted as held by it"
    return None


def refusal(abiflags: str, gil: bool, disagrees: str | None) -> str | None:
    """Why programs cannot run on a Python, in one line; ``None`` when they can.

    ``abiflags`` are its ``sys.abiflags``, ``gil`` says whether its global lock is on, ``disagrees`` is the answer of
    :func:`disagreement`.
    """
    version = ".".join(map(str, sys.version_info[:3]))
    if "t" in abiflags or not gil:
        return f"free-threaded builds of Python are not supported (this is one, of {version}): use the ordinary build"
    if disagrees is not None:
        return f"Python {version} is not supported: {disagrees}. Use Python 3.11 to 3.15"
    return None


def _refuse() -> None:
    gil: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    message = refusal(getattr(sys, "abiflags", ""), gil(), disagreement())
    if message is not None:
        raise UnsupportedPython(message)


_refuse()
