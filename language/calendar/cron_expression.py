"""Cron expressions: five fields of local time, and the next time in a time zone at which they hold."""

from __future__ import annotations

from language.calendar.gregorian import DAY_SECONDS, date_of_days, days_in_month, weekday

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Zone(Protocol):
        """A time zone."""

        def offset(self, moment: int) -> int:
            """How many seconds local time is ahead of UTC at a moment in Unix seconds."""

        def moment(self, shown: int) -> int:
            """The moment at which local time has a value (given as if it were UTC).

            Of two such moments the first one; for a local time that is skipped, the end of the gap.
            """


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
#: name, least, most (as a weekday 7 means 0), names of the values from ``least`` on
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("weekday", 0, 7, _WEEKDAYS),
)
#: The 29th of February recurs within eight years.
_FARTHEST_DAYS = 9 * 366


class CronExpression:
    """The minutes, hours, days, months and weekdays (0 = Sunday) at which a job runs.

    ``floats`` says that minute or hour is ``*``: the job then runs at fixed intervals of real time when clocks are changed.
    """

    __slots__ = ("_either", "_times", "days", "floats", "hours", "minutes", "months", "text", "weekdays")

    def __init__(self, text: str, minutes: set[int], hours: set[int], rest: tuple[set[int], set[int], set[int]]) -> None:
        self.text = text
        self.floats = False
        self.minutes, self.hours = minutes, hours
        self._times = [hour * 60 + minute for hour in sorted(hours) for minute in sorted(minutes)]
        self.days, self.months, self.weekdays = rest
        #: both are restricted: a day need match only one of them
        self._either = len(self.days) < 31 and len(self.weekdays) < 7

    def _holds_on(self, days: int) -> bool:
        _, month, day = date_of_days(days)
        if month not in self.months:
            return False
        by_day, by_weekday = day in self.days, weekday(days) % 7 in self.weekdays
        return by_day or by_weekday if self._either else by_day and by_weekday

    @property
    def possible(self) -> bool:
        """Whether any such day exists."""
        if self._either:
            return True
        return any(min(self.days) <= days_in_month(2000, month) for month in self.months)

    def next_after(self, now: float, zone: Zone) -> int:
        """The first moment after ``now`` (Unix seconds) at which the expression holds in local time of that zone."""
        from math import floor

        second = floor(now)
        today = (second + zone.offset(second)) // DAY_SECONDS
        for days in range(today - 1, today + _FARTHEST_DAYS):
            if self._holds_on(days):
                for moment in self._moments(days, zone):
                    if moment > now:
                        return moment
        raise AssertionError("an expression that never holds was accepted")

    def _moments(self, days: int, zone: Zone) -> list[int]:
        """The moments of one day of the calendar, in order."""
        start = days * DAY_SECONDS
        before, after = zone.offset(start - 2 * DAY_SECONDS), zone.offset(start + 2 * DAY_SECONDS)
        if before == after == zone.offset(start) == zone.offset(start + DAY_SECONDS):
            return [start + minute * 60 - before for minute in self._times]
        if self.floats:
            return self._real_minutes(start, zone)
        # A local time that is skipped counts as the end of the gap, one that occurs twice as its first occurrence.
        return sorted({zone.moment(start + minute * 60) for minute in self._times})

    def _real_minutes(self, start: int, zone: Zone) -> list[int]:
        """All minutes of real time whose local time is one of the given times of that day."""
        times = set(self._times)
        found = []
        for moment in range(start - DAY_SECONDS, start + 2 * DAY_SECONDS, 60):
            shown = moment + zone.offset(moment) - start
            if 0 <= shown < DAY_SECONDS and shown // 60 in times:
                found.append(moment)
        return found


def parse(text: str) -> CronExpression:
    """Parses an expression. Raises ``ValueError`` for an invalid one and for one that never holds."""
    fields = _SHORTHANDS.get(text.strip().lower(), text).split()
    if len(fields) != len(_FIELDS):
        names = " ".join(field[0] for field in _FIELDS)
        raise ValueError(f'bad expression "{text}": it needs five fields ({names}), or one of {_known()}')
    sets = []
    for field, (name, least, most, names_of) in zip(fields, _FIELDS):
        values = _values(field, least, most, names_of)
        if values is None:
            raise ValueError(f'bad expression "{text}": "{field}" is no {name}')
        sets.append(values)
    minutes, hours, days, months, weekdays = sets
    expression = CronExpression(text, minutes, hours, (days, months, {day % 7 for day in weekdays}))
    expression.floats = "*" in fields[0] or "*" in fields[1]
    if not expression.possible:
        raise ValueError(f'the expression "{text}" never matches')
    return expression


def _known() -> str:
    return ", ".join(_SHORTHANDS)


def _values(field: str, least: int, most: int, names: tuple[str, ...]) -> set[int] | None:
    found: set[int] = set()
    for part in field.split(","):
        span, slash, step_text = part.partition("/")
        step = _number(step_text) if slash else 1
        if step is None or step < 1:
            return None
        if span == "*":
            first, last = least, 6 if most == 7 else most
        else:
            head, dash, tail = span.partition("-")
            low = _value(head, names, least)
            high = _value(tail, names, least) if dash else low
            if low is None or high is None or (slash and not dash):
                return None
            if high == 0 and low > 0 and most == 7:
                high = 7  # `fri-sun`
            first, last = low, high
        if not least <= first <= last <= most:
            return None
        found.update(range(first, last + 1, step))
    return found


def _value(text: str, names: tuple[str, ...], least: int) -> int | None:
    name = text.lower()
    return names.index(name) + least if name in names else _number(text)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else None
