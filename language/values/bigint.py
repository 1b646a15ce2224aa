"""Conversion of integers of any size to and from text, by divide and conquer. Python refuses more than 4,300 digits by default,
and old versions need quadratic time.

The process-wide limit on digits is not changed: every conversion that Python itself does stays below the lowest value that
the limit can be set to (640 digits).
"""

from __future__ import annotations

_LEAF_BITS = 2000
_LEAF_DIGITS = 500
#: From this many bits on, the faster multiplication of ``decimal`` outweighs the time to import it.
_DECIMAL_BITS = 40_000


def int_to_text(number: int) -> str:
    """The decimal digits of an integer of any size, with ``-`` when negative."""
    if number.bit_length() <= _LEAF_BITS:
        return repr(number)
    if number < 0:
        return "-" + int_to_text(-number)
    if number.bit_length() > _DECIMAL_BITS:
        from language.values.decimals import raw_from_int

        return format(raw_from_int(number), "f")
    return _by_halves(number, _LEAF_DIGITS << _doublings(number)).lstrip("0")


def _doublings(number: int) -> int:
    count = 0
    while 3 * (_LEAF_DIGITS << count) < number.bit_length():
        count += 1
    return count


def _by_halves(number: int, width: int) -> str:
    """The digits, with leading zeros up to ``width``."""
    if width <= _LEAF_DIGITS:
        return repr(number).rjust(width, "0")
    half = width // 2
    high, low = divmod(number, 10**half)
    return _by_halves(high, half) + _by_halves(low, half)


def text_to_int(digits: str, base: int = 10) -> int:
    """The integer of a text of digits alone (no sign, no ``_``) in ``base`` 2..36, of any length.

    Raises ``ValueError`` for an empty text or another character.
    """
    if not (digits.isascii() and digits.isalnum()):
        raise ValueError(f"not digits of base {base}")
    if len(digits) <= _LEAF_DIGITS or base & (base - 1) == 0:
        return int(digits, base)
    widths = [_LEAF_DIGITS]
    while widths[-1] * 2 < len(digits):
        widths.append(widths[-1] * 2)
    powers = [base ** widths[0]]
    for _ in widths[1:]:
        powers.append(powers[-1] * powers[-1])
    return _joined(digits, base, powers, len(widths) - 1)


def _joined(digits: str, base: int, powers: list[int], level: int) -> int:
    width = _LEAF_DIGITS << level if level >= 0 else 0
    if len(digits) <= _LEAF_DIGITS or level < 0:
        return int(digits, base)
    if len(digits) <= width:
        return _joined(digits, base, powers, level - 1)
    return _joined(digits[:-width], base, powers, level - 1) * powers[level] + _joined(digits[-width:], base, powers, level - 1)
