"""Copies of values that agents exchange: nothing of the sender can be reached through them."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import Secret, as_map, is_callable
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Bytes that an item of a list or map counts in addition to its content.
_ITEM_BYTES = 64


def copied(value: Any) -> Any:
    """A deep copy. Secrets become the text of their names and tasks their text form; every other value keeps its type."""
    kind = value.__class__
    if kind is str or kind is int or kind is float or value is None:
        return value
    return _copied(value, {})


def _copied(value: Any, copies: dict[int, Any]) -> Any:
    kind = value.__class__
    if kind is str or kind is int or kind is float or value is None:
        return value
    known = copies.get(id(value))
    if known is not None:
        return known
    if kind is list:
        copies[id(value)] = items = [_copied(item, copies) for item in value]
        return items
    fields = value if kind is dict else as_map(value)
    if fields is not None:
        copies[id(value)] = entries = {name: _copied(item, copies) for name, item in fields.items()}
        return entries
    return display(value) if kind is Secret or is_callable(value) else value


def size_of(value: Any) -> int:
    """The approximate size of a copy in bytes. A value that occurs several times counts each time."""
    total = 0
    pending = [value]
    while pending:
        item = pending.pop()
        kind = item.__class__
        total += _ITEM_BYTES
        if kind is str or kind is bytes:
            total += len(item)
        elif kind is int:
            total += item.bit_length() // 8
        elif kind is list:
            pending += item
        elif kind is dict:
            pending += item.values()
            total += sum(map(len, item))
    return total


def key_of(statement: str, key: Any) -> str:
    """A key or the name of a channel: the display text, so that ``1`` and ``"1"`` are one. Raises ``RuntimeFault`` for a
    secret.
    """
    if key.__class__ is str:
        return key
    if key.__class__ is Secret:
        raise RuntimeFault(f"{statement}: a secret cannot be a name: two secrets of one name would be the same", kind="type")
    return display(key)
