"""Schedules of a service: when they hold next, and what they mean in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language import Schedule

TIMES = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))
MINUTES = st.sampled_from(["*", "0", "5,35", "*/15", "*/7", "10-20"])
HOURS = st.sampled_from(["*", "8", "8-18", "*/6", "1,5"])
DAYS = st.sampled_from(["*", "1", "1-7,15", "29", "*/10"])
MONTHS = st.sampled_from(["*", "2", "jan-mar,dec"])
WEEKDAYS = st.sampled_from(["*", "mon-fri", "0", "sun,tue"])
EXPRESSIONS = st.tuples(MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS).map(" ".join)


NAMES = {
    12: ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    6: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
}


def numbers(field: str, least: int, most: int) -> set[int]:
    """A field read in the plainest way."""
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        first, last = (least, most) if span == "*" else (low, high or low)
        values = [NAMES[most].index(v) if v in NAMES.get(most, ()) else int(v) for v in (first, last)]
        found.update(range(values[0], values[1] + 1, int(step or 1)))
    return found


def holds(expression: str, moment: datetime) -> bool:
    minute, hour, day, month, weekday = expression.split()
    by_day = moment.day in numbers(day, 1, 31)
    by_weekday = moment.isoweekday() % 7 in numbers(weekday, 0, 6)
    either = day != "*" and weekday != "*" and len(numbers(day, 1, 31)) < 31
    return (
        moment.minute in numbers(minute, 0, 59)
        and moment.hour in numbers(hour, 0, 23)
        and moment.month in numbers(month, 1, 12)
        and (by_day or by_weekday if either else by_day and by_weekday)
    )


@given(EXPRESSIONS, TIMES)
def test_the_next_moment_holds_and_is_the_first(expression: str, after: datetime) -> None:
    found = Schedule.parse(expression).next(after)
    assert found.tzinfo is UTC and found > after and (found.second, found.microsecond) == (0, 0)
    assert holds(expression, found)
    # None of the minutes just before it: most gaps are shorter than that.
    earlier = found - timedelta(minutes=1)
    for _ in range(200):
        if earlier <= after:
            break
        assert not holds(expression, earlier)
        earlier -= timedelta(minutes=1)


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("* * * * *", "Every minute."),
        ("@hourly", "Every hour, on the hour."),
        ("@daily", "At 00:00 UTC."),
        ("@weekly", "At 00:00 UTC, Sunday."),
        ("@monthly", "At 00:00 UTC, on day 1 of the month."),
        ("@yearly", "At 00:00 UTC, on day 1 of the month, in January."),
        ("*/15 * * * *", "Every 15 minutes."),
        ("5,35 * * * *", "At minutes 5 and 35 of every hour."),
        ("30 8,17 * * mon-fri", "At 08:30 and 17:30 UTC, Monday to Friday."),
        ("*/10 8-18 * * *", "Every 10 minutes of hours 8 to 18 UTC."),
        ("0 0 13 * 5", "At 00:00 UTC, on day 13 of the month and on every Friday."),
        ("* 3 1-7,15 feb-mar *", "Every minute of hour 3 UTC, on days 1 to 7 and 15 of the month, in February and March."),
    ],
)
def test_the_sentence(text: str, means: str) -> None:
    assert Schedule.parse(text).means == means


@given(EXPRESSIONS, EXPRESSIONS)
def test_two_schedules_with_one_sentence_hold_at_the_same_times(one: str, other: str) -> None:
    first, second = Schedule.parse(one), Schedule.parse(other)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    if first.means == second.means:
        for _ in range(5):
            assert first.next(at) == second.next(at)
            at = first.next(at)


@pytest.mark.parametrize("text", ["", "* * * *", "60 * * * *", "0 0 30 2 *", "@reboot", "every day", "* * * * * *"])
def test_what_is_no_schedule(text: str) -> None:
    with pytest.raises(ValueError, match=r"bad expression|never matches"):
        Schedule.parse(text)


def test_times_need_a_zone_and_come_back_in_utc() -> None:
    schedule = Schedule.parse(" @daily ")
    assert schedule.text == "@daily" and schedule == Schedule.parse("@daily")
    with pytest.raises(ValueError, match="time zone"):
        schedule.next(datetime(2026, 1, 1))
    east = datetime(2026, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert schedule.next(east) == datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(TypeError):
        Schedule.parse(5)  # type: ignore[arg-type]
