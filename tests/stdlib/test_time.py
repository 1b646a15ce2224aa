"""Unix times to text and back, the clock, random values."""

from __future__ import annotations

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.calendar.gregorian import (
    FIRST_DAY,
    LAST_DAY,
    date_of_days,
    day_of_year,
    days_in_month,
    days_of_date,
    is_leap,
    iso_week,
    weekday,
)
from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.runtime.context import Context
from language.values import FALSE, TRUE
from language.values.decimals import parse
from stdlib.clock import now, sleep
from stdlib.randomness import random, random_int, uuid
from stdlib.time_format import date_parts, format_time, parse_time

UTC = datetime.UTC
SECONDS = st.integers(min_value=FIRST_DAY * 86400, max_value=LAST_DAY * 86400 + 86399)
# What Python's own calendar holds too: from 0001-01-01.
PYTHON_SECONDS = st.integers(min_value=-62135596800, max_value=253402300799)


def error_of(function, *values):
    with pytest.raises(RuntimeFault) as caught:
        function(*values)
    return caught.value.message


def python_datetime(seconds):
    return datetime.datetime(1970, 1, 1, tzinfo=UTC) + datetime.timedelta(seconds=seconds)


class TestGregorian:
    def test_the_bounds(self):
        assert date_of_days(FIRST_DAY) == (0, 1, 1)
        assert date_of_days(LAST_DAY) == (9999, 12, 31)
        assert date_of_days(0) == (1970, 1, 1)

    def test_leap_years(self):
        assert [year for year in (1600, 1700, 1900, 2000, 2023, 2024, 0, 4, 100) if is_leap(year)] == [1600, 2000, 2024, 0, 4]
        assert days_in_month(2000, 2) == 29
        assert days_in_month(1900, 2) == 28

    @given(st.integers(min_value=FIRST_DAY - 1_000_000, max_value=LAST_DAY + 1_000_000))
    def test_dates_and_days_are_inverse(self, days):
        year, month, day = date_of_days(days)
        assert 1 <= month <= 12
        assert 1 <= day <= days_in_month(year, month)
        assert days_of_date(year, month, day) == days

    @given(st.dates())
    def test_agrees_with_pythons_calendar(self, date):
        days = date.toordinal() - datetime.date(1970, 1, 1).toordinal()
        assert days_of_date(date.year, date.month, date.day) == days
        assert weekday(days) == date.isoweekday()
        assert iso_week(days) == date.isocalendar().week
        assert day_of_year(days) == date.timetuple().tm_yday


class TestFormat:
    @pytest.mark.parametrize(
        ("ts", "expected"),
        [
            (0, "1970-01-01T00:00:00Z"),
            (1767434400, "2026-01-03T10:00:00Z"),
            (1.9, "1970-01-01T00:00:01Z"),
            (-0.5, "1969-12-31T23:59:59Z"),
            (951782400, "2000-02-29T00:00:00Z"),
            (FIRST_DAY * 86400, "0000-01-01T00:00:00Z"),
            (253402300799, "9999-12-31T23:59:59Z"),
            (253402300799.9, "9999-12-31T23:59:59Z"),
            ("86400", "1970-01-02T00:00:00Z"),
            (" 1e3 ", "1970-01-01T00:16:40Z"),
            (parse("1.999999999999999999999999999999999999"), "1970-01-01T00:00:01Z"),
            (parse("-0.1"), "1969-12-31T23:59:59Z"),
        ],
    )
    def test_default_form(self, ts, expected):
        assert format_time(ts) == expected
        assert format_time(ts, None) == expected

    @pytest.mark.parametrize(
        ("code", "expected"),
        [
            ("%Y", "2026"), ("%y", "26"), ("%m", "01"), ("%d", "03"), ("%e", " 3"), ("%H", "15"), ("%I", "03"), ("%M", "04"),
            ("%S", "05"), ("%f", "250000"), ("%p", "PM"), ("%j", "003"), ("%a", "Sat"), ("%A", "Saturday"), ("%b", "Jan"),
            ("%B", "January"), ("%u", "6"), ("%w", "6"), ("%V", "01"), ("%s", "1767452645"), ("%z", "+0000"), ("%Z", "UTC"),
            ("%F", "2026-01-03"), ("%T", "15:04:05"), ("%%", "%"), ("%%Y", "%Y"), ("%%%Y%%", "%2026%"), ("é%dä", "é03ä"),
            ("", ""),
        ],
    )  # fmt: skip
    def test_codes(self, code, expected):
        assert format_time(1767452645.25, code) == expected

    def test_examples(self):
        assert format_time(86399.9, "%Y-%m-%d %H:%M") == "1970-01-01 23:59"
        assert format_time(0, "%I %p") == "12 AM"
        assert format_time(43200, "%I %p") == "12 PM"
        assert format_time(0.9999999, "%S.%f") == "00.999999"
        assert format_time(-0.25, "%S.%f") == "59.750000"
        assert format_time(1609459200, "%F %V %u") == "2021-01-01 53 5"
        assert format_time(1767225600, "%w %a") == "4 Thu"
        assert format_time(FIRST_DAY * 86400, "%Y %y %j") == "0000 00 001"

    def test_unknown_codes(self):
        assert error_of(format_time, 0, "%Y %Q").startswith('format_time: "%Q" is not a strftime specifier')
        assert error_of(format_time, 0, "%-d").startswith('format_time: "%-" is not a strftime specifier')
        assert error_of(format_time, 0, "100%").startswith('format_time: "%" is not a strftime specifier')
        assert error_of(format_time, 0, "%%%").startswith('format_time: "%" is not a strftime specifier')
        assert error_of(format_time, 0, 5) == "format_time: the pattern must be text, got number"

    @pytest.mark.parametrize("ts", ["x", "", None, TRUE, [], "12:00", "１"])
    def test_not_a_number(self, ts):
        assert error_of(format_time, ts) == "expected a number"
        assert error_of(date_parts, ts) == "expected a number"

    @pytest.mark.parametrize(
        "ts",
        [float("nan"), float("inf"), -1e300, 10**400, 253402300800, FIRST_DAY * 86400 - 1, "1e999", parse("1" + "0" * 500)],
        ids=["nan", "inf", "-1e300", "10**400", "year 10000", "year -1", "text", "decimal"],
    )
    def test_invalid_timestamps(self, ts):
        assert error_of(format_time, ts) == "invalid timestamp"
        assert error_of(date_parts, ts) == "invalid timestamp"

    @given(PYTHON_SECONDS)
    def test_agrees_with_python(self, seconds):
        moment = python_datetime(seconds)
        assert format_time(seconds) == moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
        pattern = "%y %m %d %H %I %M %S %f %j %u %w %V"
        assert format_time(seconds, pattern) == moment.strftime(pattern)


