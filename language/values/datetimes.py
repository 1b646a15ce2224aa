"""Datetimes: a date and a time of day, with a time zone or without one. The two kinds never mix silently."""

from __future__ import annotations

from language.calendar.gregorian import date_of_days
from language.calendar.zones import UTC
from language.errors import RuntimeFault
from language.values.dates import FIRST_DATE, LAST_DATE, Date, out_of_range
from language.values.durations import DAY, HOUR, MINUTE, SECOND, Duration, fraction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.calendar.zones import Zone

MIXED_ZONES = (
    "cannot mix a datetime that has a time zone with one that has none; say which zone is meant: "
    'datetime(x, "UTC"), datetime(x, "Europe/Berlin")'
)


class DateTime:
    """``micros`` counts from 1970-01-01T00:00:00: in UTC with a zone, else as a clock without a zone shows it.

    ``zone`` is ``None`` for a datetime without one; ``ahead`` says how many seconds the local clock is ahead of UTC.
    """

    __slots__ = ("ahead", "micros", "zone")

    language_type = "datetime"

    def __init__(self, micros: int, zone: Zone | None = None) -> None:
        self.micros = micros
        self.zone = zone
        self.ahead = 0 if zone is None else zone.offset(micros // SECOND)
        if not FIRST_DATE <= self.local // DAY <= LAST_DATE:
            raise out_of_range()

    @property
    def local(self) -> int:
        """The local time in its zone, in microseconds since 1970-01-01T00:00:00."""
        return self.micros + self.ahead * SECOND

    def date(self) -> Date:
        """The date in its own zone."""
        return Date(self.local // DAY)

    def display(self) -> str:
        """ISO 8601: ``2026-11-23T10:00:00``, with ``Z`` or the offset where it has a zone."""
        days, rest = divmod(self.local, DAY)
        year, month, day = date_of_days(days)
        hour, rest = divmod(rest, HOUR)
        minute, rest = divmod(rest, MINUTE)
        second, micros = divmod(rest, SECOND)
        return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction(micros)}{self.offset_text()}"

    __repr__ = display

    def offset_text(self) -> str:
        """``Z``, ``+01:00``, or nothing without a zone; with seconds for historical offsets."""
        if self.zone is None:
            return ""
        if self.zone is UTC:
            return "Z"
        minutes, seconds = divmod(abs(self.ahead), 60)
        sign = "-" if self.ahead < 0 else "+"
        return f"{sign}{minutes // 60:02}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")

    def key(self) -> tuple[str, bool, int]:
        """A dictionary key: equal for equal datetimes, and different from the key of any other value."""
        return "datetime", self.zone is None, self.micros

    def __reduce__(self) -> tuple[Any, tuple[int, str | None]]:
        return restored, (self.micros, None if self.zone is None else self.zone.name)

    def __hash__(self) -> int:
        return hash(self.micros)

    def __eq__(self, other: Any) -> bool:
        # Datetimes with zones are compared as moments, not by their local times.
        return other.__class__ is DateTime and self.micros == other.micros and (self.zone is None) == (other.zone is None)

    def __lt__(self, other: Any) -> bool:
        return self.micros < self._alike(other) if other.__class__ is DateTime else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.micros <= self._alike(other) if other.__class__ is DateTime else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.micros > self._alike(other) if other.__class__ is DateTime else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.micros >= self._alike(other) if other.__class__ is DateTime else NotImplemented

    def _alike(self, other: DateTime) -> int:
        if (self.zone is None) != (other.zone is None):
            raise RuntimeFault(MIXED_ZONES, kind="type")
        return other.micros

    def __add__(self, other: Any) -> DateTime:
        return DateTime(self.micros + other.micros, self.zone) if other.__class__ is Duration else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if other.__class__ is DateTime:
            return Duration(self.micros - self._alike(other))
        return DateTime(self.micros - other.micros, self.zone) if other.__class__ is Duration else NotImplemented


def at_clock(local: int, zone: Zone | None) -> DateTime:
    """The datetime at which the clock of a zone shows ``local`` (microseconds); the first one if there are two.

    A time that the clock skips is moved forward by the length of the gap.
    """
    if zone is None:
        return DateTime(local)
    seconds, micros = divmod(local, SECOND)
    before = seconds - zone.offset(seconds - 86400)
    after = seconds - zone.offset(seconds + 86400)
    moment = before
    for candidate in (min(before, after), max(before, after)):
        if candidate + zone.offset(candidate) == seconds:
            moment = candidate
            break
    return DateTime(moment * SECOND + micros, zone)


def restored(micros: int, zone: str | None) -> DateTime:
    """The datetime of stored ``micros`` and the name of its zone. Raises ``RuntimeFault`` for a zone that is not known here."""
    if zone is None:
        return DateTime(micros)
    from language.calendar.zones import zone_of

    return DateTime(micros, zone_of(zone))
