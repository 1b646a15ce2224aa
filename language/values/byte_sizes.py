"""Sizes as people write them: ``16MB``, ``1.5 kb``, ``1024``."""

from __future__ import annotations

_UNITS = {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}
#: Digits of a number beyond which it is more than any machine holds.
_MOST_DIGITS = 18
#: What a size of more digits counts as, in bytes.
BEYOND_ANY: int = 10**_MOST_DIGITS * _UNITS["gb"]


def size_in_bytes(text: str) -> int | None:
    """The bytes that a size means, a kilobyte 1024 of them, rounded down; ``None`` for a text that is no size.

    A size is a number without sign or exponent and then, with or without blanks between, ``b``, ``kb``, ``mb``, ``gb`` in any
    case or nothing. One of more than 18 digits before the point is :data:`BEYOND_ANY`.
    """
    text = text.strip().lower()
    digits = text.rstrip("bkmg \t")
    unit = text[len(digits) :].strip()
    whole, point, fraction = digits.partition(".")
    if unit not in _UNITS or not _are_digits(whole) or (point and not _are_digits(fraction)):
        return None
    whole = whole.lstrip("0") or "0"
    if len(whole) > _MOST_DIGITS:
        return BEYOND_ANY
    fraction = fraction[:_MOST_DIGITS]
    size: int = int(whole + fraction) * _UNITS[unit] // 10 ** len(fraction)
    return size


def _are_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
