"""Values as JSON text for a store that several processes read. A value without a JSON form is an object with a single reserved
key.

Every value is read back equal, including types and order. ``pickle`` is not used, because reading it can run code: a program
that can write the file of the store could then run Python code.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import FALSE, TRUE, Bool, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MARK = "·"
MOST_DEPTH = 200
#: Integers up to this are written in decimal digits. Python refuses to convert much longer ones.
_PLAIN = 1 << 256


def to_text(value: Any) -> str:
    """The text of a value without secrets and tasks. Raises ``RuntimeFault`` for a value that other processes could not
    read.
    """
    import json

    return json.dumps(_plain(value, 0), ensure_ascii=False, separators=(",", ":"))


def from_text(text: str) -> Any:
    """The value that :func:`to_text` wrote."""
    import json

    return json.loads(text, object_hook=_restored)


def _plain(value: Any, depth: int) -> Any:
    kind = value.__class__
    if kind is str or kind is float or value is None:
        return value
    if kind is int:
        return value if -_PLAIN < value < _PLAIN else {_MARK: ["i", hex(value)]}
    if kind is Bool:
        return {_MARK: ["t" if value else "f"]}
    if depth > MOST_DEPTH:
        raise RuntimeFault(
            f"a value nested more than {MOST_DEPTH} levels deep cannot be shared between processes", kind="resources"
        )
    if kind is list:
        return [_plain(item, depth + 1) for item in value]
    if kind is dict:
        plain = {key: _plain(item, depth + 1) for key, item in value.items()}
        return {_MARK: ["m", list(plain.items())]} if _MARK in plain else plain
    if kind is bytes:
        from base64 import b64encode

        return {_MARK: ["b", b64encode(value).decode()]}
    if kind is complex:
        return {_MARK: ["c", value.real, value.imag]}
    name = type_of(value)
    if name == "decimal":
        return {_MARK: ["d", value.display()]}
    if name == "date":
        return {_MARK: ["day", value.days]}
    if name == "datetime":
        return {_MARK: ["at", value.micros, None if value.zone is None else value.zone.name]}
    if name == "duration":
        return {_MARK: ["long", value.micros]}
    if name == "array":
        from base64 import b64encode

        return {_MARK: ["a", value.shape, b64encode(value.data.tobytes()).decode()]}
    raise RuntimeFault(f"a value of type {name} cannot be shared between processes", kind="type")


def _restored(fields: dict[str, Any]) -> Any:
    if _MARK not in fields:
        return fields
    kind, *parts = fields[_MARK]
    if kind == "t":
        return TRUE
    if kind == "f":
        return FALSE
    if kind == "i":
        return int(parts[0], 16)
    if kind == "b":
        from base64 import b64decode

        return b64decode(parts[0])
    if kind == "c":
        return complex(parts[0], parts[1])
    if kind == "d":
        from language.values.decimals import parse

        return parse(parts[0])
    if kind == "day":
        from language.values.dates import Date

        return Date(parts[0])
    if kind == "at":
        from language.values.datetimes import restored

        return restored(parts[0], parts[1])
    if kind == "a":
        from base64 import b64decode

        from language.values.arrays import Array, numpy

        return Array(numpy("state_get").frombuffer(b64decode(parts[1])).reshape(parts[0]))
    if kind == "long":
        from language.values.durations import Duration

        return Duration(parts[0])
    return dict(parts[0])
