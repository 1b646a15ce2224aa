"""The positions and texts of the ticks of a number axis."""

from __future__ import annotations

import math

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"))
_PLAIN_BELOW = 1e15
_PLAIN_FROM = 1e-4

# Doubles have 15 to 16 digits: a range whose ends agree in the first 12 counts as one value.
_FINEST = 1e-12


class Scale:
    """A range of numbers that begins and ends at a tick, with its ticks and their texts."""

    __slots__ = ("high", "low", "texts", "ticks")

    def __init__(self, low: float, high: float, ticks: list[float], texts: list[str]) -> None:
        self.low = low
        self.high = high
        self.ticks = ticks
        self.texts = texts

    def part(self, value: float) -> float:
        """The position of a value: 0 at ``low``, 1 at ``high``."""
        return (value - self.low) / (self.high - self.low)


def scale(low: float, high: float, count: int, *, whole: bool = False, tight: bool = False) -> Scale:
    """A scale over the range with about ``count`` steps of 1, 2, 2.5 or 5 times a power of ten.

    ``whole``: no ticks between integers. ``tight``: the scale keeps the range itself and the ticks lie inside.
    """
    low, high = _apart(low, high, tight)
    step = _step((high - low) / max(count, 1), whole)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if not tight:
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = _digits(step)
    ticks = [_rounded(number * step, digits) for number in range(first, last + 1)]
    if not tight:
        low, high = ticks[0], ticks[-1]
    return Scale(low, high, ticks, tick_texts(ticks, step))


def _apart(low: float, high: float, tight: bool) -> tuple[float, float]:
    """The range, widened where it is too small for ticks."""
    size = max(abs(low), abs(high))
    if size < 1e-290:
        return (-1.0, 1.0) if tight else (0.0, 1.0)
    if high - low > size * _FINEST:
        return low, high
    return low - size * 0.1, high + size * 0.1


def _step(least: float, whole: bool) -> float:
    if whole and least <= 1:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    for factor in _STEPS:
        if factor * power >= least * (1 - 1e-9) and not (whole and power < 10 and factor == 2.5):
            return factor * power
    return 10.0 * power


def _digits(step: float) -> int:
    """How many decimals distinguish the multiples of a step."""
    digits = -math.floor(math.log10(step))
    return digits if abs(step * 10.0**digits - round(step * 10.0**digits)) < 1e-6 else digits + 1


def _rounded(value: float, digits: int) -> float:
    rounded = round(value, digits) if digits < 300 else value
    return rounded + 0.0  # never minus zero


def tick_texts(ticks: list[float], step: float) -> list[str]:
    """The texts of ticks, all in the same form: ``10,000``, ``2.5M``, ``0.05``, ``1.5e20``."""
    largest = max((abs(tick) for tick in ticks), default=0.0)
    if largest == 0:
        return ["0" for _ in ticks]
    if largest >= _PLAIN_BELOW or largest < _PLAIN_FROM:
        digits = max(math.floor(math.log10(largest)) + _digits(step), 0)
        return [_sign(_scientific(tick, digits)) for tick in ticks]
    for unit, letter in _UNITS:
        if largest >= unit:
            digits = max(_digits(step / unit), 0)
            return [_sign(f"{tick / unit:,.{digits}f}{letter}") if tick else "0" for tick in ticks]
    digits = max(_digits(step), 0)
    # Four digits may be a year, which is not grouped.
    grouping = "," if largest >= 10_000 else ""
    return [_sign(f"{tick:{grouping}.{digits}f}") if tick else "0" for tick in ticks]


def number_text(value: float, *, signed: bool = False) -> str:
    """A number for people: at most four decimals, thousands grouped; ``signed`` writes the plus too."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= _PLAIN_BELOW or size < _PLAIN_FROM:
        shown = _scientific(value, 4)
    else:
        # Six significant digits are enough, and all digits of the integer part.
        digits = min(4, max(0, 5 - math.floor(math.log10(size))))
        shown = f"{value:,.{digits}f}" if size >= 10_000 else f"{value:.{digits}f}"
        if "." in shown:
            shown = shown.rstrip("0").rstrip(".")
    return _sign("+" + shown if signed and value > 0 else shown)


def short_text(value: float, *, signed: bool = False) -> str:
    """A number in little space: three digits and a unit (``1.25M``)."""
    size = abs(value)
    if 1e4 <= size < _PLAIN_BELOW:
        for unit, letter in (*_UNITS, (1e3, "K")):
            if size >= unit * 0.9995:
                digits = max(0, 2 - math.floor(math.log10(size / unit * 1.0005)))
                shown = f"{value / unit:.{digits}f}"
                shown = (shown.rstrip("0").rstrip(".") if "." in shown else shown) + letter
                return _sign("+" + shown if signed and value > 0 else shown)
    if size and (size >= _PLAIN_BELOW or size < _PLAIN_FROM):
        return _sign(("+" if signed and value > 0 else "") + _scientific(value, 1))
    digits = 0 if size == 0 else max(0, 2 - math.floor(math.log10(size)))
    shown = f"{value:.{min(digits, 6)}f}"
    shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
    return _sign("+" + shown if signed and value > 0 else shown)


def _scientific(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value:.{min(digits, 15)}e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}"


def _sign(shown: str) -> str:
    return shown.replace("-", "−")
