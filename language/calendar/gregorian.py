"""Days and dates of the proleptic Gregorian calendar, by arithmetic on integers. Days count from 1970-01-01."""

from __future__ import annotations

#: Years with four digits, as RFC 3339 writes them.
FIRST_DAY = -719528  # 0000-01-01
LAST_DAY = 2932896  # 9999-12-31
DAY_SECONDS = 86400

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
#: Monday is the first one.
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_ERA_DAYS = 146097  # 400 years
_ERA_SHIFT = 719468  # from 0000-03-01 to 1970-01-01


def is_leap(year: int) -> bool:
    """Whether the year has a 29th of February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    """The number of days of a month (1..12)."""
    return 29 if month == 2 and is_leap(year) else _MONTH_DAYS[month - 1]


def days_of_date(year: int, month: int, day: int) -> int:
    """The day number of a date, for any year."""
    # A year is taken to begin in March, so that the leap day is its last day.
    if month <= 2:
        year -= 1
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * _ERA_DAYS + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - _ERA_SHIFT


def date_of_days(days: int) -> tuple[int, int, int]:
    """Year, month, day of a day number, the inverse of :func:`days_of_date`."""
    era, day_of_era = divmod(days + _ERA_SHIFT, _ERA_DAYS)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    march_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * march_month + 2) // 5 + 1
    month = march_month + 3 if march_month < 10 else march_month - 9
    return era * 400 + year_of_era + (month <= 2), month, day


def weekday(days: int) -> int:
    """1 = Monday .. 7 = Sunday."""
    return (days + 3) % 7 + 1


def day_of_year(days: int) -> int:
    """1 = the 1st of January."""
    return days - days_of_date(date_of_days(days)[0], 1, 1) + 1


def iso_week(days: int) -> int:
    """The ISO 8601 week of a day: weeks begin on Monday and belong to the year of their Thursday."""
    thursday = days + 4 - weekday(days)
    return (day_of_year(thursday) - 1) // 7 + 1
