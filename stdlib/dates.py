"""Dates, datetimes and durations as values of their own. Pure: nothing here reads the clock."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.calendar.zones import Zone
    from language.values.dates import Date
    from language.values.datetimes import DateTime
    from language.values.durations import Duration

family = Family("dates", "Dates", pure=True)

_PARTS = ("weeks", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds")
_TRUNCATED = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
_STEPS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
#: The most items of one range.
MOST_ITEMS = 1_000_000
#: The approximate size of one item in bytes.
_ITEM_BYTES = 120


@family.builtin("date(x, month?, day?)")
def date(x: Any, month: Any = None, day: Any = None) -> Date:
    """A date: from a year, month and day, from a text `YYYY-MM-DD`, or from a datetime, in its own zone.

    Years go from 1 to 9999. Dates display as `2026-11-23`, are compared and sorted, and are equal to dates only. `d +
    duration(days = 1)` and `d1 - d2` (a duration) calculate with them; `date_parts(d)` has year, month, day and weekday.

    `date(2026, 2, 28) + duration(days = 1)` is `2026-03-01`, `date("2026-03-01") - date(2026, 2, 1)` is `P28D`.
    """
    from language.values.dates import date_of

    kind = type_of(x)
    if month is None and day is None:
        if kind == "date":
            return x  # type: ignore[no-any-return]
        if kind == "datetime":
            return x.date()  # type: ignore[no-any-return]
        if kind == "text":
            return parse_date(x)
        raise RuntimeFault(f"date expects a year, month and day, or a text, datetime or date, got {kind} alone", kind="type")
    parts = [_whole("date", part, "a year, month and day") for part in (x, month, day)]
    found = date_of(*parts)
    if found is None:
        raise RuntimeFault(f"date: there is no day {parts[0]}-{parts[1]}-{parts[2]}; years go from 1 to 9999")
    return found


@family.builtin("datetime(x, zone?)")
def datetime(x: Any, zone: Any = None) -> DateTime:
    """A date with a time of day, to the microsecond, with a time zone or without one.

    `x` is a text as `parse_datetime` reads it, unix seconds (a number, as `now()` gives; UTC unless `zone` says otherwise), a
    date (its midnight) or a datetime. `zone` is `"UTC"`, an offset such as `"+02:00"` or a name such as `"Europe/Berlin"`. A
    text, date or datetime without a zone is taken as local time in `zone`; a time that occurs twice there is the first one, a
    skipped time is moved forward by the length of the gap. A datetime with a zone is converted to `zone`.

    Datetimes display as ISO 8601. Datetimes with a zone are compared by moment. A datetime with a zone never equals one
    without; ordering or subtracting the two is an error. `+` and `-` of a duration move the moment: a day is 24 hours.
    `add_days` keeps the local time.

    `datetime("2026-03-28T12:00", "Europe/Berlin") + duration(days = 1)` is `2026-03-29T13:00:00+02:00`.
    """
    from language.values.datetimes import DateTime, at_clock
    from language.values.durations import DAY

    there = None if zone is None else _zone("datetime", zone)
    kind = type_of(x)
    if kind in ("number", "decimal"):
        from language.calendar.zones import UTC

        return DateTime(_micros_of_number(x), there or UTC)
    if kind == "date":
        return at_clock(x.days * DAY, there)
    if kind == "text":
        x = parse_datetime(x)
    elif kind != "datetime":
        raise RuntimeFault(f"datetime expects a text, unix seconds, a date or a datetime, got {kind}", kind="type")
    if there is None:
        return x  # type: ignore[no-any-return]
    return at_clock(x.micros, there) if x.zone is None else DateTime(x.micros, there)


@family.builtin("duration(text?)", named=_PARTS)
def duration(
    text: Any = None,
    *,
    weeks: Any = 0,
    days: Any = 0,
    hours: Any = 0,
    minutes: Any = 0,
    seconds: Any = 0,
    milliseconds: Any = 0,
    microseconds: Any = 0,
) -> Duration:
    """A length of time, exact to the microsecond: the sum of the parts given by name (`weeks`, `days`, `hours`, `minutes`,
    `seconds`, `milliseconds`, `microseconds`), or an ISO 8601 text such as `P1DT2H30M`.

    A day is 24 hours, a week 7 days; months and years vary (`add_months`). Parts may be negative or have a fraction.
    Durations are added, subtracted, negated, compared, multiplied and divided by numbers; one divided by another is a number.
    At most 999,999,999 days.

    `duration(hours = 1, minutes = 30)` is `PT1H30M`; `duration(days = 1) / duration(hours = 6)` is `4.0`.
    """
    from language.values.durations import UNITS, Duration
    from language.values.iso_times import read_duration

    total = 0
    if text is not None:
        if type_of(text) == "duration":
            total = text.micros
        else:
            found = read_duration(text) if type(text) is str else None
            if found is None:
                raise RuntimeFault(
                    f'duration expects a text such as "PT1H30M", or parts by name (hours = 1), got {_shown(text)}', kind="type"
                )
            total = found.micros
    for name, count in zip(_PARTS, (weeks, days, hours, minutes, seconds, milliseconds, microseconds)):
        if count is not None and count != 0:
            total += _length("duration", name, UNITS[name], count)
    return Duration(total)


@family.builtin("parse_date(text, pattern?)")
def parse_date(text: Any, pattern: Any = None) -> Date:
    """The date in a text: `YYYY-MM-DD`, or by a `pattern` with the codes of `parse_time`.

    A text in another form, or a day that does not exist, is an error beginning `invalid date` (with a pattern `invalid time`).

    `parse_date("3 Jan 2026", "%d %b %Y")` is `2026-01-03`.
    """
    from language.values.dates import Date

    if pattern is not None:
        from stdlib.time_patterns import parsed_parts

        return Date(parsed_parts("parse_date", _text("parse_date", text), _pattern("parse_date", pattern))[0] // 86400)
    from language.values.iso_times import read_date

    found = read_date(_text("parse_date", text))
    if found is None:
        raise RuntimeFault(f"invalid date: {_shown(text)} — expected YYYY-MM-DD")
    return found


@family.builtin("parse_datetime(text, pattern?)")
def parse_datetime(text: Any, pattern: Any = None) -> DateTime:
    """The datetime in a text: `YYYY-MM-DDTHH:MM:SS`. Seconds and a fraction are optional, and a blank is accepted for the `T`.

    With `Z` or an offset at the end the datetime has that as its zone, otherwise none. A `pattern` has the codes of
    `parse_time`; `%z`, `%Z` or `%s` give it a zone. A text in another form is an error beginning `invalid datetime` (with a
    pattern `invalid time`).

    `parse_datetime("2026-01-03 10:00+01:00")` is `2026-01-03T10:00:00+01:00`.
    """
    if pattern is not None:
        from language.calendar.zones import UTC, zone_of
        from language.values.datetimes import DateTime
        from stdlib.time_patterns import parsed_parts

        seconds, micros, ahead = parsed_parts(
            "parse_datetime", _text("parse_datetime", text), _pattern("parse_datetime", pattern)
        )
        zone = None
        if ahead is not None:
            sign, minutes = "-" if ahead < 0 else "+", abs(ahead) // 60
            zone = zone_of(f"{sign}{minutes // 60:02}:{minutes % 60:02}") if ahead else UTC
        return DateTime((seconds - (ahead or 0)) * 1_000_000 + micros, zone)
    from language.values.iso_times import read_datetime

    found = read_datetime(_text("parse_datetime", text))
    if found is None:
        raise RuntimeFault(f"invalid datetime: {_shown(text)} — expected YYYY-MM-DDTHH:MM:SS, with Z, an offset or neither")
    return found


@family.builtin("add_days(d, n)")
def add_days(d: Any, n: Any) -> Any:
    """The date, or the datetime with the same local time in its zone, `n` days later (earlier for a negative `n`).

    `add_days(datetime("2026-03-28T12:00", "Europe/Berlin"), 1)` is `2026-03-29T12:00:00+02:00`.
    """
    from language.values.dates import Date

    days = _whole("add_days", n, "a number of days")
    return _on_day("add_days", d, lambda day: Date(day + days).days)


@family.builtin("add_months(d, n)")
def add_months(d: Any, n: Any) -> Any:
    """The date or datetime `n` months later (earlier for a negative `n`), with the same day of the month, or the last day of
    a shorter month. 12 months are a year.

    `add_months(date(2026, 1, 31), 1)` is `2026-02-28`.
    """
    from language.values.dates import months_later

    months = _whole("add_months", n, "a number of months")
    return _on_day("add_months", d, lambda day: months_later(day, months))


@family.builtin("truncate(d, unit)")
def truncate(d: Any, unit: Any) -> Any:
    """The beginning of the `"year"`, `"quarter"`, `"month"`, `"week"` (Monday), `"day"`, `"hour"`, `"minute"` or `"second"`
    that contains a date or datetime, in its own zone.

    `truncate(date(2026, 11, 23), "quarter")` is `2026-10-01`.
    """
    from language.values.datetimes import DateTime, at_clock
    from language.values.durations import DAY, UNITS

    name = _unit("truncate", unit, _TRUNCATED)
    kind = _expect("truncate", d, ("date", "datetime"))
    if name in ("hour", "minute", "second"):
        # A local hour may occur twice, so its beginning is computed from the moment.
        return d if kind == "date" else DateTime(d.micros - d.local % UNITS[name + "s"], d.zone)
    if kind == "date":
        from language.values.dates import Date

        return Date(_first_day(d.days, name))
    return at_clock(_first_day(d.local // DAY, name) * DAY, d.zone)


@family.builtin("date_range(start, end, step?)", result="list", fresh=True)
def date_range(start: Any, end: Any, step: Any = None) -> list[Any]:
    """The dates, or datetimes, from `start` in steps, `end` excluded, as `range` does with numbers.

    `step` is a duration, a number of days (1 unless given; negative goes back), or `"day"`, `"week"`, `"month"`, `"quarter"`,
    `"year"`, `"hour"`, `"minute"`, `"second"`. Days and longer units keep the local time. In a month that is too short for the
    day of `start`, the last day is taken. At most 1,000,000 items.

    `date_range(date(2026, 1, 31), date(2026, 4, 1), "month")` is `[2026-01-31, 2026-02-28, 2026-03-31]`.
    """
    from language.values.allowance import refuse_beyond

    kind = _expect("date_range", start, ("date", "datetime"))
    if type_of(end) != kind:
        raise RuntimeFault(f"date_range: start is {kind} and end is {type_of(end)}; both must be of one type", kind="type")
    later, length = _stepper(start, step)
    backwards = length < 0
    span = end - start
    count = max(0, -(-span.micros // length))
    if count > MOST_ITEMS:
        raise RuntimeFault(f"date_range: the range would have more than {MOST_ITEMS} items", kind="resources")
    refuse_beyond(count * _ITEM_BYTES)
    items: list[Any] = []
    number = 0
    while True:
        try:
            item = later(number)
        except RuntimeFault:
            if number and kind in ("date", "datetime"):  # the next step is after the last year
                return items
            raise
        if not (item > end if backwards else item < end):
            return items
        if number >= MOST_ITEMS:
            raise RuntimeFault(f"date_range: the range would have more than {MOST_ITEMS} items", kind="resources")
        items.append(item)
        number += 1


@family.builtin("to_timezone(d, zone)")
def to_timezone(d: Any, zone: Any) -> DateTime:
    """The same moment in another zone. A datetime without a zone is an error: `datetime(d, zone)` gives it one.

    `to_timezone(parse_datetime("2026-07-01T12:00:00Z"), "America/New_York")` is `2026-07-01T08:00:00-04:00`.
    """
    from language.values.datetimes import DateTime

    _expect("to_timezone", d, ("datetime",))
    if d.zone is None:
        raise RuntimeFault(f'to_timezone: {d.display()} has no time zone; give it one first: datetime(d, "UTC")', kind="type")
    return DateTime(d.micros, _zone("to_timezone", zone))


@family.builtin("timestamp(d)", result="num")
def timestamp(d: Any) -> float:
    """The unix time of a datetime with a zone: seconds since 1970-01-01T00:00:00Z, a float as `now()` gives.

    `timestamp(parse_datetime("2026-01-03T10:00:00Z"))` is `1767434400.0`.
    """
    _expect("timestamp", d, ("datetime",))
    if d.zone is None:
        raise RuntimeFault(f'timestamp: {d.display()} has no time zone; give it one first: datetime(d, "UTC")', kind="type")
    return d.micros / 1_000_000  # type: ignore[no-any-return]


@family.builtin("in_units(d, unit)", result="num")
def in_units(d: Any, unit: Any) -> float:
    """The length of a duration in `"weeks"`, `"days"`, `"hours"`, `"minutes"`, `"seconds"`, `"milliseconds"` or
    `"microseconds"`, a float.

    `in_units(duration("PT90M"), "hours")` is `1.5`.
    """
    from language.values.durations import UNITS

    _expect("in_units", d, ("duration",))
    name = _unit("in_units", unit, tuple(name[:-1] for name in _PARTS))
    return d.micros / UNITS[name + "s"]  # type: ignore[no-any-return]


# --- parts ------------------------------------------------------------------------------------------------------------------


def _stepper(start: Any, step: Any) -> tuple[Any, int]:
    """A function from the number of a step to its item, and a lower bound for the length of one step."""
    from language.values.durations import DAY, UNITS, Duration

    if type_of(step) == "duration":
        if not step.micros:
            raise RuntimeFault("date_range: the step must not be zero")
        return lambda number: start + Duration(step.micros * number), step.micros
    name, count = "day", 1
    if type(step) is str:
        name = _unit("date_range", step, _STEPS)
    elif step is not None:
        count = _whole("date_range", step, "a duration, a number of days or a unit as step")
        if count == 0:
            raise RuntimeFault("date_range: the step must not be zero")
    if name in _MONTHS:
        return lambda number: add_months(start, _MONTHS[name] * number), _MONTHS[name] * 28 * DAY
    if name in ("hour", "minute", "second"):
        length = UNITS[name + "s"]
        return lambda number: start + Duration(length * number), length
    days = count * (7 if name == "week" else 1)
    return lambda number: add_days(start, days * number), days * DAY


def _on_day(builtin: str, value: Any, later: Any) -> Any:
    """The date or datetime on the day that ``later`` returns for its day, at the same local time."""
    from language.values.dates import Date
    from language.values.datetimes import at_clock
    from language.values.durations import DAY

    if _expect(builtin, value, ("date", "datetime")) == "date":
        return Date(later(value.days))
    day, time = divmod(value.local, DAY)
    return at_clock(later(day) * DAY + time, value.zone)


def _first_day(days: int, unit: str) -> int:
    from language.calendar.gregorian import date_of_days, days_of_date, weekday

    if unit == "day":
        return days
    if unit == "week":
        return days - weekday(days) + 1
    year, month, _ = date_of_days(days)
    first = {"month": month, "quarter": (month - 1) // 3 * 3 + 1, "year": 1}[unit]
    return days_of_date(year, first, 1)


def _expect(builtin: str, value: Any, wanted: tuple[str, ...]) -> str:
    kind = type_of(value)
    if kind not in wanted:
        raise RuntimeFault(f"{builtin} expects a {' or '.join(wanted)}, got {kind}", kind="type")
    return kind


def _whole(builtin: str, value: Any, what: str) -> int:
    from stdlib.options import whole

    number = whole(value)
    if number is None:
        got = type_of(value) if type_of(value) not in ("number", "decimal") else "a number that is not whole"
        raise RuntimeFault(f"{builtin} expects {what}, as integers, got {got}", kind="type")
    # Beyond any date; longer numbers are not shown.
    return max(-(10**12), min(number, 10**12))


def _length(builtin: str, name: str, unit: int, count: Any) -> int:
    """The microseconds of a number of units."""
    from language.values.durations import MOST, nearest

    kind = type_of(count)
    if count.__class__ is int:
        return unit * count
    if count.__class__ is float:
        return nearest(unit, count)
    if kind == "decimal":
        if abs(count.to_float()) > MOST:
            return MOST + 1
        over, under = count.rounded(min(count.scale, 18)).value.as_integer_ratio()
        return unit * over // under  # type: ignore[no-any-return]
    raise RuntimeFault(f"{builtin}: {name} must be a number, got {kind}", kind="type")


def _micros_of_number(seconds: Any) -> int:
    from language.calendar.gregorian import DAY_SECONDS, LAST_DAY
    from language.values.dates import FIRST_DATE
    from language.values.operators import to_float

    near = to_float(seconds) if type_of(seconds) == "number" else seconds.to_float()
    if not FIRST_DATE * DAY_SECONDS <= near < (LAST_DAY + 1) * DAY_SECONDS:
        raise RuntimeFault("datetime: the unix time is out of range: years go from 1 to 9999", kind="arithmetic")
    return _length("datetime", "the unix time", 1_000_000, seconds)


def _zone(builtin: str, zone: Any) -> Zone:
    from language.calendar.zones import zone_of

    if type(zone) is not str:
        raise RuntimeFault(
            f'{builtin}: a time zone is a text such as "UTC", "+02:00" or "Europe/Berlin", got {type_of(zone)}', kind="type"
        )
    try:
        return zone_of(zone)
    except RuntimeFault as fault:
        raise RuntimeFault(f"{builtin}: {fault.message}", kind=fault.kind) from None


def _unit(builtin: str, unit: Any, valid: tuple[str, ...]) -> str:
    """The unit in the singular."""
    name = unit.removesuffix("s") if type(unit) is str else ""
    if name not in valid:
        raise RuntimeFault(f"{builtin}: unknown unit {_shown(unit)}; use one of: {', '.join(valid)}")
    return name


def _text(builtin: str, text: Any) -> str:
    if type(text) is not str:
        raise RuntimeFault(f"{builtin} expects text, got {type_of(text)}", kind="type")
    return text


def _pattern(builtin: str, pattern: Any) -> str:
    if type(pattern) is not str:
        raise RuntimeFault(f"{builtin}: the pattern must be text, got {type_of(pattern)}", kind="type")
    return pattern


def _shown(value: Any) -> str:
    from language.values.display import quote

    if type(value) is not str:
        return type_of(value)
    return quote(value if len(value) <= 60 else value[:60] + "…")
