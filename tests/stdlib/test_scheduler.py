"""Scheduled jobs: expressions against the calendar, registration, and jobs beside a running program."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import language
from language.calendar.cron_expression import parse
from language.calendar.zones import zone_of
from language.errors import RuntimeFault

ROOT = Path(__file__).resolve().parent.parent.parent


def unix(text, zone="UTC", fold=0):
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp())


def shown(moment, zone="UTC"):
    return datetime.fromtimestamp(moment, UTC).astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")


def runs(expression, start, count, zone="UTC"):
    """The next moments after one, as the clock of the zone shows them."""
    found, now = [], unix(start, zone)
    for _ in range(count):
        now = parse(expression).next_after(now, zone_of(zone))
        found.append(now)
    return [shown(moment, zone) for moment in found]


class TestExpressions:
    @pytest.mark.parametrize(
        ("expression", "start", "expected"),
        [
            ("* * * * *", "2026-01-01 00:00", ["2026-01-01 00:01", "2026-01-01 00:02"]),
            ("*/20 * * * *", "2026-01-01 00:41", ["2026-01-01 01:00", "2026-01-01 01:20"]),
            (
                "5-10/2 0 * * *",
                "2026-01-01 00:00",
                ["2026-01-01 00:05", "2026-01-01 00:07", "2026-01-01 00:09", "2026-01-02 00:05"],
            ),
            ("0 8,20 * * *", "2026-01-01 09:00", ["2026-01-01 20:00", "2026-01-02 08:00"]),
            ("0 0 1 jan *", "2026-01-01 00:00", ["2027-01-01 00:00"]),
            ("0 0 29 2 *", "2026-01-01 00:00", ["2028-02-29 00:00", "2032-02-29 00:00"]),
            ("0 0 29 feb *", "2096-03-01 00:00", ["2104-02-29 00:00"]),
            ("0 0 * * mon-FRI", "2026-01-02 00:00", ["2026-01-05 00:00", "2026-01-06 00:00"]),
            ("0 0 * * 0", "2026-01-01 00:00", ["2026-01-04 00:00", "2026-01-11 00:00"]),
            ("0 0 * * 7", "2026-01-01 00:00", ["2026-01-04 00:00", "2026-01-11 00:00"]),
            (
                "0 0 * * 5-7",
                "2026-01-01 00:00",
                ["2026-01-02 00:00", "2026-01-03 00:00", "2026-01-04 00:00", "2026-01-09 00:00"],
            ),
            ("0 0 * * sat-sun", "2026-01-01 00:00", ["2026-01-03 00:00", "2026-01-04 00:00"]),
            # Day and weekday both restricted: either.
            ("0 0 13 * fri", "2026-01-10 00:00", ["2026-01-13 00:00", "2026-01-16 00:00"]),
            ("@hourly", "2026-01-01 00:30", ["2026-01-01 01:00", "2026-01-01 02:00"]),
            ("@daily", "2026-01-01 00:30", ["2026-01-02 00:00"]),
            ("@weekly", "2026-01-01 00:30", ["2026-01-04 00:00"]),
            ("@monthly", "2026-01-01 00:30", ["2026-02-01 00:00"]),
            ("@yearly", "2026-01-01 00:30", ["2027-01-01 00:00"]),
        ],
    )
    def test_next_runs(self, expression, start, expected):
        assert runs(expression, start, len(expected)) == expected

    @pytest.mark.parametrize(
        "expression",
        [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 13 *",
            "* * * * 8",
            "a * * * *",
            *(
                "5/2 * * * *",
                "*/0 * * * *",
                "9-5 * * * *",
                "1- * * * *",
                ",1 * * * *",
                "1,,2 * * * *",
                "-1 * * * *",
                "٣ * * * *",
            ),
            *("* * * foo *", "* * * * monday", "@often", "1.5 * * * *", "*5 * * * *", "mon * * * *"),
        ],
    )
    def test_bad_ones(self, expression):
        with pytest.raises(ValueError, match="bad expression"):
            parse(expression)

    @pytest.mark.parametrize("expression", ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *"])
    def test_ones_that_never_match(self, expression):
        with pytest.raises(ValueError, match="never matches"):
            parse(expression)

    @given(
        st.sampled_from(["*", "*/7", "0", "3,50", "10-20/5"]),
        st.sampled_from(["*", "2", "*/5", "0,23"]),
        st.sampled_from(["*", "1", "13,31", "28-30"]),
        st.sampled_from(["*", "2", "jan-mar", "12"]),
        st.sampled_from(["*", "sun", "1-5", "5,7"]),
        st.integers(0, 2**31),
    )
    def test_the_first_minute_that_fits_on_the_calendar(self, minute, hour, day, month, weekday, now):
        expression = parse(f"{minute} {hour} {day} {month} {weekday}")
        found = expression.next_after(now, zone_of("UTC"))
        assert found > now and found % 60 == 0

        def fits(moment):
            at = datetime.fromtimestamp(moment, UTC)
            by_day, by_weekday = at.day in field(day, 1, 31), at.isoweekday() % 7 in {d % 7 for d in field(weekday, 0, 6)}
            day_fits = by_day or by_weekday if day != "*" and weekday != "*" else by_day and by_weekday
            times = at.minute in field(minute, 0, 59) and at.hour in field(hour, 0, 23)
            return times and at.month in field(month, 1, 12) and day_fits

        assert fits(found)
        # None before it: every hour of the days between, and of the last days every minute.
        start = now - now % 60 + 60
        near = range(max(start, found - 3 * 86400), found, 60)
        assert not any(fits(moment) for moment in near)

    def test_a_fraction_of_a_second_counts(self):
        expression = parse("* * * * *")
        assert expression.next_after(59.9, zone_of("UTC")) == 60
        assert expression.next_after(60, zone_of("UTC")) == 120
        assert expression.next_after(-0.5, zone_of("UTC")) == 0


def field(text, least, most):
    names = {"jan": 1, "mar": 3, "sun": 0}
    found = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        low, _, high = (str(least), "-", str(most)) if span == "*" else span.partition("-")
        first = names[low] if low in names else int(low)
        last = first if not high else names[high] if high in names else int(high)
        found |= set(range(first, last + 1, int(step or 1)))
    return found


class TestZones:
    @pytest.mark.parametrize(
        ("zone", "expected"), [("UTC", 0), ("+02:00", 7200), ("-03:30", -12600), ("+00:00", 0), ("Asia/Kolkata", 19800)]
    )
    def test_offsets(self, zone, expected):
        assert zone_of(zone).offset(0 if zone != "Asia/Kolkata" else 10**9) == expected

    @pytest.mark.parametrize(
        "zone",
        [
            "",
            "+2",
            "+0200",
            "+24:00",
            "+02:60",
            "Mars/Olympus",
            "../etc/passwd",
            "/etc/passwd",
            "Europe",
            "utc+1",
            "+٠٢:00",
            "a\0b",
        ],
    )
    def test_unknown(self, zone):
        with pytest.raises(RuntimeFault) as caught:
            zone_of(zone)
        assert caught.value.message == f'unknown time zone "{zone}"'

    def test_a_fixed_distance(self):
        found = parse("0 8 * * *").next_after(unix("2026-01-01 00:00"), zone_of("-03:00"))
        assert shown(found) == "2026-01-01 11:00"

    def test_a_time_in_a_skipped_hour_runs_right_after_it(self):
        # New York, 8 March 2026: 01:59 is followed by 03:00.
        expected = ["2026-03-07 02:30", "2026-03-08 03:00", "2026-03-09 02:30"]
        assert runs("30 2 * * *", "2026-03-07 00:00", 3, "America/New_York") == expected
        # Several skipped times are one run.
        expected = ["2026-03-07 02:15", "2026-03-07 02:45", "2026-03-08 03:00", "2026-03-09 02:15"]
        assert runs("15,45 2 * * *", "2026-03-07 00:00", 4, "America/New_York") == expected

    def test_a_time_in_a_repeated_hour_runs_once(self):
        # New York, 1 November 2026: 01:59 is followed by 01:00.
        expected = ["2026-10-31 01:30", "2026-11-01 01:30", "2026-11-02 01:30"]
        assert runs("30 1 * * *", "2026-10-31 00:00", 3, "America/New_York") == expected
        first = parse("30 1 * * *").next_after(unix("2026-11-01 00:00", "America/New_York"), zone_of("America/New_York"))
        assert first == unix("2026-11-01 01:30", "America/New_York", fold=0)

    def test_a_job_with_a_star_follows_real_time(self):
        zone = zone_of("America/New_York")
        expression = parse("*/30 * * * *")
        for start, hours in (("2026-03-08 00:00", 23), ("2026-11-01 00:00", 25)):
            now = unix(start, "America/New_York")
            end = unix((datetime.fromisoformat(start) + timedelta(days=1)).isoformat(" "), "America/New_York")
            moments = []
            while now < end:
                now = expression.next_after(now, zone)
                moments.append(now)
            assert len(moments) == hours * 2
            assert {later - sooner for sooner, later in pairwise(moments)} == {1800}

    def test_a_day_that_was_skipped_altogether(self):
        # Samoa went from 29 to 31 December 2011.
        expected = ["2011-12-29 12:00", "2011-12-31 00:00", "2011-12-31 12:00"]
        assert runs("0 12 * * *", "2011-12-29 00:00", 3, "Pacific/Apia") == expected

    @given(
        st.integers(unix("2000-01-01 00:00"), unix("2037-01-01 00:00")),
        st.sampled_from(["America/Santiago", "Europe/Berlin", "Asia/Tehran"]),
    )
    def test_every_day_once(self, now, zone):
        """A fixed time comes once on each day of the calendar, whatever the clock does."""
        expression = parse("30 0 * * *")
        moments = []
        for _ in range(4):
            now = expression.next_after(now, zone_of(zone))
            moments.append(now)
        days = [shown(moment, zone)[:10] for moment in moments]
        first = datetime.fromisoformat(days[0])
        assert days == [(first + timedelta(days=n)).strftime("%Y-%m-%d") for n in range(4)]


class Run:
    def __init__(self, done, seconds):
        self.lines = done.stdout.splitlines()
        self.errors = done.stderr.splitlines()
        self.code = done.returncode
        self.seconds = seconds


@pytest.fixture
def run(tmp_path):
    """Runs a program with `lang run` (or another command) in a process of its own."""

    def start(source, *words, env=None):
        (tmp_path / "p.lang").write_text(source, encoding="utf-8")
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "language", *(words or ("run", "p.lang"))],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), **(env or {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Run(done, time.monotonic() - began)

    return start


TICK = "let n be 0\ntask tick()\n    set n to n + 1\n    print(n)\n"


class TestRegistration:
    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            ("cron_every(0, tick)", "cron_every: the interval must be more than 0 seconds, got 0"),
            ("cron_every(0 - 1, tick)", "cron_every: the interval must be more than 0 seconds, got -1"),
            ("cron_every(nan, tick)", "cron_every: the interval must be more than 0 seconds, got nan"),
            ("cron_after(0 - 0.5, tick)", "cron_after: the delay must be 0 seconds or more, got -0.5"),
            ('cron_after("* * * * *", tick)', "cron_after: the first argument is a number of seconds, got * * * * *"),
            ("cron_every(true, tick)", "cron_every: the first argument is a number of seconds or an expression, got bool"),
            ('cron_every("0 0 31 2 *", tick)', 'cron_every: the expression "0 0 31 2 *" never matches'),
            ('cron_every("@daily", tick, {"tz": "Mars"})', 'unknown time zone "Mars"'),
            ('cron_every("@daily", tick, {"zone": "UTC"})', 'cron_every: unknown option "zone" (valid options: tz)'),
            ('cron_every(5, tick, {"tz": "UTC"})', "cron_every: options go with an expression, not with an interval"),
            ('cron_every(5, "none")', 'cron_every: unknown task "none"'),
            ('cron_every(5, "n")', 'cron_every: unknown task "n"'),
            ("cron_every(5, needs)", "cron_every: task 'needs' has required parameters: a job is called without arguments"),
            (
                "cron_every(5, print)",
                "cron_every: a job is a task defined at top level: not a lambda, a builtin or a task inside a task",
            ),
            (
                "cron_every(5, () => 1)",
                "cron_every: a job is a task defined at top level: not a lambda, a builtin or a task inside a task",
            ),
            (
                "cron_every(5, inside())",
                "cron_every: a job is a task defined at top level: not a lambda, a builtin or a task inside a task",
            ),
            ("cron_every(5, 5)", "cron_every: a job is a task defined at top level, or its name as text, got number"),
        ],
    )
    def test_a_refused_job_is_none(self, run, call, expected):
        more = "task needs(a)\n    give a\ntask inside()\n    task deep()\n        give 1\n    give deep\n"
        result = run(f"{TICK}{more}try\n    {call}\nrecover e\n    print(e)\nprint(cron_list())\nprint(cron_status())\n")
        assert result.lines == [expected, "[]", "No scheduled tasks."]

    def test_what_is_told_of_jobs(self, run):
        source = """
