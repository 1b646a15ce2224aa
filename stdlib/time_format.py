"""Unix times to text and back. Pure: nothing here reads the clock, all times are UTC."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stdlib.time_patterns import Moment

family = Family("time_format", "Time")


@family.builtin("format_time(ts, pattern?)", result="str")
def format_time(ts: Any, pattern: Any = None) -> str:
    """The text of a unix time (seconds since 1970-01-01T00:00:00Z, a number or numeric text), in UTC; or of a date or
    datetime, as the clock of its own zone shows it.

    Without `pattern` `YYYY-MM-DDTHH:MM:SSZ`, the fraction cut; a date or datetime as it displays. In a pattern these codes
    stand for:

    `%Y` year with four digits, `%y` its last two, `%m` month 01..12, `%d` day 01..31, `%e` day with a blank in front, `%H`
    hour 00..23, `%I` hour 01..12, `%M` minute, `%S` second, `%f` microseconds with six digits, `%p` AM or PM, `%j` day of the
    year 001..366, `%a` Mon, `%A` Monday, `%b` Jan, `%B` January, `%u` weekday 1 (Monday) .. 7, `%w` weekday 0 (Sunday) .. 6,
    `%V` ISO week 01..53, `%s` unix seconds, `%z` `+0000`, `%Z` `UTC` (of a datetime its offset and the name of its zone,
    without a zone nothing), `%F` `%Y-%m-%d`, `%T` `%H:%M:%S`, `%%` a percent sign.

    Names are English. Years 0000 to 9999, else the error `invalid timestamp`.

    `format_time(86399.9, "%Y-%m-%d %H:%M")` is `1970-01-01 23:59`.
    """
    from stdlib.time_patterns import formatted

    if pattern is None and type_of(ts) in ("date", "datetime"):
        return ts.display()  # type: ignore[no-any-return]
    return formatted(_moment(ts), "%FT%TZ" if pattern is None else _pattern("format_time", pattern))


@family.builtin("parse_time(text, pattern?)")
def parse_time(text: Any, pattern: Any = None) -> float:
    """The unix time of a text: a float of whole seconds; a fraction is cut off.

    Without `pattern` the text is RFC 3339 with `Z` or an offset (`2026-01-03T10:00:00+01:00`), or without either, then taken as
    UTC. A pattern has the codes of `format_time`; blanks match any run of blanks, names match in any case, numbers may lack
    leading zeros. The pattern must contain the year (or `%s`); month and day default to the first, the time to midnight, the
    zone to UTC. A text that does not match is an error beginning `invalid time`.

    `parse_time("2026-01-03T10:00:00Z")` is `1767434400.0`; `parse_time("3 Jan 2026", "%d %b %Y")` is `1767398400.0`.
    """
    if type(text) is not str:
        from language.values.display import display

        raise RuntimeFault(f"invalid time: {display(text)}")
    if pattern is None:
        from stdlib.time_patterns import parsed_rfc3339

        seconds = parsed_rfc3339(text)
        if seconds is None:
            raise RuntimeFault(f"invalid time: {text}")
        return float(seconds)
    from stdlib.time_patterns import parsed

    return float(parsed(text, _pattern("parse_time", pattern)))


@family.builtin("date_parts(ts)", result="map")
def date_parts(ts: Any) -> dict[str, int]:
    """The parts of a unix time (a number or numeric text) in UTC, of a date or of a datetime in its zone, as integers:
    `{year, month, day, hour, minute, second, weekday}`, weekday 1 = Monday .. 7 = Sunday.

    `date_parts(951782400)` is `{year: 2000, month: 2, day: 29, hour: 0, minute: 0, second: 0, weekday: 2}`.
    """
    moment = _moment(ts)
    return {
        "year": moment.year,
        "month": moment.month,
        "day": moment.day,
        "hour": moment.hour,
        "minute": moment.minute,
        "second": moment.second,
        "weekday": moment.weekday,
    }


def _pattern(builtin: str, pattern: Any) -> str:
    if type(pattern) is not str:
        raise RuntimeFault(f"{builtin}: the pattern must be text, got {type_of(pattern)}", kind="type")
    return pattern


def _moment(ts: Any) -> Moment:
    """The local time: of a unix time in UTC, of a date or datetime in its own zone."""
    from language.calendar.gregorian import DAY_SECONDS
    from stdlib.time_patterns import Moment

    kind = type_of(ts)
    if kind == "date":
        return Moment(ts.days * DAY_SECONDS, 0, 0, None)
    if kind == "datetime":
        seconds, micros = divmod(ts.local, 1_000_000)
        return Moment(seconds, micros, ts.ahead, None if ts.zone is None else ts.zone.name)
    return Moment(*_seconds_and_micros(ts))


def _seconds_and_micros(ts: Any) -> tuple[int, int]:
    """Whole seconds, rounded down, and microseconds. Raises ``RuntimeFault`` for a value that is not a number, and outside of
    the years 0..9999.
    """
    from math import floor

    from language.calendar.gregorian import DAY_SECONDS, FIRST_DAY, LAST_DAY
    from language.values.operators import to_float

    number = _number(ts)
    is_decimal = type_of(number) == "decimal"
    if not FIRST_DAY * DAY_SECONDS <= (number.to_float() if is_decimal else to_float(number)) < (LAST_DAY + 1) * DAY_SECONDS:
        raise RuntimeFault("invalid timestamp")
    if is_decimal:
        seconds = number.to_int("ROUND_FLOOR")
        fraction = (number - seconds).to_float()
    else:
        seconds = floor(number)
        fraction = number - seconds
    # A fraction just below one is not rounded up to the next second.
    return seconds, min(round(fraction * 1_000_000), 999_999)


def _number(ts: Any) -> Any:
    if type_of(ts) in ("number", "decimal"):
        return ts
    if type(ts) is str:
        from language.values.numerals import clean_number

        cleaned = clean_number(ts.strip())
        if cleaned is not None:
            return float(cleaned)
    raise RuntimeFault("expected a number")
