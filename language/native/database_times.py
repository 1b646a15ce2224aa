"""Converts dates, datetimes and durations for database drivers, and the texts of databases to such values."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from language.errors import RuntimeFault
from language.values import type_of
from language.values.dates import FIRST_DATE, LAST_DATE
from language.values.datetimes import DateTime
from language.values.durations import DAY, HOUR, MINUTE, SECOND, Duration
from language.values.iso_times import read_date, read_datetime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EPOCH = datetime(1970, 1, 1)
#: The parts of an interval in PostgreSQL's default style (``2 days -04:05:06.7``) and in ISO 8601 (``P2DT-4H-5M-6.7S``).
_PART = re.compile(r"([+-]?\d+) days?|([+-]?)(\d+):(\d\d):(\d\d)(\.\d+)?")
#: A time as MySQL writes it (``-838:59:59.000001``).
_CLOCK = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(\.\d+)?")
#: The longest ``TIME`` of MySQL in seconds, positive or negative.
_MOST_CLOCK = 839 * HOUR - 1
_ISO_PART = re.compile(r"(-?\d+)D|(-?\d+)H|(-?\d+)M|(-?)(\d+)(\.\d+)?S")


def python_time(value: Any) -> Any:
    """Python's object for a date, a datetime or a duration; ``None`` for any other value. A zone becomes UTC."""
    kind = type_of(value)
    if kind == "date":
        return date.fromordinal(value.days - FIRST_DATE + 1)
    if kind == "duration":
        return timedelta(microseconds=value.micros)
    if kind != "datetime":
        return None
    if value.micros // DAY < FIRST_DATE or value.micros // DAY > LAST_DATE:
        raise RuntimeFault("db error: the datetime lies outside of the years 1 to 9999 in UTC", kind="database")
    clock = _EPOCH + timedelta(microseconds=value.micros)
    return clock if value.zone is None else clock.replace(tzinfo=UTC)


def utc_text(value: DateTime) -> str:
    """A datetime with a zone as text in UTC, always with microseconds: the order of such texts is that of the times."""
    seconds, micros = divmod(value.micros, SECOND)
    whole = DateTime(seconds * SECOND).display()
    return f"{whole}.{micros:06}Z"


def date_column(text: str) -> Any:
    """The date in a server's text; a text that is not a date of the language (``infinity``, before the year 1) is returned
    unchanged.
    """
    found = read_date(text)
    return text if found is None else found


def datetime_column(text: str) -> Any:
    """The datetime in a server's text, with an offset or without; any other text is returned unchanged."""
    found = read_datetime(text)
    return text if found is None else found


def clock_column(text: str) -> Any:
    """The duration in MySQL's text of a ``TIME``; any other text is returned unchanged."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        return text
    sign, hours, minutes, seconds, point = found.groups()
    time = int(hours) * HOUR + int(minutes) * MINUTE + int(seconds) * SECOND + _fraction(point)
    return Duration(-time if sign else time)


def clock_text(value: Duration) -> str:
    """A duration as the text of a MySQL ``TIME``. Raises ``RuntimeFault`` for one that is too long."""
    if abs(value.micros) > _MOST_CLOCK:
        raise RuntimeFault(
            'MySQL has no times longer than 838:59:59.999999: store the seconds, in_units(x, "seconds")', kind="database"
        )
    seconds, micros = divmod(abs(value.micros), SECOND)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return ("-" if value.micros < 0 else "") + clock + (f".{micros:06}" if micros else "")


def interval_column(text: str) -> Duration:
    """The duration of an interval in PostgreSQL's default style or in ISO 8601. A day is 24 hours.

    Raises ``RuntimeFault`` for months, years and ``infinity``, which have no length, for one that is too long, and for the
    styles ``postgres_verbose`` and ``sql_standard``.
    """
    micros = _iso_micros(text) if text[:1] == "P" else _own_micros(text)
    if micros is None:
        raise RuntimeFault(
            f"db error: the interval '{text}' is no duration: months, years and infinity have no fixed length",
            kind="database",
            help="Ask for its text (`column::text`), for its seconds (`extract(epoch FROM column)`), or store days instead of "
            "months. Intervals are read in the styles `postgres` and `iso_8601` of the setting `intervalstyle`.",
        )
    return Duration(micros)


def _own_micros(text: str) -> int | None:
    micros, end = 0, 0
    for part in _PART.finditer(text):
        if text[end : part.start()].strip():
            return None
        end = part.end()
        days, sign, hours, minutes, seconds, point = part.groups()
        if days is not None:
            micros += int(days) * DAY
        else:
            time = int(hours) * HOUR + int(minutes) * MINUTE + int(seconds) * SECOND + _fraction(point)
            micros += -time if sign == "-" else time
    return micros if end and end == len(text) else None


def _iso_micros(text: str) -> int | None:
    micros, end = 0, 1
    days_part = text.partition("T")[0]
    if "M" in days_part or "Y" in days_part:
        return None
    for part in _ISO_PART.finditer(text):
        if text[end : part.start()] not in ("", "T"):
            return None
        end = part.end()
        days, hours, minutes, sign, seconds, point = part.groups()
        if seconds is not None:
            time = int(seconds) * SECOND + _fraction(point)
            micros += -time if sign else time
        else:
            micros += int(days or 0) * DAY + int(hours or 0) * HOUR + int(minutes or 0) * MINUTE
    return micros if end > 1 and end == len(text) else None


def _fraction(point: str | None) -> int:
    return 0 if point is None else int(point[1:7].ljust(6, "0"))