class TestParse:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("2026-01-03T10:00:00Z", 1767434400.0),
            ("2026-01-03t10:00:00z", 1767434400.0),
            ("2026-01-03T10:00:00", 1767434400.0),
            ("2026-01-03T10:00:00.999Z", 1767434400.0),
            ("2026-01-03T10:00:00+01:00", 1767430800.0),
            ("2026-01-03T10:00:00.5-00:30", 1767436200.0),
            ("1969-12-31T23:59:59Z", -1.0),
            ("0000-01-01T00:00:00Z", FIRST_DAY * 86400.0),
            ("9999-12-31T23:59:59Z", 253402300799.0),
            ("2016-12-31T23:59:60Z", 1483228800.0),
            ("2016-12-31T15:59:60-08:00", 1483228800.0),
            ("2024-02-29T00:00:00Z", 1709164800.0),
        ],
    )
    def test_rfc_3339(self, text, expected):
        parsed = parse_time(text)
        assert parsed == expected
        assert type(parsed) is float

    @pytest.mark.parametrize(
        "text",
        [
            "", "x", "2026-01-03", "2026-01-03 10:00:00", "2026-1-3T10:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
            "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-03T24:00:00Z",
            "2026-01-03T10:60:00Z", "2026-01-03T10:00:61Z", "2026-01-03T10:00:60Z", "2026-01-03T10:00:00.Z",
            "2026-01-03T10:00:00+0100", "2026-01-03T10:00:00+24:00", "2026-01-03T10:00:00+01:60", "2026-01-03T10:00:00 Z",
            "2026-01-03T10:00:00ZZ", " 2026-01-03T10:00:00Z", "2026-01-03T10:00Z", "+026-01-03T10:00:00Z",
            "２０２６-01-03T10:00:00Z", "2026-01-03T10:00:00+1_:00", "1767434400",
        ],
    )  # fmt: skip
    def test_other_texts(self, text):
        assert error_of(parse_time, text) == f"invalid time: {text}"

    def test_other_values(self):
        assert error_of(parse_time, 5) == "invalid time: 5"
        assert error_of(parse_time, None) == "invalid time: nothing"
        assert error_of(parse_time, "2026", 5) == "parse_time: the pattern must be text, got number"

    @pytest.mark.parametrize(
        ("text", "pattern", "expected"),
        [
            ("2026-01-03", "%Y-%m-%d", "2026-01-03T00:00:00Z"),
            ("2026-01-03", "%F", "2026-01-03T00:00:00Z"),
            ("3 Jan 2026", "%d %b %Y", "2026-01-03T00:00:00Z"),
            ("3  JANUARY\t2026", "%d %B %Y", "2026-01-03T00:00:00Z"),
            ("Sat, 03 Jan 2026 15:04:05 GMT", "%a, %d %b %Y %T %Z", "2026-01-03T15:04:05Z"),
            ("Saturday 2026", "%A %Y", None),
            ("01/03/26 03:04 pm", "%m/%d/%y %I:%M %p", "2026-01-03T15:04:00Z"),
            ("12 AM 2026-01-03", "%I %p %F", "2026-01-03T00:00:00Z"),
            ("12 PM 2026-01-03", "%I %p %F", "2026-01-03T12:00:00Z"),
            ("69 70", "%y %M", None),
            ("1/1/69", "%d/%m/%y", "1969-01-01T00:00:00Z"),
            ("1/1/68", "%d/%m/%y", "2068-01-01T00:00:00Z"),
            ("2026", "%Y", "2026-01-01T00:00:00Z"),
            ("2026 060", "%Y %j", "2026-03-01T00:00:00Z"),
            ("2024 366", "%Y %j", "2024-12-31T00:00:00Z"),
            ("2026-01-03T10:00:00+0130", "%FT%T%z", "2026-01-03T08:30:00Z"),
            ("2026-01-03 10:00 -01:00", "%F %H:%M %z", "2026-01-03T11:00:00Z"),
            ("2026-01-03 Z", "%F %z", "2026-01-03T00:00:00Z"),
            ("-1", "%s", "1969-12-31T23:59:59Z"),
            ("at 1767452645", "at %s", "2026-01-03T15:04:05Z"),
            ("10:00:05.123456 2026", "%T.%f %Y", "2026-01-01T10:00:05Z"),
            ("2026 %", "%Y %%", "2026-01-01T00:00:00Z"),
            ("2026-01- 3", "%Y-%m-%e", "2026-01-03T00:00:00Z"),
            ("20260103", "%Y%m%d", "2026-01-03T00:00:00Z"),
        ],
    )
    def test_patterns(self, text, pattern, expected):
        if expected is None:
            assert error_of(parse_time, text, pattern).startswith("invalid time: ")
        else:
            assert format_time(parse_time(text, pattern)) == expected

    @pytest.mark.parametrize(
        ("text", "pattern"),
        [
            ("2026-13-01", "%F"), ("2026-02-30", "%F"), ("26-01-01", "%F"), ("2026-01-01x", "%F"), ("x2026-01-01", "%F"),
            ("", "%F"), ("2026-01", "%F"), ("10:00", "%H:%M"), ("2023 366", "%Y %j"), ("Mon 2026-01-03", "%a %F"),
            ("2026-01-03 5", "%F %u"), ("2026-01-03 52", "%F %V"), ("2026-01-03 Foo", "%F %b"), ("2026-01-03 xm", "%F %p"),
            ("2026-01-03 +25:00", "%F %z"), ("2026-01-03 CET", "%F %Z"), ("2026-01-03 25", "%F %H"), ("-", "%s"),
            ("２０２６", "%Y"), ("2026-01-03 60", "%F %S"), ("2026-01-03 004", "%F %j"),
        ],
    )  # fmt: skip
    def test_mismatches(self, text, pattern):
        assert error_of(parse_time, text, pattern).startswith("invalid time: ")

    def test_unknown_codes(self):
        assert error_of(parse_time, "2026", "%Y%Q").startswith('parse_time: "%Q" is not a strftime specifier')

    @given(SECONDS)
    def test_round_trip(self, seconds):
        assert parse_time(format_time(seconds)) == seconds

    @given(SECONDS, st.integers(min_value=-1439, max_value=1439))
    def test_offsets(self, seconds, offset):
        sign = "-" if offset < 0 else "+"
        hours, minutes = divmod(abs(offset), 60)
        text = format_time(seconds).replace("Z", f"{sign}{hours:02}:{minutes:02}")
        assert parse_time(text) == seconds - offset * 60

    @given(
        SECONDS,
        st.sampled_from(
            ["%FT%T", "%A, %e %B %Y %I:%M:%S %p", "%a %d %b %Y %H:%M:%S %z", "%s", "%Y/%j %T", "%T %d.%m.%Y %u %w %V %Z %%"]
        ),
    )
    def test_round_trip_of_patterns(self, seconds, pattern):
        assert parse_time(format_time(seconds, pattern), pattern) == seconds

    @given(st.text(alphabet="0129-:TZ.+ ", max_size=25))
    def test_any_text_gives_a_time_or_the_error(self, text):
        try:
            assert format_time(parse_time(text)).startswith(text[:4]) or "+" in text or "-" in text[19:]
        except RuntimeFault as fault:
            assert fault.message in (f"invalid time: {text}", "invalid timestamp")


