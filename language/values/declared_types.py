"""The types that a program declares for values from outside (``text``, ``integer``, ...), and the conversion of values to
them.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import FALSE, TRUE, type_of
from language.values.operators import is_decimal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: The most digits of a number from a client, including those that an exponent stands for.
MOST_DIGITS = 4300
#: Whole floats below are exact integers; a larger one may have been written as another number.
_EXACT_FLOATS = 2**53
#: The text forms of dates, datetimes and durations, for which JSON and forms have no types.
WRITTEN_AS = {
    "date": "YYYY-MM-DD",
    "datetime": "YYYY-MM-DDTHH:MM:SS, with Z, an offset or neither",
    "duration": "P2DT3H30M or PT0.5S; months and years have no fixed length",
}
_BOOLS = {"true": TRUE, "on": TRUE, "1": TRUE, "false": FALSE, "off": FALSE, "0": FALSE}


def takes(wanted: str, value: Any) -> bool:
    """Whether a value from JSON is accepted for the type."""
    if wanted == "integer":
        return value.__class__ is int or (value.__class__ is float and value.is_integer() and abs(value) < _EXACT_FLOATS)
    if wanted == "decimal":
        return value.__class__ is int or value.__class__ is float or is_decimal(value)
    if value.__class__ is str and wanted in WRITTEN_AS:
        return READERS[wanted](value) is not None
    return type_of(value) == wanted


def got(wanted: str, value: Any) -> str:
    """The description of a value that is not accepted, for the error message."""
    if wanted == "integer" and value.__class__ is float:
        return "a number that is not whole"
    if wanted in WRITTEN_AS and value.__class__ is str:
        return f"a text in another form ({WRITTEN_AS[wanted]})"
    return type_of(value)


def converted(wanted: str, value: Any, written: Callable[[], Any]) -> Any:
    """Converts a value that :func:`takes` accepts to the type.

    ``written`` gives the text of a number with a point or an exponent, as it was sent. Raises ``ValueError`` for a decimal of
    more than :data:`MOST_DIGITS` digits.
    """
    if wanted == "integer":
        return int(value)
    if wanted == "decimal" and value.__class__ is int:
        from language.values.decimals import from_int

        return from_int(value)
    if wanted == "decimal" and value.__class__ is float:
        text = written()
        found = exact_decimal(text if isinstance(text, str) else repr(value))
        if found is None:
            raise ValueError
        return found
    if value.__class__ is str and wanted in WRITTEN_AS:
        return READERS[wanted](value)
    return value


def whole(value: Any, written: Any) -> Any:
    """A number that JSON writes with a point or an exponent, as the integer that it writes exactly: ``1e16``, ``3.0``.

    Args:
        value: the parsed number, any other value.
        written: the text of the number as it was sent, ``None`` where that is not known.

    Returns: the integer; the value itself where it is no float or the text is not known, and ``None`` for a number that is not
    whole: the text decides, since a float close to an integer is one.

    Raises ``ValueError`` for an integer of more than :data:`MOST_DIGITS` digits.
    """
    if value.__class__ is not float or not isinstance(written, str):
        return value
    mantissa, _, exponent = written.lower().partition("e")
    digits, _, fraction = mantissa.partition(".")
    shift = int(exponent[:7] or 0) if len(exponent.lstrip("+-0")) < 7 else 10**7 * (-1 if exponent[:1] == "-" else 1)
    fraction = fraction.rstrip("0")
    all_digits = digits.lstrip("-") + fraction
    if not all_digits.strip("0"):
        return 0
    zeros = shift - len(fraction)  # what is still to be appended to the digits, or cut off them
    if zeros < 0:
        if all_digits[zeros:].strip("0") or -zeros >= len(all_digits):
            return None
        all_digits, zeros = all_digits[:zeros], 0
    if len(all_digits.lstrip("0")) + zeros > MOST_DIGITS:
        raise ValueError
    return _integer(("-" if digits.startswith("-") else "") + all_digits.lstrip("0") + "0" * zeros)


def exact_decimal(text: str) -> Any:
    """The exact decimal of a text; ``None`` if the text is not a number or has too many digits."""
    from language.values.decimals import parse

    if len(text) > MOST_DIGITS or "_" in text:
        return None
    try:
        found = parse(text)
    except RuntimeFault:
        return None
    if found is None or max(found.value.adjusted() + 1, 1) + found.scale > MOST_DIGITS:
        return None
    return found


def _integer(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > MOST_DIGITS:
        return None
    from language.values.bigint import text_to_int

    number = text_to_int(digits)
    return -number if text.startswith("-") else number


def _number(text: str) -> int | float | None:
    from language.values.numerals import clean_number

    whole = _integer(text)
    if whole is not None:
        return whole
    if "_" in text or clean_number(text) is None:
        return None
    number = float(text)
    return None if number in (float("inf"), float("-inf")) else number


def _date(text: str) -> Any:
    from language.values.iso_times import read_date

    return read_date(text)


def _datetime(text: str) -> Any:
    from language.values.iso_times import read_datetime

    return read_datetime(text)


def _duration(text: str) -> Any:
    from language.values.iso_times import read_duration

    return read_duration(text)


#: Type → the function that converts the text of a field; it returns ``None`` for an invalid text.
READERS: dict[str, Callable[[str], Any]] = {
    "integer": _integer,
    "number": _number,
    "decimal": exact_decimal,
    "bool": lambda text: _BOOLS.get(text.lower()),
    "date": _date,
    "datetime": _datetime,
    "duration": _duration,
}