task a(x = 1)
    give x
task b()
    give 1
task c()
    give 1
print(cron_every(300, a), cron_every("0 9 * * mon", "b", {"tz": "+01:00"}), cron_after("60", c))
each job in cron_list()
    print(job.name, job.schedule, job.interval, job.repeating, job.active)
    print(job.run_count, job.errors, job.tz, job.next_run > now())
print(regex_replace(cron_status(), "next [^,]*", "next T"))
print(cron_every("@hourly", a), length(cron_list()), cron_list()[2].schedule, cron_list()[2].tz)
print(cron_cancel("a"), cron_cancel("a"), cron_cancel("none"), length(cron_list()))
"""
        assert run(source).lines == [
            "a b c",
            "a every 300.0s 300.0 true true",
            "0 0 nothing true",
            "b 0 9 * * mon nothing true true",
            "0 0 +01:00 true",
            "c after 60.0s nothing false true",
            "0 0 nothing true",
            "Scheduled Tasks (3):",
            "  [active] a: every 300.0s, next T, runs: 0, errors: 0",
            "  [active] b: at '0 9 * * mon' (+01:00), next T, runs: 0, errors: 0",
            "  [active] c: once, next T, runs: 0, errors: 0",
            "a 3 @hourly UTC",
            "true false false 2",
        ]

    def test_hosts_without_threads_refuse(self):
        answer = language.Program("cron_status()").run()
        assert answer["errors"] == [
            "Runtime error: <embedded>:1:12: cron_status: not available in the wasm profile — this build has no scheduler "
            "threads (run the program with the native `lang` binary)"
        ]


class TestRuns:
    def test_each_run_has_its_own_variables(self, run):
        result = run(TICK + "cron_every(0.05, tick)\nset n to 10\nsleep(0.5)\nprint(n, cron_list()[0].run_count > 2)\n")
        # A job may still print behind the last line of the program.
        assert set(result.lines) == {"11", "10 true"} and result.lines.count("10 true") == 1

    def test_once(self, run):
        source = TICK + "cron_after(0, tick)\nsleep(0.3)\nlet j be cron_list()[0]\n"
        source += "print(j.active, j.run_count, j.next_run)\nprint(cron_status())\n"
        expected = ["1", "false 1 nothing", "Scheduled Tasks (1):", "  [done] tick: once, over, runs: 1, errors: 0"]
        assert run(source).lines == expected

    def test_a_failing_run_is_logged_and_the_job_stays(self, run):
        source = """
