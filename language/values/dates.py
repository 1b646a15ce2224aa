"""Dates of the Gregorian calendar, from 0001-01-01 to 9999-12-31, without a time or a zone."""

from __future__ import annotations

from language.calendar.gregorian import LAST_DAY, date_of_days, days_in_month, days_of_date
from language.errors import RuntimeFault
from language.values.durations import DAY, Duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: 0001-01-01
FIRST_DATE = -719162
LAST_DATE = LAST_DAY


def out_of_range() -> RuntimeFault:
    """The error of a date outside of the years 1 to 9999."""
    return RuntimeFault("the date is out of range: years go from 1 to 9999", kind="arithmetic")


class Date:
    """A day: ``days`` counts from 1970-01-01."""

    __slots__ = ("days",)

    language_type = "date"

    def __init__(self, days: int) -> None:
        if not FIRST_DATE <= days <= LAST_DATE:
            raise out_of_range()
        self.days = days

    def display(self) -> str:
        """``2026-11-23``"""
        year, month, day = date_of_days(self.days)
        return f"{year:04}-{month:02}-{day:02}"

    __repr__ = display

    def key(self) -> tuple[str, int]:
        """A dictionary key: equal for equal dates, and different from the key of any other value."""
        return "date", self.days

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return Date, (self.days,)

    def __hash__(self) -> int:
        return hash(self.days)

    def __eq__(self, other: Any) -> bool:
        return other.__class__ is Date and self.days == other.days

    def __lt__(self, other: Any) -> bool:
        return self.days < other.days if other.__class__ is Date else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.days <= other.days if other.__class__ is Date else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.days > other.days if other.__class__ is Date else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.days >= other.days if other.__class__ is Date else NotImplemented

    def __add__(self, other: Any) -> Date:
        return Date(self.days + _whole_days(other)) if other.__class__ is Duration else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if other.__class__ is Date:
            return Duration((self.days - other.days) * DAY)
        return Date(self.days - _whole_days(other)) if other.__class__ is Duration else NotImplemented


def _whole_days(duration: Duration) -> int:
    days, rest = divmod(duration.micros, DAY)
    if rest:
        raise RuntimeFault(
            f"a date moves by whole days, and {duration.display()} is none: use a datetime (datetime(d) is its midnight)",
            kind="type",
        )
    return days


def date_of(year: int, month: int, day: int) -> Date | None:
    """The date of that year, month and day; ``None`` if there is no such day."""
    if not (1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= days_in_month(year, month)):
        return None
    return Date(days_of_date(year, month, day))


def months_later(days: int, months: int) -> int:
    """The day ``months`` later: the same day of the month, or the last one of a shorter month. Both count days from
    1970-01-01.
    """
    year, month, day = date_of_days(days)
    count = year * 12 + month - 1 + months
    if not 12 <= count < 120_000:
        raise out_of_range()
    year, month = divmod(count, 12)
    return days_of_date(year, month + 1, min(day, days_in_month(year, month + 1)))
