"""Decimals: exact numbers in base 10 that keep their scale.

A :class:`Dec` wraps Python's ``Decimal``, which does not follow the language's rules: its results depend on the thread's
context, unary minus rounds, ``//`` rounds towards zero, ``%`` has the sign of the dividend, and floats are accepted
silently. Every operation here names its context. A decimal has at most a million digits before and after the point, no
positive exponent and no negative zero.
"""

from __future__ import annotations

from decimal import (
    MAX_EMAX,
    MAX_PREC,
    MIN_EMIN,
    ROUND_DOWN,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    Inexact,
    InvalidOperation,
    Overflow,
)

from language.errors import RuntimeFault
from language.values import Bool
from language.values.numerals import clean_number
from language.values.operators import DIVISION_BY_ZERO, MIXED_NUMBERS, MODULO_BY_ZERO, NUMBER_TOO_LARGE, ZERO_TO_NEGATIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_DIGITS = 1_000_000
#: Significant digits of a quotient with infinitely many digits.
QUOTIENT_DIGITS = 28
MOST_EXPONENT = 1_000_000

# An integer of more bits has more than MOST_DIGITS digits.
_MOST_BITS = 3_321_929
_LEAF_BITS = 2000

_EXACT = Context(
    prec=MAX_PREC, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, flags=[], traps=[InvalidOperation, Overflow, Inexact]
)
_ONE = Decimal(1)


def _context(precision: int) -> Context:
    """A new context, whose flags no other thread shares."""
    return Context(
        prec=precision, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, flags=[], traps=[InvalidOperation, Overflow]
    )


def _too_large() -> RuntimeFault:
    return RuntimeFault(NUMBER_TOO_LARGE, kind="arithmetic")


def _mixed() -> RuntimeFault:
    return RuntimeFault(MIXED_NUMBERS, kind="type")


