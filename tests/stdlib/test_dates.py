"""Dates, datetimes and durations: their laws, and the same answers as Python's own."""

from __future__ import annotations

import copy
import datetime as python
import pickle
import random
import zoneinfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import language
from language import run
from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.runtime.context import Context
from language.shared.value_form import from_text, to_text
from language.values import FALSE, type_of
from language.values.dates import FIRST_DATE, LAST_DATE, Date
from language.values.datetimes import DateTime, at_clock
from language.values.display import display
from language.values.durations import DAY, Duration
from language.values.iso_times import read_date, read_datetime, read_duration
from language.values.operators import eq
from stdlib.csv_format import csv_encode, csv_parse
from stdlib.dates import add_days, add_months, date_range, datetime, duration, in_units, timestamp, to_timezone, truncate
from stdlib.equality import group_numbers
from stdlib.json_format import json_decode, json_encode
from stdlib.lists import sort
from stdlib.time_format import format_time
from stdlib.toml_format import toml_encode, toml_parse

EPOCH = python.datetime(1970, 1, 1)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "Australia/Lord_Howe", "Africa/Monrovia")

DATES = st.integers(FIRST_DATE, LAST_DATE).map(Date)
MICROS = st.integers((FIRST_DATE + 2) * DAY, (LAST_DATE - 2) * DAY)
NAMES = st.sampled_from((*ZONES, "+05:30", "-11:00"))
NAIVE = MICROS.map(DateTime)
ZONED = st.builds(lambda micros, name: datetime(DateTime(micros), name), MICROS, NAMES)
DURATIONS = st.integers(-(10**17), 10**17).map(Duration)
CONTEXT = Context(EmbeddedHost({}))


def python_date(value: Date) -> python.date:
    return python.date.fromordinal(value.days - FIRST_DATE + 1)


def python_clock(value: DateTime) -> python.datetime:
    return EPOCH + python.timedelta(microseconds=value.local)


def error_of(function, *values, **named):
    with pytest.raises(RuntimeFault) as caught:
        function(*values, **named)
    return caught.value.message


def test_a_hundred_thousand_additions_give_python_s_dates() -> None:
    source = random.Random(7)
    wrong = []
    for _ in range(100_000):
        start = source.randint(FIRST_DATE, LAST_DATE)
        later = source.randint(FIRST_DATE - start, LAST_DATE - start)
        value = Date(start) + Duration(later * DAY)
        expected = python.date.fromordinal(start - FIRST_DATE + 1) + python.timedelta(days=later)
        if value.display() != expected.isoformat():
            wrong.append((start, later))
    assert wrong == []