class TestDateParts:
    def test_known_days(self):
        assert date_parts(951782400) == {
            "year": 2000, "month": 2, "day": 29, "hour": 0, "minute": 0, "second": 0, "weekday": 2,
        }  # fmt: skip
        assert date_parts(-1)["second"] == 59
        assert date_parts("0.5")["weekday"] == 4

    @given(PYTHON_SECONDS)
    def test_agrees_with_python(self, seconds):
        moment = python_datetime(seconds)
        parts = date_parts(seconds)
        assert list(parts.values()) == [
            moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.isoweekday(),
        ]  # fmt: skip
        assert all(type(part) is int for part in parts.values())


class SetHost(EmbeddedHost):
    """A host with a clock that stands still, waits that only are written down, and chosen randomness."""

    def __init__(self, *draws):
        super().__init__()
        self.waits = []
        self.draws = list(draws)

    def now(self):
        return 1767434400.25

    def sleep(self, seconds):
        self.waits.append(seconds)

    def random_bytes(self, count):
        if not self.draws:
            return super().random_bytes(count)
        drawn = self.draws.pop(0)
        assert len(drawn) == count
        return drawn


def context(host, *capabilities):
    ctx = Context(host, collect=True)
    for capability in capabilities:
        ctx.capabilities.require(capability, None)
    return ctx