task bad()
    state_incr("runs")
    when state_get("runs") < 3
        raise("no\\n" + text(state_get("runs")))
cron_every(0.05, bad)
while state_get("runs", 0) < 4
    sleep(0.02)
cron_cancel("bad")
sleep(0.1)
"""
        result = run(source)
        assert result.errors == [f"[serve] [cron] job 'bad' failed: no\\n{run}" for run in (1, 2)]
        assert result.code == 0

    def test_a_job_never_overlaps_itself_and_waits_from_its_end(self, run):
        source = """
task slow()
    state_incr("in")
    when state_get("in") > 1
        print("overlap")
    sleep(0.15)
    state_incr("in", 0 - 1)
    state_incr("done")
let start be now()
cron_every(0.05, slow)
while state_get("done", 0) < 3
    sleep(0.01)
print(now() - start >= 0.6)
"""
        assert run(source).lines == ["true"]

    @pytest.mark.parametrize(
        "endless",
        [
            "while true\n        state_incr('n')".replace("'", '"'),
            'db_open(":memory:", "memory")\n    '
            'sql("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c")',
            "sleep(30)",
        ],
    )
    def test_jobs_end_with_the_program(self, run, endless):
        result = run(
            f'require db(":memory:")\ntask forever()\n    {endless}\ncron_after(0, forever)\nsleep(0.3)\nprint("end")\n'
        )
        assert result.lines == ["end"]
        assert result.errors == []
        assert result.seconds < 15

    def test_a_job_may_register_and_cancel(self, run):
        source = """
