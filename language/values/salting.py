"""Dictionary keys for numbers from outside that resist hash-collision attacks.

Python's hash of a number is its value modulo a prime, the same in every process: ``2**61 - 1``, and ``2**31 - 1`` where a
word has 32 bits, as in WebAssembly. An attacker can choose numbers that all have the same hash. A dictionary then needs
quadratic time, within one operation that cannot be interrupted. Here an integer is multiplied by a random number of this
process first. Text and bytes need no salt: Python salts their hashes itself, in the WebAssembly builds with a known key
(``docs/embedding.md``, "Limits").
"""

from __future__ import annotations

from sys import hash_info

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

#: Within this range the product determines every bit of the hash. Larger integers can differ by multiples of the modulus.
_BEYOND = (hash_info.modulus + 1) >> 1

#: How many integers are salted in one operation.
_AT_ONCE = 1 << 16

_salt = 0


def _factor() -> int:
    global _salt
    if not _salt:
        from os import urandom

        _salt = int.from_bytes(urandom(7), "big") | 1 << 56
    return _salt


def salted_integer(number: int) -> Hashable:
    """A key for the integer: equal for equal integers, different for different ones."""
    return number * _factor() if -_BEYOND < number < _BEYOND else (int, hex(number * _factor()))


def salted_integers(numbers: list[int]) -> list[Hashable]:
    """:func:`salted_integer` of each integer."""
    if numbers and min(numbers) > -_BEYOND and max(numbers) < _BEYOND:
        keys: list[Hashable] = []
        for start in range(0, len(numbers), _AT_ONCE):  # cancellation is possible between two operations
            keys += map(_factor().__mul__, numbers[start : start + _AT_ONCE])
        return keys
    return [salted_integer(number) for number in numbers]


def salted_float(number: float) -> Hashable:
    """A key for a float other than NaN; for a whole float, that of the integer."""
    return salted_integer(int(number)) if number.is_integer() else (float, repr(number))
