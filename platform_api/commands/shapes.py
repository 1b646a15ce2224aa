"""Checks the fields that a command reads in an answer: the service may be broken, older, or not a platform."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from platform_api.commands.failure import Failure


@dataclass(frozen=True, slots=True)
class Number:
    """A number from ``least`` to ``most``."""

    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Maybe:
    """``null``, or a value of the shape."""

    shape: Any


#: A moment in Unix seconds that can be shown: up to the end of the year 9999.
MOMENT = Number(0, 253_402_300_799)
#: What can stand in a header field.
TOKEN = re.compile(r"[!-~]{1,4096}")
#: The project of an answer, as far as every command reads it.
PROJECT = {"id": str, "name": str, "slug": str, "kind": str, "status": str}

_NAMES = {str: "a text", bool: "true or false", dict: "an object", list: "a list"}


def check(value: Any, shape: Any, service: str, place: str = "") -> None:
    """Checks an answer against a shape. Fields that the shape does not name may be anything.

    Args:
        shape: a map of fields to their shapes, a list with the shape of every item, a type, a ``Number``, a ``Maybe``, or a
            pattern that a whole text matches.
        service: the address, for the text of an error.
        place: where the value stands in the answer.

    Errors: ``Failure`` that names the field.
    """
    if isinstance(shape, Maybe):
        if value is not None:
            check(value, shape.shape, service, place)
        return
    if isinstance(shape, dict):
        _is(value, dict, service, place)
        for name, inner in shape.items():
            where = f"{place}.{name}" if place else name
            if name not in value:
                raise _wrong(service, f"has no field {where!r}")
            check(value[name], inner, service, where)
    elif isinstance(shape, list):
        _is(value, list, service, place)
        for at, item in enumerate(value):
            check(item, shape[0], service, f"{place}[{at}]")
    elif isinstance(shape, Number):
        if isinstance(value, bool) or not isinstance(value, int | float) or not shape.least <= value <= shape.most:
            raise _wrong(service, f"has a field {place!r} that is no number from {shape.least:g} to {shape.most:g}")
    elif isinstance(shape, re.Pattern):
        _is(value, str, service, place)
        if not shape.fullmatch(value):
            raise _wrong(service, f"has a field {place!r} of another form")
    else:
        _is(value, shape, service, place)


def _is(value: Any, wanted: type, service: str, place: str) -> None:
    if not isinstance(value, wanted):
        raise _wrong(service, f"has a field {place!r} that is not {_NAMES[wanted]}" if place else "is no object")


def _wrong(service: str, what: str) -> Failure:
    return Failure(
        f"{service} did not answer as this version of lang expects: its answer {what}; check the address"
        " and the version of lang"
    )
