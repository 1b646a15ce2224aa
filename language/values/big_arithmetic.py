"""Products, quotients and powers of integers so large that a single operation of Python takes noticeable time.

CPython computes an operation in C without releasing the interpreter's lock (GIL), so that not even the watchdog of a program
runs meanwhile. Here the work is divided into short operations, and cancellation is possible between them. Division is that of
Burnikel and Ziegler (Fast Recursive Division, 1998), which needs no more operations than multiplication.
"""

from __future__ import annotations

#: The largest single operation: the product of the lengths of its operands in bits. It takes about a twentieth of a second.
_PIECE = 200_000**2


def product(left: int, right: int) -> int:
    """``left * right``."""
    long, short = left.bit_length(), right.bit_length()
    if long * short <= _PIECE:
        return left * right
    if left < 0 or right < 0:
        positive = product(abs(left), abs(right))
        return positive if (left < 0) == (right < 0) else -positive
    if long < short:
        left, right, long, short = right, left, short, long
    half = long // 2
    high, low = left >> half, left & ((1 << half) - 1)
    if short <= half:
        return (product(high, right) << half) + product(low, right)
    # Karatsuba: three products of half the length in place of four.
    right_high, right_low = right >> half, right & ((1 << half) - 1)
    top, bottom = product(high, right_high), product(low, right_low)
    middle = product(high + low, right_high + right_low) - top - bottom
    return (top << (2 * half)) + (middle << half) + bottom


def quotient(left: int, right: int) -> tuple[int, int]:
    """``divmod(left, right)``, rounded down. Raises ``ZeroDivisionError``."""
    length = right.bit_length()
    if (left.bit_length() - length) * length <= _PIECE:
        return divmod(left, right)
    if right < 0:
        whole, rest = quotient(-left, -right)
        return whole, -rest
    if left < 0:
        whole, rest = quotient(~left, right)
        return ~whole, right + ~rest
    if left.bit_length() < 2 * length:
        return _two_by_one(left, right, length)
    cut = (left.bit_length() - length) // 2
    high, rest = quotient(left >> cut, right)
    low, rest = quotient((rest << cut) | (left & ((1 << cut) - 1)), right)
    return (high << cut) + low, rest


def _two_by_one(left: int, right: int, length: int) -> tuple[int, int]:
    """``divmod`` by a number of ``length`` bits, for a quotient of at most ``length`` bits."""
    if (left.bit_length() - length) * length <= _PIECE:
        return divmod(left, right)
    odd = length & 1
    if odd:
        left, right, length = left << 1, right << 1, length + 1
    half = length >> 1
    mask = (1 << half) - 1
    parts = right >> half, right & mask
    high, rest = _three_by_two(left >> length, (left >> half) & mask, right, parts, half)
    low, rest = _three_by_two(rest, left & mask, right, parts, half)
    return (high << half) | low, rest >> odd


def _three_by_two(left: int, below: int, right: int, parts: tuple[int, int], length: int) -> tuple[int, int]:
    """``divmod`` of ``(left << length) + below`` by ``right``, a number of twice ``length`` bits; ``parts`` are its two
    halves.
    """
    high, low = parts
    if left >> length == high:
        whole, rest = (1 << length) - 1, left - (high << length) + high
    else:
        whole, rest = _two_by_one(left, high, length)
    rest = ((rest << length) | below) - product(whole, low)
    while rest < 0:
        whole -= 1
        rest += right
    return whole, rest


def power(base: int, exponent: int) -> int:
    """``base ** exponent`` for an exponent from 0."""
    if (base.bit_length() * exponent) ** 2 <= _PIECE:
        return base**exponent  # type: ignore[no-any-return]
    result = 1
    for digit in f"{exponent:b}":
        result = product(result, result)
        if digit == "1":
            result = product(result, base)
    return result


def factorial(count: int) -> int:
    """``count!`` for a count from 0."""
    return _range_product(2, count + 1)


def _range_product(start: int, end: int) -> int:
    """The product of the integers from ``start`` up to before ``end``."""
    from math import prod

    if end - start <= 1000:
        return prod(range(start, end))
    middle = (start + end) // 2
    return product(_range_product(start, middle), _range_product(middle, end))
