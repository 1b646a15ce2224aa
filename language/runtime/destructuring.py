"""Destructuring: ``let [a, b] be value`` and ``let {a, b} be value``.

The whole value is checked before any name is bound. The compiler passes a pattern as a tuple: its source in one line; ``list``
or ``map``; for a list the position of ``...`` (-1 without one), for a map its keys; its parts, each of which is another pattern
or says whether a name is bound.
"""

from __future__ import annotations

from typing import Any

from language.errors import RuntimeFault
from language.values import as_map, type_of


def taken_apart(value: Any, shape: tuple[Any, ...]) -> list[Any]:
    """The values of the names in a pattern, from left to right.

    Raises ``RuntimeFault`` if the value, or a value inside it, does not match its pattern: it is not a list or not a map, has
    too few or too many items, or lacks a key.
    """
    found: list[Any] = []
    pending: list[tuple[Any, tuple[Any, ...] | bool]] = [(value, shape)]
    while pending:
        value, part = pending.pop()
        if part is True:
            found.append(value)
        elif part is not False:
            taken = _items(value, *part) if part[1] == "list" else _fields(value, *part)
            pending.extend(reversed(list(zip(taken, part[3], strict=True))))
    return found


def _items(value: Any, shown: str, _: str, spread: int, parts: tuple[Any, ...]) -> list[Any]:
    if type(value) is not list:
        raise RuntimeFault(f"let: {shown} needs a list, got {type_of(value)}", kind="type")
    wanted = len(parts) - (spread >= 0)
    count = len(value)
    if count < wanted or (count > wanted and spread < 0):
        needed = f"{'at least ' if spread >= 0 else ''}{wanted} item{'' if wanted == 1 else 's'}"
        message = f"let: {shown} needs a list of {needed}, the list has {count}"
        if count > wanted:
            message += " — end the pattern with `...` to let the others go, with `...rest` to keep them"
        raise RuntimeFault(message, kind="key", code="E0402")
    if spread < 0:
        return value
    end = count - (wanted - spread)
    return [*value[:spread], value[spread:end], *value[end:]]


def _fields(value: Any, shown: str, _: str, keys: tuple[str, ...], parts: tuple[Any, ...]) -> list[Any]:
    found = as_map(value)
    if found is None:
        raise RuntimeFault(f"let: {shown} needs a map, got {type_of(value)}", kind="type")
    missing = next((key for key in keys if key not in found), None)
    if missing is not None:
        message = (
            f"let: {shown} needs the key '{missing}', the map has none — what may be missing is read with get(m, key, default)"
        )
        raise RuntimeFault(message, kind="key")
    return [found[key] for key in keys]