class TestClock:
    def test_now(self):
        assert now(context(SetHost())) == 1767434400.25

    @pytest.mark.parametrize(
        ("seconds", "waits"),
        [
            (1, [1.0]),
            (0.25, [0.25]),
            (parse("0.5"), [0.5]),
            (5000, [3600.0]),
            (10**400, [3600.0]),
            (float("inf"), [3600.0]),
            (0, []),
            (-3, []),
            (float("nan"), []),
            ("2", []),
            (None, []),
            (TRUE, []),
            ([], []),
        ],
    )
    def test_sleep(self, seconds, waits):
        host = SetHost()
        assert sleep(context(host), seconds) is None
        assert host.waits == waits

    def test_the_gate(self):
        ctx = context(SetHost())
        ctx.capabilities.grants.clear()
        for call in (lambda: now(ctx), lambda: sleep(ctx, 1)):
            assert error_of(call).startswith("Capability not granted: time")
        assert ctx.host.waits == []


class TestRandom:
    def test_the_gate(self):
        ctx = context(SetHost())
        for call in (lambda: random(ctx), lambda: random_int(ctx, 1, 2), lambda: uuid(ctx)):
            assert error_of(call).startswith("Capability not granted: random")

    def test_random_is_in_the_half_open_unit_interval(self):
        ctx = context(SetHost(b"\0" * 7, b"\xff" * 7), "random")
        assert random(ctx) == 0.0
        assert random(ctx) == 1 - 2.0**-53
        drawn = [random(ctx) for _ in range(1000)]
        assert all(0 <= number < 1 for number in drawn)
        assert len(set(drawn)) == 1000
        assert 0.4 < sum(drawn) / 1000 < 0.6

    def test_random_int_draws_again_when_out_of_range(self):
        # Three bits a draw: 7 and 6 are too large for six values.
        ctx = context(SetHost(b"\xe0", b"\xc0", b"\xa0"), "random")
        assert random_int(ctx, 1, 6) == 6

    def test_random_int_takes_every_value_alike(self):
        ctx = context(SetHost(), "random")
        drawn = [random_int(ctx, -1, 1) for _ in range(3000)]
        assert {number: 850 < drawn.count(number) < 1150 for number in set(drawn)} == {-1: True, 0: True, 1: True}

    @given(st.integers(), st.integers(min_value=0, max_value=2**200))
    def test_random_int_stays_between_its_bounds(self, low, span):
        assert low <= random_int(context(EmbeddedHost(), "random"), low, low + span) <= low + span

    def test_one_value_needs_no_randomness(self):
        assert random_int(context(EmbeddedHost(), "random"), 5, 5) == 5

    def test_wrong_arguments(self):
        ctx = context(SetHost(), "random")
        assert error_of(random_int, ctx, 3, 2) == "random_int: min (3) is greater than max (2)"
        assert error_of(random_int, ctx, 1.0, 2) == "random_int expects an integer, got float"
        assert error_of(random_int, ctx, 1, "2") == "random_int expects an integer, got text"
        assert error_of(random_int, ctx, FALSE, 1) == "random_int expects an integer, got bool"

    def test_uuid(self):
        assert uuid(context(SetHost(b"\0" * 16), "random")) == "00000000-0000-4000-8000-000000000000"
        assert uuid(context(SetHost(b"\xff" * 16), "random")) == "ffffffff-ffff-4fff-bfff-ffffffffffff"
        ctx = context(EmbeddedHost(), "random")
        drawn = {uuid(ctx) for _ in range(100)}
        assert len(drawn) == 100
        shape = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
        assert all(shape.fullmatch(text) for text in drawn)
