"""Sizes in bytes as people write them: ``16MB``, ``1.5 kb``, ``1024``."""

from __future__ import annotations

_UNITS = {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}
#: A number with more digits counts as larger than any machine's memory.
_MOST_DIGITS = 18
#: The result for a size with more digits, in bytes.
BEYOND_ANY: int = 10**_MOST_DIGITS * _UNITS["gb"]


def size_in_bytes(text: str) -> int | None:
    """The number of bytes that a size stands for, rounded down; ``None`` for a text that is not a size.

    A size is a number without sign or exponent, optional blanks, and ``b``, ``kb``, ``mb``, ``gb`` in any case or nothing. A
    kilobyte has 1024 bytes. A number of more than 18 digits before the point gives :data:`BEYOND_ANY`.
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