class Dec:
    """A decimal: ``value`` is finite with the exponent ``-scale``; ``scale`` is the number of digits after the point."""

    __slots__ = ("scale", "value")

    language_type = "decimal"

    def __init__(self, value: Decimal, scale: int) -> None:
        self.value = value
        self.scale = scale

    def display(self) -> str:
        """All digits of the number and its scale, without an exponent."""
        return format(self.value, "f")

    __repr__ = display

    def is_whole(self) -> bool:
        """Whether all digits after the point are zeros."""
        return self.scale == 0 or self.value == self.value.to_integral_value(context=_EXACT)

    def to_int(self, rounding: str = ROUND_DOWN) -> int:
        """The integer that a rounding mode of Python's ``decimal`` gives, computed exactly."""
        whole = self.value if self.scale == 0 else self.value.to_integral_value(rounding=rounding, context=_EXACT)
        if whole.adjusted() < 500:
            return int(whole)
        from language.values.bigint import text_to_int

        magnitude = text_to_int(format(whole.copy_abs(), "f"))
        return -magnitude if whole.is_signed() else magnitude

    def to_float(self) -> float:
        """The nearest double; an infinity when the number is beyond the largest double."""
        return float(self.value)

    def rounded(self, places: int) -> Dec:
        """Rounded to exactly ``places`` >= 0 digits after the point, half to even."""
        if places > MOST_DIGITS:
            raise _too_large()
        value = self.value.quantize(_ONE.scaleb(-places, context=_EXACT), rounding=ROUND_HALF_EVEN, context=_context(MAX_PREC))
        return _made(value, places)

    def at_scale(self, least: int) -> Dec:
        """The same number with the fewest digits after the point that represent it, but at least ``least``."""
        if self.scale > least:
            needed = max(least, -int(self.value.normalize(_EXACT).as_tuple().exponent)) if self.value else least
            return self if needed == self.scale else self.rounded(needed)
        return self if self.scale == least else self.rounded(least)

    def square_root(self) -> Dec:
        """The square root of a decimal >= 0 to 28 significant digits, half to even; exact where it has fewer."""
        return _settled(_context(QUOTIENT_DIGITS).sqrt(self.value))

    def key(self) -> tuple[object, str]:
        """A dictionary key that is equal for decimals of equal value, whatever their scale, with an unpredictable hash."""
        return Dec, str(self.value.normalize(_EXACT))

    def __bool__(self) -> bool:
        return bool(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __neg__(self) -> Dec:
        return Dec(self.value.copy_negate(), self.scale) if self.value else self

    def __abs__(self) -> Dec:
        return Dec(self.value.copy_abs(), self.scale)

    # Reflected operators are defined for integers only: with any other left operand Python raises TypeError, as intended.

    def __add__(self, other: Any) -> Dec:
        right = _operand(other)
        return NotImplemented if right is None else _sum(self, right)

    def __radd__(self, other: Any) -> Dec:
        left = _operand(other)
        return NotImplemented if left is None else _sum(left, self)

    def __sub__(self, other: Any) -> Dec:
        right = _operand(other)
        return NotImplemented if right is None else _sum(self, -right)

    def __rsub__(self, other: Any) -> Dec:
        left = _operand(other)
        return NotImplemented if left is None else _sum(left, -self)

    def __mul__(self, other: Any) -> Dec:
        right = _operand(other)
        return NotImplemented if right is None else _product(self, right)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dec:
        right = _operand(other)
        return NotImplemented if right is None else _quotient(self, right)

    def __rtruediv__(self, other: Any) -> Dec:
        left = _operand(other)
        return NotImplemented if left is None else _quotient(left, self)

    def __floordiv__(self, other: Any) -> Dec:
        right = _operand(other)
        return NotImplemented if right is None else _floor_quotient(self, right)

    def __rfloordiv__(self, other: Any) -> Dec:
        left = _operand(other)
        return NotImplemented if left is None else _floor_quotient(left, self)

    def __mod__(self, other: Any) -> Dec:
        right = _operand(other)
        return NotImplemented if right is None else _remainder(self, right)

    def __rmod__(self, other: Any) -> Dec:
        left = _operand(other)
        return NotImplemented if left is None else _remainder(left, self)

    def __pow__(self, other: Any) -> Dec:
        if other.__class__ is int:
            return _power(self, other)
        right = _operand(other)
        return NotImplemented if right is None else _power(self, _exponent(right))

    def __rpow__(self, other: Any) -> Dec:
        left = _operand(other)
        return NotImplemented if left is None else _power(left, _exponent(self))

    def __eq__(self, other: Any) -> bool:
        kind = other.__class__
        if kind is Dec:
            return bool(self.value == other.value)
        if kind is int:
            return _against(self, other) == 0
        if kind is Bool:
            return self.value == (1 if other else 0)
        if kind is float:
            if other != other:
                return False
            raise _mixed()
        return NotImplemented

    def __lt__(self, other: Any) -> bool:
        if other.__class__ is Dec:
            return self.value < other.value
        order = _against(self, other)
        return NotImplemented if order is None else order < 0

    def __le__(self, other: Any) -> bool:
        if other.__class__ is Dec:
            return self.value <= other.value
        order = _against(self, other)
        return NotImplemented if order is None else order <= 0

    def __gt__(self, other: Any) -> bool:
        if other.__class__ is Dec:
            return self.value > other.value
        order = _against(self, other)
        return NotImplemented if order is None else order > 0

    def __ge__(self, other: Any) -> bool:
        if other.__class__ is Dec:
            return self.value >= other.value
        order = _against(self, other)
        return NotImplemented if order is None else order >= 0


# --- making decimals --------------------------------------------------------------------------------------------------------


def parse(text: str) -> Dec | None:
    """The decimal that a text writes exactly (``-1_000.50e-3``: sign, digits, point, exponent); ``None`` if it is not a number.

    Raises ``RuntimeFault`` ``number too large``, also for ``1e999999999``, without building its digits.
    """
    cleaned = clean_number(text)
    if cleaned is None:
        return None
    try:
        value = _EXACT.create_decimal(cleaned)
    except (InvalidOperation, Overflow, Inexact):
        # The number is well formed, so its exponent is beyond the limits of Python's decimals, and of ours.
        raise _too_large() from None
    if not value.is_finite():
        raise _too_large()
    return _settled(value)


def from_int(number: int) -> Dec:
    """The decimal of an integer, exactly. Raises ``RuntimeFault`` ``number too large`` beyond a million digits."""
    if number.bit_length() > _MOST_BITS:
        raise _too_large()
    return _made(raw_from_int(number), 0)


def from_float(number: float) -> Dec:
    """The decimal with exactly the value of a finite double."""
    return _settled(_EXACT.create_decimal_from_float(number))


def raw_from_int(number: int) -> Decimal:
    """Python's ``Decimal`` of an integer of any size, by divide and conquer: Python's own conversion is quadratic."""
    if number.bit_length() <= _LEAF_BITS:
        return Decimal(number)
    if number < 0:
        return raw_from_int(-number).copy_negate()
    widths = [_LEAF_BITS]
    while widths[-1] * 2 < number.bit_length():
        widths.append(widths[-1] * 2)
    powers = [Decimal(1 << widths[0])]
    for _ in widths[1:]:
        powers.append(_EXACT.multiply(powers[-1], powers[-1]))
    return _from_halves(number, powers, len(widths) - 1)


def _from_halves(number: int, powers: list[Decimal], level: int) -> Decimal:
    if number.bit_length() <= _LEAF_BITS or level < 0:
        return Decimal(number)
    width = _LEAF_BITS << level
    if number.bit_length() <= width:
        return _from_halves(number, powers, level - 1)
    high = number >> width
    low = number - (high << width)
    return _EXACT.fma(_from_halves(high, powers, level - 1), powers[level], _from_halves(low, powers, level - 1))


def _made(value: Decimal, scale: int) -> Dec:
    if scale > MOST_DIGITS or value.adjusted() >= MOST_DIGITS:
        raise _too_large()
    if not value:
        value = value.copy_abs()
    return Dec(value, scale)


def _settled(value: Decimal) -> Dec:
    """A finite ``Decimal`` of any exponent in the form of a :class:`Dec`."""
    if value and not -MOST_DIGITS <= value.adjusted() < MOST_DIGITS:
        raise _too_large()
    exponent = int(value.as_tuple().exponent)
    if exponent > 0:
        value, exponent = _EXACT.quantize(value, _ONE), 0
    return _made(value, -exponent)


def _operand(value: Any) -> Dec | None:
    kind = value.__class__
    if kind is Dec:
        return value  # type: ignore[no-any-return]
    if kind is int:
        return from_int(value)
    if kind is float:
        raise _mixed()
    return None


# --- exact arithmetic -------------------------------------------------------------------------------------------------------


def _sum(left: Dec, right: Dec) -> Dec:
    scale = left.scale if left.scale > right.scale else right.scale
    return _made(_EXACT.add(left.value, right.value), scale)


def _product(left: Dec, right: Dec) -> Dec:
    scale = left.scale + right.scale
    if scale > MOST_DIGITS:
        raise _too_large()
    return _made(_EXACT.multiply(left.value, right.value), scale)


def _floored(left: Dec, right: Dec, by_zero: str) -> tuple[Decimal, Decimal]:
    """The quotient rounded down, and the remainder with the divisor's sign and the larger scale."""
    if not right.value:
        raise RuntimeFault(by_zero, kind="arithmetic", code="E0405")
    quotient, remainder = _EXACT.divmod(left.value, right.value)
    if remainder and remainder.is_signed() != right.value.is_signed():
        return _EXACT.subtract(quotient, _ONE), _EXACT.add(remainder, right.value)
    return quotient, remainder


def _floor_quotient(left: Dec, right: Dec) -> Dec:
    if right.value and left.value.adjusted() - right.value.adjusted() > MOST_DIGITS:
        raise _too_large()
    return _made(_floored(left, right, DIVISION_BY_ZERO)[0], 0)


def _remainder(left: Dec, right: Dec) -> Dec:
    return _made(_floored(left, right, MODULO_BY_ZERO)[1], max(left.scale, right.scale))


# --- division ---------------------------------------------------------------------------------------------------------------


def _quotient(left: Dec, right: Dec) -> Dec:
    """The exact quotient with its natural scale if it has finitely many digits; otherwise 28 significant digits, but always the
    whole integer part.
    """
    if not right.value:
        raise RuntimeFault(DIVISION_BY_ZERO, kind="arithmetic", code="E0405")
    lead = left.value.adjusted() - right.value.adjusted()
    if left.value and not -MOST_DIGITS <= lead <= MOST_DIGITS:
        raise _too_large()
    # A finite quotient has at most this many digits: a divisor of n digits has fewer than 3.33 n factors of 2.
    enough = _digits(left) + 3 * _digits(right) + 2
    context = _context(max(QUOTIENT_DIGITS, enough))
    value = context.divide(left.value, right.value)
    if not context.flags[Inexact]:
        return _settled(value)
    if enough <= QUOTIENT_DIGITS and lead < QUOTIENT_DIGITS:
        return _settled(value)
    # The integer part has ``lead`` or ``lead + 1`` digits.
    value = _context(max(QUOTIENT_DIGITS, lead + 1)).divide(left.value, right.value)
    if lead >= QUOTIENT_DIGITS and value.adjusted() < lead:
        value = _context(lead).divide(left.value, right.value)
    return _settled(value)


def _digits(number: Dec) -> int:
    """The number of digits without leading zeros."""
    return max(number.value.adjusted() + number.scale + 1, 1)


# --- powers -----------------------------------------------------------------------------------------------------------------


def _exponent(value: Dec) -> int:
    if not value.is_whole():
        raise RuntimeFault("decimal ** non-integer exponent is not supported; convert with float(x) first")
    return value.to_int() if value.value.adjusted() <= 7 else MOST_EXPONENT + 1


def _power(base: Dec, exponent: int) -> Dec:
    if not -MOST_EXPONENT <= exponent <= MOST_EXPONENT:
        raise RuntimeFault("decimal exponent too large", kind="arithmetic")
    if exponent >= 0:
        return _exact_power(base, exponent)
    if not base.value:
        raise RuntimeFault(ZERO_TO_NEGATIVE, kind="arithmetic")
    inverse = _exact_inverse(base)
    if inverse is not None:
        return _exact_power(inverse, -exponent)
    return _inverse_power(base, -exponent)


def _exact_power(base: Dec, exponent: int) -> Dec:
    if base.scale * exponent > MOST_DIGITS or (base.value and base.value.adjusted() * exponent >= MOST_DIGITS):
        raise _too_large()
    return _made(_raised(base.value, exponent, _EXACT), base.scale * exponent)


def _raised(base: Decimal, exponent: int, context: Context) -> Decimal:
    result, square = _ONE, base
    while exponent:
        if exponent & 1:
            result = context.multiply(result, square)
        exponent >>= 1
        if exponent:
            square = context.multiply(square, square)
    return result


def _exact_inverse(base: Dec) -> Dec | None:
    context = _context(3 * _digits(base) + 3)
    value = context.divide(_ONE, base.value)
    return None if context.flags[Inexact] else _settled(value)


def _inverse_power(base: Dec, exponent: int) -> Dec:
    """``1 / base ** exponent`` with infinitely many digits, correctly rounded: computed with more digits until the rounding is
    certain.
    """
    lead = base.value.adjusted()
    if lead * exponent > MOST_DIGITS or (-lead - 1) * exponent > MOST_DIGITS:
        raise _too_large()
    guard = len(str(exponent)) + 4
    precision = max(QUOTIENT_DIGITS, -lead * exponent) + guard + 10
    while True:
        context = _context(precision)
        near = context.divide(_ONE, _raised(context.plus(base.value), exponent, context))
        error = _ONE.scaleb(near.adjusted() + guard - precision, context=_EXACT)
        kept = max(QUOTIENT_DIGITS, near.adjusted() + 1)
        rounding = _context(kept)
        low, high = rounding.subtract(near, error), rounding.add(near, error)
        if low == high:
            return _settled(low)
        precision *= 2


# --- order ------------------------------------------------------------------------------------------------------------------


def _against(left: Dec, right: Any) -> int | None:
    """-1, 0 or 1: the order of the decimal and an integer of any size; ``None`` if the other is not a number."""
    if right.__class__ is float:
        raise _mixed()
    if right.__class__ is not int:
        return None
    if right.bit_length() > _MOST_BITS:
        return -1 if right > 0 else 1
    other = raw_from_int(right)
    return (left.value > other) - (left.value < other)
