"""Durations: exact lengths of time, counted in microseconds. Months and years are not durations, because their length
varies.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values.operators import DIVISION_BY_ZERO, MODULO_BY_ZERO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
#: The units of durations, with their lengths in microseconds.
UNITS = {
    "microseconds": 1,
    "milliseconds": 1000,
    "seconds": SECOND,
    "minutes": MINUTE,
    "hours": HOUR,
    "days": DAY,
    "weeks": 7 * DAY,
}
#: The longest duration, positive or negative: 999,999,999 days, as in Python.
MOST = 999_999_999 * DAY


class Duration:
    """A length of time of ``micros`` microseconds, which may be negative."""

    __slots__ = ("micros",)

    language_type = "duration"

    def __init__(self, micros: int) -> None:
        if not -MOST <= micros <= MOST:
            raise RuntimeFault("the duration is longer than 999,999,999 days", kind="arithmetic")
        self.micros = micros

    def display(self) -> str:
        """ISO 8601 in days, hours, minutes and seconds: ``P1DT2H30M``, ``PT0.5S``, ``-PT1S``, ``PT0S``."""
        days, rest = divmod(abs(self.micros), DAY)
        hours, rest = divmod(rest, HOUR)
        minutes, rest = divmod(rest, MINUTE)
        seconds, micros = divmod(rest, SECOND)
        time = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
        if seconds or micros:
            time += f"{seconds}{fraction(micros)}S"
        day = f"{days}D" if days else ""
        text = f"P{day}T{time}" if time else f"P{day}" if day else "PT0S"
        return "-" + text if self.micros < 0 else text

    __repr__ = display

    def key(self) -> tuple[str, int]:
        """A dictionary key: equal for equal durations, and different from the key of any other value."""
        return "duration", self.micros

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return Duration, (self.micros,)

    def __hash__(self) -> int:
        return hash(self.micros)

    def __eq__(self, other: Any) -> bool:
        return other.__class__ is Duration and self.micros == other.micros

    def __lt__(self, other: Any) -> bool:
        return self.micros < other.micros if other.__class__ is Duration else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.micros <= other.micros if other.__class__ is Duration else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.micros > other.micros if other.__class__ is Duration else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.micros >= other.micros if other.__class__ is Duration else NotImplemented

    def __add__(self, other: Any) -> Duration:
        return Duration(self.micros + other.micros) if other.__class__ is Duration else NotImplemented

    def __sub__(self, other: Any) -> Duration:
        return Duration(self.micros - other.micros) if other.__class__ is Duration else NotImplemented

    def __neg__(self) -> Duration:
        return Duration(-self.micros)

    def __mul__(self, other: Any) -> Duration:
        if other.__class__ is int:
            return Duration(self.micros * other)
        return Duration(nearest(self.micros, other)) if other.__class__ is float else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        kind = other.__class__
        if kind is Duration or kind is int or kind is float:
            if not (other.micros if kind is Duration else other):
                raise RuntimeFault(DIVISION_BY_ZERO, kind="arithmetic", code="E0405")
            if kind is Duration:
                return self.micros / other.micros
            if kind is int:
                return Duration(_divided(self.micros, other))
            _refuse_infinite(other)
            over, under = other.as_integer_ratio()
            return Duration(_divided(self.micros * under, over))
        return NotImplemented

    def __floordiv__(self, other: Any) -> int:
        if other.__class__ is not Duration:
            return NotImplemented
        if not other.micros:
            raise RuntimeFault(DIVISION_BY_ZERO, kind="arithmetic", code="E0405")
        return self.micros // other.micros

    def __mod__(self, other: Any) -> Duration:
        if other.__class__ is not Duration:
            return NotImplemented
        if not other.micros:
            raise RuntimeFault(MODULO_BY_ZERO, kind="arithmetic", code="E0405")
        return Duration(self.micros % other.micros)


def fraction(micros: int) -> str:
    """The digits of a fraction of a second with their point: none, three or six of them."""
    if not micros:
        return ""
    return f".{micros // 1000:03}" if micros % 1000 == 0 else f".{micros:06}"


def nearest(unit: int, count: float) -> int:
    """The microseconds of a number of units, rounded half to even. Raises ``RuntimeFault`` for a length that is not finite or
    is out of range.
    """
    _refuse_infinite(count)
    over, under = count.as_integer_ratio()
    return _divided(unit * over, under)


def _refuse_infinite(count: float) -> None:
    if count - count != 0:
        raise RuntimeFault(f"a duration is not multiplied or divided by {count!r}", kind="arithmetic")


def _divided(over: int, under: int) -> int:
    """The quotient rounded to the nearest integer, half to even."""
    if under < 0:
        over, under = -over, -under
    whole, rest = divmod(over, under)
    return whole + (2 * rest > under or (2 * rest == under and whole & 1))
