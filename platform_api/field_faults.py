"""What is wrong with a field of a request, as a sentence: the decoder says it in its own terms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from msgspec import ValidationError

_KINDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
#: What was sent, where that is called otherwise than what was wanted.
_SENT = {**_KINDS, "int": "a number", "float": "a fraction"}
_KIND = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_SIZE = re.compile(r"Expected `(\w+)(?: \| null)?`( of length)? (>=|<=) (\d+)")
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_PATTERN = re.compile(r"Expected `str(?: \| null)?` matching regex .*", re.DOTALL)


def refusal_of(error: ValidationError) -> Refusal:
    """What a value is refused with that msgspec does not take."""
    message, _, place = str(error).partition(" - at `$")
    sentence, field = described(place.strip("`").lstrip("."), message)
    return Refusal("validation", sentence, field=field)


def described(field: str, message: str) -> tuple[str, str | None]:
    """A sentence, and the field that it is about; ``None`` where it is about the whole body.

    Args:
        field: where the fault was found: a name, a place such as ``files[0].path``, or ``""`` and ``data`` for the body.
        message: what msgspec says of it.
    """
    whole = field in ("", "data")
    if missing := _MISSING.fullmatch(message):
        name = missing[1] if whole else f"{field}.{missing[1]}"
        return f"The field {name} is missing.", name
    subject = "The body" if whole else field
    return f"{subject} {_said(message)}", None if whole else field


def _said(message: str) -> str:
    if kind := _KIND.fullmatch(message):
        wanted = [name for name in kind[1].split(" | ") if name != "null"]
        if {"int", "float"} <= {*wanted}:
            wanted.remove("int")
        return f"is {' or '.join(_KINDS.get(name, name) for name in wanted)}, not {_SENT.get(kind[2], kind[2])}."
    if size := _SIZE.fullmatch(message):
        bound = "at least" if size[3] == ">=" else "at most"
        if not size[2]:
            return f"is {bound} {size[4]}."
        unit = "character" if size[1] == "str" else "item"
        return f"has {bound} {size[4]} {unit if size[4] == '1' else unit + 's'}."
    if _PATTERN.fullmatch(message):
        return "has characters that it cannot have."
    return f"cannot be read: {message.removesuffix('.')}."