class TestLaws:
    @given(DATES, DATES)
    def test_a_difference_added_again_gives_the_date(self, a, b):
        assert a + (b - a) == b and (b - a) + a == b and b - (b - a) == a
        assert (a < b) == (python_date(a) < python_date(b)) == (b > a) == (not b <= a)

    @given(ZONED, ZONED)
    def test_moments_are_ordered_whatever_their_zones(self, a, b):
        assert (a < b) == (a.micros < b.micros) and (a == b) == (a.micros == b.micros)
        assert a + (b - a) == b and (a + (b - a)).zone is a.zone

    @given(NAIVE, DURATIONS.filter(lambda d: abs(d.micros) < 10**15))
    def test_clocks_without_a_zone_calculate_as_python_s(self, a, long):
        try:
            expected = python_clock(a) + python.timedelta(microseconds=long.micros)
        except OverflowError:
            assert "out of range" in error_of(lambda: a + long)
            return
        assert python_clock(a + long) == expected and (a + long) - long == a

    @given(DURATIONS, DURATIONS)
    def test_durations_are_a_group(self, a, b):
        assert a + b == b + a and (a + b) - b == a and Duration(0) - a == -a and a - a == Duration(0)
        assert (a < b) == (a.micros < b.micros)

    @given(DURATIONS, st.floats(-500, 500))
    def test_a_multiple_is_python_s(self, a, factor):
        assert (a * factor).micros == (python.timedelta(microseconds=a.micros) * factor) // python.timedelta(microseconds=1)

    @given(DATES, st.integers(-200, 200))
    def test_months_keep_the_day_or_clip_it(self, day, months):
        before = python_date(day)
        count = before.year * 12 + before.month - 1 + months
        if not 12 <= count < 120_000:
            assert "out of range" in error_of(add_months, day, months)
            return
        after = python_date(add_months(day, months))
        assert (after.year, after.month) == (count // 12, count % 12 + 1)
        assert after.day == before.day or (after.day < before.day and (after + python.timedelta(days=1)).day == 1)

    @given(
        st.one_of(DATES, NAIVE, ZONED), st.sampled_from(("second", "minute", "hour", "day", "week", "month", "quarter", "year"))
    )
    def test_a_begin_is_its_own_begin_and_never_later(self, value, unit):
        try:
            begin = truncate(value, unit)
        except RuntimeFault as fault:
            assert "out of range" in fault.message
            return
        assert begin <= value and truncate(begin, unit) == begin

    @given(DATES, st.integers(0, 60), st.integers(1, 9))
    def test_a_range_has_the_steps_of_range(self, start, count, step):
        if start.days + count > LAST_DATE:
            return
        found = [day.days - start.days for day in date_range(start, Date(start.days + count), step)]
        assert found == list(range(0, count, step))
        assert [day.days - start.days for day in date_range(start, Date(max(start.days - count, FIRST_DATE)), -step)] == list(
            range(0, max(start.days - count, FIRST_DATE) - start.days, -step)
        )


class TestZones:
    @settings(max_examples=200)
    @given(st.integers(-3_000_000_000, 6_000_000_000), st.sampled_from(ZONES))
    def test_clocks_are_python_s(self, seconds, name):
        moment = python.datetime.fromtimestamp(seconds, python.UTC).astimezone(zoneinfo.ZoneInfo(name))
        value = datetime(seconds, name)
        assert python_clock(value) == moment.replace(tzinfo=None) and timestamp(value) == seconds
        # The way back: a clock that shows a time twice means the first, one that skips it means as much later.
        shown = python_clock(value)
        there = shown.replace(tzinfo=zoneinfo.ZoneInfo(name), fold=0).timestamp()
        assert timestamp(at_clock(value.local, value.zone)) == there

    def test_gaps_and_times_that_come_twice(self):
        berlin = "Europe/Berlin"
        assert display(datetime("2026-03-29T02:30", berlin)) == "2026-03-29T03:30:00+02:00"
        assert display(datetime("2026-10-25T02:30", berlin)) == "2026-10-25T02:30:00+02:00"
        assert display(truncate(datetime("2026-10-25T01:45:00Z", berlin), "hour")) == "2026-10-25T02:00:00+01:00"
        noon = datetime("2026-03-28T12:00", berlin)
        assert display(add_days(noon, 1)) == "2026-03-29T12:00:00+02:00"
        assert display(noon + duration(days=1)) == "2026-03-29T13:00:00+02:00"

    def test_a_datetime_without_a_zone_never_mixes_with_one_that_has_one(self):
        naive, zoned = datetime("2026-01-01T00:00"), datetime("2026-01-01T00:00Z")
        assert not eq(naive, zoned) and not eq(zoned, naive)
        for attempt in (
            lambda: naive < zoned, lambda: zoned >= naive, lambda: naive - zoned, lambda: sort([naive, zoned]),
            lambda: sort([[naive], [zoned]]), lambda: date_range(naive, zoned),
        ):  # fmt: skip
            assert "cannot mix a datetime" in error_of(attempt)
        assert "has no time zone" in error_of(to_timezone, naive, "UTC")
        assert "has no time zone" in error_of(timestamp, naive)
        assert 'unknown time zone "Mars/North"' in error_of(datetime, naive, "Mars/North")
        assert 'unknown time zone "../../etc/passwd"' in error_of(datetime, naive, "../../etc/passwd")


class TestTexts:
    @given(st.one_of(DATES, NAIVE, ZONED, DURATIONS))
    def test_every_value_is_read_back_from_its_text(self, value):
        read = {"date": read_date, "datetime": read_datetime, "duration": read_duration}[type_of(value)]
        assert read(display(value)) == value

    @given(st.text(max_size=30))
    def test_a_text_is_read_or_refused(self, text):
        for read in (read_date, read_datetime, read_duration):
            found = read(text)
            assert found is None or read(found.display()) == found

    @given(NAIVE)
    def test_python_reads_and_writes_the_same(self, value):
        assert python.datetime.fromisoformat(display(value)) == python_clock(value)
        assert read_datetime(python_clock(value).isoformat()) == value

    @pytest.mark.parametrize(
        "text",
        ["", "P", "PT", "1D", "P1", "P1M", "P1Y", "P1H", "PT1D", "P1DT",
         "PT1.5.2S", "PT.5S", "PT1.5H30M", "PD", "P-1D", "P1D ", "PT1S1M",
         "P" + "9" * 70 + "D", "P9999999999D"],
    )  # fmt: skip
    def test_no_durations(self, text):
        assert read_duration(text) is None

    @pytest.mark.parametrize(
        "text",
        ["2026-02-30T00:00", "2026-01-01", "2026-01-01T24:00", "2026-01-01T1:00", "2026-01-01T10", "2026-01-01T10:00:60",
         "2026-01-01T10:00.5", "2026-01-01T10:00:00.", "2026-01-01T10:00:00+1", "2026-01-01T10:00:00+24:00",
         "0000-01-01T00:00+01:00",
         "2026-01-01T10:00:00+1:00", "٢٠٢٦-01-01T10:00", "2026-01-01T10:00:00 Z"],
    )  # fmt: skip
    def test_no_datetimes(self, text):
        assert read_datetime(text) is None


class TestStores:
    @given(st.lists(st.one_of(DATES, NAIVE, ZONED, DURATIONS), max_size=5))
    def test_a_shared_store_keeps_type_value_and_zone(self, values):
        back = from_text(to_text({"values": values, "·": "mark"}))
        assert back == {"values": values, "·": "mark"}
        assert [display(value) for value in back["values"]] == [display(value) for value in values]

    @given(st.one_of(DATES, NAIVE, ZONED, DURATIONS))
    def test_copies_are_equal_and_hash_alike(self, value):
        for made in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert made == value and hash(made) == hash(value) and display(made) == display(value)
        assert group_numbers([value, copy.copy(value), display(value)], "unique") == [0, 0, 1]

    @given(DATES, ZONED, NAIVE, DURATIONS)
    def test_a_table_of_text_gives_the_values_back(self, day, at, clock, long):
        row = {"day": day, "at": at, "clock": clock, "long": long}
        types = {"day": "date", "at": "datetime", "clock": "datetime", "long": "duration"}
        assert csv_parse(csv_encode(CONTEXT, [row]), {"types": types}) == [row]
        texts = json_decode(json_encode(CONTEXT, row))
        assert texts == {name: display(value) for name, value in row.items()}
        plain = {"day": day, "clock": clock}
        assert toml_parse(toml_encode(CONTEXT, plain)) == plain


def test_the_types_are_told_apart() -> None:
    moment, midnight = datetime("2026-01-01T00:00Z"), datetime("2026-01-01T00:00")
    values = [Date(0), DateTime(0), datetime(0), Duration(0), 0, "1970-01-01", None, FALSE]
    for number, value in enumerate(values[:4]):
        assert [eq(value, other) for other in values] == [place == number for place in range(len(values))]
    assert group_numbers([moment, midnight, to_timezone(moment, "Asia/Tokyo")], "unique") == [0, 1, 0]


def test_patterns_show_the_clock_of_the_zone() -> None:
    value = datetime("2026-11-23T10:00:00.25+05:30")
    assert format_time(value, "%F %T.%f %z %Z %s %a") == "2026-11-23 10:00:00.250000 +0530 +05:30 1795408200 Mon"
    assert format_time(Date(0), "%d.%m.%Y%z") == "01.01.1970"
    assert "needs a time zone" in error_of(format_time, datetime("2026-11-23T10:00"), "%s")


def test_numbers_of_units() -> None:
    assert in_units(duration(weeks=1), "days") == 7.0 and in_units(duration("PT1S"), "millisecond") == 1000.0
    assert "unknown unit" in error_of(in_units, duration(days=1), "month")
    assert duration(days=0.5, hours=-12) == Duration(0)
    assert "longer than" in error_of(duration, days=10**40)
    assert "infinite" in error_of(duration, days=float("inf")) or "inf" in error_of(duration, days=float("inf"))
    assert "more than 1000000 items" in error_of(
        date_range, datetime("2026-01-01T00:00"), datetime("2027-01-01T00:00"), "second"
    )


def test_values_pass_through_a_program_its_agents_and_its_reply() -> None:
    answer = run(
        "let d be date(2026, 1, 31)\n"
        "print(parallel_map((x) => x + duration(days = 1), [d, d])[1])\n"
        'state_set("at", [d, datetime("2026-01-01T10:00", "Europe/Berlin")])\n'
        'print(state_get("at"))\n'
        "let m be {}\nset m[d] to 1\nprint(m, d in m, d in [date(d)])\n"
        'print("on " + d, `at ${d}`, d == "2026-01-31", json_encode({"d": d}))\n'
    )
    assert answer["ok"] is True, answer
    assert answer["output"] == [
        "2026-02-01",
        "[2026-01-31, 2026-01-01T10:00:00+01:00]",
        "{2026-01-31: 1} true true",
        'on 2026-01-31 at $2026-01-31 false {"d": "2026-01-31"}',
    ]


def test_replies_and_pages_write_dates_as_texts() -> None:
    program = language.Program(
        "require serve(8080)\n"
        "serve on 8080\n"
        '    route "GET /json"\n'
        '        give {"day": date(2026, 1, 2), "at": datetime(0), "long": [duration(days = 1)]}\n'
        '    route "GET /page"\n'
        '        give render("page.html", {"day": date(2026, 1, 2), "at": datetime(0, "+01:00")})\n',
        files={"page.html": "<p>{day} {at}</p>"},
    )
    reply = program.handle({"method": "GET", "path": "/json"})
    assert reply["body"] == '{"day": "2026-01-02", "at": "1970-01-01T00:00:00Z", "long": ["P1D"]}', reply
    page = program.handle({"method": "GET", "path": "/page"})
    assert page["body"].strip() == "<p>2026-01-02 1970-01-01T01:00:00+01:00</p>", page
