"""The shapes of answers, as data: what a contract says an answer has, no field less and no field more.

A shape is a type, a tuple of shapes of which one must fit (``None`` for null), a list with the shape of every item, a dict with
the shape of every field, ``Maybe(shape)`` for a field that may be left out, or a set of the texts that are allowed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

#: RFC 3339 in UTC with milliseconds.
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@dataclass(frozen=True)
class Maybe:
    """A field that is there only where it says something."""

    shape: Any


def faults(value: Any, shape: Any, at: str = "answer") -> list[str]:
    """Where a value differs from its shape; empty when it fits."""
    match shape:
        case dict():
            return _object_faults(value, shape, at)
        case list():
            if not isinstance(value, list):
                return [f"{at} is no list"]
            return [fault for index, item in enumerate(value) for fault in faults(item, shape[0], f"{at}[{index}]")]
        case tuple():
            return [] if any(not faults(value, each, at) for each in shape) else [f"{at} is {value!r}"]
        case set() | frozenset():
            return [] if value in shape else [f"{at} is {value!r}, none of {sorted(shape)}"]
        case re.Pattern():
            return [] if isinstance(value, str) and shape.fullmatch(value) else [f"{at} is {value!r}"]
        case None:
            return [] if value is None else [f"{at} is {value!r} and not null"]
        case _:
            fits = type(value) is shape or (shape is float and type(value) is int)
            return [] if fits else [f"{at} is {value!r} and not {shape.__name__}"]


def _object_faults(value: Any, shape: dict[str, Any], at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at} is no object"]
    found = [f"{at}.{name} is one field too many" for name in value if name not in shape]
    for name, field in shape.items():
        if isinstance(field, Maybe):
            found += faults(value[name], field.shape, f"{at}.{name}") if name in value else []
        elif name not in value:
            found.append(f"{at}.{name} is missing")
        else:
            found += faults(value[name], field, f"{at}.{name}")
    return found