task first()
    print("first")
    cron_after(0, second)
    print(cron_cancel("first"))
task second()
    print("second")
    state_set("done", 1)
cron_every(0.05, first)
while state_get("done") == nothing
    sleep(0.02)
sleep(0.1)
"""
        first, *others = run(source).lines
        assert first == "first" and sorted(others) == ["second", "true"]

    def test_secrets_keep_their_seal_and_stay_usable(self, run):
        source = """
require secret("KEY")
let key be secret("KEY")
task sign()
    print(key, hmac_sha256("m", key) == hmac_sha256("m", "value"), type_of(key))
cron_after(0, sign)
sleep(0.3)
"""
        assert run(source, env={"KEY": "value"}).lines == ["secret(KEY) true secret"]

    def test_exit_in_a_job_does_not_end_the_program(self, run):
        result = run('task leave()\n    exit(3)\ncron_after(0, leave)\nsleep(0.3)\nprint("still here")\n')
        assert (result.lines, result.code) == (["still here"], 0)
        assert result.errors == ["[serve] [cron] job 'leave' failed: exit() cannot be called in a job"]

    def test_under_lang_test_jobs_are_registered_and_never_run(self, run):
        source = TICK + 'cron_every(0.01, tick)\ntest "jobs"\n    sleep(0.2)\n    assert_eq(cron_list()[0].run_count, 0)\n'
        result = run(source, "test", "p.lang")
        assert result.code == 0
        assert "1 passed, 0 failed" in "\n".join(result.lines)

    def test_what_a_job_leaves_open_is_rolled_back(self, run):
        source = """
