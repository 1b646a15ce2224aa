"""Numbers: rounding, elementary functions, integers. Domain errors give NaN or an infinity, never an error."""

from __future__ import annotations

import math

from language.errors import RuntimeFault
from language.registry import Family
from language.values import FALSE, TRUE, type_of
from language.values.display import number_text
from language.values.operators import (
    MIXED_NUMBERS,
    MOST_BITS,
    NUMBER_TOO_LARGE,
    floordiv,
    is_decimal,
    mul,
    power,
    to_float,
    to_index,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.values import Bool

family = Family("mathematics", "Mathematics", pure=True)

#: No double has more digits after the point.
_FLOAT_PLACES = 1100

#: The most bits of the smaller of two integers for a greatest common divisor.
_MOST_DIVISOR_BITS = 500_000


def wants_number(name: str, value: Any) -> RuntimeFault:
    """The error of a builtin for an argument that is not a number."""
    return RuntimeFault(f"{name} expects a number, got {type_of(value)}", kind="type")


def is_real(value: Any) -> bool:
    """Whether the value is an integer, float or decimal."""
    kind = value.__class__
    return kind is int or kind is float or is_decimal(value)


def real(name: str, value: Any) -> float:
    """A real number as a double. Raises the error of the builtin ``name`` for anything else."""
    kind = value.__class__
    if kind is float:
        return value  # type: ignore[no-any-return]
    if kind is int:
        return to_float(value)
    if is_decimal(value):
        return value.to_float()  # type: ignore[no-any-return]
    if kind is complex:
        raise RuntimeFault(f"{name} is not defined for complex numbers")
    raise wants_number(name, value)


def _integer(name: str, value: Any) -> int:
    kind = value.__class__
    if kind is int:
        return value  # type: ignore[no-any-return]
    raise RuntimeFault(f"{name} expects an integer, got {'float' if kind is float else type_of(value)}", kind="type")


# --- rounding ---------------------------------------------------------------------------------------------------------------


def _to_whole(name: str, x: Any, rounding: str, function: Callable[[float], int]) -> int:
    kind = x.__class__
    if kind is int:
        return x  # type: ignore[no-any-return]
    if kind is float:
        if x - x != 0:
            raise RuntimeFault(f"cannot convert {number_text(x)} to an integer")
        return function(x)
    if is_decimal(x):
        return x.to_int(rounding)  # type: ignore[no-any-return]
    raise wants_number(name, x)


@family.builtin("floor(x)", result="int", keeps="nothing")
def floor(x: Any) -> int:
    """The greatest integer that is not above `x`: `floor(-3.7)` is `-4`."""
    return _to_whole("floor", x, "ROUND_FLOOR", math.floor)


@family.builtin("ceil(x)", result="int")
def ceil(x: Any) -> int:
    """The least integer that is not below `x`: `ceil(-3.2)` is `-3`."""
    return _to_whole("ceil", x, "ROUND_CEILING", math.ceil)


@family.builtin("trunc(x)", result="int")
def trunc(x: Any) -> int:
    """`x` without its fraction, as an integer: `trunc(-3.7)` is `-3`."""
    return _to_whole("trunc", x, "ROUND_DOWN", math.trunc)


@family.builtin("round(x)", result="int", keeps="nothing")
def round_(x: Any) -> int:
    """The nearest integer, ties to the even one: `round(2.5)` is `2`, `round(3.5)` is `4`."""
    return _to_whole("round", x, "ROUND_HALF_EVEN", round)


@family.builtin("round_to(x, n)")
def round_to(x: Any, n: Any) -> Any:
    """`x` rounded to `n` >= 0 decimals, as a float, by its exact value: `round_to(2.675, 2)` is `2.67`.

    A decimal stays one, with exactly `n` decimals, ties to even.
    """
    if not is_real(n) or n != n or (n.__class__ is float and not n.is_integer()) or (is_decimal(n) and not n.is_whole()):
        raise RuntimeFault("round_to expects an integer number of decimals", kind="type")
    if n < 0:
        raise RuntimeFault("round_to expects a non-negative number of decimals")
    places = to_index(n)
    if is_decimal(x):
        return _unlocated(x.rounded, places)
    value = real("round_to", x)
    if value - value != 0 or places > _FLOAT_PLACES:
        return value
    try:
        return round(value, places)
    except OverflowError:
        return math.copysign(math.inf, value)


def _unlocated(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls an operator and removes the position from its errors, because a builtin raises them."""
    try:
        return function(*arguments)
    except RuntimeFault as fault:
        raise RuntimeFault(fault.message, kind=fault.kind, code=fault.code) from None


@family.builtin("abs(x)", result="num", keeps="nothing")
def abs_(x: Any) -> Any:
    """The magnitude, of the same type; of a complex number its modulus."""
    kind = x.__class__
    if kind is int or kind is float or is_decimal(x):
        return abs(x)
    if kind is complex:
        try:
            return abs(x)
        except OverflowError:
            return math.inf
    if type_of(x) == "array":
        return x.mapped("abs")
    raise wants_number("abs", x)


@family.builtin("sign(x)")
def sign(x: Any) -> int:
    """`-1`, `0` or `1`; `0` for nan."""
    if not is_real(x):
        raise wants_number("sign", x)
    if x.__class__ is float and x != x:
        return 0
    return int(x > 0) - int(x < 0)


@family.builtin("clamp(x, lo, hi)")
def clamp(x: Any, lo: Any, hi: Any) -> Any:
    """`lo` if `x` is below it, `hi` if `x` is above it, else `x`."""
    for value in (x, lo, hi):
        if not is_real(value):
            raise wants_number("clamp", value)
    refuse_mixture((x, lo, hi))
    return lo if x < lo else hi if x > hi else x


def refuse_mixture(numbers: Any) -> None:
    """Raises the language's error when both a decimal and a float are among the numbers."""
    decimals = floats = False
    for number in numbers:
        kind = number.__class__
        if kind is float:
            floats = True
        elif kind is not int:
            decimals = True
    if decimals and floats:
        raise RuntimeFault(MIXED_NUMBERS, kind="type")


# --- elementary functions ---------------------------------------------------------------------------------------------------


def _elementary(name: str, x: Any) -> Any:
    """A function of the same name in ``math``, for complex arguments in ``cmath``; of an array that of each element."""
    if x.__class__ is not float and x.__class__ is not int and type_of(x) == "array":
        return x.mapped(name)
    if x.__class__ is complex:
        import cmath

        try:
            return getattr(cmath, "log" if name == "ln" else name)(x)
        except (ValueError, OverflowError):
            return complex(math.nan, math.nan)
    value = real(name, x)
    try:
        return getattr(math, name)(value)
    except ValueError:
        return math.nan
    except OverflowError:
        # Only exp, cosh and sinh overflow here, and only sinh can be negative.
        return -math.inf if name == "sinh" and value < 0 else math.inf


@family.builtin("sqrt(x)", result="num", keeps="nothing")
def sqrt(x: Any) -> Any:
    """The square root: `sqrt(-1)` is nan."""
    if x.__class__ is int and 1024 <= x.bit_length() <= 2048 and x > 0:
        # The root fits a double although the number itself may not.
        return to_float(math.isqrt(x))
    return _elementary("sqrt", x)


@family.builtin("exp(x)", result="num")
def exp(x: Any) -> Any:
    """`e` to the power `x`."""
    return _elementary("exp", x)


def _logarithm(name: str, x: Any, function: Callable[[Any], float]) -> float:
    """The logarithm of a real number, also of an integer beyond the largest double; of an array that of each element."""
    if x.__class__ is not float and x.__class__ is not int and type_of(x) == "array" and name != "log_base":
        return x.mapped(name)  # type: ignore[no-any-return]
    value = x if x.__class__ is int else real(name, x)
    if value > 0:
        return function(value)
    return -math.inf if value == 0 else math.nan


@family.builtin("ln(x)", result="num")
def ln(x: Any) -> Any:
    """The natural logarithm: `ln(0)` is `-inf`, `ln(-1)` is nan."""
    if x.__class__ is complex:
        return _elementary("ln", x)
    return _logarithm("ln", x, math.log)


@family.builtin("log10(x)", result="num")
def log10(x: Any) -> float:
    """The logarithm to the base 10: `log10(1000)` is `3.0`."""
    return _logarithm("log10", x, math.log10)


@family.builtin("log2(x)", result="num")
def log2(x: Any) -> float:
    """The logarithm to the base 2: `log2(8)` is `3.0`."""
    return _logarithm("log2", x, math.log2)


@family.builtin("log_base(x, base)")
def log_base(x: Any, base: Any) -> float:
    """The logarithm of `x` to any base: `log_base(8, 2)` is `3.0`."""
    if base == 2:
        return _logarithm("log_base", x, math.log2)
    if base == 10:
        return _logarithm("log_base", x, math.log10)
    above, below = _logarithm("log_base", x, math.log), _logarithm("log_base", base, math.log)
    if below == 0:
        return math.nan if above == 0 or above != above else math.copysign(math.inf, above)
    return above / below


@family.builtin("sin(x)", result="num")
def sin(x: Any) -> Any:
    """The sine of an angle in radians."""
    return _elementary("sin", x)


@family.builtin("cos(x)", result="num")
def cos(x: Any) -> Any:
    """The cosine of an angle in radians."""
    return _elementary("cos", x)


@family.builtin("tan(x)", result="num")
def tan(x: Any) -> Any:
    """The tangent of an angle in radians."""
    return _elementary("tan", x)


@family.builtin("asin(x)")
def asin(x: Any) -> Any:
    """The angle in radians with that sine; nan outside -1..1."""
    return _elementary("asin", x)


@family.builtin("acos(x)")
def acos(x: Any) -> Any:
    """The angle in radians with that cosine; nan outside -1..1."""
    return _elementary("acos", x)


@family.builtin("atan(x)")
def atan(x: Any) -> Any:
    """The angle in radians with that tangent."""
    return _elementary("atan", x)


@family.builtin("sinh(x)")
def sinh(x: Any) -> Any:
    """The hyperbolic sine."""
    return _elementary("sinh", x)


@family.builtin("cosh(x)")
def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""
    return _elementary("cosh", x)


@family.builtin("tanh(x)")
def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return _elementary("tanh", x)


@family.builtin("asinh(x)")
def asinh(x: Any) -> Any:
    """The inverse hyperbolic sine."""
    return _elementary("asinh", x)


@family.builtin("acosh(x)")
def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine; nan below 1."""
    return _elementary("acosh", x)


@family.builtin("atanh(x)")
def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent; infinite at -1 and 1, nan beyond."""
    if is_real(x) and (x == 1 or x == -1):
        return math.copysign(math.inf, real("atanh", x))
    return _elementary("atanh", x)


@family.builtin("cbrt(x)", result="num")
def cbrt(x: Any) -> float:
    """The cube root: `cbrt(-8)` is `-2.0`."""
    value = real("cbrt", x)
    root = math.cbrt(value)
    if value and math.isfinite(root):
        # The C library's cube root of a perfect cube may be off by one bit: 3.0000000000000004 for 27.
        whole = float(round(root))
        if whole * whole * whole == value:
            return whole
    return root


@family.builtin("radians(x)")
def radians(x: Any) -> float:
    """An angle in degrees as radians."""
    return math.radians(real("radians", x))


@family.builtin("degrees(x)")
def degrees(x: Any) -> float:
    """An angle in radians as degrees."""
    return math.degrees(real("degrees", x))


@family.builtin("hypot(a, b)", result="num")
def hypot(a: Any, b: Any) -> float:
    """The length of the hypotenuse: `hypot(3, 4)` is `5.0`."""
    return math.hypot(real("hypot", a), real("hypot", b))


@family.builtin("atan2(y, x)", result="num")
def atan2(y: Any, x: Any) -> float:
    """The angle of the point `(x, y)` in radians, from -pi to pi."""
    return math.atan2(real("atan2", y), real("atan2", x))


@family.builtin("pow(a, b)", result="num")
def pow_(a: Any, b: Any) -> Any:
    """`a ** b`: `pow(2, 10)` is `1024`, `pow(2, -1)` is `0.5`."""
    for value in (a, b):
        if not is_real(value) and value.__class__ is not complex:
            raise wants_number("pow", value)
    return _unlocated(power, a, b)


# --- integers and classes ---------------------------------------------------------------------------------------------------


@family.builtin("gcd(a, b)", result="int")
def gcd(a: Any, b: Any) -> int:
    """The greatest common divisor of two integers: `gcd(12, 18)` is `6`.

    Two integers of more than 500,000 bits each are an error (`number too large`).
    """
    return math.gcd(*_divisible("gcd", a, b))


@family.builtin("lcm(a, b)", result="int")
def lcm(a: Any, b: Any) -> int:
    """The least common multiple of two integers: `lcm(4, 6)` is `12`."""
    left, right = _divisible("lcm", a, b)
    shared = math.gcd(left, right)
    return abs(mul(floordiv(left, shared), right)) if shared else 0


def _divisible(name: str, a: Any, b: Any) -> tuple[int, int]:
    """Both integers. Raises where their greatest common divisor would take minutes: the time is quadratic in the smaller
    one.
    """
    left, right = _integer(name, a), _integer(name, b)
    if min(left.bit_length(), right.bit_length()) > _MOST_DIVISOR_BITS:
        raise RuntimeFault(NUMBER_TOO_LARGE, kind="arithmetic")
    return left, right


@family.builtin("factorial(n)", result="int")
def factorial(n: Any) -> int:
    """The product of the integers from 1 to `n`: `factorial(5)` is `120`."""
    count = _integer("factorial", n)
    if count < 0:
        raise RuntimeFault("factorial expects a non-negative integer")
    if count > 1_000_000 or math.lgamma(count + 1) / math.log(2) > MOST_BITS:
        raise RuntimeFault(NUMBER_TOO_LARGE, kind="arithmetic")
    if count < 10_000:
        return math.factorial(count)
    from language.values.big_arithmetic import factorial as by_parts

    return by_parts(count)


@family.builtin("is_nan(x)", result="bool")
def is_nan(x: Any) -> Bool:
    """Whether the number is nan."""
    parts = _parts("is_nan", x)
    return TRUE if any(math.isnan(part) for part in parts) else FALSE


@family.builtin("is_infinite(x)", result="bool")
def is_infinite(x: Any) -> Bool:
    """Whether the number is `inf` or `-inf`."""
    parts = _parts("is_infinite", x)
    return TRUE if any(math.isinf(part) for part in parts) else FALSE


@family.builtin("is_finite(x)", result="bool")
def is_finite(x: Any) -> Bool:
    """Whether the number is neither nan nor infinite; integers and decimals always are."""
    parts = _parts("is_finite", x)
    return TRUE if all(math.isfinite(part) for part in parts) else FALSE


def _parts(name: str, x: Any) -> tuple[float, ...]:
    kind = x.__class__
    if kind is float:
        return (x,)
    if kind is complex:
        return (x.real, x.imag)
    if kind is int or is_decimal(x):
        return ()
    raise wants_number(name, x)


# --- complex numbers --------------------------------------------------------------------------------------------------------


@family.builtin("complex(re, im)")
def complex_(re: Any, im: Any) -> complex:
    """The complex number of two parts: `complex(3, 2)` shows as `3+2i`."""
    return complex(real("complex", re), real("complex", im))


def _complex(name: str, z: Any) -> complex:
    return z if z.__class__ is complex else complex(real(name, z))


@family.builtin("real(z)")
def real_part(z: Any) -> float:
    """The real part, a float."""
    return _complex("real", z).real


@family.builtin("imag(z)")
def imaginary_part(z: Any) -> float:
    """The imaginary part, a float."""
    return _complex("imag", z).imag


@family.builtin("conj(z)")
def conjugate(z: Any) -> complex:
    """The complex conjugate."""
    return _complex("conj", z).conjugate()


@family.builtin("arg(z)")
def argument(z: Any) -> float:
    """The angle of a complex number in radians, from -pi to pi."""
    number = _complex("arg", z)
    return math.atan2(number.imag, number.real)


# --- special functions ------------------------------------------------------------------------------------------------------


@family.builtin("gamma(x)")
def gamma(x: Any) -> float:
    """The gamma function: `gamma(5)` is `24.0`."""
    value = real("gamma", x)
    try:
        return math.gamma(value)
    except ValueError:
        return math.copysign(math.inf, value) if value == 0 else math.nan
    except OverflowError:
        return math.inf


@family.builtin("lgamma(x)")
def lgamma(x: Any) -> float:
    """The natural logarithm of the magnitude of the gamma function."""
    try:
        return math.lgamma(real("lgamma", x))
    except (ValueError, OverflowError):
        return math.inf


@family.builtin("erf(x)")
def erf(x: Any) -> float:
    """The error function."""
    return math.erf(real("erf", x))


@family.builtin("erfc(x)")
def erfc(x: Any) -> float:
    """The complement of the error function."""
    return math.erfc(real("erfc", x))


@family.builtin("beta(a, b)")
def beta(a: Any, b: Any) -> float:
    """The beta function of two numbers: `beta(2, 3)` is 1/12."""
    left, right = real("beta", a), real("beta", b)
    if left > 0 and right > 0 and left + right < 170:
        return math.gamma(left) * math.gamma(right) / math.gamma(left + right)
    try:
        sign_ = _gamma_sign(left) * _gamma_sign(right) * _gamma_sign(left + right)
        return sign_ * math.exp(math.lgamma(left) + math.lgamma(right) - math.lgamma(left + right))
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


def _gamma_sign(x: float) -> float:
    return 1.0 if x > 0 or math.floor(x) % 2 == 0 else -1.0