require db(":memory:")
db_open(":memory:", "memory")
sql_exec("CREATE TABLE t (a)")
task leaves()
    sql_exec("BEGIN")
    sql_exec("INSERT INTO t VALUES (1)")
    state_set("done", 1)
cron_after(0, leaves)
while state_get("done") == nothing
    sleep(0.01)
print(sql("SELECT COUNT(*) AS n FROM t")[0].n)
"""
        assert run(source).lines == ["0"]


class TestCapabilities:
    def test_a_job_holds_what_the_program_holds(self, run):
        source = 'task job()\n    print(env("HOME") != "")\ncron_after(0.1, job)\nrequire env("HOME")\nsleep(0.4)\n'
        assert run(source).lines == ["true"]

    def test_what_a_run_requires_is_dropped_after_it(self, run):
        source = """
task job()
    require env("HOME")
    give 1
cron_after(0, job)
sleep(0.3)
try
    env("HOME")
recover e
    print(contains(e, "Capability not granted"))
"""
        assert run(source).lines == ["true"]

    @pytest.mark.parametrize(
        "inside", ["sandbox\n    cron_after(0, job)\n", "task tool()\n    cron_after(0, job)\ncall_tool(tool, nothing)\n"]
    )
    def test_registered_in_a_bound_it_stays_inside(self, run, inside):
        source = 'require env("HOME")\ntask job()\n    env("HOME")\n    print("escaped")\n'
        result = run(source + inside + 'sleep(0.3)\nprint(env("HOME") != "")\n')
        assert result.lines == ["true"]
        assert len(result.errors) == 1
        assert result.errors[0].startswith("[serve] [cron] job 'job' failed: Capability not granted: env(\"HOME\")")
